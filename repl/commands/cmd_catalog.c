/*
 * cmd_catalog.c - lists the traces below folders, a row each
 *
 * A worker describes each trace (trace_workers.h). The rows go into a table of SQLite, which --to
 * writes to a file; the command prints from that table.
 */
#include "convert/out.h"
#include "engine/base/mem.h"
#include "index/stored_traces.h"
#include "index/tables/location.h"
#include "repl/commands/catalog.h"
#include "repl/commands/cmds.h"
#include "repl/commands/trace_workers.h"
#include "repl/render/render.h"

#include <string.h>
#include <unistd.h>

struct catalog_choices {
	bool count;
	const char *to, *timeout;
};

struct catalog_making {
	struct session *session;
	const struct options *options;
	const struct catalog_choices *own;
	struct folder_names paths;
	struct sql *sql;
	struct sql_inserter *rows;
	size_t wrong; /* traces that could not be opened, or not be read in full */
};

/* Gathering */

static bool cmd_catalog_describe(void *arg, size_t i, struct session *session,
				 struct trace_worker *worker, struct error *err)
{
	const struct catalog_making *catalog = arg;
	struct sql_value values[CATALOG_GATHERED] = {0};

	(void)i;
	return catalog_describe(session, catalog->own->count, values, err) &&
	       worker_row(worker, values, CATALOG_GATHERED, err);
}

static bool add_row(void *arg, size_t i, const struct sql_value *values, size_t count,
		    struct error *err)
{
	struct catalog_making *catalog = arg;
	struct sql_value row[CATALOG_COLUMNS] = {0};

	memcpy(row, values, (count < CATALOG_GATHERED ? count : CATALOG_GATHERED) * sizeof *row);
	return sql_insert(catalog->rows, (int64_t)i + 1, row, err);
}

static bool end_row(void *arg, size_t i, const struct worker_end *end, struct error *err)
{
	struct catalog_making *catalog = arg;
	struct sql_value row[CATALOG_COLUMNS] = {0};
	struct buf drop = {0};

	catalog->wrong += end->fate != WORKER_DONE || end->damaged;
	if (end->fate == WORKER_DONE)
		return true;
	row[CATALOG_AT_PATH] = sql_text_value(catalog->paths.items[i]);
	row[CATALOG_ERROR] = sql_text_value(end->error.text);
	buf_printf(&drop, "DELETE FROM " CATALOG_TABLE " WHERE rowid = %zu", i + 1);
	bool ok = sql_run(catalog->sql, buf_text(&drop), err) &&
		  sql_insert(catalog->rows, (int64_t)i + 1, row, err);
	buf_release(&drop);
	return ok;
}

/* Adds the sizes of stored indices and timelines, by the traces' identities, after all workers. */
static bool add_stored(struct catalog_making *catalog, const struct stored_traces *stored,
		       struct error *err)
{
	static const struct sql_column columns[] = {
		{"name", "TEXT PRIMARY KEY"}, {"bytes", "INTEGER"}, {"timelines", "INTEGER"}};
	static const char update[] =
		"UPDATE " CATALOG_TABLE " SET (index_bytes, timelines_bytes) = "
		"(SELECT bytes, timelines FROM stored WHERE name = identity) "
		"WHERE error IS NULL; DROP TABLE stored";
	struct sql_inserter *rows = NULL;
	bool ok = sql_make_table(catalog->sql, "stored", columns, 3, err) &&
		  sql_inserter_new(catalog->sql, "stored", columns, 3, &rows, err);

	for (size_t i = 0; ok && i < stored->count; i++) {
		const struct stored_trace *trace = &stored->items[i];
		const struct sql_value values[] = {
			sql_text_value(trace->name),
			sql_number_value((int64_t)(trace->bytes - trace->timelines)),
			sql_number_value((int64_t)trace->timelines)};
		ok = sql_insert(rows, (int64_t)i + 1, values, err);
	}
	sql_inserter_free(rows);
	return ok && sql_run(catalog->sql, update, err);
}

/* Finds these sizes; if they cannot be read, the columns stay NULL. */
static bool find_stored(struct catalog_making *catalog, struct error *err)
{
	struct index_options where = session_index_options(catalog->session);
	struct stored_traces stored;
	struct error ignored;
	char *folder = where.none ? NULL : index_folder(&where);
	bool ok = true;

	if (folder && access(folder, F_OK) == 0 && stored_traces_list(folder, &stored, &ignored)) {
		ok = add_stored(catalog, &stored, err);
		stored_traces_release(&stored);
	}
	mem_free(folder);
	return ok;
}

static bool gather_traces(struct catalog_making *catalog, struct error *err)
{
	const struct trace_work work = {.paths = &catalog->paths,
					.timeout = catalog->own->timeout,
					.work = cmd_catalog_describe,
					.row = add_row,
					.ended = end_row,
					.arg = catalog};

	return sql_make_table(catalog->sql, CATALOG_TABLE, catalog_columns, CATALOG_COLUMNS, err) &&
	       sql_inserter_new(catalog->sql, CATALOG_TABLE, catalog_columns, CATALOG_COLUMNS,
				&catalog->rows, err) &&
	       trace_workers_run(catalog->session, &work, err) && find_stored(catalog, err);
}

