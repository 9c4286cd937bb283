/*
 * sql_catalog.c - `sql --catalog`: runs one query on many traces, then a SELECT over all rows
 *
 *     worker of web1/  SELECT trace, count(*) ... ─┐
 *     worker of web2/  SELECT trace, count(*) ... ─┼──> table rows ── --then SELECT ──> printed
 *     worker of db1/   (cannot be opened)         ─┴──> table failures
 *
 * The order of rows does not depend on which worker ends first: rowid is made of the trace's number
 * and the row's number in it.
 */
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "repl/commands/catalog.h"
#include "repl/commands/cmds.h"
#include "repl/commands/sql_shell.h"
#include "repl/commands/trace_workers.h"

#include <string.h>
#include <strings.h>

enum { ROW_BITS = 32, TOLD_MOST = 10, ADDED = 2 /* columns before the query's: trace, host */ };

static const char *const added_names[ADDED] = {"trace", "host"};

/* Inserts the rows of one trace into the table. */
struct row_source {
	struct sql_inserter *inserter;
	bool skips[ADDED]; /* the query has a column of this added name itself */
	uint64_t rows;
};

struct gathering {
	struct session *session;
	const struct options *options;
	const struct sql_choices *own;
	struct folder_names paths;
	struct sql *sql;
	struct row_source *sources;
	bool made;              /* the table `rows` exists */
	bool has[ADDED];        /* the first trace's query has a column of this added name */
	struct nameset columns; /* names of the columns of `rows` */
	struct buf shown;       /* the columns that are printed without --then */
	struct sql_inserter *failures;
	size_t failed, damaged;
	struct error first; /* the first error in the query, or the error of the only trace */
	bool differ;        /* other traces have other errors */
};

/* ---- in the worker ---- */

/* Prepares a query of one statement, from `option`. *statement is NULL after false. */
static bool prepare_one(struct sql *sql, const char *option, const char *text,
			struct sql_statement **statement, struct error *err)
{
	const char *rest;

	if (!sql_prepare(sql, text, &rest, statement, err))
		return false;
	if (*statement && !sql_columns(*statement)) {
		sql_finish(*statement);
		*statement = NULL;
	}
	if (*statement && rest[strspn(rest, " \t\r\n;")] == '\0')
		return true;
	sql_finish(*statement);
	*statement = NULL;
	return error_set(err, ERR_QUERY, "%s: want one SELECT: '%s'", option, text);
}

static bool set_constants(struct sql *sql, const struct session *session, struct error *err)
{
	const struct trace *trace = session->trace;
	const char *host = trace_host(trace);
	const struct sql_value path = sql_text_value(session->path),
			       offset = sql_number_value(trace_clock_offset(trace));
	const struct sql_value name =
		*host ? sql_text_value(host) : (struct sql_value){.kind = SQL_NULL};

	return sql_set_constant(sql, "trace", &path, err) &&
	       sql_set_constant(sql, "host", &name, err) &&
	       sql_set_constant(sql, "clock_offset", &offset, err);
}

/* Removes "(at character N)": the place is in the rewritten text, which the user did not type. */
static void drop_place(struct error *err)
{
	char *from = strstr(err->text, " (at character "),
	     *behind = from ? strchr(from, ')') : NULL;

	if (behind)
		memmove(from, behind + 1, strlen(behind + 1) + 1);
}

/* Prepares the query; if a column is missing, with trace() for trace, host() for host and so on. */
static bool prepare_query(struct sql *sql, const char *text, struct sql_statement **out,
			  struct error *err)
{
	static const char *const names[] = {"trace", "host", "clock_offset", NULL};

	if (prepare_one(sql, "--catalog", text, out, err))
		return true;
	char *written = sql_with_calls(text, names);
	bool ok = false;
	if (strcmp(written, text) != 0) {
		ok = prepare_one(sql, "--catalog", written, out, err);
		drop_place(err);
	}
	mem_free(written);
	return ok;
}

/* Sends the columns: a column trace() is named trace, and equal names are made different. */
static bool tell_columns(const struct sql_statement *statement, struct trace_worker *worker,
			 struct error *err)
{
	size_t count = sql_columns(statement);
	struct sql_column *columns = mem_new_array(count, sizeof *columns);
	struct buf *names = mem_new_array(count, sizeof *names);
	struct nameset seen = {.folds = true};

