/*
 * slice.h - encoding of consecutive changes with a snapshot of the state before; read in place
 *
 * docs/timelines.md has the layout. Attributes are numbers (numbers.h), times are tick numbers of
 * the slice, text values are ordinals. Readers check stored bytes as they go: a damaged slice gives
 * false, never a read outside of it.
 */
#ifndef STATE_SLICES_SLICE_H
#define STATE_SLICES_SLICE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/timebase.h"

#include <stdbool.h>
#include <stdint.h>

enum { SLICE_BLOCK = 64, SLICE_LISTED = 16, SLICE_TAIL = 16 };

/* Kinds of stored values; the first three have no number. */
enum slice_kind {
	SLICE_DELETED, /* deleted: as never written, except for the tombstone */
	SLICE_NONE,
	SLICE_UNKNOWN,
	SLICE_INT,
	SLICE_STRING,
	SLICE_BOOL,
	SLICE_FLOAT, /* its bits, mapped to integers of the same order: slice_float() */
	SLICE_UINT   /* 2^63 and above, as two's complement */
};

struct slice_value {
	int64_t number;
	uint8_t kind;
};

#define SLICE_MAGIC UINT32_C(0x344c5359) /* "YSL4" */

struct slice_head { /* as it is stored; the ticks follow */
	uint32_t magic, number;
	nstime begin;
	uint32_t nticks, tick_bits, nchanges, nsnapshot, nfills, nfroms;
	uint32_t changes_at, snapshot_at, froms_at; /* the fills follow `froms` */
	uint32_t size;                              /* with the tail */
};
_Static_assert(sizeof(struct slice_head) == 56, "nothing lies between");

/* Maps the bits of doubles to integers of the same order; the same function maps back. */
static inline int64_t slice_float(int64_t bits)
{
	return bits ^ ((bits >> 63) & INT64_MAX);
}

/* ---- writing ---- */

/*
 * Rising keys, each with a value (or all without), and each with an extra number (or all without).
 * In a column of keys alone each key can be read without those before it.
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
	nstime begin;       /* time of the first tick; set also without ticks */
	unsigned tick_bits; /* keys of changes and fills: attribute << tick_bits | tick */
	struct slice_column changes; /* sorted by key */
	struct slice_column
		snapshot;          /* key: attribute; extra: how many slices ago it was written */
	struct slice_column fills; /* extra: index in `froms` << 1 | final */
	const nstime *froms; /* rising */
	uint32_t nfroms;
};
void slice_put(const struct slice_parts *parts, struct buf *out);

/*
 * ---- reading ----
 *
 * Functions that find damage set the *damaged given to slice_open() and return "none" or 0. Then
 * nothing that was read counts.
 */

struct slice_run { /* an encoded column */
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
	struct slice_run ticks; /* relative to begin */
	struct slice_run changes, snapshot, fills;
	const uint8_t *froms;
	uint32_t nfroms;
	bool *damaged;
};

/* `data` and `damaged` are borrowed as long as the slice is read. */
MUST_CHECK bool slice_open(const void *data, size_t size, bool *damaged, struct slice *out,
			   struct error *err);
/* Opens the column in data[from, to); values, extra and count are set. False: it does not fit. */
bool slice_run_open(const uint8_t *data, uint64_t from, uint64_t to, bool *damaged,
		    struct slice_run *run);

struct slice_frame { /* how values are coded */
	int64_t least;
	uint8_t width, kind; /* kind SLICE_DELETED: each value has its own kind */
	uint8_t special;     /* kind of code 0, others follow; SLICE_INT: all codes are numbers */
	uint8_t nlisted, index_width;
	uint64_t at; /* bits; its list is at 0 */
};

struct slice_block {
	uint64_t first; /* key */
	uint32_t count;
	const uint8_t *bits, *keys, *end;
	bool keys_alone; /* keys have one width; else they are gaps */
	struct slice_frame frame;
	uint8_t extra_width;
	uint64_t extra_least;
	uint64_t kinds_at, extra_at; /* bits */
};

/* First key of block j < nblocks. */
uint64_t slice_run_first(const struct slice_run *run, uint32_t j);
/* Last block whose first key is <= key; false: there is none. */
bool slice_run_find(const struct slice_run *run, uint64_t key, uint32_t *j);
/* The last key <= key, its block and its index in the column. */
bool slice_run_before(const struct slice_run *run, uint64_t key, struct slice_block *block,
		      uint64_t *i, uint64_t *found);
/* Key i of the column, and its block. */
bool slice_run_at(const struct slice_run *run, uint64_t i, struct slice_block *block,
		  uint64_t *key);
/* Key i of a column of keys alone, without opening its block; i must be below count. */
uint64_t slice_run_key(const struct slice_run *run, uint64_t i);
/* Functions of a block return false for damage, which the caller notes. */
bool slice_block_open(const struct slice_run *run, uint32_t j, struct slice_block *out);
/* The last element with a key <= key, and its key; the first key must be <= key. */
bool slice_block_before(const struct slice_block *block, uint64_t key, uint32_t *i,
			uint64_t *found);
bool slice_block_keys(const struct slice_block *block, uint64_t keys[SLICE_BLOCK]);
struct slice_value slice_block_value(const struct slice_block *block, uint32_t i);
/* All values: cheaper than one by one. */
void slice_block_values(const struct slice_block *block, struct slice_value values[SLICE_BLOCK]);
uint64_t slice_block_extra(const struct slice_block *block, uint32_t i);

/* The block opened last, with its keys. */
struct slice_opened {
	uint32_t j; /* 1 + number of the block; 0: none */
	struct slice_block block;
	uint64_t keys[SLICE_BLOCK + 1]; /* one more for a sentinel */
};
/* Opens block j unless it is open. False: damage, or there is none. */
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
		nstime since; /* after shard_moment_since(), in place of `at` */
	};
};

struct slice_items {              /* by number */
	struct slice_item *items; /* to be freed */
	size_t count, capacity;
};

/* All values after the changes up to *tick; NULL: the snapshot. False: damage. */
bool slice_moment(const struct slice *slice, const uint32_t *tick, struct slice_items *out);

/* Number of the last tick at or before t; t must not be before begin. */
uint32_t slice_tick_at(const struct slice *slice, nstime t);
/* Number of the first tick behind t; nticks: there is none. */
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
 * Takes the last change up to a tick and its neighbours with the same value; gives that value and
 * the tick of the first (`back`) or last of them.
 */
bool slice_row(const struct slice *slice, uint32_t attr, uint32_t tick, bool back,
	       struct slice_value *value, uint32_t *out);
/* The snapshot's value of an attribute, and how many slices ago it was written. */
bool slice_before(const struct slice *slice, uint32_t attr, struct slice_value *value,
		  uint64_t *age);
/* What a `was` line of an event says: the attribute's value from `from` up to the event's tick. */
struct slice_fill {
	uint32_t attr, tick;
	nstime from;
	bool final; /* the attribute keeps the value from the tick on */
	struct slice_value value;
};
/* The first fill of an attribute at `tick` or later. */
bool slice_fill(const struct slice *slice, uint32_t attr, uint32_t tick, struct slice_fill *out);

/* Iterates over all fills, by attribute, then tick; begin with a zeroed struct. */
struct slice_fills {
	uint32_t next; /* place */
	struct slice_opened open;
};
bool slice_fills_next(const struct slice *slice, struct slice_fills *fills, struct slice_fill *out);

#endif
