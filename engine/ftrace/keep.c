/*
 * keep.c - where a file's compressed chunks lie, kept for later runs
 *
 * Only the heads of chunks say how long each is, so that finding them costs a look at every chunk
 * of the file. What was found is written to the folder that the trace was opened with, under a
 * digest of the file's first and last bytes and its size, in this machine's byte order:
 *
 *     OFF  SIZE  MEANING
 *       0     8  "yorechnk"
 *       8     8  bytes of the trace's file
 *      16    24  its time of change (ns), device, inode
 *      40     4  tables
 *      44     4  0
 *      48        per table: where it lies in the file (8), chunks (8), then 16 bytes a chunk:
 *                offset of its compressed bytes (8), how many (4), how many plain ones (4)
 *     end     8  digest of all before (XXH3)
 *
 * A file of another size, place or time of change is searched again, and so is one that was changed
 * too lately to tell the next change from. A table must be one that the search could give: chunks
 * one behind the other, inside the file. Some heads are compared at once, and each again when its
 * chunk is read; one that differs costs the kept file.
 */
#include "engine/base/folder.h"
#include "engine/base/temporary.h"
#include "engine/ftrace/ftrace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { NAMED_BY = 4096, SETTLED = 2, TABLES_MAX = 1 << 16, BYTES_MAX = 1 << 30 };
enum { LEAST = 1024 /* chunks from which on they are kept */ };
static const char magic[8] = "yorechnk";

struct keep_head { /* stored as it is */
	char magic[8];
	uint64_t bytes;
	int64_t changed; /* 0: too lately */
	uint64_t device, inode;
	uint32_t tables, zero;
};
_Static_assert(sizeof(struct keep_head) == 48, "the head is stored as it is");
_Static_assert(sizeof(struct chunk) == 16, "chunks are stored as they are");

struct ftrace_keep {
	struct source *source;
	char *path, *temporary;
	struct keep_head now; /* what the file is like */
	struct buf old;       /* the kept file, whole and of this file; empty: there is none */
	struct buf made;      /* all tables, as it is to be kept */
	uint32_t tables;
	uint64_t searched; /* chunks that no kept table told of */
};

static void look_at(struct ftrace_keep *keep)
{
	struct keep_head *now = &keep->now;
	struct timespec clock;
	struct stat st;

	memcpy(now->magic, magic, sizeof magic);
	now->bytes = source_size(keep->source);
	if (stat(source_name(keep->source), &st) != 0)
		return;
	now->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	now->device = st.st_dev;
	now->inode = st.st_ino;
	clock_gettime(CLOCK_REALTIME, &clock);
	if (clock.tv_sec - st.st_mtim.tv_sec < SETTLED || now->bytes != (uint64_t)st.st_size)
		now->changed = 0;
}

static bool make_name(struct ftrace_keep *keep, const char *folder)
{
	uint8_t ends[2 * NAMED_BY + 8];
	uint64_t size = source_size(keep->source);
	struct buf path = {0};
	struct error ignored;

	if (size < NAMED_BY || !source_peek(keep->source, 0, ends, NAMED_BY, &ignored) ||
	    !source_peek(keep->source, size - NAMED_BY, ends + NAMED_BY, NAMED_BY, &ignored))
		return false;
	memcpy(ends + (size_t)2 * NAMED_BY, &size, sizeof size);
	XXH128_hash_t hash = XXH3_128bits(ends, sizeof ends);
	buf_printf(&path, "%s/%016llx%016llx.chunks", folder, (unsigned long long)hash.high64,
		   (unsigned long long)hash.low64);
	keep->path = mem_strdup(buf_text(&path));
	buf_add_text(&path, ".tmp");
	keep->temporary = mem_strdup(buf_text(&path));
	buf_release(&path);
	return true;
}

