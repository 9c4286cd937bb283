/* cmd_sql.c - runs SQL over a trace */
#include "engine/base/mem.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/partials.h"
#include "repl/commands/sql_shell.h"
#include "repl/progress.h"

#include <string.h>
#include <unistd.h>

/* --chunk I/N --partial FILE and --merge FILE... */

/* Prepares the text, which must be one statement; the caller ends it, also after false. */
static bool prepare_part(struct sql_shell *shell, const char *text, struct sql_statement **out,
			 struct error *err)
{
	struct sql_statement *more = NULL;
	const char *rest = text;

	sql_in_parts(shell->sql, true);
	bool good = sql_prepare(shell->sql, text, &rest, out, err);
	good = good && (!*rest || sql_prepare(shell->sql, rest, &rest, &more, err));
	sql_in_parts(shell->sql, false);
	if (good && (!*out || more))
		good = partials_not_sums(shell->session->options,
					 "there must be one statement, no more and no less", err);
	sql_finish(more);
	return good;
}

static bool write_chunk(struct partials *partials, struct sql_statement *statement,
			struct sink *sink, struct error *err)
{
	struct buf body = {0};
	struct partial_work work = partials_work(partials, &body);
	enum step step = STEP_ITEM;

	bool good = sql_set_partials(statement, &work, err);
	while (good && step == STEP_ITEM)
		step = sql_step(statement, err);
	progress_clear(partials->session->progress);
	good = (good && step == STEP_END) || partials_explain(partials, &work, err);
	good = good && partials_write(partials, &body, work.whole, sink, err);
	buf_release(&body);
	return good;
}

static bool merge(struct partials *partials, const struct sql_shell *shell,
		  struct sql_statement *statement, struct sink *sink, struct error *err)
{
	struct partial_work work = partials_work(partials, NULL);
	bool good = (sql_set_partials(statement, &work, err) &&
		     sql_rows_write(shell, statement, sink, err)) ||
		    partials_explain(partials, &work, err);

	for (uint32_t i = 0; good && !sink->closed && i < work.count; i++)
		if (work.bodies[i].pos != work.bodies[i].size)
			good = partials_refuse(partials, i, PARTIAL_DAMAGED, err);
	mem_free(work.bodies);
	return good;
}

static bool sql_partial(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	const char *text = options->words.count ? options->words.items[0] : "";
	struct sql_shell *shell = sql_shell_get(session, err);
	struct sql_statement *statement = NULL;
	struct partials partials = {0};

	if (!shell)
		return false;
	if (options->words.count != 1 || text[0] == '.' || !strcmp(text, "-"))
		return partials_not_sums(options, "there must be one QUERY on the command line",
					 err);
	bool good =
		prepare_part(shell, text, &statement, err) &&
		partials_begin(session, PARTIAL_SQL, text, strlen(text), &partials, err) &&
		(partials.mode == PARTIALS_MERGE ? merge(&partials, shell, statement, sink, err)
						 : write_chunk(&partials, statement, sink, err));
	sql_finish(statement);
	partials_end(&partials);
	return good;
}

/*
 * --follow: writes the rows of one SELECT, range after range
 *
 * Each step prepares the statement anew, since tables belong to one opening of the trace. It sets
 * the session's range, which limits every scan, to the events that have become final.
 */

struct followed_query {
	struct session *session;
	const char *text;
	struct sql_rows rows;
	nstime from; /* rows before this time were written; NSTIME_MIN: none */
	bool waits;  /* has noted that a name is not there yet */
};

/* False, *err: an option or statement makes sense only for a recording that has ended. */
static bool can_follow(const struct options *options, struct error *err)
{
	const char *word = options->words.count == 1 ? options->words.items[0] : NULL;

	if (options->format_set && options->format == FORMAT_TABLE)
		return error_set(err, ERR_QUERY,
				 "--follow does not go together with --format table, whose columns "
				 "fit all rows: text, csv, json and line do");
	return (word && word[strspn(word, " \t\n")] != '.' && strcmp(word, "-") != 0) ||
	       error_set(err, ERR_QUERY,
			 "--follow: one SELECT is expected, as a word in quotes: yore sql TRACE "
			 "'SELECT ts, name FROM events' --follow");
}

/* Prepares the query. False, err->kind ERR_NONE: a name in it is not in the trace yet. */
static bool prepare_step(struct followed_query *asking, bool last, struct sql_shell *shell,
			 struct sql_statement **out, struct error *err)
{
	struct error cause = {0};
	const char *rest;

	*out = NULL;
	if (sql_prepare(shell->sql, asking->text, &rest, out, &cause))
		return !*out ? error_set(err, ERR_QUERY, "--follow: there is no statement")
		       : rest[strspn(rest, " \t\r\n;")]
			       ? error_set(err, ERR_QUERY,
					   "--follow: more than one statement: give one SELECT")
			       : sql_follows(*out, err);
	if (last || cause.kind != ERR_RANGE) {
		*err = cause;
		return false;
	}
	follow_waits(asking->session, &cause, &asking->waits);
	return false;
}

static bool cmd_sql_add_rows(struct followed_query *asking, struct sql_statement *statement,
			     struct error *err)
{
	if (!sql_rows_fit(&asking->rows, statement))
		return error_set(err, ERR_QUERY,
				 "--follow: events with other fields have come, and the query has "
				 "other columns now: name those that are wanted");
	return sql_rows_add(&asking->rows, statement, err);
}