	for (size_t i = 0; i < count; i++) {
		const char *name = sql_column_name(statement, i);
		bool call = !strcmp(name, "trace()") || !strcmp(name, "host()") ||
			    !strcmp(name, "clock_offset()");
		buf_add(&names[i], name, strlen(name) - (call ? 2 : 0));
		nameset_make_free(&seen, &names[i], 0, ":");
		nameset_add(&seen, buf_text(&names[i]), 2);
		bool hex = !strcmp(sql_column_type(statement, i), "INTEGER HEX");
		columns[i] = (struct sql_column){buf_text(&names[i]), hex ? "INTEGER HEX" : ""};
	}
	bool ok = worker_columns(worker, columns, count, err);
	for (size_t i = 0; i < count; i++)
		buf_release(&names[i]);
	nameset_release(&seen);
	mem_free(names);
	mem_free(columns);
	return ok;
}

/* Sends the rows, each behind the trace's path and host. */
static bool tell_rows(struct sql_statement *statement, const struct session *session,
		      struct trace_worker *worker, struct error *err)
{
	size_t count = sql_columns(statement);
	const char *host = trace_host(session->trace);
	struct sql_value *values = mem_new_array(count + ADDED, sizeof *values);
	enum step step;
	bool ok = true;

	values[0] = sql_text_value(session->path);
	if (*host)
		values[1] = sql_text_value(host);
	while (ok && (step = sql_step(statement, err)) != STEP_END) {
		ok = step == STEP_ITEM;
		for (size_t i = 0; ok && i < count; i++)
			sql_column(statement, i, &values[i + ADDED]);
		ok = ok && worker_row(worker, values, count + ADDED, err);
	}
	mem_free(values);
	return ok;
}

static bool query_trace(void *arg, size_t i, struct session *session, struct trace_worker *worker,
			struct error *err)
{
	const struct gathering *all = arg;
	struct sql_shell *shell = sql_shell_get(session, err);
	struct sql_statement *statement = NULL;
	bool ok = shell && set_constants(shell->sql, session, err) &&
		  prepare_query(shell->sql, all->options->words.items[0], &statement, err) &&
		  tell_columns(statement, worker, err) &&
		  tell_rows(statement, session, worker, err);

	(void)i;
	sql_finish(statement);
	return ok;
}

/* ---- in the parent ---- */

/* The index of the added column with this name; ADDED: none. */
static size_t added_place(const char *name)
{
	size_t at = 0;

	while (at < ADDED && strcasecmp(name, added_names[at]) != 0)
		at++;
	return at;
}

static void show_column(struct gathering *all, const char *name)
{
	buf_add_text(&all->shown, all->shown.len ? ", " : "");
	sql_quote(&all->shown, name, '"');
}

/* Makes the table from the columns of the first trace that has any. */
static bool make_rows(struct gathering *all, const struct sql_column *columns, size_t count,
		      struct error *err)
{
	struct sql_column *made = mem_new_array(count + ADDED, sizeof *made);
	size_t n = 0;

	all->made = true;
	for (size_t i = 0; i < count; i++) {
		size_t place = added_place(columns[i].name);
		if (place < ADDED)
			all->has[place] = true;
	}
	for (size_t k = 0; k < ADDED; k++)
		if (!all->has[k])
			made[n++] = (struct sql_column){added_names[k], ""};
	if (!all->has[0] && count)
		show_column(all, "trace");
	for (size_t i = 0; i < count; i++) {
		made[n++] = columns[i];
		show_column(all, columns[i].name);
	}
	for (size_t i = 0; i < n; i++)
		nameset_add(&all->columns, made[i].name, 0);
	bool ok = sql_make_table(all->sql, "rows", made, n, err);
	mem_free(made);
	return ok;
}

/* Adds columns to the table that the traces before did not have. */
static bool widen_rows(struct gathering *all, const struct sql_column *columns, size_t count,
		       struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!nameset_add(&all->columns, columns[i].name, 0))
			continue;
		show_column(all, columns[i].name);
		if (!sql_add_column(all->sql, "rows", &columns[i], err))
			return false;
	}
	return true;
}

static bool take_columns(void *arg, size_t i, const struct sql_column *columns, size_t count,
			 struct error *err)
{
	struct gathering *all = arg;
	struct row_source *source = &all->sources[i];
	struct sql_column *into = mem_new_array(count + ADDED, sizeof *into);
	size_t n = 0;

	bool ok = all->made ? widen_rows(all, columns, count, err)
			    : make_rows(all, columns, count, err);
	for (size_t k = 0; k < count; k++) {
		size_t place = added_place(columns[k].name);
		if (place < ADDED)
			source->skips[place] = true;
	}
	for (size_t k = 0; k < ADDED; k++)
		if (!source->skips[k])
			into[n++] = (struct sql_column){added_names[k], ""};
	memcpy(into + n, columns, count * sizeof *into);
	ok = ok && sql_inserter_new(all->sql, "rows", into, n + count, &source->inserter, err);
	mem_free(into);
	return ok;
}

