/*
 * rows.c - table functions over rows/, which makes the same rows for SQLite
 *
 *     yore_thread_state, yore_wakeups, yore_syscalls (TRACE, begin := MOMENT, until := MOMENT)
 *     yore_threads, yore_losses, yore_streams, yore_classes, yore_info (TRACE)
 *
 * One thread makes the rows, in the same order as for SQLite.
 */
#include "duckdb/duckdb_internal.h"

#include "engine/base/mem.h"
#include "rows/row_list.h"
#include "rows/thread_rows.h"

struct duck_rows_call {
	struct duck_host host;
	const struct thread_rows_kind *kind; /* a table about threads; NULL: */
	const struct row_table *list;        /* a small table */
	const struct row_column *columns;
	size_t ncolumns;
	nstime begin, end;
};

struct duck_rows_scan {
	struct duck_rows_call *call;
	struct row_host host;
	uint64_t *wanted; /* columns of the chunk */
	uint64_t nwanted;
	struct thread_rows *threads;
	struct row_list list;
	size_t at; /* index of the current row's first cell in `list` */
	struct buf scratch;
};

static void free_call(void *arg)
{
	struct duck_rows_call *call = arg;

	duck_host_close(&call->host);
	mem_free(call);
}

static enum cell_kind cell_kind_of(enum row_type type)
{
	return type == ROW_INTEGER ? CELL_INT : type == ROW_TIME ? CELL_TIME : CELL_TEXT;
}

static void bind_rows(struct duck_bind *info)
{
	const struct duck_table *table = duck.bind_get_extra_info(info);
	struct duck_rows_call *call = mem_new(sizeof *call);
	struct error err;

	call->kind = table->thread_rows;
	call->list = table->list;
	call->columns = call->kind ? call->kind->columns : call->list->columns;
	call->ncolumns = call->kind ? call->kind->ncolumns : call->list->ncolumns;
	call->begin = NSTIME_MIN;
	call->end = NSTIME_MAX;
	if (!duck_open_argument(&call->host, info, false, &err) ||
	    (table->range && !duck_range(&call->host, info, &call->begin, &call->end, &err))) {
		duck.bind_set_error(info, err.text);
		free_call(call);
		return;
	}
	for (size_t i = 0; i < call->ncolumns; i++)
		duck_add_column(info, call->columns[i].name, cell_kind_of(call->columns[i].type),
				64, false);
	duck.bind_set_bind_data(info, call, free_call);
}

/* ---- a scan ---- */

static void free_scan(void *arg)
{
	struct duck_rows_scan *scan = arg;

	thread_rows_free(scan->threads);
	row_host_release(&scan->host);
	arena_free(scan->list.arena);
	mem_free(scan->list.cells);
	mem_free(scan->wanted);
	buf_release(&scan->scratch);
	mem_free(scan);
}

static bool get_state(void *arg, struct state **out, struct error *err)
{
	struct duck_host *host = arg;

	if (!host->state && !duck_host_state(host, err))
		return false;
	*out = host->state;
	return true;
}

static bool begin_threads(struct duck_rows_scan *scan, struct error *err)
{
	const struct duck_rows_call *call = scan->call;
	struct thread_rows_ask ask = {
		.begin = call->begin, .end = call->end, .low = NSTIME_MIN, .high = NSTIME_MAX};

	scan->threads = thread_rows_new(call->kind);
	return events_range(scan->host.index, &ask.first, &ask.last, err) &&
	       thread_rows_begin(scan->threads, &scan->host, &ask, err);
}

static void init_scan(struct duck_init *info)
{
	struct duck_rows_scan *scan = mem_new(sizeof *scan);
	struct duck_rows_call *call = duck.init_get_bind_data(info);
	struct error err;

	scan->call = call;
	scan->host = (struct row_host){.index = call->host.index,
				       .trace = call->host.trace,
				       .get_state = get_state,
				       .arg = &call->host};
	scan->list = (struct row_list){.arena = arena_new(),
				       .ncolumns = call->ncolumns,
				       .begin = call->begin,
				       .end = call->end};
	scan->wanted = duck_wanted_columns(info, &scan->nwanted);
	duck.init_set_max_threads(info, 1);
	duck.init_set_init_data(info, scan, free_scan);
	if (!(call->kind ? begin_threads(scan, &err)
			 : call->list->fill(&scan->host, &scan->list, &err)))
		duck.init_set_error(info, err.text);
}

