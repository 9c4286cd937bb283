/*
 * states.c - the tables `state`, intervals of attributes, and `state_at`, values at a moment
 *
 *     state(path, ts, dur, value; hidden: pattern, until, comm)
 *     state_at(path, value, since, known; hidden: pattern, at, comm)
 *
 * An interval is [ts, until), dur is until - ts; unknown is NULL. comm is the name of the thread
 * that the value is, or that the path begins with (comms.c). DuckDB has the value in columns of its
 * types, too.
 *
 * The value of one path at one moment, which a join looks up row after row, is read through a cache
 * of the intervals around it (lookup.c). Other rows are made one stretch of time after the other,
 * so that those of a large trace are never all in memory.
 */
#include "rows/comms.h"
#include "rows/lookup.h"
#include "rows/row_table.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/intervals/stretches.h"
#include "state/state.h"

#include <string.h>

/* Columns of both tables. */
enum { PATH, TS, DUR, VALUE, KNOWN, AS_INT, AS_FLOAT, AS_BOOL, UNTIL, COMM, ARGUMENT };

struct states_row {
	const char *path;
	nstime begin, end; /* state_at: since when, and the moment */
	struct value value;
};

struct states_scan {
	struct row_scan head;
	struct query *query; /* the parsed PATH */
	const struct query *queries[1];
	struct stretches todo;   /* stretches that are not read yet */
	struct arena *arena;     /* texts of `rows` */
	struct states_row *rows; /* of this stretch */
	size_t capacity;
	uint64_t given; /* rows of all stretches so far */
};

static bool is_moment(const struct states_scan *scan)
{
	return scan->head.table == &row_state_at;
}

static void add_row(struct states_scan *scan, const struct states_row *row)
{
	const struct states_row *last = scan->head.count ? &scan->rows[scan->head.count - 1] : NULL;
	const char *path = last && !strcmp(last->path, row->path)
				   ? last->path
				   : arena_strdup(scan->arena, row->path);
	struct states_row *added = mem_push(scan->rows, scan->head.count, scan->capacity);

	*added = *row;
	added->path = path;
	added->value = value_copy(scan->arena, &row->value);
}

/* Does the interval meet the conditions on ts, until and path? */
static bool states_passes(const struct row_ask *ask, const struct interval *interval)
{
	nstime begin = interval->begin, end = interval->end;

	if (ask->low > NSTIME_MIN && begin < ask->low)
		return false;
	if (ask->high < NSTIME_MAX && (begin == NSTIME_MIN || begin > ask->high))
		return false;
	if (ask->least_end > NSTIME_MIN && (end == NSTIME_MAX || end < ask->least_end))
		return false;
	return !ask->named || ask->named(ask->arg, interval->path);
}

static bool take_interval(void *arg, const struct interval *interval)
{
	struct states_scan *scan = arg;

	if (!states_passes(&scan->head.ask, interval))
		return true;
	add_row(scan, &(struct states_row){interval->path, interval->begin, interval->end,
					   interval->value});
	return ++scan->given < scan->head.ask.limit;
}

/* Sets a range [begin, end) that overlaps every interval asked for. */
static void states_range_of(const struct row_ask *ask, nstime *begin, nstime *end)
{
	nstime low = ask->low, high = ask->high < NSTIME_MAX ? ask->high + 1 : NSTIME_MAX;
	nstime inside = time_earlier(ask->least_end, 1); /* it contains this or begins later */

	if (high != NSTIME_MAX && inside >= high)
		inside = high - 1;
	low = inside > low ? inside : low;
	*begin = ask->begin > low ? ask->begin : low;
	*end = ask->end < high ? ask->end : high;
}

static bool ask_intervals(struct states_scan *scan, struct state *state, struct error *err)
{
	struct row_host *host = scan->head.host;
	const struct interval *found;
	nstime begin, end;

	states_range_of(&scan->head.ask, &begin, &end);
	if (begin >= end)
		return true;
	if (end - 1 == begin && !query_has_wildcard(scan->query) &&
	    !state_names_threads(state, scan->queries, 1)) {
		if (!lookup_at(host, query_text(scan->query), begin, &found, err))
			return false;
		if (found)
			take_interval(scan, found);
		return true;
	}
	return row_host_look_up(host, state, scan->query, NULL, err) &&
	       stretches_begin(&scan->todo, state, begin, end, scan->queries, 1, err);
}

static bool ask_moment(struct states_scan *scan, struct state *state, struct error *err)
{
	const struct moment moment = {.t = scan->head.ask.at};
	struct answers answers;

	if ((scan->query && !row_host_look_up(scan->head.host, state, scan->query, NULL, err)) ||
	    !state_at(state, &moment, 1, scan->queries, scan->query ? 1 : 0, false, &answers, err))
		return false;
	for (size_t i = 0; i < answers.count; i++) {
		const struct answer *answer = &answers.items[i];
		take_interval(scan, &(struct interval){.path = answer->path,
						       .begin = answer->since,
						       .end = moment.t,
						       .value = answer->value});
	}
	answers_release(&answers);
	return true;
}

static void end_stretches(struct states_scan *scan)
{
	stretches_end(&scan->todo);
	scan->todo = (struct stretches){0};
	query_free(scan->query);
	scan->query = NULL;
}

static bool states_begin(void *arg, struct error *err)
{
	struct states_scan *scan = arg;
	const char *told = scan->head.ask.told;
	struct state *state;

	end_stretches(scan);
	if (!scan->arena)
		scan->arena = arena_new();
	arena_reset(scan->arena);
	scan->given = 0;
	if (!told && !is_moment(scan))
		told = "**";
	if (!scan->head.ask.limit)
		return true;
	if (told && !query_parse(told, &scan->query, err)) {
		scan->query = NULL;
		return false;
	}
	scan->queries[0] = scan->query;
	return row_host_state(scan->head.host, &state, err) &&
	       (is_moment(scan) ? ask_moment(scan, state, err) : ask_intervals(scan, state, err));
}

