/*
 * sql_dot.c - lines that begin with a dot: settings of the prompt, names of tables
 *
 * Each command is a line of the table below; an unambiguous start of its name is enough.
 */
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "repl/commands/sql_shell.h"
#include "state/program/lookup.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct dot {
	const char *name, *argument, *help;
	/* `argument`: "" if there is none */
	bool (*run)(struct sql_shell *shell, const char *argument, struct sink *sink,
		    struct error *err);
};

static bool dot_help(struct sql_shell *shell, const char *argument, struct sink *sink,
		     struct error *err);

/* The prompt's default options; NULL, *err: outside of the prompt there are none to change. */
static struct options *settings(const struct sql_shell *shell, const char *name, struct error *err)
{
	if (!shell->session->settings)
		error_set(err, ERR_QUERY, ".%s is a word of the prompt: --%s does it here", name,
			  name);
	return shell->session->settings;
}

/* Sets *now to the index of the argument among `words` (NULL ends them); without one, prints it. */
static bool pick(const char *name, const char *const *words, const char *argument, unsigned *now,
		 struct sink *sink, struct error *err)
{
	struct buf all = {0};

	if (!*argument) {
		sink_printf(sink, "%s\n", words[*now]);
		sink_row(sink);
		return true;
	}
	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(argument, words[i])) {
			*now = i;
			buf_release(&all);
			return true;
		}
		buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	}
	error_set(err, ERR_QUERY, ".%s: '%s' is none of %s", name, argument, buf_text(&all));
	buf_release(&all);
	return false;
}

static bool dot_format(struct sql_shell *shell, const char *argument, struct sink *sink,
		       struct error *err)
{
	static const char *const formats[] = {"text", "table", "csv", "json", "line", NULL};
	struct options *all = settings(shell, "format", err);
	unsigned format = sql_shell_format(shell, sink);

	if (!all || !pick("format", formats, argument, &format, sink, err))
		return false;
	if (!*argument)
		return true;
	shell->format = (enum format)format;
	if (shell->format != FORMAT_LINE)
		all->format = shell->format;
	return shell->has_format = true;
}

static bool dot_time(struct sql_shell *shell, const char *argument, struct sink *sink,
		     struct error *err)
{
	static const char *const styles[] = {"clock", "iso", "seconds", "ns", "relative", NULL};
	struct options *all = settings(shell, "time", err);
	unsigned style = all ? all->time : 0;

	if (!all || !pick("time", styles, argument, &style, sink, err))
		return false;
	all->time = (enum time_style)style;
	all->time_set |= *argument != '\0';
	return true;
}

static bool on_or_off(const char *name, const char *argument, bool *out, struct sink *sink,
		      struct error *err)
{
	if (!*argument) {
		sink_text(sink, *out ? "on\n" : "off\n");
		sink_row(sink);
		return true;
	}
	if (strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0)
		return error_set(err, ERR_QUERY, ".%s: on or off", name);
	*out = !strcmp(argument, "on");
	return true;
}

static bool dot_utc(struct sql_shell *shell, const char *argument, struct sink *sink,
		    struct error *err)
{
	struct options *all = settings(shell, "utc", err);

	return all && on_or_off("utc", argument, &all->utc, sink, err);
}

static bool dot_output(struct sql_shell *shell, const char *argument, struct sink *sink,
		       struct error *err)
{
	struct session *session = shell->session;
	bool off = !*argument || !strcmp(argument, "off");
	int fd = 0;

	if (!off && !session_output(session, argument, false, &fd, err))
		return false;
	sink_flush(sink);
	if (session->output)
		close(session->output);
	session->output = sink->elsewhere = fd;
	if (fd)
		sink->columns = 0;
	return true;
}

static bool dot_timer(struct sql_shell *shell, const char *argument, struct sink *sink,
		      struct error *err)
{
	return on_or_off("timer", argument, &shell->timer, sink, err);
}

static bool matches(const char *pattern, const char *name)
{
	return !*pattern || fnmatch(pattern, name, 0) == 0;
}

/* No table matches: an error, or a note if the name is a glob. */
static bool no_table(struct sql_shell *shell, const char *name, struct error *err)
{
	struct nearest nearest;
	char near[NEAREST_WORDS_MAX];
	const char *table;

	if (lookup_is_glob(name) || !*name) {
		session_note(shell->session, "no table matches '%s': '.tables' lists them", name);
		return true;
	}
	nearest_begin(&nearest, name);
	for (size_t i = 0; (table = sql_table_name(shell->sql, i)) != NULL; i++)
		nearest_offer(&nearest, table);
	nearest_hint(&nearest, near, sizeof near);
	return error_set(err, ERR_RANGE, "there is no table '%s': %s'.tables' lists them", name,
			 near);
}

