/*
 * sql_shell.c - splits text into statements, and runs them one after the other
 *
 *     SELECT ... ;  SELECT ...      the last needs no semicolon
 *     .tables                       a line of its own
 */
#include "repl/commands/sql_shell.h"

#include "engine/base/mem.h"
#include "repl/cmd.h"
#include "repl/progress.h"
#include "sql/sql.h"

#include <string.h>

static bool give_times(void *arg, struct times *out, struct error *err)
{
	return session_times(arg, out, err);
}

static void give_range(void *arg, nstime *begin, nstime *end)
{
	const struct session *session = arg;

	if (!session->has_range)
		return;
	*begin = session->begin;
	*end = session->end;
}

struct sql_shell *sql_shell_get(struct session *session, struct error *err)
{
	struct index *index = session_index(session, err);
	struct sql_options options = {.index = index,
				      .state = session_give_state,
				      .times = give_times,
				      .symbols = session_give_symbols,
				      .range = give_range,
				      .progress = session_progress_time,
				      .follows = session->follows,
				      .alive = signals_go_on,
				      .arg = session};

	if (!index || session->sql)
		return index ? session->sql : NULL;
	struct sql_shell *shell = mem_new(sizeof *shell);
	shell->session = session;
	if (!sql_open(&options, &shell->sql, err)) {
		mem_free(shell);
		return NULL;
	}
	return session->sql = shell;
}

void sql_shell_free(struct sql_shell *shell)
{
	if (!shell)
		return;
	sql_close(shell->sql);
	mem_free(shell);
}

enum format sql_shell_format(const struct sql_shell *shell, const struct sink *sink)
{
	const struct options *options = shell->session->options;

	if (shell->has_format && !options->format_set)
		return shell->format;
	if (!options->format_set && options->format == FORMAT_TEXT && sink->columns)
		return FORMAT_TABLE;
	return options->format;
}

/* ---- .timer ---- */

void took_begin(struct took *took)
{
	clock_gettime(CLOCK_MONOTONIC, &took->real);
	getrusage(RUSAGE_SELF, &took->used);
}

static long long us_of(const struct timeval *from, const struct timeval *to)
{
	return (to->tv_sec - from->tv_sec) * 1000000LL + (to->tv_usec - from->tv_usec);
}

void sql_shell_took(const struct sql_shell *shell, const struct took *begin, struct sink *sink)
{
	struct took end;

	if (!shell || !shell->timer)
		return;
	took_begin(&end);
	long long real = (end.real.tv_sec - begin->real.tv_sec) * 1000000LL +
			 (end.real.tv_nsec - begin->real.tv_nsec) / 1000;
	long long user = us_of(&begin->used.ru_utime, &end.used.ru_utime);
	long long system = us_of(&begin->used.ru_stime, &end.used.ru_stime);
	sink_printf(sink, "time: real %lld.%06lld s, user %lld.%06lld s, system %lld.%06lld s\n",
		    real / 1000000, real % 1000000, user / 1000000, user % 1000000,
		    system / 1000000, system % 1000000);
	sink_row(sink);
}

/* ---- statements ---- */

static bool run_statement(struct sql_shell *shell, struct sql_statement *statement,
			  struct sink *sink, struct error *err)
{
	struct took took;

	took_begin(&took);
	bool ok = sql_rows_write(shell, statement, sink, err);
	progress_clear(shell->session->progress);
	if (ok)
		sql_shell_took(shell, &took, sink);
	return ok;
}

static void note_misused(struct sql_shell *shell, const char *text)
{
	const char *column, *function = sql_time_misused(text, &column);

	if (function)
		session_note(shell->session,
			     "%s(%s) is SQLite's own and takes days: it is NULL of a time of the "
			     "trace; time_text(%s) is its text",
			     function, column, column);
}

static bool run_statements(struct sql_shell *shell, const char *text, struct sink *sink,
			   struct error *err)
{
	bool ok = true;

	note_misused(shell, text);
	while (ok && *text && !sink->closed) {
		struct sql_statement *statement;
		if (!sql_prepare(shell->sql, text, &text, &statement, err))
			return false;
		if (statement)
			ok = run_statement(shell, statement, sink, err);
		sql_finish(statement);
	}
	return ok;
}

static bool is_only_blanks(const char *text)
{
	return text[strspn(text, " \t\r\n;")] == '\0';
}

/* Takes a line: runs a dot-command, or adds to a statement, and runs that when it is complete. */
static bool take_line(struct sql_shell *shell, const char *line, struct buf *waiting,
		      struct sink *sink, struct error *err)
{
	const char *word = line + strspn(line, " \t");

	if (*word == '.' && is_only_blanks(buf_text(waiting))) {
		buf_clear(waiting);
		return sql_shell_dot(shell, word, sink, err);
	}
	if (waiting->len)
		buf_add_char(waiting, '\n');
	buf_add_text(waiting, line);
	if (!sql_is_complete(buf_text(waiting)))
		return true;
	bool ok = run_statements(shell, buf_text(waiting), sink, err);
	buf_clear(waiting);
	return ok;
}

/* Runs the last statement, which needs no semicolon. */
static bool take_rest(struct sql_shell *shell, struct buf *waiting, struct sink *sink,
		      struct error *err)
{
	return is_only_blanks(buf_text(waiting)) ||
	       run_statements(shell, buf_text(waiting), sink, err);
}

bool sql_shell_run(struct sql_shell *shell, const char *text, struct sink *sink, struct error *err)
{
	struct input_lines lines = {.end = true};
	struct buf waiting = {0};
	bool ok = true;

	buf_add_text(&lines.text, text);
	for (char *line; ok && (line = lines_next(&lines));)
		ok = take_line(shell, line, &waiting, sink, err);
	ok = ok && take_rest(shell, &waiting, sink, err);
	buf_release(&lines.text);
	buf_release(&waiting);
	return ok;
}

bool sql_shell_read(struct sql_shell *shell, int fd, const char *name, struct sink *sink,
		    struct error *err)
{
	struct input_lines lines = {.fd = fd, .name = name};
	struct buf waiting = {0};
	bool ok = true;

	while (ok && !lines.end && !sink->closed) {
		ok = lines_read(&lines, err);
		if (ok && memchr(lines.text.data, '\0', lines.text.len))
			ok = error_set(err, ERR_QUERY, "%s: this is no text", name);
		for (char *line; ok && (line = lines_next(&lines));)
			ok = take_line(shell, line, &waiting, sink, err);
		if (ok)
			sink_flush(sink);
	}
	ok = ok && take_rest(shell, &waiting, sink, err);
	buf_release(&lines.text);
	buf_release(&waiting);
	return ok;
}
