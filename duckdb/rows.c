/*
 * rows.c - table functions over rows/, which makes the same rows for SQLite
 *
 *     yore_thread_state, yore_wakeups, yore_syscalls (TRACE, begin := MOMENT, until := MOMENT)
 *     yore_threads, yore_losses, yore_packets, yore_streams, yore_classes, yore_info (TRACE)
 *     yore_state(TRACE, PATH, begin := MOMENT, until := MOMENT), yore_at(TRACE, MOMENT, PATH)
 *
 * One thread makes the rows, in the same order as for SQLite.
 */
#include "duckdb/duckdb_internal.h"

#include "engine/base/mem.h"
#include "rows/row_table.h"

struct duck_rows_call {
	struct duck_host host;
	const struct row_table *table;
	size_t *columns; /* numbers of those of the table that DuckDB has */
	size_t ncolumns;
	struct row_ask ask;
	char *told; /* of `ask` */
};

struct duck_rows_scan {
	struct duck_rows_call *call;
	struct row_host host;
	uint64_t *wanted; /* columns of the chunk */
	uint64_t nwanted;
	struct row_scan *rows;
	struct buf scratch;
};

static void free_call(void *arg)
{
	struct duck_rows_call *call = arg;

	duck_host_close(&call->host);
	mem_free(call->columns);
	mem_free(call->told);
	mem_free(call);
}

static void add_columns(struct duck_rows_call *call, struct duck_bind *info)
{
	static const enum cell_kind kinds[] = {
		[ROW_INTEGER] = CELL_INT, [ROW_TIME] = CELL_TIME, [ROW_TEXT] = CELL_TEXT,
		[ROW_FLOAT] = CELL_FLOAT, [ROW_BOOL] = CELL_BOOL, [ROW_ANY] = CELL_TEXT};

	call->columns = mem_new_array(call->table->ncolumns, sizeof *call->columns);
	for (size_t i = 0; i < call->table->ncolumns; i++) {
		const struct row_column *column = &call->table->columns[i];
		if (column->flags & ROW_SQL)
			continue;
		duck_add_column(info, column->name, kinds[column->type], 64, false);
		call->columns[call->ncolumns++] = i;
	}
}

/* Reads a moment or a PATH for each argument behind the trace. */
static bool read_arguments(struct duck_rows_call *call, const struct duck_table *table,
			   struct duck_bind *info, struct error *err)
{
	for (unsigned i = 1; i < table->count; i++) {
		if (table->is_moment >> i & 1) {
			if (!duck_moment(&call->host, duck.bind_get_parameter(info, i),
					 &call->ask.at, err))
				return false;
			continue;
		}
		call->ask.told = call->told = duck_text_argument(info, i);
		if (!call->told)
			return error_set(err, ERR_QUERY,
					 "the path of an attribute is NULL; '**' is all of them");
	}
	return !table->range ||
	       duck_range(&call->host, info, &call->ask.begin, &call->ask.end, err);
}

static void bind_rows(struct duck_bind *info)
{
	const struct duck_table *table = duck.bind_get_extra_info(info);
	struct duck_rows_call *call = mem_new(sizeof *call);
	struct error err;

	call->table = table->rows;
	call->ask = row_ask_all();
	if (!duck_open_argument(&call->host, info, false, &err) ||
	    !read_arguments(call, table, info, &err)) {
		duck.bind_set_error(info, err.text);
		free_call(call);
		return;
	}
	add_columns(call, info);
	duck.bind_set_bind_data(info, call, free_call);
}

/* ---- a scan ---- */

static void free_scan(void *arg)
{
	struct duck_rows_scan *scan = arg;

	row_scan_free(scan->rows);
	row_host_release(&scan->host);
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
	scan->rows = row_scan_new(call->table);
	scan->wanted = duck_wanted_columns(info, &scan->nwanted);
	duck.init_set_max_threads(info, 1);
	duck.init_set_init_data(info, scan, free_scan);
	if (!row_scan_begin(scan->rows, &scan->host, &call->ask, &err))
		duck.init_set_error(info, err.text);
}

static void rows_put_cell(struct duck_rows_scan *scan, struct duck_column *out, uint64_t row,
			  enum row_type type, const struct value *value)
{
	switch (type) {
	case ROW_INTEGER:
	case ROW_TIME:
		duck_put_int64(out, row, (int64_t)value->u);
		break;
	case ROW_FLOAT:
		((double *)out->data)[row] = value->f;
		break;
	case ROW_BOOL:
		((uint8_t *)out->data)[row] = value->kind == VALUE_BOOL && value->b;
		break;
	default:
		duck_put_value(out, row, value, &scan->scratch);
		return;
	}
	if (!value_exists(value))
		duck_put_null(out, row);
}

/* Copies the current row's cells. */
static bool put_row(struct duck_rows_scan *scan, struct duck_column *out, uint64_t row,
		    struct error *err)
{
	const struct duck_rows_call *call = scan->call;
	struct value cell;

	for (uint64_t i = 0; i < scan->nwanted; i++) {
		if (scan->wanted[i] >= call->ncolumns) /* no column: DuckDB only counts rows */
			continue;
		size_t column = call->columns[scan->wanted[i]];
		if (!row_scan_cell(scan->rows, column, &cell, err))
			return false;
		rows_put_cell(scan, &out[i], row, call->table->columns[column].type, &cell);
	}
	return true;
}

static bool put_rows(struct duck_rows_scan *scan, struct duck_column *out, uint64_t *rows,
		     struct error *err)
{
	const uint64_t most = duck.vector_size();

	for (; *rows < most && row_scan_more(scan->rows); ++*rows)
		if (!put_row(scan, out, *rows, err) || !row_scan_next(scan->rows, err))
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

#define ROWS_TABLE(called, has_range, its, ...)                                                  \
	{                                                                                        \
		.name = "yore_" called, .range = (has_range), .rows = &(its), .bind = bind_rows, \
		.init = init_scan, .scan = scan_rows, __VA_ARGS__                                \
	}

const struct duck_table duck_rows[] = {
	ROWS_TABLE("state", true, row_state, .count = 2),
	ROWS_TABLE("at", false, row_state_at, .count = 3, .is_moment = 1 << 1),
	ROWS_TABLE("thread_state", true, row_thread_state, .count = 1),
	ROWS_TABLE("wakeups", true, row_wakeups, .count = 1),
	ROWS_TABLE("syscalls", true, row_syscalls, .count = 1),
	ROWS_TABLE("threads", false, row_threads, .count = 1),
	ROWS_TABLE("losses", true, row_losses, .count = 1),
	ROWS_TABLE("packets", false, row_packets, .count = 1),
	ROWS_TABLE("streams", false, row_streams, .count = 1),
	ROWS_TABLE("classes", false, row_classes, .count = 1),
	ROWS_TABLE("info", false, row_info, .count = 1),
	{.name = NULL}};