static bool dot_tables(struct sql_shell *shell, const char *argument, struct sink *sink,
		       struct error *err)
{
	const char *name;
	bool some = false;

	for (size_t i = 0; (name = sql_table_name(shell->sql, i)) != NULL; i++)
		if (matches(argument, name)) {
			some = true;
			sink_printf(sink, "%s\n", name);
			if (!sink_row(sink))
				break;
		}
	return some || no_table(shell, argument, err);
}

void sql_quote(struct buf *out, const char *text, char quote)
{
	buf_add_char(out, quote);
	for (; *text; text++) {
		if (*text == quote)
			buf_add_char(out, quote);
		buf_add_char(out, *text);
	}
	buf_add_char(out, quote);
}

/* Appends a name, in quotes if it needs them. */
static void sql_dot_add_name(struct buf *out, const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (name[len] || (*name >= '0' && *name <= '9'))
		sql_quote(out, name, '"');
	else
		buf_add_text(out, name);
}

static bool show_schema(struct sql_shell *shell, const char *name, struct sink *sink,
			struct error *err)
{
	struct buf text = {0}, hidden = {0};
	struct sql_statement *statement;
	struct sql_value column, type, hides;
	enum step step = STEP_ERROR;
	const char *rest;

	buf_add_text(&text, "SELECT name, type, hidden FROM pragma_table_xinfo(");
	sql_quote(&text, name, '\'');
	buf_add_text(&text, ")");
	bool ok = sql_prepare(shell->sql, buf_text(&text), &rest, &statement, err);
	buf_clear(&text);
	while (ok && (step = sql_step(statement, err)) == STEP_ITEM) {
		sql_column(statement, 0, &column);
		sql_column(statement, 1, &type);
		sql_column(statement, 2, &hides);
		struct buf *to = hides.integer ? &hidden : &text;
		if (to->len)
			buf_add_text(to, ", ");
		sql_dot_add_name(to, column.bytes);
		if (type.len)
			buf_printf(to, " %s", (const char *)type.bytes);
	}
	sql_finish(statement);
	if (ok && step == STEP_END) {
		struct buf title = {0};
		sql_dot_add_name(&title, name);
		sink_printf(sink, "CREATE TABLE %s(%s);", buf_text(&title), buf_text(&text));
		if (hidden.len)
			sink_printf(sink, " -- hidden: %s", buf_text(&hidden));
		sink_char(sink, '\n');
		sink_row(sink);
		buf_release(&title);
	}
	buf_release(&text);
	buf_release(&hidden);
	return ok && step == STEP_END;
}

static bool dot_schema(struct sql_shell *shell, const char *argument, struct sink *sink,
		       struct error *err)
{
	const char *name;
	bool some = false;

	for (size_t i = 0; (name = sql_table_name(shell->sql, i)) != NULL && !sink->closed; i++) {
		if (!matches(argument, name))
			continue;
		some = true;
		if (!show_schema(shell, name, sink, err))
			return false;
	}
	return some || no_table(shell, argument, err);
}

static bool show_rules(struct session *session, struct sink *sink, struct error *err)
{
	const struct words *words = &session->base_words;
	const struct rules *rules = session_rules(session, err);
	struct rules_file file;

	if (!rules)
		return false;
	for (size_t i = 0; i < words->count; i++)
		sink_printf(sink, "%s\n", words->items[i]);
	for (size_t i = 0; rules_file(rules, i, &file); i++) {
		if (file.includer)
			sink_printf(sink, "  %s, included by %s\n", file.name, file.includer);
		else if (!words->count)
			sink_printf(sink, "%s, which comes with yore\n", file.name);
	}
	sink_row(sink);
	return true;
}

/* Sets the rules of the prompt; in the argument, names with blanks are quoted. */
static bool dot_rules(struct sql_shell *shell, const char *argument, struct sink *sink,
		      struct error *err)
{
	const char **words = NULL;
	size_t count = 0, capacity = 0;
	char *text = mem_strdup(argument), *at = text;
	bool ok = true;

