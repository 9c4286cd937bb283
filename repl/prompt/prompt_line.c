/*
 * prompt_line.c - what a line of the prompt means
 *
 *     goto range next prev mark ...    the prompt's own words
 *     the command table                without TRACE
 *     commands that scripts added
 *     .tables .format ...               words of the SQL shell
 *     SELECT ...                       SQL; an incomplete statement waits for its next line
 *     WHERE ...                        a further clause of the statement before
 *     ! COMMAND                        a command of the shell
 *     anything else                    Lua; an incomplete chunk waits for its next line
 *
 * A first word followed by = ( [ . : , or an operator between blanks is Lua even if it is the name
 * of a command: `at = 5`, `at + 1`.
 */
#include "repl/prompt/prompt_internal.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "repl/commands/cmds.h"
#include "repl/progress.h"
#include "repl/commands/sql_shell.h"

#include <stdio.h>
#include <string.h>

static bool run_help(struct prompt *prompt, int nwords, char **words, struct error *err);
static bool run_quit(struct prompt *prompt, int nwords, char **words, struct error *err);

const struct prompt_cmd prompt_cmds[] = {
	{"goto", "[TIME]", "makes TIME the current moment, or shows it; .+1ms is beside it",
	 COMPLETE_TIME, prompt_goto},
	{"range", "[BEGIN END | off]", "limits answers, SQL and Lua too, or shows the limits",
	 COMPLETE_TIME, prompt_range},
	{"next", "[GLOB...]", "goes to the next event, of these names; takes filters",
	 COMPLETE_EVENT, prompt_next},
	{"prev", "[GLOB...]", "goes to the event before, of these names; takes filters",
	 COMPLETE_EVENT, prompt_prev},
	{"mark", "[NAME [TIME] | off]",
	 "names the current moment, or TIME: then NAME+1ms is a time", COMPLETE_NOTHING,
	 prompt_mark},
	{"watch", "[PATH... | off]", "shows values at each step", COMPLETE_PATH, prompt_watch},
	{"refresh", "", "opens the trace anew, with what was written since", COMPLETE_NOTHING,
	 prompt_refresh},
	{"follow", "COMMAND...", "repeats a command as the trace grows, until Enter or Ctrl-C",
	 COMPLETE_COMMAND, prompt_follow},
	{"help", "[COMMAND]", "this list, or all about a command", COMPLETE_COMMAND, run_help},
	{"quit", "", "leaves (so does the end of input)", COMPLETE_NOTHING, run_quit},
	{"exit", "", "the same", COMPLETE_NOTHING, run_quit},
	{NULL, NULL, NULL, COMPLETE_NOTHING, NULL}};

/* ---- words ---- */

/* Reads a word at *at, without its quotes ('...', "...", \c); false: a quote is not closed. */
static bool take_word(const char **at, struct buf *word)
{
	char quote = 0;

	for (; **at && (quote || !is_blank(**at)); (*at)++) {
		if (quote ? **at == quote : **at == '\'' || **at == '"')
			quote = quote ? 0 : **at;
		else if (**at == '\\' && quote != '\'' && (*at)[1])
			buf_add_char(word, *++*at);
		else
			buf_add_char(word, **at);
	}
	return !quote;
}

static bool split(const char *line, struct word_list *list, struct error *err)
{
	for (;;) {
		struct buf word = {0};

		while (is_blank(*line))
			line++;
		if (!*line)
			return true;
		bool closed = take_word(&line, &word);
		word_list_add(list, buf_text(&word));
		buf_release(&word);
		if (!closed)
			return error_set(err, ERR_QUERY, "a quote is not closed");
	}
}

/* ---- help, quit ---- */

static void help_row(struct sink *sink, const char *name, const char *args, const char *help)
{
	struct buf usage = {0};

	buf_printf(&usage, "%s%s%s", name, *args ? " " : "", args);
	sink_printf(sink, "  %-24s %s\n", buf_text(&usage), help);
	sink_row(sink);
	buf_release(&usage);
}

