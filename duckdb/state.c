/*
 * state.c - table functions of intervals of attributes, and of values at a moment
 *
 *     yore_state(TRACE, PATH, begin := MOMENT, until := MOMENT)
 *     yore_at(TRACE, MOMENT, PATH)
 *
 * Intervals are read one stretch of time after the other (state/intervals/stretches.h), so that
 * those of a large trace are never all in memory. One thread reads them, because a stretch
 * continues open intervals of the last one.
 */
#include "duckdb/duckdb_internal.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/intervals/stretches.h"
#include "state/state.h"

enum { AT_PATH, AT_TS, AT_DUR, AT_VALUE, AT_INT, AT_FLOAT, AT_BOOL, AT_UNTIL, AT_SINCE, AT_KNOWN };

static const struct state_column {
	const char *name;
	enum cell_kind kind;
	unsigned bits;
} columns[] = {
	[AT_PATH] = {"path", CELL_TEXT, 0},       [AT_TS] = {"ts", CELL_TIME, 64},
	[AT_DUR] = {"dur", CELL_INT, 64},         [AT_VALUE] = {"value", CELL_TEXT, 0},
	[AT_INT] = {"value_int", CELL_INT, 64},   [AT_FLOAT] = {"value_float", CELL_FLOAT, 64},
	[AT_BOOL] = {"value_bool", CELL_BOOL, 1}, [AT_UNTIL] = {"until", CELL_TIME, 64},
	[AT_SINCE] = {"since", CELL_TIME, 64},    [AT_KNOWN] = {"known", CELL_BOOL, 1}};
/* The columns of each table, in order. */
static const uint8_t of_intervals[] = {AT_PATH, AT_TS,    AT_DUR,  AT_VALUE,
				       AT_INT,  AT_FLOAT, AT_BOOL, AT_UNTIL};
static const uint8_t of_moment[] = {AT_PATH, AT_VALUE, AT_SINCE, AT_KNOWN,
				    AT_INT,  AT_FLOAT, AT_BOOL};

struct duck_states { /* of a call */
	struct duck_host host;
	const uint8_t *columns;
	struct query *query;
	nstime begin, end; /* yore_at: `begin` is the moment */
	bool moment;
};

struct duck_states_row {
	const char *path;
	nstime begin, end; /* yore_at: `begin` is since when */
	struct value value;
};

struct duck_states_scan {
	struct duck_states *states;
	uint64_t *wanted; /* columns of the chunk */
	uint64_t ncolumns;
	struct stretches stretches;
	const struct query *queries[1];
	bool done;           /* no stretch is left */
	struct arena *arena; /* of the rows */
	struct duck_states_row *rows;
	size_t count, capacity, at;
	struct buf scratch;
};

static void free_states(void *arg)
{
	struct duck_states *states = arg;

	query_free(states->query);
	duck_host_close(&states->host);
	mem_free(states);
}

static bool read_path(struct duck_states *states, const char *text, struct error *err)
{
	struct buf note = {0};

	if (!text)
		return error_set(err, ERR_QUERY,
				 "the path of an attribute is NULL; '**' is all of them");
	if (!query_parse(text, &states->query, err)) {
		states->query = NULL;
		return false;
	}
	bool good = duck_host_state(&states->host, err) &&
		    state_lookup(states->host.state, states->query, NULL, &note, err);
	buf_release(&note); /* the note that no event writes it: there are just no rows */
	return good;
}

static bool read_path_argument(struct duck_states *states, struct duck_bind *info, uint64_t i,
			       struct error *err)
{
	char *text = duck_text_argument(info, i);
	bool good = read_path(states, text, err);

	mem_free(text);
	return good;
}

static void begin_table(struct duck_bind *info, struct duck_states *states, const uint8_t *these,
			size_t count)
{
	states->columns = these;
	for (size_t i = 0; i < count; i++)
		duck_add_column(info, columns[these[i]].name, columns[these[i]].kind,
				columns[these[i]].bits, false);
	duck.bind_set_bind_data(info, states, free_states);
}

