/* mem.c - see mem.h; abort is right here because no input can ask for more than it has bytes */
#include "engine/base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64 /* bytes of a cache's line on most machines */, HUGE = 2 << 20 };

static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void *mem_new(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *mem_new_array(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_new_lines(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - LINE)
		abort();
	bytes = (bytes + LINE) / LINE * LINE;
	return memset(checked(aligned_alloc(LINE, bytes)), 0, bytes);
}

void *mem_new_huge(size_t size)
{
	if (size > SIZE_MAX - HUGE)
		abort();
	size = (size + HUGE - 1) / HUGE * HUGE;
	void *memory = checked(aligned_alloc(HUGE, size));
	madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

void *mem_resize(void *old, size_t count, size_t size)
{
	return checked(reallocarray(old, count ? count : 1, size ? size : 1));
}

void *mem_resize_zeroed(void *array, size_t old, size_t count, size_t size)
{
	unsigned char *grown = mem_resize(array, count, size);

	memset(grown + old * size, 0, (count - old) * size);
	return grown;
}

char *mem_strdup(const char *text)
{
	return checked(strdup(text));
}

void mem_free(void *memory)
{
	free(memory);
}

void *mem_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 16;
	return mem_resize(array, *capacity, size);
}

void *mem_reach(void *array, size_t at, size_t *count, size_t size)
{
	size_t old = *count;

	if (at < old)
		return array;
	*count = at + at / 2 + 64;
	return mem_resize_zeroed(array, old, *count, size);
}