static bool read_whole(int fd, struct buf *out)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > BYTES_MAX ||
	    st.st_size < (off_t)sizeof(struct keep_head) + 8)
		return false;
	size_t size = (size_t)st.st_size, done = 0;
	char *to = buf_room(out, size);
	while (done < size) {
		ssize_t n = pread(fd, to + done, size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	out->len = size;
	return true;
}

/* Is it whole, and of this very file? */
static bool is_of_file(const struct ftrace_keep *keep)
{
	const char *data = keep->old.data;
	size_t size = keep->old.len - 8;
	struct keep_head head;
	uint64_t digest;

	memcpy(&head, data, sizeof head);
	memcpy(&digest, data + size, sizeof digest);
	return keep->now.changed && !memcmp(head.magic, magic, sizeof magic) &&
	       head.bytes == keep->now.bytes && head.changed == keep->now.changed &&
	       head.device == keep->now.device && head.inode == keep->now.inode &&
	       head.tables <= TABLES_MAX && digest == XXH3_64bits(data, size);
}

static void read_old(struct ftrace_keep *keep)
{
	int fd = open(keep->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (!read_whole(fd, &keep->old) || !is_of_file(keep))
		keep->old.len = 0;
	close(fd);
}

struct ftrace_keep *ftrace_keep_new(struct ftrace_file *file)
{
	struct trace *trace = file->trace;

	if (!trace->spill_dir)
		return NULL;
	struct ftrace_keep *keep = mem_new(sizeof *keep);
	keep->source = file->source;
	look_at(keep);
	if (!make_name(keep, trace->spill_dir)) {
		ftrace_keep_free(keep);
		return NULL;
	}
	trace_add_copy(trace, keep->path);
	trace_add_copy(trace, keep->temporary);
	read_old(keep);
	return keep;
}

void ftrace_keep_free(struct ftrace_keep *keep)
{
	if (!keep)
		return;
	buf_release(&keep->old);
	buf_release(&keep->made);
	mem_free(keep->path);
	mem_free(keep->temporary);
	mem_free(keep);
}

const struct chunk *ftrace_keep_find(const struct ftrace_file *file, uint64_t at, uint64_t *count)
{
	const struct ftrace_keep *keep = file->keep;
	struct cursor in = {0};
	struct keep_head head;
	uint64_t table[2];

	if (!keep || !keep->old.len)
		return NULL;
	in = cursor_over(keep->old.data, keep->old.len - 8);
	memcpy(&head, cursor_bytes(&in, sizeof head), sizeof head);
	for (uint32_t i = 0; i < head.tables; i++) {
		const uint8_t *bytes = cursor_bytes(&in, sizeof table);
		if (!bytes)
			return NULL;
		memcpy(table, bytes, sizeof table);
		if (table[1] > (in.size - in.pos) / sizeof(struct chunk))
			return NULL;
		bytes = cursor_bytes(&in, (size_t)table[1] * sizeof(struct chunk));
		*count = table[1];
		if (table[0] == at)
			return (const struct chunk *)(const void *)bytes; /* all are of 16 bytes */
	}
	return NULL;
}

void ftrace_keep_add(struct ftrace_file *file, uint64_t at, const struct chunk *chunks,
		     uint64_t count, bool searched)
{
	struct ftrace_keep *keep = file->keep;
	uint64_t table[2] = {at, count};

	if (!keep)
		return;
	buf_add(&keep->made, table, sizeof table);
	buf_add(&keep->made, chunks, count * sizeof *chunks);
	keep->tables++;
	if (searched)
		keep->searched += count;
}

/* The next run searches again when this fails. */
static void write_new(struct ftrace_keep *keep)
{
	struct buf whole = {0};
	int fd = file_claim(keep->temporary);

	if (fd < 0)
		return;
	int noted = temporary_note(keep->temporary, false);
	keep->now.tables = keep->tables;
	buf_add(&whole, &keep->now, sizeof keep->now);
	buf_add(&whole, keep->made.data, keep->made.len);
	uint64_t digest = XXH3_64bits(whole.data, whole.len);
	buf_add(&whole, &digest, sizeof digest);
	if (file_is(fd, keep->temporary) &&
	    (!file_put(fd, whole.data, whole.len) || rename(keep->temporary, keep->path) != 0))
		unlink(keep->temporary);
	temporary_forget(noted);
	close(fd);
	buf_release(&whole);
}

void ftrace_keep_end(struct ftrace_file *file, bool whole)
{
	const uint32_t asked = file->trace->keep_least;
	struct ftrace_keep *keep = file->keep;

	if (!keep)
		return;
	if (whole && keep->searched >= (asked ? asked : LEAST) && keep->now.changed &&
	    keep->made.len <= BYTES_MAX / 2 && keep->tables <= TABLES_MAX)
		write_new(keep);
	buf_release(&keep->old);
	buf_release(&keep->made);
}

void ftrace_keep_forget(const struct ftrace_file *file)
{
	if (file->keep)
		unlink(file->keep->path);
}
