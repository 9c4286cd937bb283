/*
 * gathered.h - the changes of one slice, in order of time, and what is made of them: builder.c
 * gathers them, and has them encoded and stored, maybe in another thread
 */
#ifndef STATE_SLICES_GATHERED_H
#define STATE_SLICES_GATHERED_H

#include "index/store/store.h"
#include "state/slices/dominant.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

enum { TICK_BITS = 24, TICKS = (1 << TICK_BITS) - 1 };

struct change_at { /* a slice has at most as many ticks as it should have changes */
	int64_t value;
	uint32_t number;
	uint32_t tick : TICK_BITS, kind : 8;
};

struct gathered {
	bool open; /* false: there is no slice, only what stands below */
	uint32_t number;
	nstime begin;
	struct slice_column live; /* the snapshot: numbers, and ages, see slice.h */
	struct change_at *changes;
	size_t nchanges, capacity;
	nstime *ticks;
	size_t nticks, ticks_capacity;
	struct slice_fill *fills;
	size_t nfills, fills_capacity;
	uint64_t *touched; /* bit per number */
	size_t words;
	uint32_t busy; /* changes of an attribute that has tops, at least */
	/* stored with it */
	struct fresh_names *names;
	struct buf resume, ties, complete, damage; /* values of these names; empty: that stays */
};

/* ---- the record of a slice ---- */

struct slice_record {      /* stored as it is */
	nstime begin, end; /* times of its first and last change */
	nstime least_from; /* of its fills; NSTIME_MAX: it has none */
	uint64_t bytes;
};

void gathered_release(struct gathered *gathered);
void gathered_clear(struct gathered *gathered);

/* What encoding needs, kept from slice to slice. */
struct encoding {
	const struct gathered *of; /* the one that is stored */
	struct buf bytes, dominant;
	struct dominant_work *dominant_work;
	struct slice_record record;
	struct slice_column changes; /* in one block */
	struct slice_column fills;
	nstime *froms; /* of the fills, rising */
	size_t froms_room;
	uint32_t *places; /* by number: where its changes go */
	size_t nplaces;
};

void encoding_release(struct encoding *encoding);
/* Stores the slice, if it is open, and what is to be stored with it. Changes the fills' order. */
MUST_CHECK bool gathered_store(struct gathered *gathered, struct store *store,
			       struct encoding *work, struct error *err);

/* ---- columns that grow, each of one block ---- */

void column_room(struct slice_column *column, size_t count); /* it is empty then */
void column_release(struct slice_column *column);
static inline void column_add(struct slice_column *column, uint64_t key, struct slice_value value,
			      uint64_t extra)
{
	column->keys[column->count] = key;
	column->numbers[column->count] = value.number;
	column->kinds[column->count] = value.kind;
	column->extra[column->count++] = extra;
}

#endif
