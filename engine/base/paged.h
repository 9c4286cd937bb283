/*
 * paged.h - bytes that grow with a trace: in memory while they are few, then in a file without a
 * name
 *
 * The file is mapped, and its pages can be written back and dropped: what grows takes no anonymous
 * memory. Its room on the disk is reserved as it grows. Where there is none, the bytes stay in
 * memory.
 */
#ifndef ENGINE_BASE_PAGED_H
#define ENGINE_BASE_PAGED_H

#include <stddef.h>

struct paged { /* all 0: nothing */
	void *bytes;
	size_t size;
	int file; /* its descriptor + 1; 0: they are in memory */
};

/* So many bytes from now on: what was there stays, new ones are not cleared. Returns ->bytes. */
void *paged_resize(struct paged *paged, size_t size);
void paged_free(struct paged *paged);

#endif
