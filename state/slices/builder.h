/*
 * builder.h - changes in, slices out, one transaction each
 *
 * The builder keeps what every number is, so that a slice can begin with all that lives. Changes
 * must come in order of time; several of one number at one time leave the last.
 */
#ifndef STATE_SLICES_BUILDER_H
#define STATE_SLICES_BUILDER_H

#include "engine/base/helper.h"
#include "index/store/store.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

struct builder;

/*
 * All are borrowed until builder_free(). With a helper slices are encoded and stored while the
 * next one is gathered: no other thread may use the store before builder_settle(). NULL: there is
 * none.
 */
struct builder *builder_new(struct numbers *numbers, struct store *store, struct helper *helper);
void builder_free(struct builder *builder); /* NULL is fine */

/* How many changes a slice has at least, instead of what is usual; for tests. */
void builder_least(struct builder *builder, uint32_t changes);
/* What holds before anything: in any order; tombstones too. Before the first put. */
void builder_start(struct builder *builder, uint32_t number, struct slice_value value,
		   nstime since);
/* The same of a store that is continued at slice `slices`: it was written in slice `last`. */
void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last);
void builder_continue_at(struct builder *builder, uint32_t slices);

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t);
/* A tombstone: not part of snapshots, unless it is of a pattern (then builder_put()). */
void builder_put_tombstone(struct builder *builder, uint32_t number, struct slice_value value,
			   nstime t);
/* At t it turned out that it has been `value` from `from` on, and so it is from t on. */
void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from);

/* Are there enough changes for a slice? To be asked between times only. */
bool builder_due(const struct builder *builder);
uint32_t builder_slices(const struct builder *builder);  /* stored so far */
uint64_t builder_waiting(const struct builder *builder); /* changes of the slice that is open */
uint64_t builder_changes(const struct builder *builder);
uint64_t builder_bytes(const struct builder *builder); /* of the slices; after builder_settle() */

struct builder_end {
	uint64_t events;            /* consumed so far */
	const struct buf *resume;   /* goes into `resume`; NULL: that stays */
	const struct buf *complete; /* NULL: more will come */
	const struct buf *damage;   /* goes into `damage`; NULL: that stays */
	nstime empty; /* a slice without changes is stored with this time; NSTIME_MIN: none is */
};
/* Stores the slice, if it has changes; with a helper later, and the next call says what failed. */
MUST_CHECK bool builder_close(struct builder *builder, const struct builder_end *end,
			      struct error *err);
/* All that was closed is stored. */
MUST_CHECK bool builder_settle(struct builder *builder, struct error *err);

/* ---- the record of a slice ---- */

enum { SLICE_RECORD = 56 };
struct slice_record {
	nstime begin, end;
	uint32_t changes, ticks, snapshot, bytes;
	uint32_t strings, numbers; /* not yet given when it began */
	uint64_t events;           /* consumed up to its end */
	nstime least_from; /* of its fills; NSTIME_MAX: it has none */
};
_Static_assert(sizeof(struct slice_record) == SLICE_RECORD, "the record is stored as it is");

#endif
