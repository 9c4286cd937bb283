/*
 * copy_cache.c - decompressed copies of files, stored on the disk for later runs
 *
 * A copy lies in the cache folder that the trace was opened with, and is named by a digest of its
 * source's first and last bytes, so that equal files share it. Behind its bytes stand the XXH3-64
 * of each SOURCE_SUMMED of them and of all these sums together, 8 bytes each, and a mark of 104
 * bytes, in this machine's byte order:
 *
 *     OFF  SIZE  MEANING
 *       0     8  "yorecop3"
 *       8     8  bytes of the copy
 *      16    16  digest of them (XXH3)
 *      32    32  the source's bytes, times (of modification in ns + of change in s * 1,000,003 +
 *                its ns), device, inode: struct file_state
 *      64    16  digest of the source's bytes
 *      80    16  digest of this boot's id
 *      96     8  digest of the mark up to here
 *
 * Cheap checks avoid reading all bytes. The source is read and compared only if its place or times
 * changed. The copy is compared only if it is of another boot, as a crash may have lost its last
 * pages, or if a program wrote to it: with its mark a copy gets a time of modification that follows
 * from the mark, and each write changes it. After a comparison the mark is renewed. Silent changes
 * by a disk or a program are found by the sums: each block is checked when it is first read, and if
 * one differs, the copy is deleted and the file decompressed again.
 *
 * engine/base/disk_cache.h says how a copy is written.
 */
#include "engine/base/disk_cache.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/perf/perf_internal.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { WINDOW = 4 << 20, NAMED_BY = 64 << 10, AT_REST = 60 /* s */ };
enum { LEAST = 256 << 10 /* bytes: smaller decompressed copies are not stored */ };
static const char magic[8] = "yorecop3";

struct copy_mark { /* stored as it is */
	char magic[8];
	uint64_t bytes, digest[2];
	struct file_state source;
	uint64_t source_digest[2];
	uint64_t boot[2];
	uint64_t check;
};
_Static_assert(sizeof(struct copy_mark) == 104, "the mark is stored as it is");

struct copy_cache {
	struct source *source;
	struct disk_cache file;
	struct copy_mark mark; /* with the source's fields set */
	XXH3_state_t *digest;  /* of the copy that is being written */
	XXH3_state_t *block;   /* of its last block, incomplete */
	size_t inside;         /* bytes in that block */
	struct buf sums;       /* of the blocks before it */
};

static bool same_pair(const uint64_t a[2], const uint64_t b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

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

static void find_boot(uint64_t out[2])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[64];
	size_t n = file ? fread(text, 1, sizeof text, file) : 0;
	XXH128_hash_t hash = XXH3_128bits(text, n);

	if (file)
		fclose(file);
	out[0] = n ? hash.low64 : 0;
	out[1] = n ? hash.high64 : 0;
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
	XXH3_freeState(copy->digest);
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

/* Returns the time of modification that a copy with this mark has unless it was written to. */
static struct timespec time_of(const struct copy_mark *mark)
{
	return (struct timespec){1000000000 + (time_t)(mark->check >> 36),
				 (long)(mark->check % 1000000000)};
}

static bool is_untouched(int fd, const struct copy_mark *mark)
{
	struct timespec expected = time_of(mark);
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_mtim.tv_sec == expected.tv_sec &&
	       st.st_mtim.tv_nsec == expected.tv_nsec;
}

static bool write_mark(int fd, struct copy_mark *mark)
{
	memcpy(mark->magic, magic, sizeof magic);
	mark->check = check_of(mark);
	if (pwrite(fd, mark, sizeof *mark, (off_t)(mark->bytes + sums_of(mark->bytes))) !=
	    (ssize_t)sizeof *mark)
		return false;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(mark)};
	(void)!futimens(fd, times); /* on failure the next run reads and compares the copy */
	return true;
}

static bool copy_agrees(int fd, const struct copy_mark *mark)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *room = mem_new(WINDOW);
	uint64_t at = 0, digest[2];
	size_t n = 1;

	XXH3_128bits_reset(state);
	for (; at < mark->bytes && n; at += n) {
		size_t want = mark->bytes - at < WINDOW ? (size_t)(mark->bytes - at) : WINDOW;
		n = file_get(fd, room, want, at);
		XXH3_128bits_update(state, room, n);
	}
	get_digest(state, digest);
	XXH3_freeState(state);
	mem_free(room);
	return at == mark->bytes && same_pair(digest, mark->digest);
}

/* Does the stored mark fit the source and the copy? */
static bool verify(struct copy_cache *copy, int fd, struct copy_mark *mark)
{
	const struct copy_mark *now = &copy->mark;
	bool renew = false;
	uint64_t boot[2];

	if (!read_mark(fd, mark) || mark->source.bytes != now->source.bytes)
		return false;
	if (!file_state_same(&mark->source, &now->source)) {
		uint64_t digest[2];
		if (!digest_source(copy, digest) || !same_pair(digest, mark->source_digest))
			return false;
		mark->source = now->source;
		renew = true;
	}
	find_boot(boot);
	if (!(boot[0] | boot[1]) || !same_pair(boot, mark->boot) || !is_untouched(fd, mark)) {
		if (!copy_agrees(fd, mark))
			return false;
		memcpy(mark->boot, boot, sizeof boot);
		renew = true;
	}
	if (renew)
		(void)!write_mark(fd, mark); /* on failure the next run compares again */
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
	copy->digest = XXH3_createState();
	XXH3_128bits_reset(copy->digest);
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
	XXH3_128bits_update(copy->digest, bytes, size);
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
	return sums->len == sums_of(size) &&
	       pwrite(fd, sums->data, sums->len, (off_t)size) == (ssize_t)sums->len;
}

const char *copy_cache_path(const struct copy_cache *copy)
{
	return copy->file.path;
}

void copy_cache_end(struct copy_cache *copy, int fd, uint64_t size, bool whole)
{
	struct copy_mark *mark = &copy->mark;

	mark->bytes = size;
	get_digest(copy->digest, mark->digest);
	find_boot(mark->boot);
	disk_cache_end(&copy->file, fd,
		       whole && write_sums(copy, fd, size) && write_mark(fd, mark));
}
