/*
 * large.h - large blocks of memory, each in a file without a name once the process has much
 *
 * What grows with a question (attributes, cells, rows) is a few arrays that double. The program
 * sets a limit: a block that would take the process's anonymous memory beyond it is mapped from a
 * file, whose pages the system can write back and drop. mem.h asks here; nobody else needs to.
 * A child of fork(2) would share the blocks: a library leaves the limit at 0.
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
 * Zero-filled; NULL: it is not large, or there is no need or no file: malloc() is to give it.
 * `must`: that has none, so that there is need.
 */
void *large_new(size_t size, bool must);
/* A block from large_new(), with so many bytes from now on; NULL: it stays as it was. */
void *large_resize(void *block, size_t size);
size_t large_size(const void *block);
void large_free(void *block);

extern atomic_uint large_count; /* of blocks that are in files */

bool large_find(const void *block);
/* Is it a block from large_new()? These begin with a page, which hardly anything else does. */
static inline bool is_large(const void *block)
{
	return ((uintptr_t)block & 4095) == 0 && block &&
	       atomic_load_explicit(&large_count, memory_order_relaxed) && large_find(block);
}

#endif
