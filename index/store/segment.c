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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { LINE = 64 /* where values begin */, PREFETCH = 4096, COPIED = 1 << 20 /* at a time */ };

/* Of format, version and byte order: "yoreseg4" where the least byte is first. */
static const uint64_t magic = 0x3467657365726f79;

struct head { /* stored as it is, as what follows */
	uint64_t magic, incarnation, to;
	struct segment_id before;
	uint64_t off, size, sum; /* of the table, which ends the file; XXH3 */
	uint64_t count;          /* rows in it; the keys follow */
	char name[SEGMENT_NAME + 1];
	uint64_t check; /* XXH3 of all before */
};

struct row {
	uint64_t off, sum; /* of the value: where it stands, and XXH3 */
	uint32_t size;
	uint32_t key; /* where it begins among the keys */
	uint32_t nkey, deleted;
};

char *segment_path(const char *path, uint64_t to)
{
	struct buf out = {0};

	buf_printf(&out, "%s.%08llx.seg", path, (unsigned long long)to);
	return out.data;
}

bool segment_is_file(const char *file, char name[SEGMENT_NAME + 1], uint64_t *to)
{
	const char *end = strstr(file, ".seg");
	const char *dot = end ? memrchr(file, '.', (size_t)(end - file)) : NULL;
	char *stop;

	if (!dot || dot - file > SEGMENT_NAME)
		return false;
	snprintf(name, SEGMENT_NAME + 1, "%.*s", (int)(dot - file), file);
	*to = strtoull(dot + 1, &stop, 16);
	if (stop != end || !strcmp(end, ".seg"))
		return stop == end && *to;
	*to = 0;
	return !strcmp(end, ".seg.new");
}

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

/* Values lie before the table, and keys behind its rows. */
static bool rows_fit(const struct segment *segment, const struct head *head)
{
	const uint64_t keys = head->size - head->count * sizeof *segment->rows;
	bool fit = true;

	for (uint32_t i = 0; i < segment->count && fit; i++) {
		const struct row *row = &segment->rows[i];

		fit = row->off <= head->off && row->size <= head->off - row->off &&
		      row->key <= keys && row->nkey <= keys - row->key;
	}
	return fit;
}

static int map_values(struct segment *segment, const char *path, int fd)
{
	struct error ignored;

	if (!source_over_file(path, fd, segment->id.size, &segment->source, &ignored) ||
	    !source_mapped(segment->source))
		return ENOMEM; /* read by pread, it would not stay what was compared */
	segment->values = source_mapped(segment->source);
	return 0;
}

/* Its head and its table; `fd` stays the caller's. */
static int segment_open_file(struct segment *segment, const char *name, const struct segment_id *id,
			     int fd)
{
	struct head head;
	struct stat st;

	if (fd < 0)
		return errno;
	if (pread(fd, &head, sizeof head, 0) != sizeof head || fstat(fd, &st) != 0 ||
	    head.magic != magic || head.check != check_of(&head) ||
	    strncmp(head.name, name, sizeof head.name) != 0)
		return SEGMENT_DAMAGED;
	const uint64_t size = (uint64_t)st.st_size;
	segment->id = (struct segment_id){head.incarnation, head.to, size, head.check};
	segment->before = head.before;
	if ((id && memcmp(id, &segment->id, sizeof *id) != 0) || head.size > size ||
	    head.off != size - head.size || head.count > head.size / sizeof *segment->rows ||
	    head.count >= UINT32_MAX)
		return SEGMENT_DAMAGED;
	segment->rows = mem_new(head.size + 1);
	segment->count = (uint32_t)head.count;
	segment->keys = (const uint8_t *)(segment->rows + head.count);
	segment->verified = mem_new(head.count + 1);
	if (file_get(fd, segment->rows, head.size, head.off) != head.size ||
	    XXH3_64bits(segment->rows, head.size) != head.sum || !rows_fit(segment, &head))
		return SEGMENT_DAMAGED;
	return 0;
}

static int open_as(const char *path, const char *name, const struct segment_id *id, bool read,
		   struct segment **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct segment *segment = mem_new(sizeof *segment);
	int code = segment_open_file(segment, name, id, fd);

	segment->owners = 1;
	segment->read = read && !code;
	segment->fd = fd;
	if (!code && !read)
		code = map_values(segment, path, fd);
	if (fd >= 0 && !segment->read)
		close(fd);
	if (code)
		segment_close(segment);
	*out = code ? NULL : segment;
	return code;
}

int segment_open(const char *path, const char *name, const struct segment_id *id,
		 struct segment **out)
{
	return open_as(path, name, id, false, out);
}