/* Printing */

static void json_list(struct sink *out, const struct sql_value *words)
{
	const char *at = words->bytes, *end = at + words->len;

	sink_char(out, '[');
	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		size_t len = (size_t)((blank ? blank : end) - at);
		json_string(out, at, len);
		at += len + (blank != NULL);
		sink_text(out, at < end ? "," : "");
	}
	sink_char(out, ']');
}

static void cmd_catalog_put_cell(struct rows *rows, const struct sql_value *value)
{
	struct sink *cell = rows_cell(rows);

	if (value->kind == SQL_INTEGER)
		sink_i64(cell, value->integer);
	else if (value->kind == SQL_TEXT && rows->format == FORMAT_JSON)
		json_string(cell, value->bytes, value->len);
	else if (value->kind == SQL_TEXT)
		sink_add(cell, value->bytes, value->len);
	else if (rows->format == FORMAT_JSON)
		sink_text(cell, "null");
	else if (rows->format != FORMAT_CSV)
		sink_char(cell, '-');
}

static bool data_row(struct rows *rows, const struct sql_value *values)
{
	for (size_t i = 0; i < CATALOG_COLUMNS; i++) {
		bool list = i == CATALOG_CAN && values[i].kind == SQL_TEXT;
		if (list && rows->format == FORMAT_JSON)
			json_list(rows_cell(rows), &values[i]);
		else
			cmd_catalog_put_cell(rows, &values[i]);
	}
	return rows_end(rows);
}

/* Writes the begin with its date, since traces of a folder are from many days. */
static void put_begin(const struct options *options, struct rows *rows,
		      const struct sql_value *values)
{
	bool utc = values[CATALOG_CLOCK].len == 3 && !memcmp(values[CATALOG_CLOCK].bytes, "utc", 3);
	enum time_style style = options->time_set ? options->time : utc ? TIME_ISO : TIME_SECONDS;
	nstime begin = values[CATALOG_BEGIN].integer;
	struct times times;

	if (values[CATALOG_BEGIN].kind == SQL_NULL) {
		cmd_catalog_put_cell(rows, &values[CATALOG_BEGIN]);
		return;
	}
	times_init(&times, style, options->utc, utc, begin, values[CATALOG_END].integer);
	time_add(&times, begin, rows_cell(rows));
}

static bool text_row(const struct options *options, struct rows *rows,
		     const struct sql_value *values, bool errors)
{
	static const enum catalog_column numbers[] = {CATALOG_EVENTS, CATALOG_BYTES,
						      CATALOG_STREAMS, CATALOG_LOST};
	const struct sql_value *index = &values[CATALOG_INDEX_BYTES];
	const struct sql_value *timelines = &values[CATALOG_TIMELINES_BYTES];

	cmd_catalog_put_cell(rows, &values[CATALOG_FORMAT]);
	cmd_catalog_put_cell(rows, &values[CATALOG_HOST]);
	put_begin(options, rows, values);
	if (values[CATALOG_DURATION].kind == SQL_NULL)
		cmd_catalog_put_cell(rows, &values[CATALOG_DURATION]);
	else
		span_add(values[CATALOG_DURATION].integer, rows_cell(rows));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		cmd_catalog_put_cell(rows, &values[numbers[i]]);
	rows_text(rows, index->kind == SQL_NULL ? "-"
			: timelines->integer    ? "packets, timelines"
						: "packets");
	cmd_catalog_put_cell(rows, &values[CATALOG_AT_PATH]);
	if (errors && values[CATALOG_DAMAGED].integer)
		rows_text(rows, "parts could not be read: 'yore check' says which");
	else if (errors)
		cmd_catalog_put_cell(rows, &values[CATALOG_ERROR]);
	return rows_end(rows);
}

static bool is_for_people(const struct options *options)
{
	return options->format != FORMAT_CSV && options->format != FORMAT_JSON;
}

static void cmd_catalog_begin_rows(struct rows *rows, struct sink *sink,
				   const struct options *options, bool errors)
{
	static const struct table_column shown[] = {
		{"format", false}, {"host", false},  {"begin", false},  {"duration", true},
		{"events", true},  {"bytes", true},  {"streams", true}, {"lost", true},
		{"index", false},  {"trace", false}, {"error", false}};
	static struct table_column all[CATALOG_COLUMNS];
	size_t nshown = sizeof shown / sizeof *shown - !errors;

	for (size_t i = 0; i < CATALOG_COLUMNS; i++)
		all[i] = (struct table_column){catalog_columns[i].name, false};
	if (is_for_people(options))
		rows_begin(rows, sink, FORMAT_TABLE, shown, nshown);
	else
		rows_begin(rows, sink, options->format, all, CATALOG_COLUMNS);
	rows->fit = sink->columns;
}

static bool print_rows(const struct options *options, struct sql_statement *statement, bool errors,
		       struct sink *sink, struct error *err)
{
	struct sql_value values[CATALOG_COLUMNS];
	struct rows rows;
	enum step step = STEP_END;
	bool open = true;

