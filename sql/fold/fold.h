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

#include "engine/base/hash_index.h"
#include "sql/tables/plan.h"

enum fold_kind {
	FOLD_ROWS,
	FOLD_COUNT,
	FOLD_SUM,
	FOLD_MAGNITUDE, /* sum of |x|, while doubles hold it exactly: avg() and total() rest on it
			 */
	FOLD_MIN,
	FOLD_MAX
};

struct fold_value {
	enum fold_kind kind;
	uint32_t column; /* of the shape; ROWS: none */
};

enum { FOLD_KEYS_MAX = 8, FOLD_VALUES_MAX = 16, FOLD_GROUPS_MAX = 1 << 18 };

struct fold {
	struct sql_host *host;
	struct shape *shape; /* owned */
	struct plans plans;
	uint32_t keys[FOLD_KEYS_MAX]; /* columns */
	unsigned nkeys, ngrouped; /* keys that GROUP BY names come first; then what else differs */
	struct fold_value values[FOLD_VALUES_MAX];
	unsigned nvalues;
	char name[128]; /* of the folded table */
};

struct fold_cell {
	enum { FOLD_NULL, FOLD_INTEGER, FOLD_TEXT } kind;
	uint32_t len;
	union {
		int64_t integer;
		const char *text;
	};
};

struct fold_group { /* then nkeys cells, then nvalues results */
	struct fold_cell *keys;
	struct fold_cell *results; /* NULL: no value yet */
};

struct fold_groups {
	struct arena *arena;
	struct fold_group **items; /* they stay where they are */
	size_t count, capacity;
	struct hash_index by_keys;
};

void fold_groups_init(struct fold_groups *groups);
void fold_groups_release(struct fold_groups *groups);
/*
 * Sweeps the events of the constraints. ERR_RANGE: a sum does not fit, a value is of no such kind,
 * or there are too many groups to keep.
 */
MUST_CHECK bool fold_sweep(const struct fold *fold, const struct constraints *constraints,
			   struct fold_groups *out, struct error *err);

/*
 * The statement over a folded table, which is registered; NULL: it is not of that form. The caller
 * ends *out with fold_free(), when its statements have ended, and the text with mem_free().
 */
char *fold_rewrite(struct sql_context *context, const char *text, size_t len, struct fold **out);
void fold_free(struct fold *fold); /* NULL is fine */

extern const sqlite3_module sql_fold_module;

#endif
