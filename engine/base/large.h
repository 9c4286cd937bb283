/*
 * large.h - large blocks of memory in unnamed files, once the process uses much memory
 *
 * The data that grows with a question (attributes, cells, rows) is in a few arrays that double. The
 * program sets a limit: a block that would take the process's anonymous memory beyond it is mapped
 * from a file, whose pages the system can write back and drop. Only mem.c calls these functions.
 * A child of fork(2) would share the blocks, so a library leaves the limit at 0.
 */
#ifndef ENGINE_BASE_LARGE_H
#define ENGINE_BASE_LARGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LARGE_LEAST = 1 << 20 }; /* bytes of a block */

/* Blocks go to files when the process has more than so many anonymous bytes; 0: never. */
void large_limit(size_t anonymous);
/*
 * A zero-filled block; NULL: `size` is below LARGE_LEAST, memory is below the limit, or no file can
 * be made; the caller then uses malloc(). `must`: malloc() has failed, so ignore the limit's value.
 */
void *large_new(size_t size, bool must);
/* Resizes a block from large_new(); NULL: not possible, and the block stays as it was. */
void *large_resize(void *block, size_t size);
size_t large_size(const void *block);
void large_free(void *block);

extern atomic_uint large_count; /* of blocks that are in files */

bool large_find(const void *block);
/* Is it a block from large_new()? Tests its alignment first: these begin at a page. */
static inline bool is_large(const void *block)
{
	return ((uintptr_t)block & 4095) == 0 && block &&
	       atomic_load_explicit(&large_count, memory_order_relaxed) && large_find(block);
}

#endif
