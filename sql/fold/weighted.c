/*
 * weighted.c - percentiles and histograms of values that groups count
 *
 *     yore_percentile(x, n, P)   percentile(x, P) where each x is there n times
 *     yore_histogram(x, n)       likewise, see aggregates.c
 *
 * Statements that are swept in parts are rewritten to them (fold_text.c): x is a key there.
 */
#include "sql/sql_internal.h"

#include "aggregate/percentile.h"
#include "engine/base/mem.h"

#include <stdlib.h>

struct weighted {
	int64_t number;
	uint64_t count;
};

struct weighted_list {
	struct weighted *items;
	size_t count, capacity;
	double percent;
	bool wrong; /* percent is no number from 0 to 100 */
};

static void step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct weighted_list *list = sqlite3_aggregate_context(out, sizeof *list);

	(void)argc;
	if (!list)
		return;
	list->percent = sqlite3_value_double(argv[2]);
	list->wrong |= sqlite3_value_numeric_type(argv[2]) == SQLITE_NULL ||
		       !(list->percent >= 0 && list->percent <= 100);
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || sqlite3_value_int64(argv[1]) <= 0)
		return;
	*mem_push(list->items, list->count, list->capacity) =
		(struct weighted){.number = sqlite3_value_int64(argv[0]),
				  .count = (uint64_t)sqlite3_value_int64(argv[1])};
}

static int by_number(const void *a, const void *b)
{
	const struct weighted *p = a, *q = b;

	return (p->number > q->number) - (p->number < q->number);
}

static int64_t find(struct weighted_list *list)
{
	uint64_t all = 0;
	size_t i = 0;

	qsort(list->items, list->count, sizeof *list->items, by_number);
	for (size_t k = 0; k < list->count; k++)
		all += list->items[k].count;
	uint64_t rank = percentile_rank(all, list->percent);
	while (rank >= list->items[i].count)
		rank -= list->items[i++].count;
	return list->items[i].number;
}

static void final(sqlite3_context *out)
{
	struct weighted_list *list = sqlite3_aggregate_context(out, 0);

	if (!list)
		return;
	if (list->wrong)
		sqlite3_result_error(out, "percentile: want a number from 0 to 100", -1);
	else if (list->count)
		sqlite3_result_int64(out, find(list));
	mem_free(list->items);
	list->items = NULL;
}

int sql_register_weighted(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "yore_percentile", 3,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  NULL, NULL, step, final, NULL);
}
