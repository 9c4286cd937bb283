/*
 * arena.c - a list of blocks, filled from the front
 *
 * The first block is small, since there may be many arenas. Each further block is the largest of
 * 16 KB, a quarter of the arena's size, so that there are few blocks, and the allocation that did
 * not fit. Reset keeps the largest block that is not very large; debug builds fill it with 0xDD, so
 * that a use after reset shows at once.
 */
#include "engine/base/arena.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = 1024 - 32, BLOCK_BYTES = 16384 - 32, KEPT_BYTES = 65536 };

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	alignas(max_align_t) uint8_t bytes[];
};

struct arena {
	struct arena_block *blocks;
	size_t used;
};

/* Not cleared: each allocation is, so that unused pages of the block stay untouched. */
static struct arena_block *block_new(size_t size)
{
	struct arena_block *block = mem_resize(NULL, 1, sizeof *block + size);

	block->next = NULL;
	block->size = size;
	block->used = 0;
	return block;
}

struct arena *arena_new(void)
{
	struct arena *arena = mem_new(sizeof *arena);

	arena->blocks = block_new(FIRST_BYTES);
	return arena;
}

static void blocks_free(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;
		mem_free(block);
		block = next;
	}
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	blocks_free(arena->blocks);
	mem_free(arena);
}

void arena_reset(struct arena *arena)
{
	struct arena_block *kept = NULL;

	for (struct arena_block *block = arena->blocks; block; block = block->next)
		if (block->size <= KEPT_BYTES && (!kept || block->size > kept->size))
			kept = block;
	for (struct arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		if (block != kept)
			mem_free(block);
	}
#ifndef NDEBUG
	memset(kept->bytes, 0xdd, kept->used);
#endif
	kept->next = NULL;
	kept->used = 0;
	arena->blocks = kept;
	arena->used = 0;
}

static size_t block_size(const struct arena *arena, size_t least)
{
	size_t size = arena->used / 4 < BLOCK_BYTES ? BLOCK_BYTES : arena->used / 4;

	return size > least ? size : least;
}

/* Not cleared. */
static void *take_bytes(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	size_t rounded = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

	if (rounded < size)
		rounded = SIZE_MAX - sizeof *block; /* mem_resize ends the process */
	if (rounded > block->size - block->used) {
		block = block_new(block_size(arena, rounded));
		block->next = arena->blocks;
		arena->blocks = block;
	}
	void *memory = block->bytes + block->used;
	block->used += rounded;
	arena->used += rounded;
	return memory;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	return memset(take_bytes(arena, size), 0, size);
}

/* count * size; SIZE_MAX: it overflows. */
static size_t product(size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? SIZE_MAX : total;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	return arena_alloc(arena, product(count, size));
}

void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size)
{
	void *to = take_bytes(arena, product(count, size));

	return count ? memcpy(to, from, count * size) : to;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *copy = take_bytes(arena, len + 1);

	memcpy(copy, text, len);
	copy[len] = 0;
	return copy;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 16;
	uint8_t *grown = take_bytes(arena, product(*capacity, size));
	if (count)
		memcpy(grown, array, count * size);
	memset(grown + count * size, 0, (*capacity - count) * size);
	return grown;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

const char *arena_padded(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + COPY_PAD);

	if (len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args, again;

	va_start(args, fmt);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	size_t size = len < 0 ? 1 : (size_t)len + 1;
	char *text = arena_alloc(arena, size);
	vsnprintf(text, size, fmt, again);
	va_end(again);
	return text;
}

size_t arena_used(const struct arena *arena)
{
	return arena->used;
}