	cmd_catalog_begin_rows(&rows, sink, options, errors);
	while (open && (step = sql_step(statement, err)) == STEP_ITEM) {
		for (size_t i = 0; i < CATALOG_COLUMNS; i++)
			sql_column(statement, i, &values[i]);
		open = is_for_people(options) ? text_row(options, &rows, values, errors)
					      : data_row(&rows, values);
	}
	rows_finish(&rows);
	return step != STEP_ERROR;
}

static bool cmd_catalog_print(const struct catalog_making *catalog, struct sink *sink,
			      struct error *err)
{
	static const char query[] = "SELECT * FROM " CATALOG_TABLE " ORDER BY rowid";
	struct sql_statement *statement;
	const char *rest;

	if (!sql_prepare(catalog->sql, query, &rest, &statement, err))
		return false;
	bool ok = print_rows(catalog->options, statement, catalog->wrong, sink, err);
	sql_finish(statement);
	return ok;
}

/* The command */

/* Makes paths absolute, since a catalog may be read from any folder. */
static void make_absolute(struct folder_names *paths)
{
	char *here = getcwd(NULL, 0);

	for (size_t i = 0; here && i < paths->count; i++) {
		char *path = paths->items[i];
		if (*path == '/' || strstr(path, "://"))
			continue;
		while (path[0] == '.' && path[1] == '/' && path[2])
			path += 2;
		path = !strcmp(path, ".") ? mem_strdup(here) : folder_join(here, path);
		mem_free(paths->items[i]);
		paths->items[i] = path;
	}
	mem_free(here);
}

static bool find_all(struct catalog_making *catalog, struct error *err)
{
	const struct words *words = &catalog->options->words;

	for (size_t i = 0; i < words->count; i++) {
		size_t before = catalog->paths.count;
		if (!catalog_traces(words->items[i], &catalog->paths, err))
			return false;
		if (catalog->paths.count == before)
			session_note(catalog->session, "%s: there is no trace below it",
				     words->items[i]);
	}
	if (catalog->own->to)
		make_absolute(&catalog->paths);
	return true;
}

static bool make(struct catalog_making *catalog, struct sink *sink, struct out *out,
		 struct error *err)
{
	const char *to = catalog->own->to;

	if (to && !out_open_named(out, to, err))
		return false;
	bool ok = sql_open_plain(to ? out->temporary : NULL, NULL, NULL, &catalog->sql, err) &&
		  gather_traces(catalog, err);
	sql_inserter_free(catalog->rows);
	ok = ok && sql_run(catalog->sql, "COMMIT", err) &&
	     (to || cmd_catalog_print(catalog, sink, err));
	sql_close(catalog->sql);
	if (to && !ok && err->kind == ERR_IO)
		error_while(err, "%s", to);
	ok = ok && (!to || out_finish(out, err));
	if (to)
		out_drop(out);
	return ok;
}

static bool run_catalog(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	struct catalog_making catalog = {
		.session = session, .options = options, .own = options->own};
	struct out out = {0};

	bool ok = catalog_check(session, "catalog", err) && find_all(&catalog, err) &&
		  make(&catalog, sink, &out, err);
	if (ok && catalog.wrong)
		session->status = 3;
	folder_release(&catalog.paths);
	return ok;
}

#define OWN(member) offsetof(struct catalog_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--count", NULL, "count events where packets do not say how many: reads all of the trace", 0}, TAKE_FLAG, .at = OWN(count)},
	{{"--timeout", "SPAN", "how long a trace may take: 30s, 500ms", 0}, TAKE_TEXT, .at = OWN(timeout)},
	{{"--to", "FILE", "write a file of SQLite instead, with a table traces", 0}, TAKE_TEXT, .at = OWN(to)},
	{.info.name = NULL},
};

const struct cmd cmd_catalog = {
	.name = "catalog",
	.args = "DIR...",
	.summary = "the traces below folders, a row each",
	.help = "Finds the traces below folders, of all formats, and tells of each its format, host,\n"
		"time range, events (where packets say how many, or with --count), bytes, streams, lost\n"
		"events, and what is stored of it. CSV, JSON and --to have more: identity, uuid, clock\n"
		"and what the trace can answer. A trace that cannot be opened is a row with its error,\n"
		"and the exit status is 3.\n"
		"\n"
		"What is recorded together is one trace: LTTng's session, perf's turns, ovni's looms.\n"
		"Links are followed, no file is looked at twice, hidden ones are left out. Processes\n"
		"(--jobs) share the work. 'yore sql --catalog' asks all of these traces one question.\n"
		"docs/catalog.md has the columns.\n"
		"\n"
		"Examples:\n"
		"  $ yore catalog fixtures/golden/sched-demo fixtures/golden/sched-perf\n"
		"  $ yore catalog fixtures/golden/sched-ftrace --count --format json\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES,
	.own = own_options,
	.own_bytes = sizeof(struct catalog_choices),
	.words = WORD_FILE,
	.min_words = 1,
	.max_words = -1,
	.no_trace = true,
	.run = run_catalog,
}; /* clang-format on */
