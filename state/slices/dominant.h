/*
 * dominant.h - what a slice says of its busy attributes in a few bytes: which values held longest
 *
 * Of an attribute with DOMINANT_LEAST changes or more that is known all the time: the values that
 * held longest from the slice's first tick to its last, with how long, and of all others how long
 * one of them held at most. A picture adds these up, and reads the changes where that does not
 * decide. docs/timelines.md has the layout.
 */
#ifndef STATE_SLICES_DOMINANT_H
#define STATE_SLICES_DOMINANT_H

#include "index/store/store.h"
#include "state/model/value_bytes.h"
#include "state/slices/slice.h"

enum { DOMINANT_LEAST = 128, DOMINANT_VALUES = 8 };

/* ---- writing ---- */

struct dominant_work; /* what adding up needs, kept from slice to slice */
void dominant_work_free(struct dominant_work *work); /* NULL is fine */
/*
 * Appends what is to be stored; nothing where no attribute has `least` changes. *work is made when
 * it is first needed.
 */
void dominant_put(const struct slice_parts *parts, uint32_t least, struct dominant_work **work,
		  struct buf *out);

/* ---- reading ---- */

struct dominant {
	struct io rest;  /* what is to come */
	uint32_t number; /* of the attribute before */
	uint8_t shift;
};

struct top_value {
	struct slice_value value;
	uint64_t time; /* ns at least; less than `unit` more at most */
};

struct top {
	uint32_t number;
	uint32_t count;
	struct top_value values[DOMINANT_VALUES]; /* not none; each held for some time */
	uint64_t unit;
	bool none;     /* for some of the time it was none */
	bool others;   /* there are values that are not listed; */
	uint64_t most; /* one of them held so long at most */
};

/* False: it is damaged. */
bool dominant_open(struct bytes bytes, struct dominant *out);
/* The next attribute's, in rising order of numbers. False: there is none, or it is damaged. */
bool dominant_next(struct dominant *dominant, struct top *out);
/* Of what is to come, that of one attribute. Likewise. */
bool dominant_find(const struct dominant *dominant, uint32_t number, struct top *out);

#endif
