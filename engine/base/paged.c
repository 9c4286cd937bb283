/* paged.c - see paged.h */
#include "engine/base/paged.h"

#include "engine/base/mem.h"
#include "engine/base/temporary.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IN_MEMORY = 8 << 20 };

static bool reserve(int fd, size_t size)
{
	return fd >= 0 && (off_t)size > 0 && fallocate(fd, 0, 0, (off_t)size) == 0;
}

bool paged_map(struct paged *paged, size_t size)
{
	int fd = temporary_open_on_disk();
	void *mapped = MAP_FAILED;

	if (reserve(fd, size))
		mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	*paged = (struct paged){mapped, size, fd + 1};
	return true;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Moves the block to a new file of `size` bytes; false: no file can be made. */
static bool move_to_file(struct paged *paged, size_t size)
{
	struct paged file;

	if (!paged_map(&file, size))
		return false;
	if (paged->size)
		memcpy(file.bytes, paged->bytes, lesser(paged->size, size));
	paged_free(paged);
	*paged = file;
	return true;
}

/* Moves the block from its file back to memory, when the disk is full. */
static void move_to_memory(struct paged *paged, size_t size)
{
	void *bytes = mem_resize(NULL, size, 1);

	memcpy(bytes, paged->bytes, lesser(paged->size, size));
	paged_free(paged);
	*paged = (struct paged){.bytes = bytes, .size = size};
}

bool paged_remap(struct paged *paged, size_t size)
{
	void *mapped;

	if (!size || (size > paged->size && !reserve(paged->file - 1, size)))
		return false;
	mapped = mremap(paged->bytes, paged->size, size, MREMAP_MAYMOVE);
	if (mapped == MAP_FAILED)
		return false;
	paged->bytes = mapped;
	paged->size = size;
	return true;
}

void *paged_resize(struct paged *paged, size_t size)
{
	if (paged->file) {
		if (!paged_remap(paged, size))
			move_to_memory(paged, size);
	} else if (size <= IN_MEMORY || !move_to_file(paged, size)) {
		paged->bytes = mem_resize(paged->bytes, size, 1);
		paged->size = size;
	}
	return paged->bytes;
}

void *paged_resize_closed(struct paged *paged, size_t size, size_t most)
{
	if (size > most && move_to_file(paged, size)) {
		close(paged->file - 1);
		paged->file = PAGED_CLOSED;
	} else if (paged->file) {
		move_to_memory(paged, size);
	} else {
		paged->bytes = mem_resize(paged->bytes, size, 1);
		paged->size = size;
	}
	return paged->bytes;
}

void *paged_reach(struct paged *paged, size_t at, size_t *count, size_t size)
{
	size_t old = *count;

	if (at < old)
		return paged->bytes;
	*count = at + at / 2 + 64;
	paged_resize(paged, *count * size);
	memset((uint8_t *)paged->bytes + old * size, 0, (*count - old) * size);
	return paged->bytes;
}

void paged_free(struct paged *paged)
{
	if (paged->file) {
		munmap(paged->bytes, paged->size);
		if (paged->file != PAGED_CLOSED)
			close(paged->file - 1);
	} else {
		mem_free(paged->bytes);
	}
	*paged = (struct paged){0};
}