/* A follow_more. */
static bool cmd_sql_more(void *arg, struct follow *follow, const struct follow_news *news,
			 bool *done, struct error *err)
{
	const struct events_options all = {.begin = NSTIME_MIN + 1, .end = NSTIME_MAX};
	struct followed_query *asking = arg;
	struct session *session = asking->session;
	struct sql_statement *statement = NULL;
	bool begun, ok;

	if (!follow_has_begun(session, asking->from, news->end, &begun, err))
		return false;
	if (!begun)
		return true;
	ok = follow_late(session, follow, news, NSTIME_MAX, &all, NULL, NULL, NULL, err);
	if (!ok || news->end <= asking->from)
		return ok;
	session->has_range = true;
	session->begin = asking->from;
	session->end = news->end;
	struct sql_shell *shell = sql_shell_get(session, err);
	ok = shell && prepare_step(asking, news->ended, shell, &statement, err) &&
	     cmd_sql_add_rows(asking, statement, err);
	sql_finish(statement);
	session->has_range = false;
	if (!ok)
		return shell && err->kind == ERR_NONE;
	asking->from = news->end;
	*done = asking->rows.sink->closed;
	sink_flush(asking->rows.sink);
	return true;
}

static bool sql_follow(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	struct followed_query asking = {.session = session,
					.from = NSTIME_MIN,
					.rows = {.sink = sink, .format = options->format}};

	if (!can_follow(options, err))
		return false;
	asking.text = options->words.items[0];
	bool ok = follow_run(session, options, sink->fd, cmd_sql_more, &asking, err);
	sql_rows_end(&asking.rows, session);
	return ok;
}

static bool run_sql(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	const struct sql_choices *own = options->own;
	enum partials_mode mode;

	if (!follow_words(options, err) || !partials_asked(options, &mode, err))
		return false;
	if (own->catalog && mode != PARTIALS_NONE)
		return error_set(err, ERR_QUERY,
				 "sql: --catalog does not go together with --partial and --merge, "
				 "which are of one trace");
	if (own->catalog)
		return sql_catalog(session, options, sink, err);
	if (own->then || own->timeout)
		return error_set(err, ERR_QUERY, "sql: %s is of --catalog",
				 own->then ? "--then" : "--timeout");
	if (mode != PARTIALS_NONE)
		return sql_partial(session, options, sink, err);
	if (options->follow)
		return sql_follow(session, options, sink, err);
	struct sql_shell *shell = sql_shell_get(session, err);
	bool ok = shell != NULL;

	if (ok && !options->words.count)
		return sql_shell_read(shell, STDIN_FILENO, "standard input", sink, err);
	for (size_t i = 0; ok && i < options->words.count; i++) {
		const char *word = options->words.items[i];
		ok = !strcmp(word, "-")
			     ? sql_shell_read(shell, STDIN_FILENO, "standard input", sink, err)
			     : sql_shell_run(shell, word, sink, err);
	}
	return ok;
}

#define OWN(member) offsetof(struct sql_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--catalog", "DIR|FILE", "ask each trace below a folder, or of a file of 'yore catalog --to'", 0}, TAKE_TEXT, .at = OWN(catalog), .no_trace = true},
	{{"--then", "SELECT", "with --catalog: a SELECT over the rows of all, in the table rows", 0}, TAKE_TEXT, .at = OWN(then)},
	{{"--timeout", "SPAN", "with --catalog: how long a trace may take: 30s, 500ms", 0}, TAKE_TEXT, .at = OWN(timeout)},
	{.info.name = NULL},
};

const struct cmd cmd_sql = {
	.name = "sql",
	.args = "[QUERY...]",
	.summary = "rows of a query; without one, from standard input",
	.help = "Answers queries in SQL. There is a table of all events, one per event class with a\n"
		"column per field, and others; .tables names them, .schema shows their columns, .help\n"
		"lists what else begins with a dot. A query reads the packets that its conditions\n"
		"leave; EXPLAIN QUERY PLAN says which those are. See yore-sql(7).\n"
		"\n"
		"--follow goes on while the trace is written: rows of one SELECT come when no earlier\n"
		"event can come any more. They must be of single events, in the order of ts: what\n"
		"is made of many rows is refused. docs/live.md says what is final.\n"
		"\n"
		"--catalog asks every trace below a folder the same query, in processes that share the\n"
		"work (--jobs): trace and host are columns there, of each trace. --then is a SELECT over\n"
		"the rows of all, in the table rows; failures has the traces that gave none, and why.\n"
		"See docs/catalog.md.\n"
		"\n"
		"--chunk I/N --partial FILE counts one SELECT of groups and aggregates in part I of N of\n"
		"the trace; --merge and the files of all parts answers it. docs/sql.md says which.\n"
		"\n"
		"Examples:\n"
		"  $ yore sql --catalog fixtures/golden/sched-demo 'SELECT trace, count(*) FROM events'\n"
		"  $ yore sql --catalog fixtures/golden/sched-perf 'SELECT name, count(*) AS n FROM events GROUP BY name' --then 'SELECT sum(n) FROM rows'\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT name, count(*) FROM events GROUP BY name'\n"
		"  $ yore sql fixtures/golden/sched-demo \"SELECT ts, next_comm FROM sched_switch WHERE cpu = 0 LIMIT 3\"\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT ts, next_comm FROM sched_switch' --follow | head -3\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT name, count(*) FROM events GROUP BY name' --chunk 1/1 --partial /tmp/yore-sql.part\n"
		"  $ echo '.schema sched_switch' | yore sql fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_SQL | OPT_LISTS | OPT_FOLLOW |
		   OPT_PARTIALS | OPT_SLURM,
	.own = own_options,
	.own_bytes = sizeof(struct sql_choices),
	.words = WORD_FILE,
	.max_words = -1,
	.run = run_sql,
}; /* clang-format on */
