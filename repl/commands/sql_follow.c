/*
 * sql_follow.c - `sql QUERY --follow`: the rows of one SELECT, range after range
 *
 * The statement is prepared anew in each step, since tables are of the trace as it is open. The
 * session's range, which limits the rows of every scan, is what has become final.
 */
#include "repl/asked.h"
#include "repl/commands/following.h"
#include "repl/commands/sql_shell.h"

#include <string.h>

struct followed_query {
	struct session *session;
	const char *text;
	struct sql_rows rows;
	nstime from; /* what is before it was asked for; NSTIME_MIN: nothing was */
	bool waits;  /* a note said that a name is not there yet */
};

/* Words that only a recording which has ended gives a meaning, or that are more than a query. */
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

/* False with err->kind ERR_NONE: something that it names is not there yet. */
static bool prepare(struct followed_query *asking, bool last, struct sql_shell *shell,
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

static bool add_rows(struct followed_query *asking, struct sql_statement *statement,
		     struct error *err)
{
	if (!sql_rows_fit(&asking->rows, statement))
		return error_set(err, ERR_QUERY,
				 "--follow: events with other fields have come, and the query has "
				 "other columns now: name those that are wanted");
	return sql_rows_add(&asking->rows, statement, err);
}

/* A follow_more. */
static bool more(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		 struct error *err)
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
	ok = shell && prepare(asking, news->ended, shell, &statement, err) &&
	     add_rows(asking, statement, err);
	sql_finish(statement);
	session->has_range = false;
	if (!ok)
		return shell && err->kind == ERR_NONE;
	asking->from = news->end;
	*done = asking->rows.sink->closed;
	sink_flush(asking->rows.sink);
	return true;
}

bool sql_follow(struct session *session, const struct options *options, struct sink *sink,
		struct error *err)
{
	struct followed_query asking = {.session = session,
					.from = NSTIME_MIN,
					.rows = {.sink = sink, .format = options->format}};

	if (!can_follow(options, err))
		return false;
	asking.text = options->words.items[0];
	bool ok = follow_run(session, options, sink->fd, more, &asking, err);
	sql_rows_end(&asking.rows, session);
	return ok;
}
