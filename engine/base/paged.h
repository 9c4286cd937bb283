/*
 * paged.h - bytes that grow with a trace: in memory while they are few, then in a file without a
 * name
 *
 * The file is mapped, and its pages can be written back and dropped: what grows takes no anonymous
 * memory. Its room on the disk is reserved as it grows. Where there is none, or the folder for
 * temporary files lies in memory itself, the bytes stay in memory.
 */
#ifndef ENGINE_BASE_PAGED_H
#define ENGINE_BASE_PAGED_H

#include <stdbool.h>
#include <stddef.h>

struct paged { /* all 0: nothing */
	void *bytes;
	size_t size;
	int file; /* its descriptor + 1; 0: they are in memory; PAGED_CLOSED: it is closed */
};

enum { PAGED_CLOSED = -1 };

/* So many bytes from now on: what was there stays, new ones are not cleared. Returns ->bytes. */
void *paged_resize(struct paged *paged, size_t size);
/*
 * Makes room for element `at` of an array of *count elements of `size` bytes that is in it: new
 * ones are cleared, half as many again. Returns ->bytes. As mem_reach().
 */
void *paged_reach(struct paged *paged, size_t at, size_t *count, size_t size);
/*
 * As paged_resize(), for one of very many: at most `most` bytes stay in memory, and of a file no
 * descriptor stays open. All are copied to another file when there are to be more, so `size` should
 * double. A child of fork(2) shares the bytes.
 */
void *paged_resize_closed(struct paged *paged, size_t size, size_t most);
void paged_free(struct paged *paged);

/* New bytes, zeros, in a file whatever their number; false: there is none to be had. */
bool paged_map(struct paged *paged, size_t size);
/* The same of bytes that are in a file, with so many from now on; false: they stay as they were. */
bool paged_remap(struct paged *paged, size_t size);

#endif
