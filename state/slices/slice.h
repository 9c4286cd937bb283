/*
 * slice.h - a run of consecutive changes with the state before it, as bytes that are read in place
 *
 * docs/timelines.md has the layout. Attributes are numbers here (numbers.h), times are numbers of
 * the slice's ticks, text is a number of a string. Stored bytes are judged as they are read: a
 * slice that says what cannot be yields false, never a read outside of it.
 */
#ifndef STATE_SLICES_SLICE_H
#define STATE_SLICES_SLICE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/timebase.h"

#include <stdbool.h>
#include <stdint.h>

enum { SLICE_BLOCK = 64, SLICE_LISTED = 16, SLICE_TAIL = 16 };

/* What a stored value is; the first three have no number. */
enum slice_kind {
	SLICE_DELETED, /* no longer there: as if it had never been written, but for the delete */
	SLICE_NONE,
	SLICE_UNKNOWN,
	SLICE_INT,
	SLICE_STRING,
	SLICE_BOOL,
	SLICE_FLOAT, /* bits, so that order is kept: slice_float() */
	SLICE_UINT   /* 2^63 and above, as two's complement */
};

struct slice_value {
	int64_t number;
	uint8_t kind;
};

#define SLICE_MAGIC UINT32_C(0x344c5359) /* "YSL4" */

struct slice_head { /* as it is stored; ticks lie behind */
	uint32_t magic, number;
	nstime begin;
	uint32_t nticks, tick_bits, nchanges, nsnapshot, nfills, nfroms;
	uint32_t changes_at, snapshot_at, froms_at; /* behind froms are fills */
	uint32_t size;                              /* with the tail */
};
_Static_assert(sizeof(struct slice_head) == 56, "nothing lies between");

/* Doubles as integers of the same order, and back: the same function. */
static inline int64_t slice_float(int64_t bits)
{
	return bits ^ ((bits >> 63) & INT64_MAX);
}

/* ---- writing ---- */

/*
 * Rising keys, a value each (or none), and beside each (or nowhere) a number more. Keys alone are
 * stored so that each can be told without those before it.
 */
struct slice_column {
	uint64_t *keys;
	int64_t *numbers; /* NULL: keys alone */
	uint8_t *kinds;
	uint64_t *extra; /* NULL: none */
	size_t count, room;
};

/* Appends directory and blocks. */
void slice_column_put(const struct slice_column *column, struct buf *out);

struct slice_parts {
	uint32_t number;
	const nstime *ticks;
	uint32_t nticks;
	nstime begin;       /* of the first tick; where there is none, all there is to say */
	unsigned tick_bits; /* keys of changes and fills: attribute << tick_bits | tick */
	struct slice_column changes; /* sorted by key */
	struct slice_column
		snapshot; /* key the attribute, extra how many slices ago it was written */
	struct slice_column
		fills;       /* extra: place in `froms` << 1 | it is the change of that tick */
	const nstime *froms; /* rising */
	uint32_t nfroms;
};
void slice_put(const struct slice_parts *parts, struct buf *out);

/*
 * ---- reading ----
 *
 * Damage is noted in the opener's *damaged, and ends no call with more than "there is none", or a
 * zero: once it is noted nothing that was read counts.
 */

struct slice_run { /* a column where it lies */
	const uint8_t *directory, *blocks;
	bool *damaged;
	uint64_t size; /* of the blocks */
	uint32_t count, nblocks;
	bool values, extra;
	uint8_t key_width, offset_width; /* in the directory */
};

struct slice {
	uint32_t number, nticks;
	unsigned tick_bits;
	nstime begin;
	struct slice_run ticks; /* less begin */
	struct slice_run changes, snapshot, fills;
	const uint8_t *froms;
	uint32_t nfroms;
	bool *damaged;
};

/* `damaged` is borrowed as long as the slice is read. */
MUST_CHECK bool slice_open(const void *data, size_t size, bool *damaged, struct slice *out,
			   struct error *err);
/* `values`, `extra` and `count` are set; false: it does not fit between two offsets. */
bool slice_run_open(const uint8_t *data, uint64_t from, uint64_t to, bool *damaged,
		    struct slice_run *run);

struct slice_frame { /* how values are coded */
	int64_t least;
	uint8_t width, kind; /* kind SLICE_DELETED: kinds stand beside the values */
	uint8_t special;     /* codes begin with this kind; SLICE_INT: all are numbers */
	uint8_t nlisted, index_width;
	uint64_t at; /* bits; its list is at 0 */
};

