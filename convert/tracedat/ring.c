/* ring.c - see ring.h */
#include "convert/tracedat/ring.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_ENTRY = 0, EXTEND = 30, WORDS_MAX = 28, DELTA_BITS = 27 };
#define DELTA_MASK ((UINT64_C(1) << DELTA_BITS) - 1)
#define EXTENDED_MAX (UINT64_C(1) << 59)
#define COMMIT_MISSED (UINT32_C(1) << 31)
#define COMMIT_COUNTED (UINT32_C(1) << 30)

struct ring_cpu {
	uint8_t page[RING_PAGE];
	size_t used;   /* bytes of entries */
	size_t room;   /* room for entries; less if a count of losses follows */
	bool open;     /* a page is begun */
	uint64_t time; /* of its last entry */
	bool missed, counted;
	uint64_t lost;
	uint32_t *pages; /* page numbers in the nameless file */
	size_t npages, capacity;
};

struct ring_writer {
	char *path; /* of the output, for messages */
	int fd;
	bool big_endian;
	unsigned head; /* bytes of a page in front of its entries */
	uint32_t written;
	struct ring_cpu **cpus;
	size_t ncpus, capacity;
};

void ring_put(uint8_t *to, uint64_t number, unsigned bytes, bool big_endian)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(number >> 8 * (big_endian ? bytes - 1 - i : i));
}

static int open_nameless(const char *path)
{
	char *folder = folder_above(path);
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	mem_free(folder);
	return fd >= 0 ? fd : temporary_open(NULL);
}

struct ring_writer *ring_new(const char *path, bool big_endian, unsigned long_bytes,
			     struct error *err)
{
	int fd = open_nameless(path);

	if (fd < 0) {
		error_set(err, ERR_IO,
			  "%s: no file for pages can be made beside it or in $TMPDIR: %s", path,
			  strerror(errno));
		return NULL;
	}
	struct ring_writer *ring = mem_new(sizeof *ring);
	ring->path = mem_strdup(path);
	ring->fd = fd;
	ring->big_endian = big_endian;
	ring->head = 8 + long_bytes;
	return ring;
}

void ring_free(struct ring_writer *ring)
{
	if (!ring)
		return;
	for (size_t i = 0; i < ring->ncpus; i++) {
		mem_free(ring->cpus[i]->pages);
		mem_free(ring->cpus[i]);
	}
	mem_free(ring->cpus);
	mem_free(ring->path);
	close(ring->fd);
	mem_free(ring);
}

uint32_t ring_add_cpu(struct ring_writer *ring)
{
	*mem_push(ring->cpus, ring->ncpus, ring->capacity) = mem_new(sizeof **ring->cpus);
	return (uint32_t)ring->ncpus - 1;
}

/* ---- pages ---- */

static bool fail_pages(const struct ring_writer *ring, int code, struct error *err)
{
	return error_set(err, ERR_IO,
			 "%s: storing pages until all of them are there, beside it or in $TMPDIR: "
			 "%s",
			 ring->path, strerror(code));
}

static bool write_page(struct ring_writer *ring, const uint8_t *page, struct error *err)
{
	if (!file_put_at(ring->fd, page, RING_PAGE, (uint64_t)ring->written * RING_PAGE))
		return fail_pages(ring, errno, err);
	ring->written++;
	return true;
}

static bool close_page(struct ring_writer *ring, struct ring_cpu *cpu, struct error *err)
{
	unsigned longs = ring->head - 8;
	uint64_t commit = cpu->used;

	if (!cpu->open)
		return true;
	if (cpu->missed)
		commit |= COMMIT_MISSED;
	if (cpu->missed && cpu->counted) {
		commit |= COMMIT_COUNTED;
		ring_put(cpu->page + ring->head + cpu->used, cpu->lost, longs, ring->big_endian);
	}
	ring_put(cpu->page + 8, commit, longs, ring->big_endian);
	*mem_push(cpu->pages, cpu->npages, cpu->capacity) = ring->written;
	cpu->open = cpu->missed = false;
	return write_page(ring, cpu->page, err);
}

