/*
 * shard.h - one store of slices, for reading: numbers and names, values at a moment, changes
 *
 * All reads between shard_begin() and shard_end() see one state of the store; slices are borrowed
 * until then. A function that finds damage notes it and returns "not found"; shard_end() reports
 * it. Belongs to one thread.
 */
#ifndef STATE_SLICES_SHARD_H
#define STATE_SLICES_SHARD_H

#include "index/store/store.h"
#include "state/model/attr.h"
#include "state/program/program.h"
#include "state/slices/dominant.h"
#include "state/slices/gathered.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

struct side_item {
	nstime at;              /* of the event */
	struct slice_fill fill; /* of a tombstone: only attr and value are set */
};

struct side { /* sorted by number, then time */
	struct side_item *items;
	size_t count, capacity;
};

enum side_state { SIDE_NONE, SIDE_GATHERED, SIDE_REFUSED };

struct shard {
	struct store *store;
	struct store_txn *txn;
	struct store_txn *held; /* of all questions; NULL: each question reads the newest state */
	struct slice_record *records;
	nstime *reach; /* by slice: least `from` of fills in it and all later slices */
	uint32_t nslices;
	struct numbers *numbers;
	struct number_map attrs_of; /* number → 1 + attribute, or ATTR_ABSENT; 0: not looked up */
	struct side tombstones, fills;
	enum side_state side;
	uint64_t steps;     /* slices searched so far for tombstones and fills */
	struct slice slice; /* the one opened last */
	uint32_t slice_number;
	bool damaged; /* impossible data behind a right checksum; also set by readers of slices */
};

/* Opens the first `slices` slices of the store (UINT32_MAX: all). The store is borrowed. */
MUST_CHECK bool shard_open(struct store *store, uint32_t slices, struct attrs *attrs,
			   struct shard **out, struct error *err);
/* The same for a store that another process extends; `txn` is borrowed until shard_close(). */
MUST_CHECK bool shard_open_held(struct store *store, struct store_txn *txn, uint32_t slices,
				struct attrs *attrs, struct shard **out, struct error *err);
void shard_close(struct shard *shard); /* NULL is fine */

MUST_CHECK bool shard_begin(struct shard *shard, struct error *err);
/* False: damage was found; discard what was read since shard_begin(). */
bool shard_end(struct shard *shard);

/* All numbers are below. */
static inline uint32_t shard_numbers(const struct shard *shard)
{
	return numbers_next(shard->numbers);
}

/* The last slice that begins at or before t, else the first. */
uint32_t shard_slice_at(const struct shard *shard, nstime t);
/* Opens a slice; borrowed until the next call or shard_end(). NULL: damage. */
MUST_CHECK const struct slice *shard_slice(struct shard *shard, uint32_t slice);
/* The summaries of a slice's busy attributes, borrowed likewise. False: none, or damage. */
bool shard_dominant(struct shard *shard, uint32_t slice, struct dominant *out);

/* ---- names ---- */

uint32_t shard_number(struct shard *shard, uint32_t attr);
/* The attribute of a number; ATTR_ABSENT: it is a tombstone's, or damage. */
uint32_t shard_attr(struct shard *shard, uint32_t number);
/* The shape of a number; cheaper than its attribute. ATTR_ABSENT: a tombstone's, or damage. */
uint32_t shard_shape(const struct shard *shard, uint32_t number);
/* Decodes a value; text lives as long as the attribute table. False: damage. */
bool shard_value_of(struct shard *shard, struct slice_value stored, struct value *out);

/* ---- one number; false: not found ---- */

/* The value at t, and since when (may be NULL). False also if it had no value yet. */
bool shard_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
	      nstime *since);
/*
 * Takes the last change up to t and the neighbouring changes in its slice with the same value;
 * gives that value and the time of the first (`back`) or last of them. False also if the slice has
 * fills.
 */
bool shard_row(struct shard *shard, uint32_t number, nstime t, bool back, struct slice_value *value,
	       nstime *out);
/*
 * The values of all numbers at t; tombstones only if the slice of t has changes of them. Empty if
 * there is no slice. False: damage.
 */
bool shard_moment(struct shard *shard, nstime t, struct slice_items *out);
/* Sets `since` of items (all or some) that shard_moment() gave for this t. False: damage. */
bool shard_moment_since(struct shard *shard, nstime t, struct slice_items *items);
/* shard_at() for tombstones: snapshots do not have them, so it searches back to the first slice. */
bool shard_tombstone_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
			nstime *since);
/* Time of the first tombstone of the number in (after, until]. False: there is none. */
bool shard_tombstone_next(struct shard *shard, uint32_t number, nstime after, nstime until,
			  nstime *at);
/* The fill that covers t, by an event of this shard at *until, behind t. */
bool shard_fill(struct shard *shard, uint32_t number, nstime t, nstime *until,
		struct slice_fill *out);
/* Does some fill in slices from `slice` on begin at or before t? */
bool shard_reaches(const struct shard *shard, uint32_t slice, nstime t);

/* ---- for shard*.c, and for resumed builds ---- */

/* Since when the value of a change at a tick holds: its tick's time, or the begin of its fill. */
nstime shard_tick_since(const struct slice *slice, uint32_t number, uint32_t tick);
/* Since when the value in a slice's snapshot holds, which was written `age` slices before. */
nstime shard_since_before(struct shard *shard, uint32_t number, uint32_t slice, uint64_t age);
/* Are tombstones and fills gathered? Counts `steps` to search, and gathers if that pays. */
bool shard_side(struct shard *shard, uint32_t steps);
void shard_side_release(struct shard *shard);
/* The number's first item behind t, or with `back` its last one up to t. NULL: there is none. */
const struct side_item *side_find(const struct side *side, uint32_t number, nstime t, bool back);
/*
 * Calls `each` for all tombstones from slice `first` on, slice by slice, each number's in order of
 * time. False: damage, or `each` returned false.
 */
bool shard_each_tombstone(struct shard *shard, uint32_t first,
			  bool (*each)(void *arg, const struct side_item *tombstone), void *arg);
MUST_CHECK bool shard_names_load(struct shard *shard, struct error *err);
/* The attribute of a number, or of a tombstone's path. Not for patterns. */
uint32_t shard_path(struct shard *shard, uint32_t number);
/* The text of an ordinal, valid until the next call; NULL: damage. */
const struct value *shard_text(struct shard *shard, uint32_t ordinal);

#endif