static bool help_overview(struct prompt *prompt)
{
	struct sink *sink = &prompt->sink;
	const struct script_command *added;
	size_t count = script_commands(scripting_script(prompt->scripting), &added);

	sink_text(sink, "At the prompt:\n");
	for (size_t i = 0; prompt_cmds[i].name; i++)
		help_row(sink, prompt_cmds[i].name, prompt_cmds[i].args, prompt_cmds[i].summary);
	if (count)
		sink_text(sink, "\nAdded by scripts:\n");
	for (size_t i = 0; i < count; i++)
		help_row(sink, added[i].name, added[i].args, added[i].help);
	sink_text(sink,
		  "\nSELECT ... is SQL as it stands, .help lists settings. 'COMMAND | sort',\n"
		  "'COMMAND > FILE' and '!ls' are as in the shell. Enter repeats next and prev.\n"
		  "Any other line is Lua: trace and yore are there. The commands below take\n"
		  "no TRACE here; --begin and --end are the current range, the TIME of 'at'\n"
		  "is the current moment.\n\n");
	sink_row(sink);
	return help_print(NULL, sink);
}

const struct prompt_cmd *prompt_cmd_named(const char *name)
{
	for (size_t i = 0; prompt_cmds[i].name; i++)
		if (!strcmp(prompt_cmds[i].name, name))
			return &prompt_cmds[i];
	return NULL;
}

bool prompt_help(struct prompt *prompt, const char *name)
{
	const struct prompt_cmd *own = prompt_cmd_named(name);

	if (own)
		help_row(&prompt->sink, own->name, own->args, own->summary);
	return true;
}

static bool run_help(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	const struct script_command *added;
	const struct cmd *cmd;

	if (nwords < 2)
		return help_overview(prompt);
	if (nwords > 2)
		return error_set(err, ERR_QUERY, "help: one command is expected, '%s' is too much",
				 words[2]);
	if (prompt_cmd_named(words[1]))
		return prompt_help(prompt, words[1]);
	if (script_has_analysis(words[1]))
		return help_analysis(words[1], &prompt->sink, err);
	added = script_command_find(scripting_script(prompt->scripting), words[1]);
	if (added) {
		help_row(&prompt->sink, added->name, added->args, added->help);
		return true;
	}
	cmd = cmd_find(words[1], err);
	return cmd && help_print(cmd, &prompt->sink);
}

static bool run_quit(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	if (nwords > 1)
		return error_set(err, ERR_QUERY, "%s: '%s' is too much, it takes no words",
				 words[0], words[1]);
	prompt->quit = true;
	return true;
}

/* ---- one line ---- */

/* Can `rest` follow a name in Lua, and not a command? */
static bool goes_on_as_lua(const char *rest)
{
	/* `.` and `.+1ms` are times: the current moment */
	if (!*rest || (*rest == '.' && (!rest[1] || strchr(" +-", rest[1]))))
		return false;
	return strchr("=([.:,", *rest) || (strchr("+*/%<>~&|^", *rest) && is_blank(rest[1]));
}

static bool is_command(const struct prompt *prompt, const char *line)
{
	size_t len = strcspn(line, " \t");
	const char *rest = line + len;
	char *name = mem_strdup(line);
	bool known;

	name[len] = '\0';
	while (is_blank(*rest))
		rest++;
	known = *line == '.' || prompt_cmd_named(name) || cmd_named(name) ||
		script_command_find(scripting_script(prompt->scripting), name);
	/* `at > 5` compares a variable of Lua; else the answer goes to a file or command */
	bool sent = (*rest == '|' || *rest == '>') &&
		    !script_knows(scripting_script(prompt->scripting), name);
	mem_free(name);
	return known && (sent || !goes_on_as_lua(rest));
}

static bool run_script_command(struct prompt *prompt, const struct word_list *words,
			       struct error *err)
{
	const struct options *outer = prompt->session->options;
	struct options options = *outer;
	char **left = mem_new_array(words->count, sizeof *left);
	size_t count = words->count - 1;
	bool found, ok = true;
	int status;

