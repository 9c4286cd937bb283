/*
 * shard.h - one store of slices, for reading: numbers and names, values at a moment, changes
 *
 * All that is asked between shard_begin() and shard_end() sees one state of the store; slices that
 * were handed out are borrowed until then. Damage that is met is noted: what was asked for is then
 * not found. Belongs to one thread.
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
	struct slice_fill fill; /* of a tombstone: number and value alone */
};

struct side { /* by number, then time */
	struct side_item *items;
	size_t count, capacity;
};

enum side_state { SIDE_NONE, SIDE_GATHERED, SIDE_REFUSED };

struct shard {
	struct store *store;
	struct store_txn *txn;
	struct store_txn *held; /* of all questions; NULL: each has the newest */
	struct slice_record *records;
	nstime *reach; /* least `from` of fills in this slice and all behind it */
	uint32_t nslices;
	struct numbers *numbers;
	struct number_map attrs_of; /* number → 1 + attribute, ABSENT as it is; 0: not looked at */
	struct side tombstones, fills;
	enum side_state side;
	uint64_t steps;     /* from slice to slice, looking for one */
	struct slice slice; /* the one opened last */
	uint32_t slice_number;
	bool damaged; /* something cannot be, although its checksum is right; slices note it, too */
};

/* The first `slices` of the store (UINT32_MAX: all). The store stays the caller's. */
MUST_CHECK bool shard_open(struct store *store, uint32_t slices, struct attrs *attrs,
			   struct shard **out, struct error *err);
/*
 * The same of a store that another process goes on with: as it is in `txn`, borrowed until
 * shard_close().
 */
MUST_CHECK bool shard_open_held(struct store *store, struct store_txn *txn, uint32_t slices,
				struct attrs *attrs, struct shard **out, struct error *err);
void shard_close(struct shard *shard); /* NULL is fine */

MUST_CHECK bool shard_begin(struct shard *shard, struct error *err);
/* False: damage was met, and what was read since is not to be believed. */
bool shard_end(struct shard *shard);

/* All numbers are below. */
static inline uint32_t shard_numbers(const struct shard *shard)
{
	return numbers_next(shard->numbers);
}

/* The last that begins at or before t; the first where there is none. */
uint32_t shard_slice_at(const struct shard *shard, nstime t);
/* Borrowed, until the next slice is asked for or shard_end(). NULL: damage. */
MUST_CHECK const struct slice *shard_slice(struct shard *shard, uint32_t slice);
/* What it has of its busy attributes; borrowed likewise. False: nothing, or damage. */
bool shard_dominant(struct shard *shard, uint32_t slice, struct dominant *out);

/* ---- names ---- */

uint32_t shard_number(struct shard *shard, uint32_t attr);
/* The attribute; ATTR_ABSENT: it is of a tombstone, or damaged. */
uint32_t shard_attr(struct shard *shard, uint32_t number);
/* The shape of a number's class; cheaper than its attribute. ATTR_ABSENT: of a tombstone, or
 * damaged. */
uint32_t shard_shape(const struct shard *shard, uint32_t number);
/* Text lives as long as the attribute table. False: damage. */
bool shard_value_of(struct shard *shard, struct slice_value stored, struct value *out);

/* ---- one number: false, it is not found ---- */

/* What it is at t, and since when (NULL: not wanted). False also where it never was. */
bool shard_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
	      nstime *since);
/*
 * Of changes in one slice that say the same in a row, one of them the last up to t: when the first
 * of them was, or the last; and what they say. False also where a slice has fills.
 */
bool shard_row(struct shard *shard, uint32_t number, nstime t, bool back, struct slice_value *value,
	       nstime *out);
/*
 * What every number of the slice is at t, tombstones only where they are among its changes; empty
 * where there is no slice. False: damage.
 */
bool shard_moment(struct shard *shard, nstime t, struct slice_items *out);
/* Since when: of what shard_moment() gave for the same t, or some of that. False: damage. */
bool shard_moment_since(struct shard *shard, nstime t, struct slice_items *items);
/*
 * shard_at() without snapshots of numbers that are not in them: of tombstones, back to the first
 * slice.
 */
bool shard_tombstone_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
			nstime *since);
/* When a tombstone of the number was placed first in (after, until]. False: none was. */
bool shard_tombstone_next(struct shard *shard, uint32_t number, nstime after, nstime until,
			  nstime *at);
/* The fill that covers t, of an event in this shard behind t. */
bool shard_fill(struct shard *shard, uint32_t number, nstime t, nstime *until,
		struct slice_fill *out);
/* Some fill of this shard's events begins before or at t; of slices from `slice` on. */
bool shard_reaches(const struct shard *shard, uint32_t slice, nstime t);

/* ---- for shard*.c, and for builds that go on with a shard ---- */

/* When the change at a tick was made: a fill's, when what it says began. */
nstime shard_tick_since(const struct slice *slice, uint32_t number, uint32_t tick);
/* Since when it has been what a slice's snapshot says, which was written `age` slices before. */
nstime shard_since_before(struct shard *shard, uint32_t number, uint32_t slice, uint64_t age);
/* Are tombstones and fills gathered? After so many steps more they may be. */
bool shard_side(struct shard *shard, uint32_t steps);
void shard_side_release(struct shard *shard);
/* Of a number, the first behind t, or else (`back`) the last up to t. NULL: there is none. */
const struct side_item *side_find(const struct side *side, uint32_t number, nstime t, bool back);
/*
 * All tombstones from slice `first` on, slice by slice, each number's in order of time. False:
 * damage, or `each` said so.
 */
bool shard_each_tombstone(struct shard *shard, uint32_t first,
			  bool (*each)(void *arg, const struct side_item *tombstone), void *arg);
MUST_CHECK bool shard_names_load(struct shard *shard, struct error *err);
/* What a number is of that is not of a pattern: an attribute, or where a tombstone hangs. */
uint32_t shard_path(struct shard *shard, uint32_t number);
/* The text of that ordinal; NULL: damage. Until the next one is read. */
const struct value *shard_text(struct shard *shard, uint32_t ordinal);

#endif
