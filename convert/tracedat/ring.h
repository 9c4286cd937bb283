/*
 * ring.h - writes pages of the kernel's ring buffer, for several CPUs
 *
 *     page   u64 stamp · long commit (bytes of entries; bits 31, 30: losses, counted) · entries
 *     entry  u32 head (type_len 5 bits, delta 27 bits) · [u32 length + 4] · data, whole words
 *            type_len 30: time += delta + (next word << 27)
 *
 * This is the layout of events/header_page, events/header_event and the kernel's
 * include/linux/ring_buffer.h. Pages wait in a nameless file until ring_write().
 */
#ifndef CONVERT_TRACEDAT_RING_H
#define CONVERT_TRACEDAT_RING_H

#include "convert/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_PAGE = 4096 };

struct ring_writer;

/*
 * `path`: the final output; pages wait on its file system, else in $TMPDIR. Byte order and size of
 * `long` are those of the traced machine.
 */
MUST_CHECK struct ring_writer *ring_new(const char *path, bool big_endian, unsigned long_bytes,
					struct error *err);
void ring_free(struct ring_writer *ring); /* NULL is fine */
/* Adds a CPU without pages; returns its number for the functions below. */
uint32_t ring_add_cpu(struct ring_writer *ring);
/*
 * Adds an entry at time t. *fits false: it is too long for a page and was not added. Each time that
 * is below the one before begins a page.
 */
MUST_CHECK bool ring_add(struct ring_writer *ring, uint32_t cpu, uint64_t t, const uint8_t *data,
			 size_t size, bool *fits, struct error *err);
/* Marks a loss of `lost` events (if `counted`) before the next event. */
MUST_CHECK bool ring_add_loss(struct ring_writer *ring, uint32_t cpu, bool counted, uint64_t lost,
			      struct error *err);
/* Writes the last pages; no more entries may be added. */
MUST_CHECK bool ring_finish(struct ring_writer *ring, struct error *err);
uint64_t ring_bytes(const struct ring_writer *ring, uint32_t cpu);
MUST_CHECK bool ring_write(const struct ring_writer *ring, uint32_t cpu, struct out *out,
			   struct error *err);
/* Stores the lowest `bytes` bytes of a number. */
void ring_put(uint8_t *to, uint64_t number, unsigned bytes, bool big_endian);

#endif
