/* segment.c - see segment.h */
#include "index/store/segment.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "engine/base/search.h"
#include "engine/base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { LINE = 64 /* where values begin */, PREFETCH = 4096, OUT_MOST = 1 << 20 };

/* Of format, version and byte order: "yoreseg3" where the least byte is first. */
static const uint64_t magic = 0x3367657365726f79;

struct head { /* stored as it is, as what follows */
	uint64_t magic, incarnation, to;
	struct segment_id before;
	uint64_t off, size, sum; /* of the table: where it stands, and XXH3 */
	uint32_t count, nnote;   /* rows in it; the keys follow, and the note ends it */
	char name[SEGMENT_NAME + 1];
	uint64_t check; /* XXH3 of all before */
};

struct row {
	uint64_t off, sum; /* of the value: where it stands, and XXH3 */
	uint32_t size;
	uint32_t key; /* where it begins among the keys */
	uint32_t nkey, deleted;
};

int key_compare(struct bytes a, struct bytes b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

static uint64_t check_of(const struct head *head)
{
	return XXH3_64bits(head, sizeof *head - sizeof head->check);
}

/* Opening */

static bool read_table(struct segment *segment, int fd, const struct head *head)
{
	const uint64_t size = segment->id.size;

	if (head->size > size || head->off > size - head->size)
		return false;
	uint8_t *table = mem_new((size_t)head->size + 1);
	segment->rows = (struct row *)table;
	segment->count = head->count;
	segment->keys = (const uint8_t *)(segment->rows + head->count);
	segment->note = (struct bytes){table + head->size - head->nnote, head->nnote};
	segment->verified = mem_new(head->count + 1u);
	return pread(fd, table, head->size, (off_t)head->off) == (ssize_t)head->size &&
	       XXH3_64bits(table, head->size) == head->sum;
}

static int open_file(struct segment *segment, const char *path, const char *name,
		     const struct segment_id *id, int fd)
{
	struct error ignored;
	struct head head;
	struct stat st;

	if (fd < 0)
		return errno;
	if (pread(fd, &head, sizeof head, 0) != sizeof head || fstat(fd, &st) != 0 ||
	    head.magic != magic || head.check != check_of(&head) ||
	    strncmp(head.name, name, sizeof head.name) != 0)
		return SEGMENT_DAMAGED;
	segment->id =
		(struct segment_id){head.incarnation, head.to, (uint64_t)st.st_size, head.check};
	segment->before = head.before;
	if ((id && memcmp(id, &segment->id, sizeof *id) != 0) || !read_table(segment, fd, &head))
		return SEGMENT_DAMAGED;
	if (!source_over_file(path, fd, segment->id.size, &segment->source, &ignored) ||
	    !source_mapped(segment->source))
		return ENOMEM; /* read by pread, it would not stay what was compared */
	segment->values = source_mapped(segment->source);
	return 0;
}

int segment_open(const char *path, const char *name, const struct segment_id *id,
		 struct segment **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct segment *segment = mem_new(sizeof *segment);
	int code = open_file(segment, path, name, id, fd);

	segment->owners = 1;
	if (fd >= 0)
		close(fd);
	if (code)
		segment_close(segment);
	*out = code ? NULL : segment;
	return code;
}

struct segment *segment_hold(struct segment *segment)
{
	if (segment)
		segment->owners++;
	return segment;
}

void segment_close(struct segment *segment)
{
	for (struct segment *older; segment && --segment->owners == 0; segment = older) {
		older = segment->older;
		buf_release(&segment->memory);
		source_close(segment->source);
		mem_free(segment->rows);
		mem_free(segment->verified);
		mem_free(segment);
	}
}

bool segment_sound(const struct segment *segment)
{
	return !segment->damaged && !(segment->source && source_broken(segment->source));
}

/* Entries */

static struct bytes key_of(const struct segment *segment, uint32_t i)
{
	return (struct bytes){segment->keys + segment->rows[i].key, segment->rows[i].nkey};
}

/* Keys fall: the first that is less (or not greater). */
static uint32_t search(const struct segment *segment, struct bytes key, bool equal)
{
	return search_first(i, 0, segment->count,
			    key_compare(key_of(segment, i), key) >= (int)equal);
}

static bool is_there(const struct segment *segment, uint32_t i, struct bytes key)
{
	return i < segment->count && !key_compare(key_of(segment, i), key);
}

/* The map turns to zeros where the file is cut, which the source tells. */
static bool take(struct segment *segment, uint32_t i, struct entry *out)
{
	const struct row *row = &segment->rows[i];
	const uint8_t *value = segment->values + row->off;

	*out = (struct entry){key_of(segment, i), {value, row->size}, row->deleted};
	if (!segment->source || __atomic_load_n(&segment->verified[i], __ATOMIC_ACQUIRE))
		return true;
	if (row->size > PREFETCH)
		source_prefetch(segment->source, row->off, row->size);
	if (XXH3_64bits(value, row->size) != row->sum) {
		segment->damaged = true;
		return false;
	}
	__atomic_store_n(&segment->verified[i], 1, __ATOMIC_RELEASE);
	return true;
}

bool segment_get(struct segment *segment, struct bytes key, struct entry *out)
{
	uint32_t i = search(segment, key, true);

	return is_there(segment, i, key) && take(segment, i, out);
}

bool segment_before(struct segment *segment, struct bytes key, bool equal, struct entry *out)
{
	uint32_t i = search(segment, key, equal);

	return i < segment->count && take(segment, i, out);
}

bool segment_verify(struct segment *segment)
{
	struct entry ignored;

	for (uint32_t i = 0; i < segment->count; i++)
		take(segment, i, &ignored);
	return segment_sound(segment);
}

/* In memory */

struct segment *segment_new(void)
{
	return segment_hold(mem_new(sizeof(struct segment)));
}

void segment_put(struct segment *segment, const struct entry *entry)
{
	uint32_t i = search(segment, entry->key, true);
	struct buf *memory = &segment->memory;

	if (!is_there(segment, i, entry->key)) {
		segment->rows = mem_grow(segment->rows, segment->count, &segment->capacity,
					 sizeof *segment->rows);
		memmove(segment->rows + i + 1, segment->rows + i,
			(segment->count++ - i) * sizeof *segment->rows);
		segment->rows[i] = (struct row){.key = (uint32_t)memory->len,
						.nkey = (uint32_t)entry->key.size};
		buf_add(memory, entry->key.data, entry->key.size);
	}
	struct row *row = &segment->rows[i];
	row->off = memory->len;
	row->size = (uint32_t)entry->value.size;
	row->deleted = entry->deleted;
	buf_add(memory, entry->value.data, entry->value.size);
	segment->keys = segment->values = (const uint8_t *)memory->data;
	segment->id.size = memory->len;
}

/* Writing */

struct out {
	struct new_file file;
	int failed;       /* errno */
	struct buf bytes; /* to be written */
	uint64_t at;      /* where they go */
};

static void flush(struct out *out)
{
	if (!out->failed && !file_put(out->file.fd, out->bytes.data, out->bytes.len))
		out->failed = errno;
	out->at += out->bytes.len;
	buf_clear(&out->bytes);
}

/* Where the next line begins in the file, and bytes that are added will stand. */
static uint64_t next_line(struct out *out)
{
	static const char zeros[LINE];

	if (out->bytes.len >= OUT_MOST)
		flush(out);
	buf_add(&out->bytes, zeros, (size_t)(-(out->at + out->bytes.len) % LINE));
	return out->at + out->bytes.len;
}

static void add_values(struct out *out, const struct segment_parts *parts, struct row *rows)
{
	size_t keys = 0;

	for (size_t i = 0; i < parts->count; i++) {
		struct bytes key = parts->entries[i].key, value = parts->entries[i].value;

		rows[i] = (struct row){next_line(out),       XXH3_64bits(value.data, value.size),
				       (uint32_t)value.size, (uint32_t)keys,
				       (uint32_t)key.size,   parts->entries[i].deleted};
		buf_add(&out->bytes, value.data, value.size);
		keys += key.size;
	}
}

static void add_table(struct out *out, const struct segment_parts *parts, const struct row *rows,
		      struct head *head)
{
	head->off = next_line(out);
	size_t begin = out->bytes.len;
	buf_add(&out->bytes, rows, parts->count * sizeof *rows);
	for (size_t i = 0; i < parts->count; i++)
		buf_add(&out->bytes, parts->entries[i].key.data, parts->entries[i].key.size);
	buf_add(&out->bytes, parts->note.data, parts->note.size);
	head->size = out->bytes.len - begin;
	head->sum = XXH3_64bits(out->bytes.data + begin, head->size);
	head->check = check_of(head);
}

int segment_write(const char *path, const char *suffix, const struct segment_parts *parts,
		  bool sync, struct segment_id *id)
{
	struct head head = {.magic = magic,
			    .incarnation = id->incarnation,
			    .to = id->to,
			    .before = parts->before,
			    .count = (uint32_t)parts->count,
			    .nnote = (uint32_t)parts->note.size};
	struct out out = {0};
	int failed = new_file_begin(&out.file, path, suffix);

	if (failed)
		return failed;
	struct row *rows = mem_new_array(parts->count, sizeof *rows);
	snprintf(head.name, sizeof head.name, "%s", parts->name);
	buf_add(&out.bytes, &head, sizeof head); /* its room */
	add_values(&out, parts, rows);
	add_table(&out, parts, rows, &head);
	flush(&out);
	if (!out.failed && pwrite(out.file.fd, &head, sizeof head, 0) != sizeof head)
		out.failed = errno;
	id->size = out.at;
	id->check = head.check;
	failed = new_file_end(&out.file, out.failed, sync);
	buf_release(&out.bytes);
	mem_free(rows);
	return failed;
}
