/*
 * prompt_sql.c - recognises lines of SQL, and statements over several lines
 *
 * A line that begins with a word of SQL is a statement. If it is incomplete or ends with a
 * backslash, it waits for more lines, up to a semicolon or an empty line. A line that begins with a
 * clause extends the statement of the line before, which runs again:
 *
 *     SELECT * FROM sched_switch
 *     WHERE next_comm = 'make'
 */
#include "repl/prompt/prompt_internal.h"
#include "repl/commands/sql_shell.h"

#include <string.h>
#include <strings.h>

static const char *const beginnings[] = {"select", "with",   "values", "create", "drop",  "insert",
					 "update", "delete", "attach", "detach", "pragma"};

static const char *const clauses[] = {"from",   "where",  "group", "order", "having",
				      "limit",  "offset", "join",  "left",  "inner",
				      "cross",  "union",  "and",   "or"};

static size_t word_length(const char *line)
{
	return strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

static bool prompt_sql_is_word(const char *line, const char *word)
{
	return word_length(line) == strlen(word) && !strncasecmp(line, word, strlen(word));
}

/* `select(2, ...)` and `values = 3` are Lua, SELECT( is SQL. */
static bool is_lua(const char *line)
{
	size_t len = word_length(line);
	const char *rest = line + len + strspn(line + len, " \t");

	if (*rest == '(')
		return *line >= 'a';
	return *rest && strchr("=.:,[", *rest);
}

bool prompt_is_sql(const char *line)
{
	const char *rest = line + word_length(line);

	rest += strspn(rest, " \t");
	if (prompt_sql_is_word(line, "explain"))
		return prompt_sql_is_word(rest, "query") || prompt_sql_is_word(rest, "select") ||
		       prompt_sql_is_word(rest, "with");
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (prompt_sql_is_word(line, beginnings[i]))
			return !is_lua(line);
	return false;
}

bool prompt_is_clause(const char *line)
{
	const char *rest = line + word_length(line);

	for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++)
		if (prompt_sql_is_word(line, clauses[i]))
			return rest[strspn(rest, " \t")] && !is_lua(line);
	return false;
}

bool prompt_sql_take(struct prompt *prompt, const char *line, struct error *err)
{
	struct sql_shell *shell = sql_shell_get(prompt->session, err);
	struct buf *text = &prompt->statement;
	size_t len = strlen(line);
	bool goes_on = len && line[len - 1] == '\\', first = !text->len;

	if (!first)
		buf_add_char(text, '\n');
	buf_add(text, line, goes_on ? len - 1 : len);
	if (goes_on || !shell)
		return !goes_on;
	if (first)
		return sql_check(shell->sql, buf_text(text)) != SQL_CHECK_CUT_SHORT;
	return !line[strspn(line, " \t")] || sql_is_complete(buf_text(text));
}
