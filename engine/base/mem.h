/*
 * mem.h - the only door to malloc: running out of memory ends the process, never a result
 *
 * Large blocks may lie in files: see large.h.
 */
#ifndef ENGINE_BASE_MEM_H
#define ENGINE_BASE_MEM_H

#include <stddef.h>

/*
 * Sets the function that is called when an allocation of so many bytes fails (SIZE_MAX: the size
 * overflowed). It should end the process or the thread; if it returns or is NULL, abort(3) is
 * called. It may be called by any thread and must not allocate.
 */
void mem_on_failure(void (*hook)(size_t bytes));
/*
 * To be called before threads are started. If the address space is limited (ulimit -v), makes all
 * threads share one malloc() heap, since a heap of its own reserves 64 MB for each thread.
 */
void mem_fit_address_space(void);

void *mem_new(size_t size);                     /* zero-filled */
void *mem_new_array(size_t count, size_t size); /* zero-filled; an overflow ends the process */
void *mem_new_lines(size_t count, size_t size); /* the same, aligned to a cache line */
/* Not cleared; for blocks of which all parts are used. Blocks of at least half a huge page are in
 * huge pages, where the system has them. */
void *mem_new_huge(size_t size);
void *mem_resize(void *old, size_t count, size_t size); /* new bytes are not cleared */
/* Grows an array from `old` to `count` elements; the new ones are cleared. */
void *mem_resize_zeroed(void *array, size_t old, size_t count, size_t size);
char *mem_strdup(const char *text);
void mem_free(void *memory); /* NULL is fine */

/*
 * Makes room for one more element: *array has `count` used of *capacity elements of `size` bytes.
 * Doubles when full, so that appending is amortised constant.
 */
void *mem_grow(void *array, size_t count, size_t *capacity, size_t size);
/*
 * Appends an element, not cleared, to an array with count and capacity, and returns its address:
 *
 *     *mem_push(list->items, list->count, list->capacity) = item;
 */
#define mem_push(array, count, capacity)                                                    \
	({                                                                                  \
		if ((count) >= (capacity))                                                  \
			(array) = mem_grow((array), (count), &(capacity), sizeof *(array)); \
		&(array)[(count)++];                                                        \
	})
/*
 * Makes sure that an array of *count elements has element `at`; new elements are cleared. Grows to
 * one and a half times `at`, so that access by rising `at` is amortised constant.
 */
void *mem_reach(void *array, size_t at, size_t *count, size_t size);

#endif