int segment_open_read(const char *path, const char *name, const struct segment_id *id,
		      struct segment **out)
{
	return open_as(path, name, id, true, out);
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
		if (segment->read)
			close(segment->fd);
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

static struct bytes segment_key_of(const struct segment *segment, uint32_t i)
{
	return (struct bytes){segment->keys + segment->rows[i].key, segment->rows[i].nkey};
}

/* Keys fall: the first that is not greater, or that is less. */
static uint32_t segment_search(const struct segment *segment, struct bytes key,
			       enum key_match match)
{
	return search_first(i, 0, segment->count,
			    key_compare(segment_key_of(segment, i), key) >= (match != KEY_BELOW));
}

static bool segment_is_there(const struct segment *segment, uint32_t i, struct bytes key)
{
	return i < segment->count && !key_compare(segment_key_of(segment, i), key);
}

static bool segment_read_value(struct segment *segment, uint32_t i, struct entry *out)
{
	const struct row *row = &segment->rows[i];
	struct buf *value = &segment->memory;

	buf_clear(value);
	buf_room(value, row->size);
	value->len = file_get(segment->fd, value->data, row->size, row->off);
	*out = (struct entry){segment_key_of(segment, i),
			      {(const uint8_t *)value->data, row->size},
			      row->deleted};
	if (value->len == row->size && XXH3_64bits(value->data, row->size) == row->sum)
		return true;
	segment->damaged = true;
	return false;
}

/* The map turns to zeros where the file is cut, which the source tells. */
static bool take(struct segment *segment, uint32_t i, struct entry *out)
{
	if (segment->read)
		return segment_read_value(segment, i, out);
	const struct row *row = &segment->rows[i];
	const uint8_t *value = segment->values + row->off;

	*out = (struct entry){segment_key_of(segment, i), {value, row->size}, row->deleted};
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

bool segment_find(struct segment *segment, struct bytes key, enum key_match match,
		  struct entry *out)
{
	uint32_t i = segment_search(segment, key, match);

	return (match == KEY_SAME ? segment_is_there(segment, i, key) : i < segment->count) &&
	       take(segment, i, out);
}

bool segment_verify(struct segment *segment)
{
	struct entry entry;

	for (uint32_t i = 0; i < segment->count; i++)
		if (!take(segment, i, &entry))
			return false;
	return segment_sound(segment);
}

/* In memory */

void segment_put(struct segment *segment, const struct entry *entry)
{
	uint32_t i = segment_search(segment, entry->key, KEY_SAME);
	struct buf *memory = &segment->memory;

	if (!segment_is_there(segment, i, entry->key)) {
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

static uint64_t line_from(uint64_t at)
{
	return (at + LINE - 1) / LINE * LINE;
}

/* Where each value will stand, and the table behind them. */
static void lay_out(const struct segment_parts *parts, struct head *head, struct buf *table)
{
	uint64_t at = line_from(sizeof *head);
	size_t keys = 0;

	for (size_t i = 0; i < parts->count; i++) {
		struct bytes key = parts->entries[i].key, value = parts->entries[i].value;
		const struct row row = {at,
					XXH3_64bits(value.data, value.size),
					(uint32_t)value.size,
					(uint32_t)keys,
					(uint32_t)key.size,
					parts->entries[i].deleted};
		buf_add(table, &row, sizeof row);
		at = line_from(at + value.size);
		keys += key.size;
	}
	for (size_t i = 0; i < parts->count; i++)
		buf_add(table, parts->entries[i].key.data, parts->entries[i].key.size);
	head->off = at;
	head->size = table->len;
	head->count = parts->count;
	head->sum = XXH3_64bits(table->data, table->len);
	head->check = check_of(head);
}

/* What lies between is zeros. */
static bool put_all(int fd, const struct segment_parts *parts, const struct head *head,
		    const struct buf *table)
{
	const struct row *rows = (const void *)table->data;
	bool good = ftruncate(fd, (off_t)(head->off + head->size)) == 0 &&
		    file_put_at(fd, head, sizeof *head, 0);

	for (size_t i = 0; i < parts->count && good; i++)
		good = file_put_at(fd, parts->entries[i].value.data, rows[i].size, rows[i].off);
	return good && file_put_at(fd, table->data, table->len, head->off);
}

int segment_write(const char *path, const char *suffix, const struct segment_parts *parts,
		  bool sync, struct segment_id *id)
{
	struct head head = {.magic = magic,
			    .incarnation = id->incarnation,
			    .to = id->to,
			    .before = parts->before};
	struct buf table = {0};
	struct new_file file;
	int failed = new_file_begin(&file, path, suffix);

	if (failed)
		return failed;
	snprintf(head.name, sizeof head.name, "%s", parts->name);
	lay_out(parts, &head, &table);
	failed = new_file_end(&file, put_all(file.fd, parts, &head, &table) ? 0 : errno, sync);
	id->size = head.off + head.size;
	id->check = head.check;
	buf_release(&table);
	return failed;
}

/* Copying */

static int copy_bytes(int from, int to, uint64_t size, const struct head *head)
{
	uint8_t *block = mem_new(COPIED);
	bool good = true;

	for (uint64_t at = 0; at < size && good;) {
		size_t count = size - at < COPIED ? (size_t)(size - at) : COPIED;

		good = file_get(from, block, count, at) == count &&
		       file_put_at(to, block, count, at);
		at += count;
	}
	good = good && file_put_at(to, head, sizeof *head, 0);
	mem_free(block);
	return good ? 0 : errno ? errno : SEGMENT_DAMAGED;
}

int segment_copy(const struct segment *segment, const char *to, const char *name,
		 struct segment_id *id)
{
	struct segment *copy;
	struct new_file file;
	struct head head;

	if (file_get(segment->fd, &head, sizeof head, 0) != sizeof head)
		return SEGMENT_DAMAGED;
	head.incarnation = id->incarnation;
	head.to = id->to;
	head.before = (struct segment_id){0};
	memset(head.name, 0, sizeof head.name);
	snprintf(head.name, sizeof head.name, "%s", name);
	head.check = check_of(&head);
	id->size = segment->id.size;
	id->check = head.check;
	int code = new_file_begin(&file, to, "new");
	if (!code)
		code = new_file_end(&file, copy_bytes(segment->fd, file.fd, id->size, &head), true);
	if (code || (code = segment_open(to, name, id, &copy)) != 0)
		return code;
	if (!segment_verify(copy)) {
		code = SEGMENT_DAMAGED;
		unlink(to);
	}
	segment_close(copy);
	return code;
}
