/* script_memory.h - the allocator of one Lua state: with a cap, and free lists of small objects */
#ifndef LUA_LIB_SCRIPT_MEMORY_H
#define LUA_LIB_SCRIPT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { SCRIPT_SMALL = 1024, SCRIPT_GRAIN = 16 }; /* bytes */

struct script_memory {
	size_t cap, used;                           /* bytes; `used` counts whole slabs */
	long long told;                             /* bytes of slabs, reported by grown_add() */
	void *slabs;                                /* a list, linked by the first word of each */
	uint8_t *fresh, *end;                       /* the unused rest of the newest slab */
	void *dropped[SCRIPT_SMALL / SCRIPT_GRAIN]; /* free lists by size, linked in the same way */
};

/* A lua_Alloc; `arg` is a struct script_memory. Returns NULL beyond the cap. */
void *script_allocate(void *arg, void *old, size_t old_size, size_t new_size);
/* Frees all slabs; to be called after lua_close(). */
void script_memory_release(struct script_memory *memory);

#endif
