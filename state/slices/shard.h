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
#include "state/slices/builder.h"
#include "state/slices/dominant.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

struct shard;

/* The first `slices` of the store (UINT32_MAX: all). The store stays the caller's. */
MUST_CHECK bool shard_open(struct store *store, uint32_t slices, struct attrs *attrs,
			   struct shard **out, struct error *err);
void shard_close(struct shard *shard); /* NULL is fine */

MUST_CHECK bool shard_begin(struct shard *shard, struct error *err);
/* False: damage was met, and what was read since is not to be believed. */
bool shard_end(struct shard *shard);
bool shard_is_damaged(const struct shard *shard); /* although its checksums are right */

uint32_t shard_slices(const struct shard *shard);
uint32_t shard_numbers(const struct shard *shard); /* all numbers are below */
const struct slice_record *shard_record(const struct shard *shard, uint32_t slice);
/* The last that begins at or before t; the first where there is none. */
uint32_t shard_slice_at(const struct shard *shard, nstime t);
/* Borrowed, until the next slice is asked for or shard_end(). NULL: damage. */
MUST_CHECK const struct slice *shard_slice(struct shard *shard, uint32_t slice);
/* Of what was asked of a slice: was it found? Damage is noted. */
bool shard_noted(struct shard *shard, enum slice_found found);
/* What it has of its busy attributes; borrowed likewise. False: nothing, or damage. */
bool shard_dominant(struct shard *shard, uint32_t slice, struct dominant *out);

/* ---- names ---- */

uint32_t shard_number(struct shard *shard, uint32_t attr);
uint32_t shard_tombstone(struct shard *shard, uint32_t attr, bool below);
/* NULL behind the last. */
const struct pattern *shard_pattern(const struct shard *shard, size_t i, uint32_t *number);
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
 * What every number is at t, also tombstones' of patterns; empty where there is no slice. False:
 * damage.
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
/* The fill that covers t, of an event in this shard behind t. */
bool shard_fill(struct shard *shard, uint32_t number, nstime t, nstime *until,
		struct slice_fill *out);
/* Some fill of this shard's events begins before or at t; of slices from `slice` on. */
bool shard_reaches(const struct shard *shard, uint32_t slice, nstime t);

#endif
