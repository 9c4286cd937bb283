/*
 * direct.h - rising numbers of which each can be told without those before it: Elias-Fano codes
 *
 * Of every number, less the first, the low bits stand as they are; the high ones are the place of a
 * set bit less how many are set before it. A few bits more than gaps take (gaps.h), for numbers
 * that are asked for one by one, as the times of ticks are.
 */
#ifndef STATE_SLICES_DIRECT_H
#define STATE_SLICES_DIRECT_H

#include "state/slices/bits.h"

#include <stdbool.h>

struct direct { /* where they lie */
	const uint8_t *bits;
	uint64_t low_at, high_at, end; /* bits; 16 bytes behind the end can be loaded */
	unsigned low_width;
	uint32_t count; /* behind the first */
};

unsigned direct_width(const uint64_t *numbers, uint32_t count);
void direct_put(struct bits_out *out, const uint64_t *numbers, uint32_t count, unsigned low_width);

/* Less the first. False: damage. */
bool direct_get(const struct direct *direct, uint64_t i, uint64_t *out);
/* The same on any processor; for tests where there is a faster way. */
bool direct_get_any(const struct direct *direct, uint64_t i, uint64_t *out);
bool direct_all(const struct direct *direct, uint64_t *out);
/* How many are <= `most`, and the last of them (0: none). */
bool direct_before(const struct direct *direct, uint64_t most, uint32_t *n, uint64_t *last);

#endif