static void open_page(struct ring_writer *ring, struct ring_cpu *cpu, uint64_t t)
{
	memset(cpu->page, 0, sizeof cpu->page);
	ring_put(cpu->page, t, 8, ring->big_endian);
	cpu->open = true;
	cpu->used = 0;
	cpu->room = RING_PAGE - ring->head;
	if (cpu->missed && cpu->counted)
		cpu->room -= ring->head - 8;
	cpu->time = t;
}

static void put_word(struct ring_writer *ring, struct ring_cpu *cpu, uint64_t word)
{
	ring_put(cpu->page + ring->head + cpu->used, word, 4, ring->big_endian);
	cpu->used += 4;
}

static void ring_put_head(struct ring_writer *ring, struct ring_cpu *cpu, unsigned type,
			  uint64_t delta)
{
	put_word(ring, cpu,
		 ring->big_endian ? (uint64_t)type << DELTA_BITS | delta : delta << 5 | type);
}

bool ring_add(struct ring_writer *ring, uint32_t place, uint64_t t, const uint8_t *data,
	      size_t size, bool *fits, struct error *err)
{
	struct ring_cpu *cpu = ring->cpus[place];
	size_t whole = (size + 3) & ~(size_t)3;
	bool is_long = whole > WORDS_MAX * 4 || !whole;
	size_t most = RING_PAGE - 2 * (size_t)ring->head; /* with room for a count of losses */
	uint64_t delta = t - cpu->time;

	*fits = whole + 8 <= most;
	if (!*fits)
		return true;
	if (!cpu->open || t < cpu->time || delta >= EXTENDED_MAX ||
	    cpu->used + whole + 16 > cpu->room) {
		if (!close_page(ring, cpu, err))
			return false;
		open_page(ring, cpu, t);
		delta = 0;
	}
	if (delta > DELTA_MASK) {
		ring_put_head(ring, cpu, EXTEND, delta & DELTA_MASK);
		put_word(ring, cpu, delta >> DELTA_BITS);
		delta = 0;
	}
	ring_put_head(ring, cpu, is_long ? LONG_ENTRY : (unsigned)(whole / 4), delta);
	if (is_long)
		put_word(ring, cpu, whole + 4);
	memcpy(cpu->page + ring->head + cpu->used, data, size);
	cpu->used += whole;
	cpu->time = t;
	return true;
}

bool ring_add_loss(struct ring_writer *ring, uint32_t place, bool counted, uint64_t lost,
		   struct error *err)
{
	struct ring_cpu *cpu = ring->cpus[place];

	if (!close_page(ring, cpu, err))
		return false;
	cpu->counted = counted && (!cpu->missed || cpu->counted);
	cpu->lost = lost + (cpu->missed ? cpu->lost : 0);
	cpu->missed = true;
	return true;
}

bool ring_finish(struct ring_writer *ring, struct error *err)
{
	for (size_t i = 0; i < ring->ncpus; i++) {
		struct ring_cpu *cpu = ring->cpus[i];
		if (cpu->missed && !cpu->open) /* a loss after the last event */
			open_page(ring, cpu, cpu->time);
		if (!close_page(ring, cpu, err))
			return false;
	}
	return true;
}

uint64_t ring_bytes(const struct ring_writer *ring, uint32_t cpu)
{
	return (uint64_t)ring->cpus[cpu]->npages * RING_PAGE;
}

bool ring_write(const struct ring_writer *ring, uint32_t place, struct out *out, struct error *err)
{
	const struct ring_cpu *cpu = ring->cpus[place];
	uint8_t page[RING_PAGE];

	for (size_t i = 0; i < cpu->npages; i++) {
		if (pread(ring->fd, page, sizeof page, (off_t)cpu->pages[i] * RING_PAGE) !=
		    RING_PAGE)
			return fail_pages(ring, errno, err);
		if (!out_write(out, page, sizeof page, err))
			return false;
	}
	return true;
}
