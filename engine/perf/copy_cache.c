/*
 * copy_cache.c - decompressed copies of files, stored on the disk for later runs
 *
 * A copy lies in the cache folder that the trace was opened with, and is named by a digest of its
 * source's first and last bytes, so that equal files share it. Behind its bytes stand the XXH3-64
 * of each SOURCE_SUMMED of them and of all these sums together, 8 bytes each, and a mark of 72
 * bytes, in this machine's byte order:
 *
 *     OFF  SIZE  MEANING
 *       0     8  "yorecop4"
 *       8     8  bytes of the copy
 *      16    32  the source's bytes, times (of modification in ns + of change in s * 1,000,003 +
 *                its ns), device, inode: struct file_state
 *      48    16  digest of the source's bytes (XXH3)
 *      64     8  digest of the mark up to here
 *
 * The source is read and compared only if its place or times changed; the mark is renewed then.
 * Bytes of the copy that a crash, a disk or a program changed are found by the sums: each block is
 * compared when it is first read, and if one differs, the copy is deleted and the file decompressed
 * again.
 *
 * engine/base/disk_cache.h says how a copy is written.
 */
#include "engine/base/disk_cache.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/perf/perf_internal.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { WINDOW = 4 << 20, NAMED_BY = 64 << 10, AT_REST = 60 /* s */ };
enum { LEAST = 256 << 10 /* bytes: smaller decompressed copies are not stored */ };
static const char magic[8] = "yorecop4";

struct copy_mark { /* stored as it is */
	char magic[8];
	uint64_t bytes;
	struct file_state source;
	uint64_t source_digest[2];
	uint64_t check;
};
_Static_assert(sizeof(struct copy_mark) == 72, "the mark is stored as it is");

struct copy_cache {
	struct source *source;
	struct disk_cache file;
	struct copy_mark mark; /* with the source's fields set */
	XXH3_state_t *block;   /* of the last block that was written, incomplete */
	size_t inside;         /* bytes in that block */
	struct buf sums;       /* of the blocks before it */
};

static void get_digest(const XXH3_state_t *state, uint64_t out[2])
{
	XXH128_hash_t hash = XXH3_128bits_digest(state);

	out[0] = hash.low64;
	out[1] = hash.high64;
}

static bool add_range(XXH3_state_t *state, struct source *source, uint64_t from, uint64_t to)
{
	struct error ignored;

	while (from < to) {
		struct block block;
		size_t size = to - from < WINDOW ? (size_t)(to - from) : WINDOW;
		if (!source_get(source, from, size, &block, &ignored))
			return false;
		XXH3_128bits_update(state, block.data, size);
		source_put(&block);
		from += size;
	}
	return true;
}

static bool digest_source(struct copy_cache *copy, uint64_t out[2])
{
	XXH3_state_t *state = XXH3_createState();

	XXH3_128bits_reset(state);
	bool good = add_range(state, copy->source, 0, source_size(copy->source));
	get_digest(state, out);
	XXH3_freeState(state);
	return good && !source_broken(copy->source);
}

/* Names the copy by a digest of the first and last bytes; of a growing file only by the first. */
static bool make_name(struct copy_cache *copy, const char *folder, const struct perf_source *from)
{
	uint64_t most = from->end - from->begin < NAMED_BY ? from->end - from->begin : NAMED_BY;
	XXH3_state_t *state = XXH3_createState();
	uint64_t digest[2];

	XXH3_128bits_reset(state);
	bool good = add_range(state, from->source, from->begin, from->begin + most);
	if (!from->grows) {
		good = good && add_range(state, from->source, from->end - most, from->end);
		XXH3_128bits_update(state, &from->end, sizeof from->end);
	}
	get_digest(state, digest);
	XXH3_freeState(state);
	disk_cache_name(&copy->file, folder, digest, "spill");
	return good;
}

struct copy_cache *copy_cache_new(struct perf_part *part, uint32_t i)
{
	const struct perf_source *from = &part->sources[i];
	struct trace *trace = part->trace;
	const uint32_t least = trace->cache_least ? trace->cache_least : LEAST;
	int64_t age;

	if (!trace->spill_dir || from->end - from->begin < least)
		return NULL;
	struct copy_cache *copy = mem_new(sizeof *copy);
	copy->source = from->source;
	if (file_state_of(copy->source, &copy->mark.source, &age) &&
	    make_name(copy, trace->spill_dir, from)) {
		trace_add_copy(trace, copy->file.path);
		trace_add_copy(trace, copy->file.temporary);
		if (!from->grows || age >= AT_REST)
			return copy;
	}
	copy_cache_free(copy);
	return NULL;
}