static bool take_row(void *arg, size_t i, const struct sql_value *values, size_t count,
		     struct error *err)
{
	struct gathering *all = arg;
	struct row_source *source = &all->sources[i];
	struct sql_value *row = mem_new_array(count, sizeof *row);
	size_t n = 0;

	for (size_t k = 0; k < count; k++)
		if (k >= ADDED || !source->skips[k])
			row[n++] = values[k];
	bool ok = source->rows < UINT32_MAX ||
		  error_set(err, ERR_RANGE, "%s: it gives more than 4294967295 rows",
			    all->paths.items[i]);
	ok = ok && sql_insert(source->inserter, (int64_t)((uint64_t)i << ROW_BITS | source->rows++),
			      row, err);
	mem_free(row);
	return ok;
}

static bool drop_rows(struct gathering *all, size_t i, struct error *err)
{
	struct buf text = {0};

	if (!all->sources[i].rows)
		return true;
	buf_printf(&text, "DELETE FROM rows WHERE rowid >= %llu AND rowid < %llu",
		   (unsigned long long)i << ROW_BITS, ((unsigned long long)i + 1) << ROW_BITS);
	bool ok = sql_run(all->sql, buf_text(&text), err);
	buf_release(&text);
	return ok;
}

static bool add_failure(struct gathering *all, size_t i, const char *kind, const char *text,
			struct error *err)
{
	const struct sql_value row[] = {sql_text_value(all->paths.items[i]), sql_text_value(kind),
					sql_text_value(text)};

	return sql_insert(all->failures, (int64_t)i + 1, row, err);
}

/* Compares errors: if the query is wrong, all traces have the same error. */
static void compare_failure(struct gathering *all, const struct error *cause)
{
	if (cause->kind != ERR_QUERY && all->paths.count > 1)
		return;
	if (all->first.kind == ERR_NONE && !all->differ)
		all->first = *cause;
	else
		all->differ |= strcmp(all->first.text, cause->text) != 0;
}

static bool take_end(void *arg, size_t i, const struct worker_end *end, struct error *err)
{
	static const char *const kinds[] = {
		[WORKER_FAILED] = "error", [WORKER_LATE] = "timeout", [WORKER_CRASHED] = "crash"};
	struct gathering *all = arg;
	bool ok = true;

	if (end->fate != WORKER_DONE) {
		compare_failure(all, &end->error);
		all->failed++;
		ok = drop_rows(all, i, err) &&
		     add_failure(all, i, kinds[end->fate], end->error.text, err);
	} else if (end->damaged) {
		all->damaged++;
		ok = add_failure(all, i, "damaged", end->said, err);
	}
	sql_inserter_free(all->sources[i].inserter);
	all->sources[i].inserter = NULL;
	return ok;
}

/* ---- the answer ---- */

/* Prints one reason for which `count` traces have no rows, or not all; `text` may begin with the
 * path.
 */
static void tell_failure(int64_t count, const char *trace, const char *kind, const char *text)
{
	bool named = !strncmp(text, trace, strlen(trace));
	const char *between = named ? "" : ": ";

	if (named)
		trace = "";
	if (!strcmp(kind, "damaged"))
		worker_tell_damage(count, trace, text, "in the answer");
	else if (count > 1)
		say("failed", "%lld traces, as %s%s%s", (long long)count, trace, between, text);
	else
		say("failed", "%s%s%s", trace, between, text);
}

/* Prints which traces failed, and why, at most TOLD_MOST lines. */
static bool tell_failures(const struct gathering *all, struct error *err)
{
	static const char query[] =
		"SELECT count(*), trace, kind, error, min(rowid) FROM failures "
		"GROUP BY kind, iif(kind = 'damaged', '', error) ORDER BY min(rowid)";
	struct sql_statement *statement = NULL;
	enum step step;
	const char *rest;
	size_t left = all->failed + all->damaged;

	if (!sql_prepare(all->sql, query, &rest, &statement, err))
		return false;
	for (size_t n = 0; (step = sql_step(statement, err)) == STEP_ITEM && n < TOLD_MOST; n++) {
		struct sql_value count, text[3];
		struct buf copy[3] = {0};
		sql_column(statement, 0, &count);
		for (size_t i = 0; i < 3; i++) {
			sql_column(statement, i + 1, &text[i]);
			buf_add(&copy[i], text[i].bytes, text[i].len);
		}
		tell_failure(count.integer, buf_text(&copy[0]), buf_text(&copy[1]),
			     buf_text(&copy[2]));
		left -= (size_t)count.integer;
		for (size_t i = 0; i < 3; i++)
			buf_release(&copy[i]);
	}
	sql_finish(statement);
	if (left && step != STEP_ERROR)
		say("failed", "and %zu more: --then 'SELECT * FROM failures' lists all", left);
	return step != STEP_ERROR;
}

