/*
 * paged.h - a growing block of bytes: in memory while it is small, then in an unnamed file
 *
 * The file is mapped, so that the system can write back and drop its pages: a block that grows with
 * a trace then takes no anonymous memory. Disk space is reserved as it grows. Where there is none,
 * or the folder for temporary files is in memory itself (tmpfs), the bytes stay in memory.
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

/* Resizes to `size` bytes; new bytes are not cleared. Returns paged->bytes. */
void *paged_resize(struct paged *paged, size_t size);
/*
 * As mem_reach(), for an array of *count elements of `size` bytes in *paged: makes sure that
 * element `at` exists; new elements are cleared. Returns paged->bytes.
 */
void *paged_reach(struct paged *paged, size_t at, size_t *count, size_t size);
/*
 * As paged_resize(), for one of very many blocks: at most `most` bytes are in memory, and a file's
 * descriptor is closed at once. Each resize then copies to a new file, so `size` should double. A
 * child of fork(2) shares the bytes.
 */
void *paged_resize_closed(struct paged *paged, size_t size, size_t most);
void paged_free(struct paged *paged);

/* Creates a block of zeros in a file, whatever its size; false: no file can be made. */
bool paged_map(struct paged *paged, size_t size);
/* Resizes a block that is in a file; false: not possible, and it stays as it was. */
bool paged_remap(struct paged *paged, size_t size);

#endif