void copy_cache_free(struct copy_cache *copy)
{
	if (!copy)
		return;
	XXH3_freeState(copy->block);
	buf_release(&copy->sums);
	disk_cache_release(&copy->file);
	mem_free(copy);
}

static uint64_t check_of(const struct copy_mark *mark)
{
	return XXH3_64bits(mark, offsetof(struct copy_mark, check));
}

/* Returns the size of the sums of a copy of so many bytes. */
static uint64_t sums_of(uint64_t bytes)
{
	return 8 * (bytes / SOURCE_SUMMED + (bytes % SOURCE_SUMMED != 0) + 1);
}

static bool read_mark(int fd, struct copy_mark *out)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof *out)
		return false;
	uint64_t before = (uint64_t)st.st_size - sizeof *out;
	return file_get(fd, out, sizeof *out, before) == sizeof *out &&
	       !memcmp(out->magic, magic, sizeof magic) && out->check == check_of(out) &&
	       out->bytes < before && sums_of(out->bytes) == before - out->bytes;
}

/* Reads the sums, which the caller frees; NULL: they are damaged. */
static uint64_t *read_sums(int fd, const struct copy_mark *mark)
{
	size_t size = (size_t)sums_of(mark->bytes);
	uint64_t *sums = mem_resize(NULL, size, 1);

	if (file_get(fd, sums, size, mark->bytes) == size &&
	    XXH3_64bits(sums, size - 8) == sums[size / 8 - 1])
		return sums;
	mem_free(sums);
	return NULL;
}

static bool write_mark(int fd, struct copy_mark *mark)
{
	memcpy(mark->magic, magic, sizeof magic);
	mark->check = check_of(mark);
	return file_put_at(fd, mark, sizeof *mark, mark->bytes + sums_of(mark->bytes));
}

/* Is the stored mark of this source? */
static bool verify(struct copy_cache *copy, int fd, struct copy_mark *mark)
{
	const struct copy_mark *now = &copy->mark;
	uint64_t digest[2];

	if (!read_mark(fd, mark) || mark->source.bytes != now->source.bytes)
		return false;
	if (file_state_same(&mark->source, &now->source))
		return true;
	if (!digest_source(copy, digest) || memcmp(digest, mark->source_digest, sizeof digest) != 0)
		return false;
	mark->source = now->source;
	MAY_FAIL(write_mark(fd, mark)); /* the next run compares again */
	return true;
}

bool copy_cache_open(struct copy_cache *copy, int *fd, uint64_t *size, uint64_t **sums)
{
	struct copy_mark mark;

	*fd = disk_cache_open(&copy->file);
	if (*fd < 0)
		return false;
	*sums = verify(copy, *fd, &mark) ? read_sums(*fd, &mark) : NULL;
	if (!*sums) {
		close(*fd);
		return false;
	}
	*size = mark.bytes;
	return true;
}

int copy_cache_create(struct copy_cache *copy)
{
	int fd = disk_cache_create(&copy->file);

	if (fd < 0)
		return -1;
	if (!digest_source(copy, copy->mark.source_digest)) {
		disk_cache_end(&copy->file, fd, false);
		close(fd);
		return -1;
	}
	copy->block = XXH3_createState();
	XXH3_64bits_reset(copy->block);
	return fd;
}

static void end_block(struct copy_cache *copy)
{
	uint64_t sum = XXH3_64bits_digest(copy->block);

	buf_add(&copy->sums, &sum, sizeof sum);
	XXH3_64bits_reset(copy->block);
	copy->inside = 0;
}

void copy_cache_add(struct copy_cache *copy, const uint8_t *bytes, size_t size)
{
	while (size) {
		size_t n = SOURCE_SUMMED - copy->inside;

		n = size < n ? size : n;
		XXH3_64bits_update(copy->block, bytes, n);
		copy->inside += n;
		bytes += n;
		size -= n;
		if (copy->inside == SOURCE_SUMMED)
			end_block(copy);
	}
}

static bool write_sums(struct copy_cache *copy, int fd, uint64_t size)
{
	struct buf *sums = &copy->sums;
	uint64_t all;

	if (copy->inside)
		end_block(copy);
	all = XXH3_64bits(sums->data, sums->len);
	buf_add(sums, &all, sizeof all);
	return sums->len == sums_of(size) && file_put_at(fd, sums->data, sums->len, size);
}

const char *copy_cache_path(const struct copy_cache *copy)
{
	return copy->file.path;
}

void copy_cache_end(struct copy_cache *copy, int fd, uint64_t size, bool whole)
{
	copy->mark.bytes = size;
	disk_cache_end(&copy->file, fd,
		       whole && write_sums(copy, fd, size) && write_mark(fd, &copy->mark));
}
