/*
 * aggregates.c - what SQL lacks for latencies: percentiles and histograms
 *
 *     percentile(x, P)   the least x that P % of them do not exceed (nearest rank): one of the
 *                        values, so integers stay exact
 *     median(x)          percentile(x, 50)
 *     histogram(x)       JSON: [{"from":1024,"below":2048,"count":5}, ...], bounds powers of two
 *
 *     yore_percentile(x, n, P)   percentile(x, P) where each integer x is there n times
 *     yore_histogram(x, n)       likewise
 *
 * The latter two are for statements of sql_in_parts(), which fold_text.c rewrites to groups by x.
 * NULLs are left out. percentile() stores 8 bytes for each value of the group, histogram() only
 * counts.
 */
#include "sql/sql_internal.h"

#include "aggregate/accumulator.h"
#include "aggregate/percentile.h"
#include "engine/base/mem.h"

#include <math.h>
#include <stdlib.h>

struct weighted {
	int64_t number;
	uint64_t count;
};

struct number_list {
	int64_t *items;
	size_t count, capacity;
	bool real; /* some value was real: all items are converted by real_to_ordered() */
	struct weighted *weighted; /* of yore_percentile(), in place of items */
	size_t nweighted, weighted_capacity;
	double percent;
	bool wrong; /* percent is no number from 0 to 100 */
};

static void become_real(struct number_list *values)
{
	for (size_t i = 0; i < values->count && !values->real; i++)
		values->items[i] = real_to_ordered((double)values->items[i]);
	values->real = true;
}

static void aggregates_add_value(struct number_list *values, sqlite3_value *value)
{
	int type = sqlite3_value_numeric_type(value);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	if (type == SQLITE_FLOAT)
		become_real(values);
	*mem_push(values->items, values->count, values->capacity) =
		values->real ? real_to_ordered(sqlite3_value_double(value))
			     : sqlite3_value_int64(value);
}

static void add_weighted(struct number_list *values, sqlite3_value *value, int64_t count)
{
	if (sqlite3_value_type(value) == SQLITE_INTEGER && count > 0)
		*mem_push(values->weighted, values->nweighted, values->weighted_capacity) =
			(struct weighted){sqlite3_value_int64(value), (uint64_t)count};
}

static void percentile_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct number_list *values = sqlite3_aggregate_context(out, sizeof *values);
	sqlite3_value *percent = argc > 1 ? argv[argc - 1] : NULL;

	if (!values)
		return;
	values->percent = percent ? sqlite3_value_double(percent) : 50;
	values->wrong |= percent && (sqlite3_value_numeric_type(percent) == SQLITE_NULL ||
				     !(values->percent >= 0 && values->percent <= 100));
	if (argc > 2)
		add_weighted(values, argv[0], sqlite3_value_int64(argv[1]));
	else
		aggregates_add_value(values, argv[0]);
}

static int aggregates_by_number(const void *a, const void *b)
{
	const struct weighted *p = a, *q = b;

	return (p->number > q->number) - (p->number < q->number);
}

static int64_t weighted_percentile(struct number_list *values)
{
	struct weighted *item = values->weighted;
	uint64_t all = 0;

	qsort(item, values->nweighted, sizeof *item, aggregates_by_number);
	for (size_t i = 0; i < values->nweighted; i++)
		all += item[i].count;
	uint64_t rank = percentile_rank(all, values->percent);
	for (; rank >= item->count; item++)
		rank -= item->count;
	return item->number;
}

static void percentile_final(sqlite3_context *out)
{
	struct number_list *values = sqlite3_aggregate_context(out, 0);

	if (!values)
		return;
	if (values->wrong) {
		sqlite3_result_error(out, "percentile: want a number from 0 to 100", -1);
	} else if (values->count) {
		int64_t found = percentile(values->items, values->count, values->percent);
		if (values->real)
			sqlite3_result_double(out, real_from_ordered(found));
		else
			sqlite3_result_int64(out, found);
	} else if (values->nweighted) {
		sqlite3_result_int64(out, weighted_percentile(values));
	}
	mem_free(values->items);
	mem_free(values->weighted);
	values->items = NULL;
	values->weighted = NULL;
}

