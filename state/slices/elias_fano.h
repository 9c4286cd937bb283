/*
 * elias_fano.h - rising numbers of which each can be told without those before it: Elias-Fano codes
 *
 * Of every number, less the first, the low bits stand as they are; the high ones are the place of a
 * set bit less how many are set before it. A few bits more than gaps take (exp_golomb.h), for
 * numbers that are asked for one by one, as the times of ticks are.
 */
#ifndef STATE_SLICES_ELIAS_FANO_H
#define STATE_SLICES_ELIAS_FANO_H

#include "state/slices/bits.h"

#include <stdbool.h>

struct elias_fano { /* where they lie */
	const uint8_t *bits;
	uint64_t low_at, high_at, end; /* bits; 16 bytes behind the end can be loaded */
	unsigned low_width;
	uint32_t count; /* behind the first */
};

unsigned elias_fano_width(const uint64_t *numbers, uint32_t count);
void elias_fano_put(struct bits_out *out, const uint64_t *numbers, uint32_t count,
		    unsigned low_width);

/* Less the first. False: damage. */
bool elias_fano_get(const struct elias_fano *elias_fano, uint64_t i, uint64_t *out);
bool elias_fano_all(const struct elias_fano *elias_fano, uint64_t *out);
/* How many are <= `most`, and the last of them (0: none). */
bool elias_fano_before(const struct elias_fano *elias_fano, uint64_t most, uint32_t *n,
		       uint64_t *last);

#endif
