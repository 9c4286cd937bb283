/*
 * stream_file.c - see stream_file.h
 *
 * The index is in LTTng's format 1.0, big-endian: format 1.1 adds an instance and a sequence
 * number, which relays do not send to viewers.
 *
 *     OFF  SIZE  HEADER              OFF  SIZE  ENTRY
 *       0     4  magic 0xC1F1DCC1      0     8  offset, bytes
 *       4     4  major, 1              8     8  packet size, bits
 *       8     4  minor, 0             16     8  content size, bits
 *      12     4  entry length, 56     24     8  first time, cycles
 *                                     32     8  last time
 *                                     40     8  events discarded so far
 *                                     48     8  stream class
 *
 * Entries are ordered by offset. A packet that the relay did not send leaves a hole in the file,
 * without an entry; if it is sent later, its entry is inserted.
 */
#include "live/stream_file.h"

#include "engine/base/cursor.h"
#include "engine/base/files.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 16, ENTRY_BYTES = 56, TURNS_MOST = 1000000 };
#define HOLE_MOST (UINT64_C(16) << 30)

static const uint8_t header[HEADER_BYTES] = {0xc1, 0xf1, 0xdc, 0xc1, 0, 0, 0, 1,
					     0,    0,    0,    0,    0, 0, 0, ENTRY_BYTES};

struct index_entry {
	uint8_t bytes[ENTRY_BYTES];
};

/* Offsets of members of an entry. */
enum { AT_OFFSET = 0, AT_BITS = 8, AT_BEGIN = 24, AT_END = 32 };

struct stream_file {
	char *folder, *name;
	unsigned turns;         /* number of files */
	unsigned turn;          /* the open one; == turns: a new one, not created yet */
	bool placed;            /* a packet of this run belongs to it */
	uint64_t entries, next; /* entries of its index; the one to write next */
	uint64_t end;           /* end of its last packet in bytes */
	int data, index;        /* -1: not open */
	unsigned taken;         /* descriptors of files_take() */
};

/* One entry --------------------------------------------------------------------------------------
 */

static uint64_t member(const struct index_entry *entry, size_t at)
{
	return load_be(entry->bytes + at, 8);
}

static uint64_t entry_end(const struct index_entry *entry)
{
	return member(entry, AT_OFFSET) + member(entry, AT_BITS) / 8;
}

static struct index_entry entry_of(const struct live_index *index)
{
	const uint64_t members[] = {index->offset,      index->packet_bits, index->content_bits,
				    index->begin,       index->end,         index->discarded,
				    index->stream_class};
	struct index_entry out;

	_Static_assert(sizeof members == ENTRY_BYTES, "an entry is these members");
	for (size_t i = 0; i < ENTRY_BYTES; i++)
		out.bytes[i] = (uint8_t)(members[i / 8] >> (56 - 8 * (i % 8)));
	return out;
}

static bool same(const struct index_entry *a, const struct index_entry *b)
{
	return memcmp(a->bytes, b->bytes, ENTRY_BYTES) == 0;
}

/* Files ------------------------------------------------------------------------------------------
 */

static char *data_path(const struct stream_file *file, unsigned turn)
{
	struct buf path = {0};

	buf_printf(&path, "%s/%s", file->folder, file->name);
	if (turn)
		buf_printf(&path, ".%u", turn);
	return path.data;
}

static char *index_path(const struct stream_file *file, unsigned turn)
{
	struct buf path = {0};

	buf_printf(&path, "%s/index/%s", file->folder, file->name);
	if (turn)
		buf_printf(&path, ".%u", turn);
	buf_add_text(&path, ".idx");
	return path.data;
}

static bool stream_file_failed(const char *path, struct error *err)
{
	return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

/* Opens a file; `flags`: O_CREAT or 0. -1: *err. */
static int open_path(const char *path, int flags, struct error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666);

	if (fd < 0)
		stream_file_failed(path, err);
	return fd;
}

static void close_turn(struct stream_file *file)
{
	if (file->data >= 0)
		close(file->data);
	if (file->index >= 0)
		close(file->index);
	for (; file->taken; file->taken--)
		files_give();
	file->data = file->index = -1;
}