/* Reads stretches until one has rows. */
static bool states_more(void *arg, struct error *err)
{
	struct states_scan *scan = arg;

	while (scan->head.at == scan->head.count && scan->given < scan->head.ask.limit &&
	       stretches_more(&scan->todo)) {
		scan->head.at = scan->head.count = 0;
		arena_reset(scan->arena);
		if (!stretches_next(&scan->todo, take_interval, scan, err))
			return false;
	}
	return true;
}

static void put_dur(struct value *out, const struct states_row *row)
{
	nstime dur;

	if (row->begin != NSTIME_MIN && row->end != NSTIME_MAX &&
	    !__builtin_sub_overflow(row->end, row->begin, &dur))
		cell_integer(out, dur);
}

/* Of state_at as of the moment, else as of the interval's begin, or just before its end. */
static bool put_comm(struct states_scan *scan, const struct states_row *row, struct value *out,
		     struct error *err)
{
	bool at_end = is_moment(scan) || row->begin == NSTIME_MIN;
	nstime t = at_end ? row->end - !is_moment(scan) : row->begin;
	const char *name;

	if (!comms_of_row(scan->head.host, row->path, &row->value, t, &name, err))
		return false;
	cell_text(out, name);
	return true;
}

static bool cell(void *arg, size_t column, struct value *out, struct error *err)
{
	static const uint8_t intervals[] = {PATH,    TS,       DUR,      VALUE, AS_INT, AS_FLOAT,
					    AS_BOOL, ARGUMENT, ARGUMENT, UNTIL, COMM},
			     moment[] = {PATH,    VALUE,    TS,       KNOWN,    AS_INT, AS_FLOAT,
					 AS_BOOL, ARGUMENT, ARGUMENT, ARGUMENT, COMM};
	struct states_scan *scan = arg;
	const struct states_row *row = &scan->rows[scan->head.at];

	switch (is_moment(scan) ? moment[column] : intervals[column]) {
	case PATH:
		cell_text(out, row->path);
		break;
	case TS:
		cell_time(out, row->begin);
		break;
	case DUR:
		put_dur(out, row);
		break;
	case VALUE:
		*out = row->value;
		break;
	case KNOWN:
		*out = value_bool(row->value.kind != VALUE_UNKNOWN);
		break;
	case AS_INT:
		if (row->value.kind == VALUE_INT)
			*out = row->value;
		break;
	case AS_FLOAT:
		if (row->value.kind == VALUE_FLOAT)
			*out = row->value;
		break;
	case AS_BOOL:
		if (row->value.kind == VALUE_BOOL)
			*out = row->value;
		break;
	case UNTIL:
		cell_time(out, row->end);
		break;
	case COMM:
		return put_comm(scan, row, out, err);
	}
	return true;
}

static uint64_t key(const void *arg)
{
	const struct states_scan *scan = arg;
	const struct states_row *row = &scan->rows[scan->head.at];
	nstime t = is_moment(scan) ? row->end : row->begin;

	return hash_number(hash_bytes(row->path, strlen(row->path)) + (uint64_t)t);
}

static void states_release(void *arg)
{
	struct states_scan *scan = arg;

	end_stretches(scan);
	arena_free(scan->arena);
	mem_free(scan->rows);
}

#define TYPED_VALUES                                             \
	{"value_int", ROW_INTEGER, .flags = ROW_DUCKDB},         \
		{"value_float", ROW_FLOAT, .flags = ROW_DUCKDB}, \
	{                                                        \
		"value_bool", ROW_BOOL, .flags = ROW_DUCKDB      \
	}
static const struct row_column of_intervals[] = {
	{"path", ROW_TEXT, .use = ROW_PATH},
	{"ts", ROW_TIME, .use = ROW_STARTS},
	{"dur", .type = ROW_INTEGER},
	{"value", .type = ROW_ANY},
	TYPED_VALUES,
	{"trace", ROW_TEXT, ROW_TRACE, .flags = ROW_ARGUMENT | ROW_FOREIGN},
	{"pattern", ROW_TEXT, ROW_TOLD, .flags = ROW_ARGUMENT},
	{"until", ROW_TIME, ROW_ENDS, .flags = ROW_HIDDEN},
	{"comm", ROW_TEXT, .flags = ROW_ARGUMENT}};
static const struct row_column of_moment[] = {
	{"path", ROW_TEXT, .use = ROW_PATH},
	{"value", .type = ROW_ANY},
	{"since", .type = ROW_TIME},
	{"known", .type = ROW_BOOL},
	TYPED_VALUES,
	{"trace", ROW_TEXT, ROW_TRACE, .flags = ROW_ARGUMENT | ROW_FOREIGN},
	{"pattern", ROW_TEXT, ROW_TOLD, .flags = ROW_ARGUMENT},
	{"at", ROW_TIME, ROW_AT, ROW_ARGUMENT, .needed = "the moment, as in state_at('PATH', TS),"},
	{"comm", ROW_TEXT, .flags = ROW_ARGUMENT}};
#define STATES(of, ...)                                                                         \
	{                                                                                       \
		.columns = of, .ncolumns = sizeof of / sizeof *of, .rows = 1e8,                 \
		.size = sizeof(struct states_scan), .begin = states_begin, .more = states_more, \
		.cell = cell, .key = key, .release = states_release, __VA_ARGS__                \
	}
const struct row_table row_state = STATES(of_intervals, .in_time = true),
		       row_state_at = STATES(of_moment, .in_time = false);