static bool print_then(const struct gathering *all, struct sink *sink, struct error *err)
{
	const struct options *options = all->options;
	struct sql_rows out = {.sink = sink, .format = options->format};
	struct sql_statement *statement = NULL;
	struct buf text = {0};

	if (!options->format_set && sink->columns)
		out.format = FORMAT_TABLE;
	if (!all->own->then)
		buf_printf(&text, "SELECT %s FROM rows ORDER BY rowid", buf_text(&all->shown));
	bool ok = prepare_one(all->sql, "--then", all->own->then ? all->own->then : buf_text(&text),
			      &statement, err);
	if (ok) {
		ok = sql_rows_add(&out, statement, err);
		sql_rows_end(&out, all->session);
	}
	sql_finish(statement);
	buf_release(&text);
	return ok;
}

/* All traces failed: sets *err. */
static bool fail_all(const struct gathering *all, struct error *err)
{
	if (all->first.kind != ERR_NONE && !all->differ) {
		*err = all->first;
		return false;
	}
	return tell_failures(all, err) &&
	       error_set(err, ERR_IO, "none of the %zu traces answered", all->paths.count);
}

static bool gather_rows(struct gathering *all, struct error *err)
{
	static const struct sql_column failures[] = {{"trace", ""}, {"kind", ""}, {"error", ""}};
	const struct trace_work work = {.paths = &all->paths,
					.timeout = all->own->timeout,
					.work = query_trace,
					.columns = take_columns,
					.row = take_row,
					.ended = take_end,
					.arg = all};

	all->sources = mem_new_array(all->paths.count + 1, sizeof *all->sources);
	return sql_make_table(all->sql, "failures", failures, 3, err) &&
	       sql_inserter_new(all->sql, "failures", failures, 3, &all->failures, err) &&
	       trace_workers_run(all->session, &work, err);
}

static void sql_catalog_release(struct gathering *all)
{
	for (size_t i = 0; all->sources && i < all->paths.count; i++)
		sql_inserter_free(all->sources[i].inserter);
	mem_free(all->sources);
	sql_inserter_free(all->failures);
	sql_close(all->sql);
	nameset_release(&all->columns);
	buf_release(&all->shown);
	folder_release(&all->paths);
}

static bool sql_catalog_check(const struct session *session, const struct options *options,
			      struct error *err)
{
	const struct sql_choices *own = options->own;

	if (options->follow)
		return error_set(err, ERR_QUERY, "sql: --follow is of one trace");
	if (options->words.count != 1)
		return error_set(err, ERR_QUERY,
				 "sql: --catalog wants one query, as 'yore sql --catalog %s "
				 "\"SELECT count(*) FROM events\"'",
				 own->catalog);
	return catalog_check(session, "sql --catalog", err);
}

static bool sql_catalog_answer(struct gathering *all, struct sink *sink, struct error *err)
{
	if (!gather_rows(all, err))
		return false;
	if (all->failed && all->failed == all->paths.count)
		return fail_all(all, err);
	if (!all->made && !make_rows(all, NULL, 0, err))
		return false;
	if ((all->own->then || all->shown.len) && !print_then(all, sink, err))
		return false;
	sink_flush(sink);
	if (all->failed + all->damaged)
		all->session->status = 3;
	return tell_failures(all, err);
}

bool sql_catalog(struct session *session, const struct options *options, struct sink *sink,
		 struct error *err)
{
	struct gathering all = {.session = session,
				.options = options,
				.own = options->own,
				.columns = {.folds = true}};
	bool ok = sql_catalog_check(session, options, err) &&
		  catalog_traces(all.own->catalog, &all.paths, err);

	if (ok && !all.paths.count)
		session_note(session, "%s: there is no trace below it", all.own->catalog);
	ok = ok && sql_open_plain(NULL, signals_go_on, NULL, &all.sql, err) &&
	     sql_catalog_answer(&all, sink, err);
	sql_catalog_release(&all);
	return ok;
}