static void bind_intervals(struct duck_bind *info)
{
	struct duck_states *states = mem_new(sizeof *states);
	struct error err;

	if (duck_open_argument(&states->host, info, false, &err) &&
	    read_path_argument(states, info, 1, &err) &&
	    duck_range(&states->host, info, &states->begin, &states->end, &err)) {
		begin_table(info, states, of_intervals, sizeof of_intervals);
		return;
	}
	duck.bind_set_error(info, err.text);
	free_states(states);
}

static void bind_moment(struct duck_bind *info)
{
	struct duck_states *states = mem_new(sizeof *states);
	struct error err;

	states->moment = true;
	if (duck_open_argument(&states->host, info, false, &err) &&
	    duck_moment(&states->host, duck.bind_get_parameter(info, 1), &states->begin, &err) &&
	    read_path_argument(states, info, 2, &err)) {
		begin_table(info, states, of_moment, sizeof of_moment);
		return;
	}
	duck.bind_set_error(info, err.text);
	free_states(states);
}

/* ---- a scan ---- */

static void free_scan(void *arg)
{
	struct duck_states_scan *scan = arg;

	stretches_end(&scan->stretches);
	arena_free(scan->arena);
	buf_release(&scan->scratch);
	mem_free(scan->rows);
	mem_free(scan->wanted);
	mem_free(scan);
}

static void add_row(struct duck_states_scan *scan, const struct duck_states_row *row)
{
	const struct duck_states_row *last = scan->count ? &scan->rows[scan->count - 1] : NULL;
	const char *path = last && !strcmp(last->path, row->path)
				   ? last->path
				   : arena_strdup(scan->arena, row->path);
	struct duck_states_row *added = mem_push(scan->rows, scan->count, scan->capacity);

	*added = *row;
	added->path = path;
	added->value = value_copy(scan->arena, &row->value);
}

static bool take_interval(void *arg, const struct interval *interval)
{
	add_row(arg, &(struct duck_states_row){interval->path, interval->begin, interval->end,
					       interval->value});
	return true;
}

static bool ask_moment(struct duck_states_scan *scan, struct error *err)
{
	struct duck_states *states = scan->states;
	struct moment moment = {.t = states->begin};
	struct answers answers;

	scan->done = true;
	if (!state_at(states->host.state, &moment, 1, scan->queries, 1, false, &answers, err))
		return false;
	for (size_t i = 0; i < answers.count; i++)
		add_row(scan,
			&(struct duck_states_row){answers.items[i].path, answers.items[i].since,
						  NSTIME_MAX, answers.items[i].value});
	answers_release(&answers);
	return true;
}

static bool begin_scan(struct duck_states_scan *scan, struct error *err)
{
	struct duck_states *states = scan->states;

	scan->queries[0] = states->query;
	if (states->moment)
		return ask_moment(scan, err);
	if (states->begin == states->end) {
		scan->done = true;
		return true;
	}
	return stretches_begin(&scan->stretches, states->host.state, states->begin, states->end,
			       scan->queries, 1, err);
}

static void init_scan(struct duck_init *info)
{
	struct duck_states_scan *scan = mem_new(sizeof *scan);
	struct error err;

	scan->states = duck.init_get_bind_data(info);
	scan->arena = arena_new();
	scan->wanted = duck_wanted_columns(info, &scan->ncolumns);
	duck.init_set_max_threads(info, 1);
	duck.init_set_init_data(info, scan, free_scan);
	if (!begin_scan(scan, &err))
		duck.init_set_error(info, err.text);
}

/* When all rows are returned, reads stretches until one has rows. */
static bool next_rows(struct duck_states_scan *scan, struct error *err)
{
	while (scan->at == scan->count && !scan->done) {
		if (!stretches_more(&scan->stretches)) {
			scan->done = true;
			break;
		}
		scan->at = scan->count = 0;
		arena_reset(scan->arena);
		if (!stretches_next(&scan->stretches, take_interval, scan, err))
			return false;
	}
	return true;
}

