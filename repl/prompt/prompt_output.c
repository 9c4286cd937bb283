/*
 * prompt_output.c - sends an answer to `| COMMAND`, `> FILE` or `>> FILE`; runs `! COMMAND`
 *
 *     events --count > n.txt      stats | sort -k2      SELECT ts FROM events | head      !ls
 *
 * The signs need a blank before them, outside of quotes. In SQL, `|` and `>` are operators, too: a
 * line that is a valid statement has no redirection, and if `>` may be a mistyped comparison (WHERE
 * cpu > nxt), FILE needs a slash or a dot: ./out, out.csv. In Lua they are always operators.
 */
#include "engine/base/mem.h"
#include "repl/commands/sql_shell.h"
#include "repl/prompt/prompt_internal.h"
#include "sql/sql.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_sign(const char *line, size_t at)
{
	return at && is_blank(line[at - 1]) && (line[at] == '|' || line[at] == '>') &&
	       line[at + 1] != '|' && line[at + 1] != '=';
}

/* The place of the first `|` or `>` from `from` on that may redirect; the line's end: none. */
static size_t next_sign(const char *line, size_t from)
{
	char quote = 0;
	size_t i;

	for (i = 0; line[i]; i++) {
		if (quote ? line[i] == quote : line[i] == '\'' || line[i] == '"')
			quote = quote ? 0 : line[i];
		else if (!quote && i >= from && is_sign(line, i))
			return i;
	}
	return i;
}

/* Is `target`, behind `>`, a file and no operand of a comparison? `left`: the statement before. */
static bool is_file(struct sql_shell *shell, const char *left, const char *target)
{
	struct buf compared = {0}, table = {0};
	const char *dot;

	target += *target == '>'; /* `>>` */
	target += strspn(target, " \t");
	if (strpbrk(target, " \t\n()'\""))
		return false;
	if (strchr(target, '/'))
		return true;
	dot = strchr(target, '.');
	buf_printf(&compared, "%s > 0", left);
	buf_add(&table, target, dot ? (size_t)(dot - target) : 0);
	bool file = sql_check(shell->sql, buf_text(&compared)) != SQL_CHECK_GOOD ||
		    (table.len && !sql_has_word(left, buf_text(&table)));
	buf_release(&compared);
	buf_release(&table);
	return file;
}

static size_t split_sql(struct sql_shell *shell, const char *line)
{
	size_t len = strlen(line);

	if (sql_check(shell->sql, line) == SQL_CHECK_GOOD)
		return len;
	for (size_t at = next_sign(line, 0); at < len; at = next_sign(line, at + 1)) {
		char *left = mem_strdup(line);
		left[at] = '\0';
		bool good = sql_check(shell->sql, left) == SQL_CHECK_GOOD &&
			    (line[at] == '|' || is_file(shell, left, line + at + 1));
		mem_free(left);
		if (good)
			return at;
	}
	return len;
}

static bool send_to_file(struct prompt *prompt, const char *path, bool append, struct error *err)
{
	int fd;

	if (!session_output(prompt->session, path, append, &fd, err))
		return false;
	prompt->sink.elsewhere = fd;
	prompt->sink.columns = 0;
	prompt->redirected = true;
	return true;
}

bool prompt_output_begin(struct prompt *prompt, char *line, bool sql, struct error *err)
{
	struct sql_shell *shell = sql ? sql_shell_get(prompt->session, err) : NULL;

	if (sql && !shell)
		return false;
	size_t at = sql ? split_sql(shell, line) : next_sign(line, 0);
	if (!line[at])
		return true;
	bool pipe = line[at] == '|', append = line[at + 1] == '>';
	const char *to = line + at + 1 + append;
	to += strspn(to, " \t");
	if (!*to)
		return error_set(err, ERR_QUERY, "%s is missing behind '%c'",
				 pipe ? "a command" : "FILE", line[at]);
	if (pipe) {
		prompt->reader = pager_spawn(to, &prompt->sink.elsewhere);
		if (prompt->reader <= 0)
			return error_set(err, ERR_IO, "%s: %s", to, strerror(errno));
		prompt->sink.columns = 0;
		prompt->redirected = true;
	} else if (!send_to_file(prompt, to, append, err)) {
		return false;
	}
	line[at] = '\0';
	return true;
}

static void wait_for(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

bool prompt_output_end(struct prompt *prompt, struct error *err)
{
	int failed = prompt->sink.failed;

	if (!prompt->redirected)
		return true;
	sink_drop_row(&prompt->sink);
	sink_flush(&prompt->sink);
	failed = prompt->sink.failed ? prompt->sink.failed : failed;
	if (close(prompt->sink.elsewhere) != 0 && !failed)
		failed = errno;
	if (prompt->reader > 0)
		wait_for(prompt->reader);
	prompt->reader = 0;
	prompt->redirected = false;
	prompt->sink.elsewhere = prompt->session->output;
	return !failed || error_set(err, ERR_IO, "writing the answer: %s", strerror(failed));
}

bool prompt_shell(struct prompt *prompt, const char *command, struct error *err)
{
	sink_flush(&prompt->sink);
	prompt_show(prompt);
	pid_t child = pager_spawn(command, NULL);
	if (child <= 0)
		return error_set(err, ERR_IO, "%s: %s", command, strerror(errno));
	wait_for(child);
	return true;
}
