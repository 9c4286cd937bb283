/*
 * gathered.h - the collected changes of one slice, and encoding them: builder.c collects them; a
 * helper thread may encode and store them
 */
#ifndef STATE_SLICES_GATHERED_H
#define STATE_SLICES_GATHERED_H

#include "index/store/store.h"
#include "state/slices/dominant.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

enum { TICK_BITS = 24, TICKS = (1 << TICK_BITS) - 1 };

struct change_at { /* `tick` suffices: a slice has no more ticks than changes */
	int64_t value;
	uint32_t number;
	uint32_t tick : TICK_BITS, kind : 8;
};

struct gathered {
	bool open; /* false: no slice, only the values below */
	uint32_t number;
	nstime begin;
	struct slice_column live; /* the snapshot: numbers, values and ages, see slice.h */
	struct change_at *changes;
	size_t nchanges, capacity;
	nstime *ticks;
	size_t nticks, ticks_capacity;
	struct slice_fill *fills;
	size_t nfills, fills_capacity;
	uint64_t *touched; /* bit per number */
	size_t words;
	uint32_t busy; /* least changes of an attribute that gets a summary (dominant.h) */
	/* stored with it */
	struct fresh_names *names;
	struct buf resume, ties, complete, damage; /* metadata values to store; empty: unchanged */
};

/* ---- the record of a slice ---- */

struct slice_record {      /* stored as it is */
	nstime begin, end; /* times of its first and last change */
	nstime least_from; /* of its fills; NSTIME_MAX: it has none */
	uint64_t bytes;
};

void gathered_release(struct gathered *gathered);
void gathered_clear(struct gathered *gathered);

/* Buffers for encoding, reused for the next slice. */
struct encoding {
	const struct gathered *of; /* the slice being stored */
	struct buf bytes, dominant;
	struct dominant_work *dominant_work;
	struct slice_record record;
	struct slice_column changes; /* in one block */
	struct slice_column fills;
	nstime *froms; /* of the fills, rising */
	size_t froms_room;
	uint32_t *places; /* by number: index of its next change in `changes` */
	size_t nplaces;
};

void encoding_release(struct encoding *encoding);
/* Stores the slice, if it is open, and its names and metadata values. Sorts the fills. */
MUST_CHECK bool gathered_store(struct gathered *gathered, struct store *store,
			       struct encoding *work, struct error *err);

/* ---- columns that grow, each of one block ---- */

void column_room(struct slice_column *column, size_t count); /* clears it, and makes room */
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
