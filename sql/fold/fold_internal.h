/* fold_internal.h - what files of the sweep share */
#ifndef SQL_FOLD_FOLD_INTERNAL_H
#define SQL_FOLD_FOLD_INTERNAL_H

#include "sql/fold/fold.h"

/* Can SQL have the total: is it a 64-bit integer, is a magnitude one that doubles hold exactly? */
static inline bool fold_fits(enum aggregate_kind kind, const struct accumulator *total)
{
	if (kind == AGGREGATE_MAGNITUDE) /* avg() and total() rest on it */
		return total->number <= (__int128)1 << 53;
	return kind != AGGREGATE_SUM || total->number == (int64_t)total->number;
}

/* ERR_RANGE: a total of the groups does not. */
MUST_CHECK bool fold_all_fit(const struct fold *fold, const struct groups *groups,
			     struct error *err);

/*
 * fold_columns.c: many events of one class at once, for classes whose keys, values and filters can
 * be loaded from the packet without decoding the events.
 */
struct fold_columns; /* which they are, and where their values lie; shared by workers */
struct fold_batch;   /* of one worker */

struct fold_columns *fold_columns_new(const struct fold *fold,
				      const struct constraints *constraints);
void fold_columns_free(struct fold_columns *columns); /* NULL is fine */
struct fold_batch *fold_batch_new(const struct fold_columns *columns, struct groups *groups);
void fold_batch_free(struct fold_batch *batch); /* NULL is fine */

/*
 * Adds those of the entries, all of one class, that filters leave to their groups. False: that is
 * not for these; *count entries are left, which filters that can be told do not refuse, and nothing
 * was added. *misfit: what was added cannot be kept.
 */
bool fold_batch_add(struct fold_batch *batch, const struct run *run, uint16_t *entries,
		    uint32_t *count, bool untimed, bool *misfit);

#endif
