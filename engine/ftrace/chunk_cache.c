/*
 * chunk_cache.c - the places of a file's compressed chunks, stored on the disk for later runs
 *
 * Only the head of a chunk says how long it is, so finding all chunks costs reading every head. The
 * result is stored in the cache folder that the trace was opened with, under a digest of the file's
 * first and last bytes and its size, in this machine's byte order:
 *
 *     OFF  SIZE  MEANING
 *       0     8  "yorechn2"
 *       8    32  the trace's file: bytes, time of change, device, inode (struct file_state)
 *      40     4  tables
 *      44     4  0
 *      48        per table: its offset in the trace's file (8), chunks (8), then 16 bytes a chunk:
 *                offset of its compressed bytes (8), how many (4), how many plain ones (4)
 *     end     8  digest of all before (XXH3)
 *
 * If the trace's file has another size, place or time of change, or changed so lately that a
 * further change might not show, its chunks are searched again. A stored table must be plausible:
 * chunks one behind the other, inside the file. Some heads are compared at open, and each when its
 * chunk is read; if one differs, the stored file is deleted.
 */
#include "engine/base/disk_cache.h"
#include "engine/base/folder.h"
#include "engine/ftrace/ftrace_internal.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { NAMED_BY = 4096, TABLES_MAX = 1 << 16, BYTES_MAX = 1 << 30 };
enum { LEAST = 1024 /* chunks: fewer are not stored */ };
static const char magic[8] = "yorechn2";

struct cache_head { /* stored as it is */
	char magic[8];
	struct file_state state;
	uint32_t tables, zero;
};
_Static_assert(sizeof(struct cache_head) == 48, "the head is stored as it is");
_Static_assert(sizeof(struct chunk) == 16, "chunks are stored as they are");

struct chunk_cache {
	struct source *source;
	struct disk_cache file;
	struct file_state now; /* of the trace's file */
	struct buf old;        /* the stored file, verified; empty: there is none */
	struct buf made;       /* all tables, to be stored */
	uint32_t tables;
	uint64_t searched; /* chunks that were in no stored table */
};

static bool make_name(struct chunk_cache *cache, const char *folder)
{
	uint8_t ends[2 * NAMED_BY + 8];
	uint64_t size = source_size(cache->source);
	struct error ignored;

	if (size < NAMED_BY || !source_peek(cache->source, 0, ends, NAMED_BY, &ignored) ||
	    !source_peek(cache->source, size - NAMED_BY, ends + NAMED_BY, NAMED_BY, &ignored))
		return false;
	memcpy(ends + (size_t)2 * NAMED_BY, &size, sizeof size);
	XXH128_hash_t hash = XXH3_128bits(ends, sizeof ends);
	disk_cache_name(&cache->file, folder, (uint64_t[]){hash.low64, hash.high64}, "chunks");
	return true;
}

static bool read_whole(int fd, struct buf *out)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > BYTES_MAX ||
	    st.st_size < (off_t)sizeof(struct cache_head) + 8)
		return false;
	size_t size = (size_t)st.st_size;
	out->len = file_get(fd, buf_room(out, size), size, 0);
	return out->len == size;
}

/* Is the stored file complete, and made for the trace's file in its present state? */
static bool is_of_file(const struct chunk_cache *cache)
{
	const char *data = cache->old.data;
	size_t size = cache->old.len - 8;
	struct cache_head head;
	uint64_t digest;

	memcpy(&head, data, sizeof head);
	memcpy(&digest, data + size, sizeof digest);
	return !memcmp(head.magic, magic, sizeof magic) &&
	       file_state_same(&head.state, &cache->now) && head.tables <= TABLES_MAX &&
	       digest == XXH3_64bits(data, size);
}

static void read_old(struct chunk_cache *cache)
{
	int fd = disk_cache_open(&cache->file);

	if (fd < 0)
		return;
	if (!read_whole(fd, &cache->old) || !is_of_file(cache))
		cache->old.len = 0;
	close(fd);
}

struct chunk_cache *chunk_cache_new(struct ftrace_file *file)
{
	struct trace *trace = file->trace;
	int64_t age;

	if (!trace->spill_dir)
		return NULL;
	struct chunk_cache *cache = mem_new(sizeof *cache);
	cache->source = file->source;
	if (!file_state_of(cache->source, &cache->now, &age) ||
	    !make_name(cache, trace->spill_dir)) {
		chunk_cache_free(cache);
		return NULL;
	}
	trace_add_copy(trace, cache->file.path);
	trace_add_copy(trace, cache->file.temporary);
	read_old(cache);
	return cache;
}

void chunk_cache_free(struct chunk_cache *cache)
{
	if (!cache)
		return;
	buf_release(&cache->old);
	buf_release(&cache->made);
	disk_cache_release(&cache->file);
	mem_free(cache);
}

const struct chunk *chunk_cache_find(const struct ftrace_file *file, uint64_t at, uint64_t *count)
{
	const struct chunk_cache *cache = file->cache;
	struct cursor in = {0};
	struct cache_head head;
	uint64_t table[2];

	if (!cache || !cache->old.len)
		return NULL;
	in = cursor_over(cache->old.data, cache->old.len - 8);
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

void chunk_cache_add(struct ftrace_file *file, uint64_t at, const struct chunk *chunks,
		     uint64_t count, bool searched)
{
	struct chunk_cache *cache = file->cache;
	uint64_t table[2] = {at, count};

	if (!cache)
		return;
	buf_add(&cache->made, table, sizeof table);
	buf_add(&cache->made, chunks, count * sizeof *chunks);
	cache->tables++;
	if (searched)
		cache->searched += count;
}

/* Stores the tables. If that fails, the next run searches again. */
static void write_new(struct chunk_cache *cache)
{
	struct cache_head head = {.state = cache->now, .tables = cache->tables};
	struct buf whole = {0};
	int fd = disk_cache_create(&cache->file);

	if (fd < 0)
		return;
	memcpy(head.magic, magic, sizeof magic);
	buf_add(&whole, &head, sizeof head);
	buf_add(&whole, cache->made.data, cache->made.len);
	uint64_t digest = XXH3_64bits(whole.data, whole.len);
	buf_add(&whole, &digest, sizeof digest);
	disk_cache_end(&cache->file, fd, file_put(fd, whole.data, whole.len));
	close(fd);
	buf_release(&whole);
}

void chunk_cache_end(struct ftrace_file *file, bool whole)
{
	struct chunk_cache *cache = file->cache;
	const uint32_t asked = file->trace->cache_least;

	if (!cache)
		return;
	if (whole && cache->searched >= (asked ? asked : LEAST) && cache->now.changed &&
	    cache->made.len <= BYTES_MAX / 2 && cache->tables <= TABLES_MAX)
		write_new(cache);
	buf_release(&cache->old);
	buf_release(&cache->made);
}

void chunk_cache_forget(const struct ftrace_file *file)
{
	if (file->cache)
		unlink(file->cache->file.path);
}
