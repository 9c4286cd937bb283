/* mem.c - see mem.h */
#include "engine/base/mem.h"

#include "engine/base/budget.h"
#include "engine/base/large.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { LINE = 64 /* bytes of a cache's line on most machines */, HUGE = 2 << 20 };
enum {
	HEAP_SPACE = 64 << 20,
	HEAPS_MOST = 64 /* heaps for which the address space must suffice */
};
enum { FIRST_BYTES = 128, FIRST_MOST = 16 /* elements of an array that grows */ };

static void (*_Atomic failed)(size_t bytes);

void mem_on_failure(void (*hook)(size_t bytes))
{
	atomic_store(&failed, hook);
}

void mem_fit_address_space(void)
{
#ifdef M_ARENA_MAX
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / HEAP_SPACE < HEAPS_MOST)
		mallopt(M_ARENA_MAX, 1);
#endif
}

static _Noreturn void mem_fail(size_t bytes)
{
	void (*hook)(size_t bytes) = atomic_load(&failed);

	if (hook)
		hook(bytes);
	abort();
}

static void *checked(void *memory, size_t bytes)
{
	if (!memory)
		mem_fail(bytes);
	return memory;
}

static size_t product(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count ? count : 1, size ? size : 1, &bytes) ||
	    bytes > PTRDIFF_MAX)
		mem_fail(SIZE_MAX);
	return bytes;
}

void *mem_new(size_t size)
{
	return mem_new_array(1, size);
}

void *mem_new_array(size_t count, size_t size)
{
	size_t bytes = product(count, size);
	void *memory = NULL;

	if (bytes >= LARGE_LEAST) {
		budget_grew();
		memory = large_new(bytes, false);
	}
	if (!memory)
		memory = calloc(1, bytes);
	return checked(memory ? memory : large_new(bytes, true), bytes);
}

void *mem_new_lines(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - LINE)
		mem_fail(SIZE_MAX);
	bytes = (bytes + LINE) / LINE * LINE;
	return memset(checked(aligned_alloc(LINE, bytes), bytes), 0, bytes);
}

void *mem_new_huge(size_t size)
{
	if (size > PTRDIFF_MAX - HUGE)
		mem_fail(SIZE_MAX);
	if (size < HUGE / 2) /* the kernel would clear a whole huge page, of which little is used */
		return mem_resize(NULL, 1, size);
	size = (size + HUGE - 1) / HUGE * HUGE;
	void *memory = checked(aligned_alloc(HUGE, size), size);
	madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

/* Moves a block from memory to a file (as large_new() decides), or back; NULL: not possible. */
static void *move(void *old, size_t bytes, bool must)
{
	bool was_large = is_large(old);
	size_t had = was_large ? large_size(old) : old ? malloc_usable_size(old) : 0;
	void *memory = was_large ? malloc(bytes) : large_new(bytes, must);

	if (!memory)
		return NULL;
	if (had)
		memcpy(memory, old, had < bytes ? had : bytes);
	mem_free(old);
	return memory;
}

static void *resize_large(void *old, size_t bytes)
{
	void *memory;

	budget_grew();
	if (is_large(old)) {
		memory = bytes >= LARGE_LEAST ? large_resize(old, bytes) : NULL;
		return memory ? memory : move(old, bytes, false);
	}
	memory = move(old, bytes, false);
	if (!memory)
		memory = realloc(old, bytes);
	return memory ? memory : move(old, bytes, true);
}

/* Returns NULL when there is no memory; `old` is then unchanged. */
static void *try_resize(void *old, size_t bytes)
{
	return bytes >= LARGE_LEAST || is_large(old) ? resize_large(old, bytes)
						     : realloc(old, bytes);
}

void *mem_resize(void *old, size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return checked(try_resize(old, bytes), bytes);
}

void *mem_resize_zeroed(void *array, size_t old, size_t count, size_t size)
{
	unsigned char *grown;

	if (!array) /* the kernel's new pages are zero already */
		return mem_new_array(count, size);
	grown = mem_resize(array, count, size);
	memset(grown + old * size, 0, (count - old) * size);
	return grown;
}

char *mem_strdup(const char *text)
{
	return checked(strdup(text), strlen(text) + 1);
}

void mem_free(void *memory)
{
	if (is_large(memory))
		large_free(memory);
	else
		free(memory);
}

/* Grows to *capacity or, when there is no memory for it, by an eighth, which may be enough. */
static void *grow_large(void *array, size_t count, size_t *capacity, size_t size)
{
	void *grown = try_resize(array, product(*capacity, size));

	if (grown)
		return grown;
	*capacity = count + count / 8 + 1;
	return mem_resize(array, *capacity, size);
}

void *mem_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t first;

	if (count < *capacity)
		return array;
	first = FIRST_BYTES / size;
	first = first < 1 ? 1 : first < FIRST_MOST ? first : FIRST_MOST;
	*capacity = *capacity ? *capacity * 2 : first;
	if (*capacity <= count) /* `count` may exceed the capacity that doubling gives */
		*capacity = count + 1;
	if (*capacity * size >= LARGE_LEAST)
		return grow_large(array, count, capacity, size);
	return mem_resize(array, *capacity, size);
}

void *mem_reach(void *array, size_t at, size_t *count, size_t size)
{
	size_t old = *count;

	if (at < old)
		return array;
	*count = at + at / 2 + 64;
	if (!array || *count * size < LARGE_LEAST)
		return mem_resize_zeroed(array, old, *count, size);
	unsigned char *grown = grow_large(array, at, count, size);
	memset(grown + old * size, 0, (*count - old) * size);
	return grown;
}
