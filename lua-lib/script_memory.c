/*
 * script_memory.c - see script_memory.h
 *
 * A loop over events allocates one or two objects per event, and the collector frees them by the
 * thousand. Objects of up to a kilobyte are cut from slabs, and freed ones go to a list per size:
 * an allocation is two loads, and nothing is merged or searched. Slabs live as long as the state,
 * so they count in full against the cap. A new slab has an eighth of all memory in use, so that a
 * script that uses much has large blocks, which may lie in files.
 */
#include "lua-lib/script_memory.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"

#include <stdbool.h>
#include <string.h>

enum { SLAB_LEAST = 32 << 10, SLAB_MOST = 16 << 20 /* bytes */ };

/* With an address sanitizer each object is a separate allocation, so that uses after free show. */
#if defined(__SANITIZE_ADDRESS__)
#define SMALL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SMALL 0
#endif
#endif
#ifndef SMALL
#define SMALL SCRIPT_SMALL
#endif

static inline bool is_small(size_t size)
{
	return size <= SMALL;
}

static inline size_t list_of(size_t size)
{
	return (size - 1) / SCRIPT_GRAIN;
}

static inline void *next_of(const void *item)
{
	void *next;

	memcpy(&next, item, sizeof next);
	return next;
}

static inline void push(void **list, void *item)
{
	memcpy(item, list, sizeof *list);
	*list = item;
}

static bool script_memory_fits(const struct script_memory *memory, size_t more)
{
	return memory->used <= memory->cap && more <= memory->cap - memory->used;
}

static struct grown grown = {.what = "objects of Lua"};

static size_t slab_size(const struct script_memory *memory)
{
	size_t size = memory->used / 8 / SLAB_LEAST * SLAB_LEAST;

	size = size < SLAB_LEAST ? SLAB_LEAST : size < SLAB_MOST ? size : SLAB_MOST;
	return script_memory_fits(memory, size) ? size : SLAB_LEAST;
}

/* Adds a slab; the rest of the last one, too small for an object, goes to a free list. */
static void add_slab(struct script_memory *memory)
{
	size_t left = (size_t)(memory->end - memory->fresh), size = slab_size(memory);
	uint8_t *slab;

	if (left)
		push(&memory->dropped[list_of(left)], memory->fresh);
	memory->used += size;
	memory->told += (long long)size;
	grown_add(&grown, (long long)size);
	slab = mem_resize(NULL, size, 1);
	push(&memory->slabs, slab);
	memory->fresh = slab + SCRIPT_GRAIN;
	memory->end = slab + size;
}

/* `must`: exceeds the cap if needed, since Lua assumes that shrinking an object cannot fail. */
static inline void *take_small(struct script_memory *memory, size_t size, bool must)
{
	void **list = &memory->dropped[list_of(size)], *item = *list;
	size_t rounded = (list_of(size) + 1) * SCRIPT_GRAIN;

	if (item) {
		*list = next_of(item);
		return item;
	}
	if ((size_t)(memory->end - memory->fresh) < rounded) {
		if (!must && !script_memory_fits(memory, SLAB_LEAST))
			return NULL;
		add_slab(memory);
	}
	item = memory->fresh;
	memory->fresh += rounded;
	return item;
}

static inline void *take_memory(struct script_memory *memory, size_t size, bool must)
{
	if (is_small(size))
		return take_small(memory, size, must);
	if (!script_memory_fits(memory, size))
		return NULL;
	memory->used += size;
	return mem_resize(NULL, size, 1);
}

static inline void drop(struct script_memory *memory, void *item, size_t size)
{
	if (is_small(size)) {
		push(&memory->dropped[list_of(size)], item);
		return;
	}
	memory->used -= size;
	mem_free(item);
}

static void *resize(struct script_memory *memory, void *old, size_t old_size, size_t new_size)
{
	void *item;

	if (is_small(old_size) && is_small(new_size) && list_of(old_size) == list_of(new_size))
		return old;
	if (!is_small(old_size) && !is_small(new_size)) {
		if (new_size > old_size && !script_memory_fits(memory, new_size - old_size))
			return NULL;
		memory->used = memory->used - old_size + new_size;
		return mem_resize(old, new_size, 1);
	}
	item = take_memory(memory, new_size, new_size < old_size);
	if (!item)
		return NULL;
	memcpy(item, old, old_size < new_size ? old_size : new_size);
	drop(memory, old, old_size);
	return item;
}

void *script_allocate(void *arg, void *old, size_t old_size, size_t new_size)
{
	struct script_memory *memory = arg;

	if (!old) /* then Lua passes the type of the object in old_size */
		return new_size ? take_memory(memory, new_size, false) : NULL;
	if (new_size && old_size)
		return resize(memory, old, old_size, new_size);
	if (old_size)
		drop(memory, old, old_size);
	return NULL;
}

void script_memory_release(struct script_memory *memory)
{
	grown_add(&grown, -memory->told);
	for (void *slab = memory->slabs, *next; slab; slab = next) {
		next = next_of(slab);
		mem_free(slab);
	}
	*memory = (struct script_memory){0};
}
