/*
 * dominant.h - summaries of a slice's busy attributes: which values held longest
 *
 * For attributes with DOMINANT_LEAST or more changes whose value is known throughout the slice. A
 * summary has the values that held longest between the first and the last tick, their times, and an
 * upper bound for each other value. Pictures add summaries up, and read the changes where these do
 * not decide. docs/timelines.md has the layout.
 */
#ifndef STATE_SLICES_DOMINANT_H
#define STATE_SLICES_DOMINANT_H

#include "index/store/store.h"
#include "state/model/value_bytes.h"
#include "state/slices/slice.h"

enum { DOMINANT_LEAST = 128, DOMINANT_VALUES = 8 };

/* ---- writing ---- */

struct dominant_work; /* buffers for adding up, reused for the next slice */
void dominant_work_free(struct dominant_work *work); /* NULL is fine */
/* Appends summaries of attributes with `least` or more changes. Allocates *work if it is NULL. */
void dominant_put(const struct slice_parts *parts, uint32_t least, struct dominant_work **work,
		  struct buf *out);

/* ---- reading ---- */

struct dominant {
	struct io rest;  /* not read yet */
	uint32_t number; /* of the previous attribute */
	uint8_t shift;
};

struct top_value {
	struct slice_value value;
	uint64_t time; /* ns, rounded down to `unit` */
};

struct top {
	uint32_t number;
	uint32_t count;
	struct top_value values[DOMINANT_VALUES]; /* never none; longest first */
	uint64_t unit;
	bool none;     /* it was none for some of the time */
	bool others;   /* some values are not listed; */
	uint64_t most; /* none of these held longer, in ns */
};

/* False: it is damaged. */
bool dominant_open(struct bytes bytes, struct dominant *out);
/* The next attribute's summary, in order of numbers. False: no more, or damaged. */
bool dominant_next(struct dominant *dominant, struct top *out);
/* Finds one attribute's summary among those not read yet. False: as above. */
bool dominant_find(const struct dominant *dominant, uint32_t number, struct top *out);

#endif