	memcpy(left, words->items + 1, count * sizeof *left);
	if (script_has_analysis(words->items[0]))
		ok = options_take_lists(&options, &count, left, err);
	prompt->session->options = &options;
	ok = ok && scripting_command(prompt->scripting, words->items[0], (const char *const *)left,
				     count, &found, &status, err);
	prompt->session->options = outer;
	mem_free(left);
	return ok;
}

/*
 * The query behind `sql` as it is, with its quotes. NULL: the line is another command, or has
 * options or quotes around the query, as on the command line.
 */
static const char *sql_text(const char *line)
{
	size_t len = strcspn(line, " \t");

	if (*line == '.')
		return line;
	if (len != 3 || strncmp(line, "sql", len) != 0)
		return NULL;
	for (line += len; is_blank(*line); line++)
		;
	return *line && !strchr("-'\"", *line) ? line : NULL;
}

static bool run_sql(struct prompt *prompt, const char *text, struct error *err)
{
	struct sql_shell *shell = sql_shell_get(prompt->session, err);

	return shell && sql_shell_run(shell, text, &prompt->sink, err);
}

/* Refuses options of the prompt's own commands, except `next`, `prev` and `follow`. */
static bool own_takes(const struct prompt_cmd *own, int nwords, char **words, struct error *err)
{
	if (own->run == prompt_next || own->run == prompt_prev || own->run == prompt_follow)
		return true;
	for (int i = 1; i < nwords; i++)
		if (words[i][0] == '-' && words[i][1] == '-')
			return error_set(err, ERR_QUERY,
					 "%s: %s takes no options: 'help %s' says what it takes",
					 words[i], own->name, own->name);
	return true;
}

/* Runs one of the prompt's own commands; after a step, shows the watched paths. */
static bool run_own(struct prompt *prompt, const struct prompt_cmd *own, int count, char **words,
		    struct error *err)
{
	bool steps = own->run == prompt_next || own->run == prompt_prev ||
		     (own->run == prompt_goto && count > 1);

	return own_takes(own, count, words, err) && own->run(prompt, count, words, err) &&
	       (!steps || prompt_show_watched(prompt, err));
}

bool prompt_answer(struct prompt *prompt, int count, char **words, struct error *err)
{
	struct word_list list = {.items = words, .count = (size_t)count};

	if (prompt_cmd_named(words[0]))
		return error_set(err, ERR_QUERY, "%s: this word of the prompt answers nothing",
				 words[0]);
	if (cmd_named(words[0]))
		return cmd_run_words(prompt->session, count, words, &prompt->sink, err);
	if (script_command_find(scripting_script(prompt->scripting), words[0]))
		return run_script_command(prompt, &list, err);
	return error_set(err, ERR_QUERY, "%s: no such command: 'help' lists them", words[0]);
}

static bool run_words(struct prompt *prompt, const char *line, struct error *err)
{
	struct word_list words = {0};
	bool done = split(line, &words, err);
	struct took took;

	took_begin(&took);

	if (done) {
		const struct prompt_cmd *own = prompt_cmd_named(words.items[0]);
		int count = (int)words.count;

		done = own ? run_own(prompt, own, count, words.items, err)
			   : prompt_answer(prompt, count, words.items, err);
		if (done && !own)
			sql_shell_took(prompt->session->sql, &took, &prompt->sink);
	}
	word_list_free(&words);
	return done;
}

/* Stores a line `next` or `prev`, which Enter then repeats. */
static void keep_step(struct prompt *prompt, const char *line)
{
	size_t len = strcspn(line, " \t");
	bool step = len == 4 && (!strncmp(line, "next", len) || !strncmp(line, "prev", len));

	if (line == prompt->step)
		return;
	mem_free(prompt->step);
	prompt->step = step ? mem_strdup(line) : NULL;
}

