/* script_memory.h - the memory of one Lua state: capped, small objects from lists of its own */
#ifndef LUA_LIB_SCRIPT_MEMORY_H
#define LUA_LIB_SCRIPT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { SCRIPT_SMALL = 1024, SCRIPT_GRAIN = 16 }; /* bytes */

struct script_memory {
	size_t cap, used; /* bytes; of small objects their slabs count */
	long long told;   /* bytes of slabs */
	void *slabs;      /* a list by the first word of each */
	uint8_t *fresh, *end; /* what is left of the newest slab */
	void *dropped[SCRIPT_SMALL / SCRIPT_GRAIN]; /* lists by size, as slabs' */
};

/* A lua_Alloc of a struct script_memory: NULL beyond the cap. */
void *script_allocate(void *arg, void *old, size_t old_size, size_t new_size);
/* After lua_close(). */
void script_memory_release(struct script_memory *memory);

#endif