/* Opens a file of the open turn unless *fd is open; creates it for a new turn. */
static bool open_one(struct stream_file *file, int *fd,
		     char *(*path_of)(const struct stream_file *, unsigned), struct error *err)
{
	if (*fd < 0) {
		char *path = path_of(file, file->turn);
		*fd = open_path(path, file->turn == file->turns ? O_CREAT : 0, err);
		mem_free(path);
	}
	return *fd >= 0;
}

static bool open_data(struct stream_file *file, struct error *err)
{
	return open_one(file, &file->data, data_path, err);
}

static bool open_index(struct stream_file *file, struct error *err)
{
	return open_one(file, &file->index, index_path, err);
}

/* Closes the files between packets, unless enough descriptors are free. */
static void rest(struct stream_file *file)
{
	while (file->taken < 2)
		if (files_take())
			file->taken++;
		else
			break;
	if (file->taken < 2)
		close_turn(file);
}

static bool read_entry(struct stream_file *file, uint64_t i, struct index_entry *out,
		       struct error *err)
{
	if (!open_index(file, err))
		return false;
	if (file_get(file->index, out->bytes, ENTRY_BYTES, HEADER_BYTES + i * ENTRY_BYTES) ==
	    ENTRY_BYTES)
		return true;
	return error_set(err, ERR_IO, "%s/index/%s.idx: %s", file->folder, file->name,
			 errno ? strerror(errno) : "somebody else cut it");
}

/* Turns ------------------------------------------------------------------------------------------
 */

/* Cuts both files of the open turn to the complete packets that have an entry. */
static bool repair(struct stream_file *file, struct error *err)
{
	struct stat data, index;
	struct index_entry last;
	uint8_t found[HEADER_BYTES];

	if (fstat(file->data, &data) != 0 || fstat(file->index, &index) != 0)
		return stream_file_failed(file->name, err);
	bool headed = file_get(file->index, found, sizeof found, 0) == HEADER_BYTES;
	if (headed && memcmp(found, header, HEADER_BYTES) != 0)
		return error_set(err, ERR_FORMAT, "%s/index/%s.idx: no mirror wrote it",
				 file->folder, file->name);
	file->entries = headed ? ((uint64_t)index.st_size - HEADER_BYTES) / ENTRY_BYTES : 0;
	file->end = 0;
	for (; file->entries; file->entries--) {
		if (!read_entry(file, file->entries - 1, &last, err))
			return false;
		file->end = entry_end(&last);
		if (file->end <= (uint64_t)data.st_size)
			break;
		file->end = 0;
	}
	off_t whole = (off_t)(headed ? HEADER_BYTES + file->entries * ENTRY_BYTES : 0);
	return (ftruncate(file->index, whole) == 0 &&
		ftruncate(file->data, (off_t)file->end) == 0) ||
	       stream_file_failed(file->name, err);
}

/* Opens a turn. */
static bool stream_file_turn_to(struct stream_file *file, unsigned turn, struct error *err)
{
	struct stat index;

	if (turn == file->turn)
		return true;
	close_turn(file);
	file->turn = turn;
	file->placed = false;
	file->entries = file->next = file->end = 0;
	if (turn == file->turns)
		return true;
	if (!open_index(file, err) || fstat(file->index, &index) != 0)
		return false;
	if ((uint64_t)index.st_size > HEADER_BYTES)
		file->entries = ((uint64_t)index.st_size - HEADER_BYTES) / ENTRY_BYTES;
	if (file->entries) {
		struct index_entry last;
		if (!read_entry(file, file->entries - 1, &last, err))
			return false;
		file->end = entry_end(&last);
	}
	return true;
}

/*
 * Deletes a turn's data file. The first one is emptied instead, since followers see the stream by
 * it.
 */
static bool drop_data(const char *path, unsigned turn)
{
	return turn ? unlink(path) == 0 : truncate(path, 0) == 0;
}

/* Deletes the files of a turn without packets. */
static bool drop_empty(struct stream_file *file, struct error *err)
{
	char *data = data_path(file, file->turn), *index = index_path(file, file->turn);
	bool ok = unlink(index) == 0 && drop_data(data, file->turn);

	if (!ok)
		stream_file_failed(data, err);
	mem_free(data);
	mem_free(index);
	return ok;
}