/* Runs a command, or with `statement` SQL, and sends its answer to `| COMMAND` or `> FILE`. */
static bool run_sent(struct prompt *prompt, const char *text, bool statement, struct error *err)
{
	char *line = mem_strdup(text);
	const char *sql = statement ? line : sql_text(line);
	struct error closing;

	bool done = *line == '.' || prompt_output_begin(prompt, line, sql && *line != '.', err);
	if (done && sql)
		done = run_sql(prompt, sql, err);
	else if (done)
		done = run_words(prompt, line, err);
	if (!prompt_output_end(prompt, &closing) && done) {
		*err = closing;
		done = false;
	}
	mem_free(line);
	return done;
}

static bool run_statement(struct prompt *prompt, const char *line, struct error *err)
{
	if (!prompt_sql_take(prompt, line, err))
		return true;
	bool done = run_sent(prompt, buf_text(&prompt->statement), true, err);
	buf_clear(&prompt->asked);
	buf_add(&prompt->asked, prompt->statement.data, prompt->statement.len);
	buf_clear(&prompt->statement);
	return done;
}

/* Runs the last statement again, with a further clause. */
static bool run_clause(struct prompt *prompt, const char *line, struct error *err)
{
	struct buf *asked = &prompt->asked;
	struct buf whole = {0};

	while (asked->len && strchr(" \t\n;", asked->data[asked->len - 1]))
		asked->len--;
	if (!asked->len)
		return error_set(err, ERR_QUERY,
				 "%.*s ...: a clause goes on with the statement of the line "
				 "before, and that was none: begin with SELECT",
				 (int)strcspn(line, " \t"), line);
	buf_add(&whole, asked->data, asked->len);
	buf_printf(&whole, "\n%s", line);
	bool done = run_statement(prompt, buf_text(&whole), err);
	buf_release(&whole);
	return done;
}

/*
 * Is the line a mistyped command: a word that Lua does not know, alone or before an option (to Lua
 * a comment), or words with a syntax error in Lua?
 */
static bool is_mistyped(const struct prompt *prompt, const char *line, const struct error *err)
{
	size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
	const char *rest = line + len;
	char *name;
	bool known;

	if (!len || (*rest && !is_blank(*rest)))
		return false;
	if (err)
		return *rest && strstr(err->text, "syntax error");
	while (is_blank(*rest))
		rest++;
	if (*rest && *rest != '-')
		return false;
	name = mem_strdup(line);
	name[len] = '\0';
	known = script_knows(scripting_script(prompt->scripting), name);
	mem_free(name);
	return !known;
}

static bool mistyped(const struct prompt *prompt, const char *line, struct error *err)
{
	char name[41], hint[NEAREST_WORDS_MAX];
	const struct script_command *added;
	size_t count = script_commands(scripting_script(prompt->scripting), &added);
	struct script_analyses analyses = {0};
	struct error none;
	struct nearest nearest;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " \t"), line);
	nearest_begin(&nearest, name);
	for (size_t i = 0; commands[i]; i++)
		nearest_offer(&nearest, commands[i]->name);
	for (size_t i = 0; prompt_cmds[i].name; i++)
		nearest_offer(&nearest, prompt_cmds[i].name);
	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, added[i].name);
	if (script_analyses_read(NULL, &analyses, &none))
		for (size_t i = 0; i < analyses.count; i++)
			nearest_offer(&nearest, analyses.items[i].name);
	nearest_hint(&nearest, hint, sizeof hint);
	script_analyses_release(&analyses);
	if (*hint)
		return error_set(err, ERR_QUERY,
				 "%s: neither a command nor Lua: %s'help' lists commands", name,
				 hint);
	return error_set(err, ERR_QUERY,
			 "%s: neither a command nor Lua: 'help' lists commands, '!%s' is of the "
			 "shell",
			 name, name);
}

