/*
 * fold.h - grouping statements answered by a sweep on all threads: counts, sums, extremes
 *
 *     SELECT name, count(*) AS n, max(ts) FROM events WHERE cpu < 2 GROUP BY name ORDER BY n
 *        │ when every part is understood
 *        ▼
 *     SELECT name, coalesce(sum("fold 0"), 0) AS n, max("fold 1") AS "max(ts)"
 *         FROM "events folded 1" WHERE cpu < 2 GROUP BY name ORDER BY n
 *
 * SQLite gives a virtual table no way to aggregate, and passing it a row costs more than decoding
 * an event. So the statement is rewritten to read a folded table with one row per group, and SQLite
 * aggregates those rows. Conditions on columns that are no keys must be taken exactly by the scan:
 * if SQLite reads such a column of a folded row, the statement fails and is run as written.
 */
#ifndef SQL_FOLD_FOLD_H
#define SQL_FOLD_FOLD_H

#include "aggregate/partial.h"
#include "sql/tables/plan.h"

#define FOLD_ROWS UINT32_MAX /* in fold.columns: count(*), of no column */

enum {
	FOLD_KEYS_MAX = 8,
	FOLD_VALUES_MAX = 16,
	FOLD_GROUPS_MAX = 1 << 18,
	FOLD_GROUPS_IN_PARTS = 1 << 22 /* for sql_in_parts(), where SQLite cannot run it instead */
};

struct fold {
	struct sql_host *host;
	struct shape *shape; /* owned */
	struct plans plans;
	uint32_t keys[FOLD_KEYS_MAX]; /* columns */
	unsigned nkeys, ngrouped;     /* the first `ngrouped` keys are those of GROUP BY */
	struct aggregate values[FOLD_VALUES_MAX];
	uint32_t columns[FOLD_VALUES_MAX]; /* the column that each value aggregates */
	unsigned nvalues;
	struct partial_work *partials; /* NULL: the whole trace is swept. Borrowed */
	char name[128]; /* of the folded table */
};

/* An empty set of groups with the fold's keys and values; the caller frees it by groups_clear(). */
struct groups fold_groups(const struct fold *fold);
/*
 * Sweeps the events that meet the constraints, all or (`chunk` not NULL) those of a chunk, into
 * *out. ERR_RANGE: a sum does not fit, a key is of another kind, or there are too many groups.
 */
MUST_CHECK bool fold_sweep(const struct fold *fold, const struct constraints *constraints,
			   struct sweep_chunk *chunk, struct groups *out, struct error *err);
/* By fold->partials: sweeps its chunk and appends the groups to its body, or joins all bodies. */
MUST_CHECK bool fold_partial(const struct fold *fold, const struct constraints *constraints,
			     struct groups *out, struct error *err);

/*
 * Rewrites a statement to read the folded table *out; NULL: it cannot be folded. The caller frees
 * *out by fold_free(), after its statements, and the text by mem_free().
 */
char *fold_rewrite(struct sql_context *context, const char *text, size_t len, struct fold **out);
void fold_free(struct fold *fold); /* NULL is fine */

extern const sqlite3_module sql_fold_module;

#endif
