/*
 * fold.h - counts, sums, least and greatest values per group, made by a sweep on all threads
 *
 *     SELECT name, count(*) AS n, max(ts) FROM events WHERE cpu < 2 GROUP BY name ORDER BY n
 *        │ when every part is understood
 *        ▼
 *     SELECT name, coalesce(sum("fold 0"), 0) AS n, max("fold 1") AS "max(ts)"
 *         FROM "events folded 1" WHERE cpu < 2 GROUP BY name ORDER BY n
 *
 * SQLite gives a virtual table no way to aggregate, and a row of it costs more than an event. So
 * the statement is rewritten: the folded table has one row per group, and SQLite aggregates those.
 * A condition on what groups do not have must be one that a scan takes exactly: where SQLite asks a
 * folded row for it, the statement fails, and the caller runs it as it was written.
 */
#ifndef SQL_FOLD_FOLD_H
#define SQL_FOLD_FOLD_H

#include "aggregate/partial.h"
#include "sql/tables/plan.h"

#define FOLD_ROWS UINT32_MAX /* in place of a column: rows are counted */

enum {
	FOLD_KEYS_MAX = 8,
	FOLD_VALUES_MAX = 16,
	FOLD_GROUPS_MAX = 1 << 18,
	FOLD_GROUPS_IN_PARTS = 1 << 22 /* where no other way is left */
};

struct fold {
	struct sql_host *host;
	struct shape *shape; /* owned */
	struct plans plans;
	uint32_t keys[FOLD_KEYS_MAX]; /* columns */
	unsigned nkeys, ngrouped; /* keys that GROUP BY names come first; then what else differs */
	struct aggregate values[FOLD_VALUES_MAX];
	uint32_t columns[FOLD_VALUES_MAX]; /* of which they are */
	unsigned nvalues;
	struct partial_work *partials; /* NULL: the whole trace is swept. Borrowed */
	char name[128]; /* of the folded table */
};

/* Of the fold's keys and values; there is none yet. To be ended with groups_clear(). */
struct groups fold_groups(const struct fold *fold);
/*
 * Sweeps the events of the constraints, or of a chunk of them (NULL: all). ERR_RANGE: a sum does
 * not fit, a value is of no such kind, or there are too many groups to keep.
 */
MUST_CHECK bool fold_sweep(const struct fold *fold, const struct constraints *constraints,
			   struct sweep_chunk *chunk, struct groups *out, struct error *err);
/* The same as fold->partials says: of its chunk, which is added to the body, or of all bodies. */
MUST_CHECK bool fold_partial(const struct fold *fold, const struct constraints *constraints,
			     struct groups *out, struct error *err);

/*
 * The statement over a folded table, which is registered; NULL: it is not of that form. The caller
 * ends *out with fold_free(), when its statements have ended, and the text with mem_free().
 */
char *fold_rewrite(struct sql_context *context, const char *text, size_t len, struct fold **out);
void fold_free(struct fold *fold); /* NULL is fine */

extern const sqlite3_module sql_fold_module;

#endif
