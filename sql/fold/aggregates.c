/*
 * aggregates.c - what SQL lacks for latencies: percentiles and histograms
 *
 *     percentile(x, P)   the least x that P % of them do not exceed (nearest rank): one of the
 *                        values, so integers stay exact
 *     median(x)          percentile(x, 50)
 *     histogram(x)       JSON: [{"from":1024,"below":2048,"count":5}, ...], bounds powers of two
 *
 * NULLs are left out. Values are kept, 8 bytes each, until the group ends; a histogram keeps
 * counts.
 */
#include "sql/sql_internal.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct number {
	union {
		int64_t integer;
		double real;
	};
};

struct number_list {
	struct number *items;
	size_t count, capacity;
	bool real; /* some value was: all are */
	double percent;
	bool wrong; /* percent is no number from 0 to 100 */
};

static void become_real(struct number_list *values)
{
	for (size_t i = 0; i < values->count && !values->real; i++)
		values->items[i].real = (double)values->items[i].integer;
	values->real = true;
}

static void add_value(struct number_list *values, sqlite3_value *value)
{
	int type = sqlite3_value_numeric_type(value);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	if (type == SQLITE_FLOAT && !values->real)
		become_real(values);
	struct number *number = mem_push(values->items, values->count, values->capacity);
	if (values->real)
		number->real = sqlite3_value_double(value);
	else
		number->integer = sqlite3_value_int64(value);
}

static int compare_integers(const void *a, const void *b)
{
	int64_t x = ((const struct number *)a)->integer, y = ((const struct number *)b)->integer;

	return x < y ? -1 : x > y;
}

static int compare_reals(const void *a, const void *b)
{
	double x = ((const struct number *)a)->real, y = ((const struct number *)b)->real;

	return x < y ? -1 : x > y;
}

static void percentile_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct number_list *values = sqlite3_aggregate_context(out, sizeof *values);

	if (!values)
		return;
	values->percent = argc > 1 ? sqlite3_value_double(argv[1]) : 50;
	values->wrong |= argc > 1 && (sqlite3_value_numeric_type(argv[1]) == SQLITE_NULL ||
				      !(values->percent >= 0 && values->percent <= 100));
	add_value(values, argv[0]);
}

static void percentile_final(sqlite3_context *out)
{
	struct number_list *values = sqlite3_aggregate_context(out, 0);

	if (!values)
		return;
	if (values->wrong) {
		sqlite3_result_error(out, "percentile: want a number from 0 to 100", -1);
	} else if (values->count) {
		double rank = ceil(values->percent / 100 * (double)values->count);
		size_t at = rank < 1 ? 0 : (size_t)rank - 1;
		at = at < values->count ? at : values->count - 1;
		qsort(values->items, values->count, sizeof *values->items,
		      values->real ? compare_reals : compare_integers);
		if (values->real)
			sqlite3_result_double(out, values->items[at].real);
		else
			sqlite3_result_int64(out, values->items[at].integer);
	}
	mem_free(values->items);
	values->items = NULL;
}

/* ---- histogram ---- */

/* Bucket 64 holds 0; 64 + n: [2^(n-1), 2^n); 64 - n the same of negative numbers. */
enum { ZERO = 64, BUCKETS = 129 };

struct histogram {
	uint64_t counts[BUCKETS];
	bool any;
};

static unsigned bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

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

	(void)argc;
	if (!histogram || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	int64_t value = type == SQLITE_INTEGER ? sqlite3_value_int64(argv[0])
					       : whole(sqlite3_value_double(argv[0]));
	unsigned bucket =
		value >= 0 ? ZERO + bits_of((uint64_t)value) : ZERO - bits_of(-(uint64_t)value);
	histogram->counts[bucket]++;
	histogram->any = true;
}

/* The bucket's bounds, [from, below); 2^63 is beyond int64 and is written as a number. */
static void add_bounds(struct buf *text, unsigned bucket)
{
	if (bucket == ZERO) {
		buf_add_text(text, "\"from\":0,\"below\":1");
	} else if (bucket > ZERO) {
		unsigned n = bucket - ZERO;
		buf_printf(text, "\"from\":%" PRIu64 ",\"below\":%" PRIu64, UINT64_C(1) << (n - 1),
			   UINT64_C(1) << n);
	} else { /* -2^n < x <= -2^(n-1) */
		unsigned n = ZERO - bucket;
		buf_printf(text, "\"from\":-%" PRIu64 ",\"below\":",
			   n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_C(1) << 63);
		if (n == 1)
			buf_add_char(text, '0');
		else
			buf_printf(text, "-%" PRIu64, (UINT64_C(1) << (n - 1)) - 1);
	}
}

static void histogram_final(sqlite3_context *out)
{
	const struct histogram *histogram = sqlite3_aggregate_context(out, 0);
	struct buf text = {0};

	if (!histogram || !histogram->any)
		return;
	buf_add_char(&text, '[');
	for (unsigned i = 0; i < BUCKETS; i++) {
		if (!histogram->counts[i])
			continue;
		buf_add_text(&text, text.len > 1 ? ",{" : "{");
		add_bounds(&text, i);
		buf_printf(&text, ",\"count\":%" PRIu64 "}", histogram->counts[i]);
	}
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
		{"histogram", 1, histogram_step, histogram_final},
	};
	int code = SQLITE_OK;

	for (size_t i = 0; code == SQLITE_OK && i < sizeof aggregates / sizeof *aggregates; i++)
		code = sqlite3_create_function_v2(
			db, aggregates[i].name, aggregates[i].nargs,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, NULL,
			aggregates[i].step, aggregates[i].final, NULL);
	return code;
}