static void put_known(struct duck_column *out, uint64_t row, bool known, uint64_t number)
{
	duck_put_int64(out, row, (int64_t)number);
	if (!known)
		duck_put_null(out, row);
}

static void put_bool(struct duck_column *out, uint64_t row, bool known, bool is)
{
	((uint8_t *)out->data)[row] = is;
	if (!known)
		duck_put_null(out, row);
}

static void put_dur(struct duck_column *out, uint64_t row, const struct duck_states_row *from)
{
	nstime dur = 0;
	bool known = from->begin != NSTIME_MIN && from->end != NSTIME_MAX &&
		     !__builtin_sub_overflow(from->end, from->begin, &dur);

	put_known(out, row, known, (uint64_t)dur);
}

static void put_cell(struct duck_states_scan *scan, struct duck_column *out, uint64_t row,
		     unsigned what, const struct duck_states_row *from)
{
	const struct value *value = &from->value;
	bool is_float = value->kind == VALUE_FLOAT, is_bool = value->kind == VALUE_BOOL;

	switch (what) {
	case AT_PATH:
		duck_put_text(out, row, from->path, strlen(from->path));
		break;
	case AT_TS:
	case AT_SINCE:
		duck_put_time(out, row, from->begin);
		break;
	case AT_UNTIL:
		duck_put_time(out, row, from->end);
		break;
	case AT_DUR:
		put_dur(out, row, from);
		break;
	case AT_VALUE:
		duck_put_value(out, row, value, &scan->scratch);
		break;
	case AT_INT:
		put_known(out, row, value->kind == VALUE_INT, value->u);
		break;
	case AT_FLOAT:
		((double *)out->data)[row] = is_float ? value->f : 0;
		if (!is_float)
			duck_put_null(out, row);
		break;
	case AT_BOOL:
		put_bool(out, row, is_bool, is_bool && value->b);
		break;
	default: /* AT_KNOWN */
		put_bool(out, row, true, value->kind != VALUE_UNKNOWN);
	}
}

/* Copies as many of the waiting rows as fit into the chunk, column by column. */
static uint64_t put_rows(struct duck_states_scan *scan, struct duck_chunk *chunk)
{
	const struct duck_states *states = scan->states;
	size_t ncolumns = states->moment ? sizeof of_moment : sizeof of_intervals;
	uint64_t count = duck.vector_size();

	if (count > scan->count - scan->at)
		count = scan->count - scan->at;
	for (uint64_t i = 0; i < scan->ncolumns; i++) {
		if (scan->wanted[i] >= ncolumns) /* no column: DuckDB only counts rows */
			continue;
		struct duck_column out = duck_column_of(chunk, i);
		for (uint64_t row = 0; row < count; row++)
			put_cell(scan, &out, row, states->columns[scan->wanted[i]],
				 &scan->rows[scan->at + row]);
	}
	scan->at += count;
	return count;
}

static void scan_rows(struct duck_function *info, struct duck_chunk *chunk)
{
	struct duck_states_scan *scan = duck.function_get_init_data(info);
	struct error err;

	if (!next_rows(scan, &err) || !duck_host_sound(&scan->states->host, &err)) {
		duck.function_set_error(info, err.text);
		duck.data_chunk_set_size(chunk, 0);
		return;
	}
	duck.data_chunk_set_size(chunk, put_rows(scan, chunk));
}

const struct duck_table duck_state = {.name = "yore_state",
				      .count = 2,
				      .range = true,
				      .bind = bind_intervals,
				      .init = init_scan,
				      .scan = scan_rows};
const struct duck_table duck_at = {.name = "yore_at",
				   .count = 3,
				   .is_moment = 1 << 1,
				   .bind = bind_moment,
				   .init = init_scan,
				   .scan = scan_rows};