struct slice_block {
	uint64_t first; /* key */
	uint32_t count;
	const uint8_t *bits, *keys, *end;
	bool keys_alone; /* at one width; else gaps */
	struct slice_frame frame;
	uint8_t extra_width;
	uint64_t extra_least;
	uint64_t kinds_at, extra_at; /* bits */
};

/* First key of block j < nblocks. */
uint64_t slice_run_first(const struct slice_run *run, uint32_t j);
/* Last block whose first key is <= key; false: there is none. */
bool slice_run_find(const struct slice_run *run, uint64_t key, uint32_t *j);
/* The last key <= key, its block and its place in the column. */
bool slice_run_before(const struct slice_run *run, uint64_t key, struct slice_block *block,
		      uint64_t *i, uint64_t *found);
/* Key i of the column, and its block. */
bool slice_run_at(const struct slice_run *run, uint64_t i, struct slice_block *block,
		  uint64_t *key);
/* Key i of a column of keys alone, without opening its block; there must be one. */
uint64_t slice_run_key(const struct slice_run *run, uint64_t i);
/* Of a block false is damage, which the caller notes. */
bool slice_block_open(const struct slice_run *run, uint32_t j, struct slice_block *out);
/* Last element with a key <= key (the first one has); its key too. */
bool slice_block_before(const struct slice_block *block, uint64_t key, uint32_t *i,
			uint64_t *found);
bool slice_block_keys(const struct slice_block *block, uint64_t keys[SLICE_BLOCK]);
struct slice_value slice_block_value(const struct slice_block *block, uint32_t i);
/* All of them: cheaper than one by one. */
void slice_block_values(const struct slice_block *block, struct slice_value values[SLICE_BLOCK]);
uint64_t slice_block_extra(const struct slice_block *block, uint32_t i);

/* A block that stays open, with its keys. */
struct slice_opened {
	uint32_t j; /* 1 + it; 0: none */
	struct slice_block block;
	uint64_t keys[SLICE_BLOCK + 1]; /* one more for a mark behind the last */
};
/* Opens block j, if it is not the one. False: damage, or there is none. */
bool slice_opened_at(struct slice_opened *opened, const struct slice_run *run, uint32_t j);

/* ---- all attributes at one moment: slice_moment.c ---- */

enum slice_item_of {
	ITEM_BEFORE, /* the snapshot has it */
	ITEM_CHANGED
};

struct slice_item {
	uint32_t number;
	uint8_t kind, of;
	int64_t value;
	union {
		uint64_t at;  /* BEFORE: age; CHANGED: tick */
		nstime since; /* after shard_moment_since(), in its place */
	};
};

struct slice_items {              /* by number */
	struct slice_item *items; /* to be freed */
	size_t count, capacity;
};

/* After the changes up to a tick; NULL: before all. False: damage. */
bool slice_moment(const struct slice *slice, const uint32_t *tick, struct slice_items *out);

/* Number of the last tick at or before t, which is at or behind begin. */
uint32_t slice_tick_at(const struct slice *slice, nstime t);
/* Number of the first tick behind t; there may be none. */
uint32_t slice_tick_behind(const struct slice *slice, nstime t);
nstime slice_tick_time(const struct slice *slice, uint64_t tick);

/* The last change of an attribute at or before a tick. */
bool slice_change(const struct slice *slice, uint32_t attr, uint32_t tick,
		  struct slice_value *value, uint32_t *at);
/* Its first change at a tick or later. */
bool slice_change_from(const struct slice *slice, uint32_t attr, uint32_t tick,
		       struct slice_value *value, uint32_t *at);
/* Its first change behind t. */
bool slice_change_behind(const struct slice *slice, uint32_t attr, nstime t,
			 struct slice_value *value, uint32_t *at);
/*
 * What it was at a tick, and of its changes in a row that say so, around the last up to there, the
 * first or the last.
 */
bool slice_row(const struct slice *slice, uint32_t attr, uint32_t tick, bool back,
	       struct slice_value *value, uint32_t *out);
/* What the snapshot has of it. */
bool slice_before(const struct slice *slice, uint32_t attr, struct slice_value *value,
		  uint64_t *age);
/* What a `was` of an event says: what the attribute was from then up to the event's tick. */
struct slice_fill {
	uint32_t attr, tick;
	nstime from;
	bool final; /* it is what the attribute is from its tick on, too */
	struct slice_value value;
};
/* The first fill of an attribute at `tick` or later. */
bool slice_fill(const struct slice *slice, uint32_t attr, uint32_t tick, struct slice_fill *out);

/* All fills, by attribute and then tick: start with one of zeros. */
struct slice_fills {
	uint32_t next; /* place */
	struct slice_opened open;
};
bool slice_fills_next(const struct slice *slice, struct slice_fills *fills, struct slice_fill *out);

#endif
