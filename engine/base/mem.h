/*
 * mem.h - the only door to malloc: running out of memory ends the process, never a result
 *
 * Large blocks may lie in files: see large.h.
 */
#ifndef ENGINE_BASE_MEM_H
#define ENGINE_BASE_MEM_H

#include <stddef.h>

/*
 * What to do when an allocation of so many bytes fails (SIZE_MAX: more than can be): it should end
 * the process or the thread; where it is NULL, or returns, abort(3) is called. From any thread, and
 * it must not allocate.
 */
void mem_on_failure(void (*hook)(size_t bytes));
/*
 * To be called before there are threads: where little address space is allowed (ulimit -v), all of
 * them take memory from one heap. A heap of its own would reserve 64 MB for each.
 */
void mem_fit_address_space(void);

void *mem_new(size_t size);                     /* zero-filled */
void *mem_new_array(size_t count, size_t size); /* zero-filled; count * size may not overflow */
void *mem_new_lines(size_t count, size_t size); /* the same, aligned to a line of a cache */
/* Not cleared, for what is used all over: in huge pages where the system has them and one would be
 * filled by half. */
void *mem_new_huge(size_t size);
void *mem_resize(void *old, size_t count, size_t size); /* new bytes are not cleared */
/* From `old` elements to `count`, not fewer; the new ones are cleared. */
void *mem_resize_zeroed(void *array, size_t old, size_t count, size_t size);
char *mem_strdup(const char *text);
void mem_free(void *memory); /* NULL is fine */

/*
 * Makes room for one more element: *array has `count` used of *capacity elements of `size` bytes.
 * Doubles when full, so that appending is amortised constant.
 */
void *mem_grow(void *array, size_t count, size_t *capacity, size_t size);
/*
 * Appends an element, which is not cleared, to an array that has count and capacity. Its place is:
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
 * Makes room for element `at` of an array whose *count elements may all be used: the new ones are
 * cleared. Half as many again, so that going up through the places is amortised constant.
 */
void *mem_reach(void *array, size_t at, size_t *count, size_t size);

#endif
