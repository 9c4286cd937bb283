/* fold_internal.h - what files of the sweep share */
#ifndef SQL_FOLD_FOLD_INTERNAL_H
#define SQL_FOLD_FOLD_INTERNAL_H

#include "sql/fold/fold.h"

/* Can SQL represent the total: a sum in 64 bits, a magnitude exactly in a double? */
static inline bool fold_fits(enum aggregate_kind kind, const struct accumulator *total)
{
	if (kind == AGGREGATE_MAGNITUDE) /* then avg() and total() of integers are exact */
		return total->number <= (__int128)1 << 53;
	return kind != AGGREGATE_SUM || total->number == (int64_t)total->number;
}

/* Does fold_fits() hold for all totals of the groups? Else ERR_RANGE. */
MUST_CHECK bool fold_all_fit(const struct fold *fold, const struct groups *groups,
			     struct error *err);

/*
 * fold_columns.c: folds many events of one class at once, for classes whose keys, values and
 * filters can be loaded from the packet without decoding the events.
 */
struct fold_columns; /* which classes these are, and where values lie; shared by workers */
struct fold_batch;   /* of one worker */

struct fold_columns *fold_columns_new(const struct fold *fold,
				      const struct constraints *constraints);
void fold_columns_free(struct fold_columns *columns); /* NULL is fine */
struct fold_batch *fold_batch_new(const struct fold_columns *columns, struct groups *groups);
void fold_batch_free(struct fold_batch *batch); /* NULL is fine */

/*
 * Filters the entries, all of one class, and adds them to their groups. False: some value cannot be
 * loaded as a column; nothing was added, and the caller decodes the first *count entries, which
 * passed the filters that could be tested. *misfit: a limit was reached, the groups are of no use.
 */
bool fold_batch_add(struct fold_batch *batch, const struct run *run, uint16_t *entries,
		    uint32_t *count, bool untimed, bool *misfit);

#endif
