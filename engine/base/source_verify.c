/*
 * source_verify.c - verification of a map's bytes by checksums, block by block
 *
 * A block is compared when it is first read. Where it differs, the owner is asked once for a file
 * with the right bytes, which is mapped in place of the old one.
 */
#include "engine/base/mem.h"
#include "engine/base/source_internal.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

struct verified {
	uint64_t *sums;
	uint8_t *seen; /* bit per block whose sum was right; by __atomic operations */
	int (*again)(void *arg);
	void *arg;
	pthread_mutex_t lock; /* of `asked` and of calls of again() */
	bool asked;           /* again() was called */
};

void verified_free(struct verified *verified)
{
	if (!verified)
		return;
	pthread_mutex_destroy(&verified->lock);
	mem_free(verified->sums);
	mem_free(verified->seen);
	mem_free(verified);
}

static uint64_t blocks_of(uint64_t size)
{
	return size / SOURCE_SUMMED + (size % SOURCE_SUMMED != 0);
}

static bool block_agrees(const struct source *source, uint64_t i)
{
	uint64_t at = i * SOURCE_SUMMED, left = source->size - at;
	size_t size = left < SOURCE_SUMMED ? (size_t)left : SOURCE_SUMMED;

	return XXH3_64bits(source->data + at, size) == source->verified->sums[i];
}

/* Maps the right file over the old one, while other threads read verified blocks, equal in both. */
static bool put_in_place(struct source *source, int fd)
{
	struct stat st;
	void *map = MAP_FAILED;

	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= source->size)
		map = mmap((void *)(uintptr_t)source->data, source->size, PROT_READ,
			   MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return map != MAP_FAILED;
}

static bool mend(struct source *source, uint64_t i)
{
	struct verified *verified = source->verified;
	int fd = -1;

	pthread_mutex_lock(&verified->lock);
	bool good = block_agrees(source, i);
	if (!good && !verified->asked) {
		verified->asked = true;
		fd = verified->again(verified->arg);
		good = fd >= 0 && put_in_place(source, fd) && block_agrees(source, i);
	}
	pthread_mutex_unlock(&verified->lock);
	return good;
}

static bool look_at_blocks(struct source *source, uint64_t offset, size_t size)
{
	uint8_t *seen = source->verified->seen;

	for (uint64_t i = offset / SOURCE_SUMMED; i <= (offset + size - 1) / SOURCE_SUMMED; i++) {
		if (__atomic_load_n(&seen[i / 8], __ATOMIC_ACQUIRE) >> i % 8 & 1)
			continue;
		if (!block_agrees(source, i) && !mend(source, i)) {
			atomic_store(&source->broken, true);
			return false;
		}
		__atomic_fetch_or(&seen[i / 8], (uint8_t)(1u << i % 8), __ATOMIC_RELEASE);
	}
	return true;
}

bool source_is_right(struct source *source, uint64_t offset, size_t size, struct error *err)
{
	if (!source->verified || !size || look_at_blocks(source, offset, size))
		return true;
	return error_set(err, ERR_IO, "%s: offset %llu: the bytes are not those that were written",
			 source->name, (unsigned long long)offset);
}

static bool file_agrees(const struct source *source, const uint64_t *sums)
{
	uint8_t *bytes = mem_resize(NULL, SOURCE_SUMMED, 1);
	struct error ignored;
	bool good = true;

	for (uint64_t at = 0; good && at < source->size; at += SOURCE_SUMMED) {
		uint64_t left = source->size - at;
		size_t size = left < SOURCE_SUMMED ? (size_t)left : SOURCE_SUMMED;
		good = source_read_fully(source, at, bytes, size, &ignored) &&
		       XXH3_64bits(bytes, size) == sums[at / SOURCE_SUMMED];
	}
	mem_free(bytes);
	return good;
}

bool source_verify(struct source *source, uint64_t *sums, int (*again)(void *arg), void *arg)
{
	struct verified *verified;

	if (!source->data) {
		bool good = file_agrees(source, sums);
		mem_free(sums);
		return good;
	}
	verified = mem_new(sizeof *verified);
	verified->sums = sums;
	verified->seen = mem_new((size_t)(blocks_of(source->size) / 8 + 1));
	verified->again = again;
	verified->arg = arg;
	pthread_mutex_init(&verified->lock, NULL);
	source->verified = verified;
	return true;
}
