/*
 * ring.h - pages of the kernel's ring buffer, of several CPUs
 *
 *     page   u64 stamp · long commit (bytes of entries; bits 31, 30: losses, counted) · entries
 *     entry  u32 head (type_len 5 bits, delta 27 bits) · [u32 length + 4] · data, whole words
 *            type_len 30: time += delta + (next word << 27)
 *
 * As events/header_page, events/header_event and the kernel's include/linux/ring_buffer.h have
 * them. Pages wait in a file without a name until all are there.
 */
#ifndef CONVERT_TRACEDAT_RING_H
#define CONVERT_TRACEDAT_RING_H

#include "convert/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_PAGE = 4096 };

struct ring_writer;

/* `path`: what is written in the end; the pages wait on its file system. Sizes of the target. */
MUST_CHECK struct ring_writer *ring_new(const char *path, bool big_endian, unsigned long_bytes,
					struct error *err);
void ring_free(struct ring_writer *ring); /* NULL is fine */
/* A CPU with no pages yet; its place among them. */
uint32_t ring_add_cpu(struct ring_writer *ring);
/* *fits false: it is too long for a page, and was not taken. Times of a CPU should not fall. */
MUST_CHECK bool ring_add(struct ring_writer *ring, uint32_t cpu, uint64_t t, const uint8_t *data,
			 size_t size, bool *fits, struct error *err);
/* Events are missing in front of the next one. */
MUST_CHECK bool ring_add_loss(struct ring_writer *ring, uint32_t cpu, bool counted, uint64_t lost,
			      struct error *err);
/* No more come. */
MUST_CHECK bool ring_finish(struct ring_writer *ring, struct error *err);
uint64_t ring_bytes(const struct ring_writer *ring, uint32_t cpu);
MUST_CHECK bool ring_write(const struct ring_writer *ring, uint32_t cpu, struct out *out,
			   struct error *err);
/* The lowest `bytes` bytes of a number. */
void ring_put(uint8_t *to, uint64_t number, unsigned bytes, bool big_endian);

#endif