	while (*(at += strspn(at, " \t"))) {
		bool quoted = *at == '"' || *at == '\'';
		char quote[2] = {*at, '\0'};
		char *end = at + quoted + strcspn(at + quoted, quoted ? quote : " \t");
		*mem_push(words, count, capacity) = at + quoted;
		at = *end ? end + 1 : end;
		*end = '\0';
	}
	if (count)
		ok = session_set_rules(shell->session, words, count, err);
	mem_free(words);
	mem_free(text);
	return ok && (count || show_rules(shell->session, sink, err));
}

static const struct dot dots[] = {
	{"format", "text|table|csv|json|line", "how all answers of the prompt are written",
	 dot_format},
	{"help", "", "this list", dot_help},
	{"output", "FILE|off", "all answers go to a file", dot_output},
	{"rules", "[NAME|FILE...]", "the rules in force, or others from now on", dot_rules},
	{"schema", "[GLOB]", "columns of tables", dot_schema},
	{"tables", "[GLOB]", "names of tables", dot_tables},
	{"time", "clock|iso|seconds|ns|relative", "how the prompt shows times", dot_time},
	{"timer", "on|off", "how long each query, command or line of Lua took", dot_timer},
	{"utc", "on|off", "the prompt shows times in UTC", dot_utc},
};
enum { NDOTS = sizeof dots / sizeof *dots };

static bool dot_help(struct sql_shell *shell, const char *argument, struct sink *sink,
		     struct error *err)
{
	(void)shell;
	(void)argument;
	(void)err;
	for (size_t i = 0; i < NDOTS; i++) {
		sink_printf(sink, ".%-7s %-30s %s\n", dots[i].name, dots[i].argument, dots[i].help);
		sink_row(sink);
	}
	return true;
}

bool sql_shell_setting_words(struct session *session, const char *name,
			     void (*each)(void *arg, const char *word), void *arg)
{
	struct error ignored;

	for (size_t i = 0; i < NDOTS; i++) {
		char word[64];
		snprintf(word, sizeof word, ".%s", dots[i].name);
		if (!*name)
			each(arg, word);
		if (strcmp(word, name) != 0)
			continue;
		if (!strcmp(dots[i].argument, "FILE|off"))
			return false;
		if (!strcmp(dots[i].argument, "[GLOB]")) {
			struct sql_shell *shell = sql_shell_get(session, &ignored);
			const char *table;
			for (size_t k = 0; shell && (table = sql_table_name(shell->sql, k)); k++)
				each(arg, table);
		}
		for (const char *at = dots[i].argument; strchr(dots[i].argument, '|') && *at;) {
			size_t len = strcspn(at, "|");
			snprintf(word, sizeof word, "%.*s", (int)len, at);
			each(arg, word);
			at += len + (at[len] == '|');
		}
	}
	return true;
}

/* A copy of the argument without its quotes and blanks around it. */
static char *argument_of(const char *text)
{
	char *copy = mem_strdup(text + strspn(text, " \t"));
	size_t len = strlen(copy);

	while (len && strchr(" \t\r;", copy[len - 1]))
		copy[--len] = '\0';
	if (len >= 2 && (*copy == '\'' || *copy == '"') && copy[len - 1] == *copy) {
		memmove(copy, copy + 1, len - 2);
		copy[len - 2] = '\0';
	}
	return copy;
}

static bool no_command(const char *line, size_t len, struct error *err)
{
	char name[41], near[NEAREST_WORDS_MAX];
	struct nearest nearest;

	snprintf(name, sizeof name, "%.*s", (int)(len > 40 ? 40 : len), line);
	nearest_begin(&nearest, name);
	for (size_t i = 0; i < NDOTS; i++)
		nearest_offer(&nearest, dots[i].name);
	nearest_hint(&nearest, near, sizeof near);
	return error_set(err, ERR_QUERY, ".%s: no such command: %s'.help' lists them", name, near);
}

bool sql_shell_dot(struct sql_shell *shell, const char *line, struct sink *sink, struct error *err)
{
	const struct dot *found = NULL;
	size_t len = strcspn(++line, " \t\r\n;");

	for (size_t i = 0; i < NDOTS && len; i++) {
		if (strncmp(dots[i].name, line, len) != 0)
			continue;
		if (!dots[i].name[len]) {
			found = &dots[i];
			break;
		}
		if (found)
			return error_set(err, ERR_QUERY, ".%.*s: .%s or .%s?", (int)len, line,
					 found->name, dots[i].name);
		found = &dots[i];
	}
	if (!found)
		return no_command(line, len, err);
	char *argument = argument_of(line + len);
	bool ok = found->run(shell, argument, sink, err);
	mem_free(argument);
	return ok;
}
