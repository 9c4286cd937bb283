/* fold_internal.h - groups and batches, inside the sweep */
#ifndef SQL_FOLD_FOLD_INTERNAL_H
#define SQL_FOLD_FOLD_INTERNAL_H

#include "sql/fold/fold.h"

static inline uint64_t fold_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* One more value. False: it cannot be kept exactly. */
static inline bool fold_add(enum fold_kind kind, struct fold_cell *result, int64_t value)
{
	const int64_t exact = INT64_C(1) << 53; /* a double holds every integer up to here */

	if (kind == FOLD_ROWS || kind == FOLD_COUNT) {
		result->integer++;
		return true;
	}
	if (kind == FOLD_MAGNITUDE && value < 0)
		value = value < -exact ? exact + 1 : -value;
	if (result->kind == FOLD_NULL)
		*result = (struct fold_cell){FOLD_INTEGER, 0, {.integer = value}};
	else if (kind == FOLD_SUM || kind == FOLD_MAGNITUDE)
		return !__builtin_add_overflow(result->integer, value, &result->integer) &&
		       (kind == FOLD_SUM || result->integer <= exact);
	else if (kind == FOLD_MIN ? value < result->integer : value > result->integer)
		result->integer = value;
	return kind != FOLD_MAGNITUDE || value <= exact;
}

/* The group of these keys; a new one copies their texts. NULL: there are too many. */
struct fold_group *fold_group_of(const struct fold *fold, struct fold_groups *groups,
				 const struct fold_cell *keys);
/* Adds what others know to `out`. False: it cannot be kept. */
bool fold_groups_join(const struct fold *fold, struct fold_groups *out,
		      const struct fold_groups *more);

/*
 * fold_columns.c: many events of one class at once, for classes whose keys, values and filters can
 * be loaded from the packet without decoding the events.
 */
struct fold_columns; /* which they are, and where their values lie; shared by workers */
struct fold_batch;   /* of one worker */

struct fold_columns *fold_columns_new(const struct fold *fold,
				      const struct constraints *constraints);
void fold_columns_free(struct fold_columns *columns); /* NULL is fine */
struct fold_batch *fold_batch_new(const struct fold_columns *columns, struct fold_groups *groups);
void fold_batch_free(struct fold_batch *batch); /* NULL is fine */

/*
 * Adds those of the entries, all of one class, that filters leave to their groups. False: that is
 * not for these; *count entries are left, which filters that can be told do not refuse, and nothing
 * was added. *misfit: what was added cannot be kept.
 */
bool fold_batch_add(struct fold_batch *batch, const struct run *run, uint16_t *entries,
		    uint32_t *count, bool untimed, bool *misfit);

#endif