static void put_cell(struct duck_rows_scan *scan, struct duck_column *out, uint64_t row,
		     enum row_type type, const struct value *value)
{
	bool number = type == ROW_INTEGER || type == ROW_TIME;

	if (!number) {
		duck_put_value(out, row, value, &scan->scratch);
		return;
	}
	duck_put_int64(out, row, (int64_t)value->u);
	if (value->kind != VALUE_INT)
		duck_put_null(out, row);
}

/* Copies the current row's cells. */
static bool put_row(struct duck_rows_scan *scan, struct duck_column *out, uint64_t row,
		    struct error *err)
{
	const struct duck_rows_call *call = scan->call;
	struct value cell;

	for (uint64_t i = 0; i < scan->nwanted; i++) {
		uint64_t column = scan->wanted[i];
		if (column >= call->ncolumns) /* no column: DuckDB only counts rows */
			continue;
		if (!call->kind)
			cell = scan->list.cells[scan->at + column];
		else if (!thread_rows_cell(scan->threads, column, &cell, err))
			return false;
		put_cell(scan, &out[i], row, call->columns[column].type, &cell);
	}
	return true;
}

static bool is_row(const struct duck_rows_scan *scan)
{
	return scan->threads ? thread_rows_more(scan->threads) : scan->at < scan->list.ncells;
}

static bool next_row(struct duck_rows_scan *scan, struct error *err)
{
	if (scan->threads)
		return thread_rows_next(scan->threads, err);
	scan->at += scan->list.ncolumns;
	return true;
}

static bool put_rows(struct duck_rows_scan *scan, struct duck_column *out, uint64_t *rows,
		     struct error *err)
{
	const uint64_t most = duck.vector_size();

	for (; *rows < most && is_row(scan); ++*rows)
		if (!put_row(scan, out, *rows, err) || !next_row(scan, err))
			return false;
	return duck_host_sound(&scan->call->host, err);
}

static void scan_rows(struct duck_function *info, struct duck_chunk *chunk)
{
	struct duck_rows_scan *scan = duck.function_get_init_data(info);
	struct duck_column *out = mem_new_array(scan->nwanted + 1, sizeof *out);
	struct error err;
	uint64_t rows = 0;

	for (uint64_t i = 0; i < scan->nwanted; i++)
		if (scan->wanted[i] < scan->call->ncolumns)
			out[i] = duck_column_of(chunk, i);
	if (!put_rows(scan, out, &rows, &err)) {
		duck.function_set_error(info, err.text);
		rows = 0;
	}
	mem_free(out);
	duck.data_chunk_set_size(chunk, rows);
}

#define ROWS_TABLE(called, has_range, made_by)                                     \
	{                                                                          \
		.name = "yore_" called, .count = 1, .range = (has_range), made_by, \
		.bind = bind_rows, .init = init_scan, .scan = scan_rows            \
	}

const struct duck_table duck_rows[] = {
	ROWS_TABLE("thread_state", true, .thread_rows = &thread_rows_state),
	ROWS_TABLE("wakeups", true, .thread_rows = &thread_rows_wakeups),
	ROWS_TABLE("syscalls", true, .thread_rows = &thread_rows_syscalls),
	ROWS_TABLE("threads", false, .list = &row_threads),
	ROWS_TABLE("losses", true, .list = &row_losses),
	ROWS_TABLE("streams", false, .list = &row_streams),
	ROWS_TABLE("classes", false, .list = &row_classes),
	ROWS_TABLE("info", false, .list = &row_info),
	{.name = NULL}};