/* ---- histogram ---- */

static const struct aggregate powers = {.kind = AGGREGATE_LOG2};

enum { BUCKETS = 66 /* of these */ };

struct histogram {
	uint64_t counts[BUCKETS];    /* of numbers of 0 and more */
	uint64_t negatives[BUCKETS]; /* of -x */
	bool any;
};

static int64_t whole(double real)
{
	if (real >= 9223372036854775807.0)
		return INT64_MAX;
	if (real <= -9223372036854775808.0)
		return INT64_MIN;
	return (int64_t)floor(real);
}

static void histogram_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct histogram *histogram = sqlite3_aggregate_context(out, sizeof *histogram);
	int type = sqlite3_value_numeric_type(argv[0]);
	uint64_t count = argc > 1 ? (uint64_t)sqlite3_value_int64(argv[1]) : 1;

	if (!histogram || !count || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	int64_t value = type == SQLITE_INTEGER ? sqlite3_value_int64(argv[0])
					       : whole(sqlite3_value_double(argv[0]));
	if (value >= 0)
		histogram->counts[aggregate_bucket(&powers, value)] += count;
	else
		histogram->negatives[aggregate_bucket(&powers, -(__int128)value)] += count;
	histogram->any = true;
}

/* Appends a bound; 2^63 does not fit into int64_t. */
static void aggregates_add_number(struct buf *text, const char *name, __int128 number)
{
	buf_add_text(text, name);
	if (number < 0)
		buf_add_i64(text, (int64_t)number);
	else
		buf_add_u64(text, (uint64_t)number);
}

/* Appends the bucket as {"from":..., "below":..., "count":...}, unless it is empty. */
static void add_bucket(struct buf *text, const uint64_t *counts, uint32_t i, bool negative)
{
	struct accumulator total = {.buckets = (uint64_t *)(uintptr_t)counts};
	struct bucket bucket = accumulator_bucket(&powers, &total, i);
	__int128 low = negative ? 1 - bucket.high : bucket.low;

	if (!bucket.count)
		return;
	aggregates_add_number(text, text->len > 1 ? ",{\"from\":" : "{\"from\":",
			      low < INT64_MIN ? INT64_MIN : low);
	aggregates_add_number(text, ",\"below\":", negative ? 1 - bucket.low : bucket.high);
	aggregates_add_number(text, ",\"count\":", bucket.count);
	buf_add_char(text, '}');
}

static void histogram_final(sqlite3_context *out)
{
	const struct histogram *histogram = sqlite3_aggregate_context(out, 0);
	struct buf text = {0};

	if (!histogram || !histogram->any)
		return;
	buf_add_char(&text, '[');
	for (uint32_t i = BUCKETS; i-- > 0;)
		add_bucket(&text, histogram->negatives, i, true);
	for (uint32_t i = 0; i < BUCKETS; i++)
		add_bucket(&text, histogram->counts, i, false);
	buf_add_char(&text, ']');
	sqlite3_result_text64(out, buf_text(&text), text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	buf_release(&text);
}

int sql_register_aggregates(sqlite3 *db)
{
	static const struct {
		const char *name;
		int nargs;
		void (*step)(sqlite3_context *out, int argc, sqlite3_value **argv);
		void (*final)(sqlite3_context *out);
	} aggregates[] = {
		{"percentile", 2, percentile_step, percentile_final},
		{"median", 1, percentile_step, percentile_final},
		{"yore_percentile", 3, percentile_step, percentile_final},
		{"histogram", 1, histogram_step, histogram_final},
		{"yore_histogram", 2, histogram_step, histogram_final},
	};
	int code = SQLITE_OK;

	for (size_t i = 0; code == SQLITE_OK && i < sizeof aggregates / sizeof *aggregates; i++)
		code = sqlite3_create_function_v2(
			db, aggregates[i].name, aggregates[i].nargs,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, NULL,
			aggregates[i].step, aggregates[i].final, NULL);
	return code;
}