static bool run_lua(struct prompt *prompt, const char *line, struct error *err)
{
	enum script_line result;
	struct took took;

	if (!prompt->chunk.len && is_mistyped(prompt, line, NULL))
		return mistyped(prompt, line, err);
	took_begin(&took);
	if (prompt->chunk.len)
		buf_add_char(&prompt->chunk, '\n');
	buf_add_text(&prompt->chunk, line);
	result = scripting_eval(prompt->scripting, buf_text(&prompt->chunk), err);
	if (result == SCRIPT_MORE)
		return true;
	if (result == SCRIPT_FAILED && is_mistyped(prompt, buf_text(&prompt->chunk), err))
		mistyped(prompt, buf_text(&prompt->chunk), err);
	buf_clear(&prompt->chunk);
	if (result == SCRIPT_DONE)
		sql_shell_took(prompt->session->sql, &took, &prompt->sink);
	if (script_exited(scripting_script(prompt->scripting), &prompt->status))
		prompt->quit = true;
	return result == SCRIPT_DONE;
}

bool prompt_write(void *arg, const char *bytes, size_t count)
{
	struct prompt *prompt = arg;
	bool read_on;

	progress_clear(prompt->progress);
	read_on = pager_write(&prompt->pager, bytes, count);
	if (prompt->pager.child)
		prompt->session->progress = NULL;
	return read_on;
}

void prompt_show(struct prompt *prompt)
{
	progress_clear(prompt->progress);
	if (prompt->terminal)
		pager_end(&prompt->pager);
	prompt->session->progress = prompt->progress;
}

/* Resets the output, which an earlier question's pager may have closed. */
static void begin_output(struct prompt *prompt)
{
	prompt->sink.len = prompt->sink.whole = 0;
	prompt->sink.closed = false;
	prompt->sink.failed = 0;
	if (prompt->terminal)
		pager_begin(&prompt->pager);
	prompt->sink.elsewhere = prompt->session->output;
	prompt->sink.columns = prompt->terminal && !prompt->session->output
				       ? terminal_columns(STDOUT_FILENO)
				       : 0;
}

static void end_output(struct prompt *prompt)
{
	sink_drop_row(&prompt->sink);
	sink_flush(&prompt->sink);
	prompt_show(prompt);
}

static bool run_line(struct prompt *prompt, const char *line, struct error *err)
{
	if (prompt->statement.len)
		return run_statement(prompt, line, err);
	if (prompt->chunk.len)
		return run_lua(prompt, line, err);
	keep_step(prompt, line);
	if (*line == '!')
		return prompt_shell(prompt, line + 1, err);
	if (prompt_is_sql(line))
		return run_statement(prompt, line, err);
	if (prompt_is_clause(line))
		return run_clause(prompt, line, err);
	buf_clear(&prompt->asked);
	return is_command(prompt, line) ? run_sent(prompt, line, false, err)
					: run_lua(prompt, line, err);
}

/* Runs pasted lines one by one, if the first is a command. False: they are one input, as in Lua. */
static bool run_pasted(struct prompt *prompt, const char *lines)
{
	struct input_lines rest = {.end = true};

	buf_add_text(&rest.text, lines);
	char *line = lines_next(&rest);
	bool several =
		strchr(lines, '\n') && *line != '.' && is_command(prompt, line) && !sql_text(line);
	for (; several && line && !prompt->quit; line = lines_next(&rest))
		prompt_line(prompt, line);
	buf_release(&rest.text);
	return several;
}

void prompt_line(struct prompt *prompt, const char *line)
{
	struct error err = {0};
	bool done;

	bool waits = prompt->chunk.len || prompt->statement.len;

	if (!waits && run_pasted(prompt, line))
		return;
	while (!waits && is_blank(*line))
		line++;
	if (!waits && !*line && prompt->terminal && prompt->step)
		line = prompt->step;
	if (!waits && !*line)
		return;
	begin_output(prompt);
	signals_begin(prompt->session->options->memory_most);
	if (!waits)
		prompt_tell_growth(prompt);
	done = scripting_update(prompt->scripting, &err) && run_line(prompt, line, &err);
	end_output(prompt);
	if (!done)
		signals_explain(&err);
	if (!done && err.kind == ERR_INTERRUPTED)
		say(NULL, "interrupted");
	else if (!done)
		say_error(&err);
	if (!done)
		prompt->status = prompt->terminal ? 0 : 1;
	signals_clear();
}
