/*
 * gathered.h - the changes of one slice, in order of time, and what is made of them: for builder.c,
 * which gathers them, and slicer.c, which encodes and stores them, maybe in another thread
 */
#ifndef STATE_SLICES_GATHERED_H
#define STATE_SLICES_GATHERED_H

#include "state/slices/builder.h"
#include "state/slices/dominant.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

enum { CHANGE_FILLED = 0x80 /* in its kind: it is what a fill says */ };
enum { TICK_BITS = 24, TICKS = (1 << TICK_BITS) - 1 };

struct change_at { /* a slice has at most as many ticks as it should have changes */
	int64_t value;
	uint32_t number;
	uint32_t tick : TICK_BITS, kind : 8;
};

struct fill {
	uint64_t key; /* number << 32 | tick */
	nstime from;
	struct slice_value value;
	uint32_t change;
	bool final;
};

struct live_before { /* of the snapshot: rising numbers */
	uint64_t *keys;
	int64_t *numbers;
	uint8_t *kinds;
	uint64_t *ages; /* or times: see slice.h */
	size_t count, room;
};

struct gathered {
	bool open; /* false: there is no slice, only what stands below */
	uint32_t number;
	bool times; /* the snapshot has times */
	nstime begin;
	struct live_before live;
	struct change_at *changes;
	size_t nchanges, capacity;
	nstime *ticks;
	size_t nticks, ticks_capacity;
	struct fill *fills;
	size_t nfills, fills_capacity;
	uint64_t *touched; /* bit per number */
	size_t words;
	uint32_t strings, numbers; /* not yet given when it began */
	uint32_t busy;             /* changes of an attribute that has tops, at least */
	/* stored with it */
	uint64_t events;
	struct fresh_names *names;
	struct buf resume, complete, damage; /* empty: that stays */
};

struct gathered *gathered_new(void);
void gathered_free(struct gathered *gathered); /* NULL is fine */
void gathered_clear(struct gathered *gathered);

/* What encoding needs, kept from slice to slice. */
struct encoding {
	struct buf bytes, snapshot, dominant;
	struct dominant_work *dominant_work;
	struct slice_record record;
	uint64_t *keys; /* and behind them, in one block: */
	int64_t *numbers;
	uint8_t *kinds;
	size_t room;
	uint32_t *places; /* by number: where its changes go */
	size_t nplaces;
};

void encoding_release(struct encoding *encoding);
/* Bytes, tops and record of the slice. Changes the gathered fills' order. */
void gathered_encode(struct gathered *gathered, struct encoding *out);

#endif