/* Finds the existing turns and repairs each. */
static bool find_turns(struct stream_file *file, struct error *err)
{
	for (unsigned turn = 0; turn < TURNS_MOST; turn++) {
		char *data = data_path(file, turn), *index = index_path(file, turn);
		bool there = access(data, F_OK) == 0, ok;

		ok = !there || access(index, F_OK) == 0 || drop_data(data, turn) ||
		     stream_file_failed(data, err);
		there = there && access(index, F_OK) == 0;
		mem_free(data);
		mem_free(index);
		if (!ok || !there)
			return ok;
		close_turn(file);
		file->turn = turn;
		file->turns = turn + 1;
		if (!open_data(file, err) || !open_index(file, err) || !repair(file, err))
			return false;
		if (!file->entries) {
			close_turn(file);
			file->turns = turn;
			return drop_empty(file, err);
		}
	}
	return error_set(err, ERR_FORMAT, "%s/%s: it has too many files", file->folder, file->name);
}

bool stream_file_announce(const char *folder, const char *name, struct error *err)
{
	char *path = folder_join(folder, name);
	int fd = open_path(path, O_CREAT, err);

	mem_free(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool stream_file_open(const char *folder, const char *name, struct stream_file **out,
		      struct error *err)
{
	struct stream_file *file = mem_new(sizeof *file);

	file->folder = mem_strdup(folder);
	file->name = mem_strdup(name);
	file->data = file->index = -1;
	if (!find_turns(file, err)) {
		stream_file_close(file);
		return false;
	}
	close_turn(file);
	file->turn = file->turns;
	file->entries = file->end = 0;
	*out = file;
	return true;
}

void stream_file_close(struct stream_file *file)
{
	if (!file)
		return;
	close_turn(file);
	mem_free(file->folder);
	mem_free(file->name);
	mem_free(file);
}

unsigned stream_file_count(const struct stream_file *file)
{
	return file->turns;
}

/* Places -----------------------------------------------------------------------------------------
 */

enum found { FOUND_ERROR, FOUND_NOTHING, FOUND_SAME, FOUND_HOLE };

/* Number of entries of the open turn that lie before the offset. */
static bool count_before(struct stream_file *file, uint64_t offset, uint64_t *out,
			 struct error *err)
{
	uint64_t low = 0, high = file->entries;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct index_entry entry;
		if (!read_entry(file, middle, &entry, err))
			return false;
		if (member(&entry, AT_OFFSET) < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*out = low;
	return true;
}

/* Does the packet fit between its neighbours, in bytes and time? `before` may be NULL. */
static bool fits_between(const struct index_entry *before, const struct index_entry *wanted,
			 const struct index_entry *after)
{
	return (!before || (entry_end(before) <= member(wanted, AT_OFFSET) &&
			    member(before, AT_END) <= member(wanted, AT_BEGIN))) &&
	       entry_end(wanted) <= member(after, AT_OFFSET) &&
	       member(wanted, AT_END) <= member(after, AT_BEGIN);
}

/* Searches the packet in the open turn; file->next: its place, or where to insert it. */
static enum found look(struct stream_file *file, const struct index_entry *wanted,
		       struct error *err)
{
	struct index_entry before, after;
	uint64_t i;

	if (!count_before(file, member(wanted, AT_OFFSET), &i, err))
		return FOUND_ERROR;
	if (i == file->entries)
		return FOUND_NOTHING;
	if (!read_entry(file, i, &after, err) || (i && !read_entry(file, i - 1, &before, err)))
		return FOUND_ERROR;
	file->next = i;
	if (same(&after, wanted))
		return FOUND_SAME;
	return fits_between(i ? &before : NULL, wanted, &after) ? FOUND_HOLE : FOUND_NOTHING;
}

/* Sets *out: does the packet follow the last one of the open turn? */
static bool continues(struct stream_file *file, const struct index_entry *wanted, bool *out,
		      struct error *err)
{
	uint64_t offset = member(wanted, AT_OFFSET);
	struct index_entry last;

	*out = false;
	if (!file->entries || offset < file->end)
		return true;
	if (file->placed && offset == file->end) {
		*out = true;
		return true;
	}
	if (!read_entry(file, file->entries - 1, &last, err))
		return false;
	*out = member(&last, AT_END) <= member(wanted, AT_BEGIN);
	if (*out && offset - file->end > HOLE_MOST)
		return error_set(err, ERR_FORMAT,
				 "it tells of a packet at %llu, behind one that "
				 "ends at %llu",
				 (unsigned long long)offset, (unsigned long long)file->end);
	return true;
}

/* Searches all turns, the latest first; FOUND_NOTHING: a new turn is open. */
static enum found stream_file_search(struct stream_file *file, const struct index_entry *wanted,
				     struct error *err)
{
	for (unsigned turn = file->turns; turn-- > 0;) {
		if (!stream_file_turn_to(file, turn, err))
			return FOUND_ERROR;
		enum found found = look(file, wanted, err);
		if (found != FOUND_NOTHING)
			return found;
	}
	return stream_file_turn_to(file, file->turns, err) ? FOUND_NOTHING : FOUND_ERROR;
}

/* Places a packet that no turn has: after the last turn's end, or in a new turn. */
static bool place_new(struct stream_file *file, const struct index_entry *wanted, struct error *err)
{
	bool behind = false;

	if (file->turns && (!stream_file_turn_to(file, file->turns - 1, err) ||
			    !continues(file, wanted, &behind, err)))
		return false;
	if (!behind && !stream_file_turn_to(file, file->turns, err))
		return false;
	if (!behind && member(wanted, AT_OFFSET) > HOLE_MOST)
		return error_set(err, ERR_FORMAT, "it tells of a first packet at %llu",
				 (unsigned long long)member(wanted, AT_OFFSET));
	file->next = file->entries;
	return true;
}

bool stream_file_place(struct stream_file *file, const struct live_index *index, bool *known,
		       struct error *err)
{
	struct index_entry wanted = entry_of(index), there;
	bool behind;

	*known = false;
	if (file->placed && file->next < file->entries) {
		if (!read_entry(file, file->next, &there, err))
			return false;
		*known = same(&there, &wanted);
	} else if (file->placed) {
		if (!continues(file, &wanted, &behind, err))
			return false;
		if (behind)
			return true;
	}
	if (!*known) {
		enum found found = stream_file_search(file, &wanted, err);
		if (found == FOUND_ERROR)
			return false;
		*known = found == FOUND_SAME;
		if (found == FOUND_NOTHING && !place_new(file, &wanted, err))
			return false;
	}
	file->placed = true;
	file->next += *known;
	if (*known)
		rest(file);
	return true;
}

bool stream_file_write(struct stream_file *file, const struct live_index *index, uint64_t at,
		       const void *bytes, size_t size, struct error *err)
{
	if (!open_data(file, err))
		return false;
	return file_put_at(file->data, bytes, size, index->offset + at) ||
	       stream_file_failed(file->name, err);
}

/* Rewrites the index with a new entry inserted at file->next. */
static bool insert(struct stream_file *file, const struct index_entry *entry, struct error *err)
{
	char *path = index_path(file, file->turn);
	struct buf bytes = {0};
	size_t at = HEADER_BYTES + (size_t)file->next * ENTRY_BYTES;
	bool ok = file_read(path, &bytes) && bytes.len >= at;

	if (ok) {
		buf_room(&bytes, ENTRY_BYTES);
		memmove(bytes.data + at + ENTRY_BYTES, bytes.data + at, bytes.len - at);
		memcpy(bytes.data + at, entry->bytes, ENTRY_BYTES);
		bytes.len += ENTRY_BYTES;
		ok = file_write(path, &bytes, err);
	} else {
		stream_file_failed(path, err);
	}
	close_turn(file);
	buf_release(&bytes);
	mem_free(path);
	return ok;
}

bool stream_file_commit(struct stream_file *file, const struct live_index *index, struct error *err)
{
	struct index_entry entry = entry_of(index);
	bool ok;

	if (!open_index(file, err))
		return false;
	if (file->next < file->entries) {
		ok = insert(file, &entry, err);
	} else {
		uint8_t both[HEADER_BYTES + ENTRY_BYTES];
		memcpy(both, header, HEADER_BYTES);
		memcpy(both + HEADER_BYTES, entry.bytes, ENTRY_BYTES);
		ok = file->entries ? file_put_at(file->index, entry.bytes, ENTRY_BYTES,
						 HEADER_BYTES + file->entries * ENTRY_BYTES)
				   : file_put_at(file->index, both, sizeof both, 0);
		ok = ok || stream_file_failed(file->name, err);
		file->end = index->offset + index->packet_bits / 8;
	}
	if (!ok)
		return false;
	file->turns += file->turn == file->turns;
	file->entries++;
	file->next++;
	rest(file);
	return true;
}
