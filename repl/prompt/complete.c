/*
 * complete.c - candidates for the word at the cursor, for readline
 *
 * If the first word is a command, its table entry says how arguments are completed; any other line
 * is Lua. Paths are completed from the paths that rules write, with the keys that were typed:
 * "cpu[3]/th" becomes "cpu[3]/thread"; a key that was not typed is `*`.
 */
#include "repl/prompt/prompt_internal.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/reader.h"
#include "repl/cmd.h"
#include "repl/commands/sql_shell.h"
#include "repl/commands/triggers.h"
#include "state/program/program.h"

#include <ctype.h>

#include <readline/readline.h>
#include <string.h>

struct completer {
	struct session *session;
	struct script *script;
	struct program *program;   /* compiled rules, for the paths that they write; or NULL */
	const struct rules *rules; /* from which it was compiled; NULL: not yet */
};

/* One request: what was typed, and where candidates go. */
struct completion {
	struct completer *completer;
	const char *text;
	size_t len;
	void (*each)(void *arg, const char *word);
	void *arg;
	const char *line; /* the line before `text` */
	size_t nline;
};

struct completer *completer_new(struct session *session, struct script *script)
{
	struct completer *completer = mem_new(sizeof *completer);

	*completer = (struct completer){.session = session, .script = script};
	return completer;
}

void completer_forget(struct completer *completer)
{
	if (!completer)
		return;
	program_free(completer->program);
	completer->program = NULL;
	completer->rules = NULL;
}

void completer_free(struct completer *completer)
{
	completer_forget(completer);
	mem_free(completer);
}

static void offer(struct completion *completion, const char *word)
{
	if (!strncmp(word, completion->text, completion->len))
		completion->each(completion->arg, word);
}

static void offer_word(void *arg, const char *word)
{
	offer(arg, word);
}

/* ---- names of the trace ---- */

/* Offers each event's name, and the part behind its last colon, which selects it, too. */
static void offer_events(struct completion *completion)
{
	const struct trace *trace = completion->completer->session->trace;

	for (size_t i = 0; trace && i < trace->nclasses; i++) {
		const char *name = trace->classes[i]->name, *colon = strrchr(name, ':');

		if (trace->classes[i]->unlisted)
			continue;
		offer(completion, name);
		if (colon && completion->len)
			offer(completion, colon + 1);
	}
}

static void offer_streams(struct completion *completion)
{
	const struct trace *trace = completion->completer->session->trace;

	for (size_t i = 0; trace && i < trace->nstreams; i++)
		offer(completion, trace->streams[i]->name);
}

static void offer_members(struct completion *completion)
{
	const struct trace *trace = completion->completer->session->trace;

	for (size_t i = 0; trace && i < trace->nclasses; i++)
		for (int scope = SCOPE_STREAM_EVENT_CONTEXT; scope < SCOPE_COUNT; scope++) {
			const struct field_class *class = trace->classes[i]->scope[scope];

			for (uint32_t m = 0; class && m < class->nmembers; m++)
				if (!class->members[m].hidden)
					offer(completion, class->members[m].name);
		}
}

static void offer_fields(struct completion *completion)
{
	static const char *const heads[] = {"ts", "name", "cpu", "stream", NULL};

	for (size_t i = 0; heads[i]; i++)
		offer(completion, heads[i]);
	offer_members(completion);
}

/* ---- attributes ---- */

static struct program *get_program(struct completer *completer)
{
	struct session *session = completer->session;
	struct notices silent = {0};
	struct error err;

	if (!session_rules(session, &err))
		return NULL;
	if (completer->rules == session->rules)
		return completer->program;
	program_free(completer->program);
	completer->rules = session->rules;
	if (!program_compile(session->rules, session->trace, &silent, &completer->program, &err))
		completer->program = NULL;
	return completer->program;
}

/*
 * Matches what was typed with a shape, in which keys are `*`: names must be equal as far as typed,
 * and any key in brackets matches `*`. Appends the completed path to *out. False: no match.
 */
static bool fit_shape(const char *typed, const char *shape, struct buf *out)
{
	for (; *shape; shape++) {
		const char *close;

		if (!*typed) {
			buf_add_text(out, shape);
			return true;
		}
		if (strncmp(shape, "*]", 2) != 0) {
			if (*typed != *shape)
				return false;
			buf_add_char(out, *typed++);
			continue;
		}
		close = strchr(typed, ']');
		if (!*typed)
			buf_add_char(out, '*');
		buf_add(out, typed, close ? (size_t)(close - typed) : strlen(typed));
		typed = close ? close : typed + strlen(typed);
	}
	return !*typed;
}

enum { KEYS_WHOLE = 4 }; /* up to so many keys, whole paths are offered; else only keys */

struct keys {
	struct word_list list;
	const char *typed; /* the part of the key that was typed */
};

static void keep_key(void *arg, const char *key)
{
	struct keys *keys = arg;

	if (!strncmp(key, keys->typed, strlen(keys->typed)))
		word_list_keep(&keys->list, key);
}

/* The start of a key that is not closed yet, in the text; NULL: there is none. */
static const char *open_key(const char *text)
{
	const char *open = strrchr(text, '[');

	return open && !strchr(open, ']') ? open + 1 : NULL;
}

/* Adds the completed path to `stars`, with `*` in place of the key that is being typed. */
static void gather_star(struct completion *completion, const char *path, const char *shape,
			void *stars)
{
	const char *text = completion->text;
	const char *typed = open_key(text);
	struct buf star = {0};

	buf_add(&star, text, (size_t)(typed - text));
	buf_add_char(&star, '*');
	buf_add_text(&star, path + strlen(text) + !*typed);
	word_list_add(stars, buf_text(&star));
	buf_release(&star);
	(void)shape;
}

/* Offers keys that occur at the `*` of these paths, and frees the paths. False: there are none. */
static bool offer_keys(struct completion *completion, struct word_list *stars)
{
	const char *typed = open_key(completion->text);
	size_t nhead = (size_t)(typed - completion->text);
	struct keys keys = {.typed = typed};
	struct buf word = {0};

	if (char_begins_word(*typed) && nhead >= 7 && !memcmp(typed - 7, "thread[", 7))
		complete_thread_names(completion->completer->session, keep_key, &keys);
	for (size_t i = 0; i < stars->count && !keys.list.count; i++)
		complete_keys(completion->completer->session, stars->items[i], nhead, keep_key, &keys);
	for (size_t k = 0; k < keys.list.count; k++) {
		bool whole = keys.list.count <= KEYS_WHOLE;

		for (size_t i = 0; i < (whole ? stars->count : 1); i++) {
			buf_clear(&word);
			buf_add(&word, completion->text, nhead);
			buf_add_text(&word, keys.list.items[k]);
			buf_add_text(&word, whole ? stars->items[i] + nhead + 1 : "]");
			offer(completion, buf_text(&word));
		}
	}
	bool found = keys.list.count > 0;
	word_list_free(stars);
	word_list_free(&keys.list);
	buf_release(&word);
	return found;
}

/* Behind "cpu[", offers the CPUs of the trace's streams. */
static void offer_cpus(struct completion *completion, const char *path)
{
	const struct trace *trace = completion->completer->session->trace;
	const char *star = strstr(path, "[*]");

	if (strncmp(path, "cpu[*]", 6) != 0 || completion->len > 4)
		return;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct buf word = {0};

		if (trace->streams[i]->cpu < 0)
			continue;
		buf_printf(&word, "cpu[%d%s", (int)trace->streams[i]->cpu, star + 2);
		offer(completion, buf_text(&word));
		buf_release(&word);
	}
}

/* Calls `each` with every path that begins with what was typed, and its shape. */
static void each_path(struct completion *completion,
		      void (*each)(struct completion *, const char *path, const char *shape,
				   void *arg),
		      void *arg)
{
	struct program *program = get_program(completion->completer);
	const struct attrs *attrs = program ? program_attrs(program) : NULL;
	struct buf shape = {0}, path = {0};

	for (uint32_t i = 1; attrs && i < shape_count(attrs); i++) {
		if (!program_writes_shape(program, i) && !program_views_shape(program, i))
			continue;
		buf_clear(&shape);
		buf_clear(&path);
		shape_add_text(attrs, i, &shape);
		if (fit_shape(completion->text, buf_text(&shape), &path))
			each(completion, buf_text(&path), buf_text(&shape), arg);
	}
	buf_release(&shape);
	buf_release(&path);
}

static void offer_path(struct completion *completion, const char *path, const char *shape,
		       void *arg)
{
	(void)arg;
	offer(completion, path);
	offer_cpus(completion, shape);
}

/* Offers paths: with keys that occur in the trace, or else with the key as typed. */
static void offer_paths(struct completion *completion)
{
	const char *key = open_key(completion->text);
	struct word_list stars = {0};
	bool found = false;

	if (key) {
		each_path(completion, gather_star, &stars);
		found = offer_keys(completion, &stars);
	}
	if (!found || !*key)
		each_path(completion, offer_path, NULL);
}

/* ---- commands and options ---- */

static void offer_analyses(struct completion *completion)
{
	struct script_analyses analyses;
	struct error err;

	if (!script_analyses_read(NULL, &analyses, &err))
		return;
	for (size_t i = 0; i < analyses.count; i++)
		offer(completion, analyses.items[i].name);
	script_analyses_release(&analyses);
}

static void offer_commands(struct completion *completion)
{
	const struct script_command *added;
	size_t count = script_commands(completion->completer->script, &added);

	for (size_t i = 0; commands[i]; i++)
		offer(completion, commands[i]->name);
	for (size_t i = 0; prompt_cmds[i].name; i++)
		offer(completion, prompt_cmds[i].name);
	for (size_t i = 0; i < count; i++)
		offer(completion, added[i].name);
	offer_analyses(completion);
}

static void offer_options(struct completion *completion, const struct cmd *cmd)
{
	for (size_t i = 0; option_info(cmd, i); i++)
		offer(completion, option_info(cmd, i)->name);
}

/* Offers names of rule sets. False: none begins with the text, so that files may be offered. */
static bool offer_rule_words(struct completion *completion)
{
	size_t count;
	const struct rules_builtin *builtins = rules_builtins(&count);
	bool any = false;

	for (size_t i = 0; i < count && completion->len; i++) {
		any |= strncmp(builtins[i].name, completion->text, completion->len) == 0;
		offer(completion, builtins[i].name);
	}
	return any;
}

static void offer_inputs(struct completion *completion)
{
	const struct reader *reader;

	for (size_t i = 0; (reader = reader_at(i)); i++)
		offer(completion, reader->format);
}

enum offered { OFFERED_NOTHING, OFFERED_VALUES, OFFERED_FILES };

/* Offers the values in the option's table entry, if they are a choice; `line` only for `sql`. */
static enum offered offer_choice(struct completion *completion, const struct cmd *cmd,
				 const char *option)
{
	static const char formats[] = "text|table|csv|json";
	bool is_format = !strcmp(option, "--format") && !(cmd->options & OPT_SQL);

	for (size_t i = 0; option_info(cmd, i); i++) {
		const struct option_info *info = option_info(cmd, i);

		if (strcmp(info->name, option) != 0)
			continue;
		if (!info->value)
			return OFFERED_NOTHING;
		complete_choice(is_format ? formats : info->value, "", offer_word, completion);
		return OFFERED_VALUES;
	}
	return OFFERED_VALUES;
}

/* Does the command have conditions on columns of intervals, not on events? */
static bool has_columns(const struct cmd *cmd)
{
	return cmd && (cmd->options & OPT_TRIGGERS) && !(cmd->options & OPT_EVENTS);
}

static void offer_columns(struct completion *completion)
{
	for (size_t i = 0; interval_columns[i]; i++)
		offer(completion, interval_columns[i]);
}

/* Offers values of the option before the cursor. */
static enum offered offer_value(struct completion *completion, const struct cmd *cmd,
				const char *option)
{
	if (!strcmp(option, "--name"))
		offer_events(completion);
	else if (!strcmp(option, "--where") || !strcmp(option, "--until") ||
		 !strcmp(option, "--on"))
		(has_columns(cmd) ? offer_columns : offer_fields)(completion);
	else if (!strcmp(option, "--stream"))
		offer_streams(completion);
	else if (!strcmp(option, "--tid") || !strcmp(option, "--comm"))
		complete_thread_names(completion->completer->session, offer_word, completion);
	else if (!strcmp(option, "--input"))
		offer_inputs(completion);
	else if (!strcmp(option, "--rules"))
		return offer_rule_words(completion) ? OFFERED_VALUES : OFFERED_FILES;
	else if (!strcmp(option, "--with") || !strcmp(option, "--index-dir") ||
		 !strcmp(option, "--svg"))
		return OFFERED_FILES;
	else
		return offer_choice(completion, cmd, option);
	return OFFERED_VALUES;
}

/*
 * If line[0 .. end) ends with `FIELD ==`, `!=` or `~`, perhaps with a quote behind it: appends the
 * field's name to *out. False: it does not.
 */
static bool field_before(const char *line, size_t end, struct buf *out)
{
	size_t start, stop;

	while (end && strchr(" \"", line[end - 1]))
		end--;
	if (end >= 2 && line[end - 1] == '=' && strchr("=!", line[end - 2]))
		end -= 2;
	else if (end && line[end - 1] == '~')
		end--;
	else
		return false;
	while (end && line[end - 1] == ' ')
		end--;
	for (stop = start = end; start && (line[start - 1] == '_' || line[start - 1] == '-' ||
					   isalnum((unsigned char)line[start - 1]));)
		start--;
	buf_add(out, line + start, stop - start);
	return stop > start;
}

/* Offers values of the field or column that is compared at the cursor; false: none is. */
static bool offer_compared(struct completion *completion, const struct cmd *cmd, const char *line,
			   size_t start)
{
	struct buf field = {0};
	bool compares = field_before(line, start, &field), columns = has_columns(cmd);

	if (compares && columns && !strcmp(buf_text(&field), "comm"))
		complete_thread_names(completion->completer->session, offer_word, completion);
	else if (compares && !columns && !strcmp(buf_text(&field), "name"))
		offer_events(completion);
	else if (compares && !columns)
		complete_values(completion->completer->session, buf_text(&field), offer_word,
				completion);
	buf_release(&field);
	return compares;
}

/* ---- one-liners ---- */

/* Is the end of the text within the braces or the predicate of a probe? */
static bool in_probe(const char *text, size_t len)
{
	bool predicate = false, quoted = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char before = i ? text[i - 1] : ' ', c = text[i];

		if (quoted || c == '"')
			quoted ^= c == '"';
		else if (c == '{' || c == '}')
			depth += c == '{' ? 1 : -1, predicate = false;
		else if (c == '/' && !depth && (predicate || strchr(" '}", before)))
			predicate = !predicate;
	}
	return depth > 0 || predicate;
}

/* Completes only the name behind text[0 .. nhead): in "@[prev_c" that behind the bracket. */
struct behind {
	struct completion *outer;
	size_t nhead;
};

static void offer_behind(void *arg, const char *name)
{
	const struct behind *behind = arg;
	struct buf word = {0};

	buf_add(&word, behind->outer->text, behind->nhead);
	buf_add_text(&word, name);
	offer(behind->outer, buf_text(&word));
	buf_release(&word);
}

/* Offers fields within a probe, else events, also by their bpftrace names. */
static void offer_program(struct completion *completion)
{
	bool fields = in_probe(completion->line, completion->nline + completion->len);
	struct behind behind = {completion, completion->len};
	const char *text = completion->text;

	while (behind.nhead && (isalnum((unsigned char)text[behind.nhead - 1]) ||
				strchr(fields ? "_" : "_:", text[behind.nhead - 1])))
		behind.nhead--;
	if (!fields && !strncmp(text, "tracepoint:", strlen("tracepoint:")))
		behind.nhead = strlen("tracepoint:");
	else if (!fields && !strncmp(text, "t:", strlen("t:")))
		behind.nhead = strlen("t:");
	struct completion name = *completion;
	name.text += behind.nhead;
	name.len -= behind.nhead;
	name.each = offer_behind;
	name.arg = &behind;
	if (fields)
		offer_members(&name);
	else
		offer_events(&name);
}

/* ---- SQL, settings, marks ---- */

/* Offers tables, columns of the tables in the line, functions, and SQL words in the typed case. */
static void offer_sql(struct completion *completion, const char *line)
{
	static const char *const words[] = {
		"SELECT",  "FROM",   "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN",
		"LEFT JOIN", "ON",   "USING", "DISTINCT", "DESC",     "AND",    "OR",    "NOT",
		"BETWEEN", "IN",     "LIKE",  "GLOB",     "IS NULL",  "WITH",   "AS",    "CASE",
		"WHEN",    "THEN",   "ELSE",  "END",      "UNION ALL", "OFFSET"};
	struct sql_shell *shell;
	struct error ignored;

	for (size_t i = 0; completion->len && i < sizeof words / sizeof *words; i++) {
		struct buf word = {0};
		bool lower = completion->text[0] >= 'a';
		for (const char *c = words[i]; *c; c++)
			buf_add_char(&word, lower && *c != ' ' ? (char)(*c | 0x20) : *c);
		offer(completion, buf_text(&word));
		buf_release(&word);
	}
	shell = sql_shell_get(completion->completer->session, &ignored);
	if (shell)
		sql_names(shell->sql, line, offer_word, completion);
}

static void offer_marks(struct completion *completion)
{
	const struct session *session = completion->completer->session;

	for (size_t i = 0; i < session->nmarks; i++)
		offer(completion, session->marks[i].name);
}

/* Offers settings of the SQL shell, or values of the setting `first`. False: file names. */
static bool offer_setting(struct completion *completion, const char *first)
{
	if (!strcmp(first, ".rules"))
		return offer_rule_words(completion);
	return sql_shell_setting_words(completion->completer->session, first, offer_word,
				       completion);
}

/* ---- a line ---- */

static bool offer_argument(struct completion *completion, const struct cmd *cmd, const char *before)
{
	enum offered value =
		before[0] == '-' ? offer_value(completion, cmd, before) : OFFERED_NOTHING;

	if (value == OFFERED_FILES)
		return false;
	if (value == OFFERED_VALUES)
		return true;
	if (completion->text[0] == '-') {
		offer_options(completion, cmd);
		return true;
	}
	if (cmd->words & WORD_PROGRAM)
		offer_program(completion);
	if (cmd->words & (WORD_PATH | WORD_PATH_VALUE))
		offer_paths(completion);
	if (cmd->words & WORD_COMMAND)
		offer_commands(completion);
	if ((cmd->words & WORD_RULES) && offer_rule_words(completion))
		return true;
	return !(cmd->words & WORD_FILE);
}

/* `first` is the line's first word, `before` the word before the one at the cursor. */
static bool offer_after(struct completion *completion, const char *first, const char *before)
{
	const struct prompt_cmd *own = prompt_cmd_named(first);
	const struct cmd *cmd = cmd_named(first);

	if (*first == '.')
		return offer_setting(completion, first);
	if (own && own->completes == COMPLETE_TIME)
		offer_marks(completion);
	if (own && own->completes == COMPLETE_EVENT)
		offer_events(completion);
	if (own && own->completes == COMPLETE_PATH)
		offer_paths(completion);
	if (own && own->completes == COMPLETE_COMMAND)
		offer_commands(completion);
	if (own)
		return true;
	if (cmd)
		return offer_argument(completion, cmd, before);
	if (!strcmp(before, "--svg"))
		return false;
	if (!complete_analysis(first, completion->line, completion->nline, before, completion->text,
			       offer_word, completion))
		script_complete(completion->completer->script, completion->text, completion->each,
				completion->arg);
	return true;
}

/* The word before `end`, without quotes, commas or `=` at its end: of --option=VALUE the option. */
static char *word_before(const char *line, size_t end)
{
	size_t start;

	while (end && (is_blank(line[end - 1]) || line[end - 1] == '=' || line[end - 1] == ',' ||
		       line[end - 1] == '\'' || line[end - 1] == '"'))
		end--;
	for (start = end; start && !is_blank(line[start - 1]);)
		start--;
	for (size_t i = start; i < end; i++)
		if (line[i] == '=')
			end = i;
	char *word = mem_strdup(line + start);
	word[end - start] = '\0';
	return word;
}

/*
 * Calls `each` with every candidate for line[start .. end), where `end` is the cursor. False: the
 * caller should complete file names.
 */
static bool complete_at(struct completer *completer, const char *line, size_t start, size_t end,
			void (*each)(void *arg, const char *word), void *arg)
{
	char *text = mem_strdup(line + start);
	struct completion completion = {completer, text, end - start, each, arg, line, start};
	size_t begin = 0, stop;
	bool done = true;

	text[end - start] = '\0';
	while (begin < start && is_blank(line[begin]))
		begin++;
	for (stop = begin; stop < start && !is_blank(line[stop]);)
		stop++;
	const char *sent = line + start;
	while (sent > line && is_blank(sent[-1]))
		sent--;
	if (sent > line && sent[-1] == '>') {
		done = false;
	} else if (prompt_is_sql(line + begin) || !strncmp(line + begin, "sql ", 4)) {
		offer_sql(&completion, line + begin);
	} else if (begin == start) {
		offer_commands(&completion);
		if (completion.len && *completion.text == '.')
			offer_setting(&completion, "");
		script_complete(completer->script, text, each, arg);
	} else {
		char *first = mem_strdup(line + begin), *before = word_before(line, start);

		first[stop - begin] = '\0';
		done = offer_compared(&completion, cmd_named(first), line + begin, start - begin) ||
		       offer_after(&completion, first, before);
		mem_free(first);
		mem_free(before);
	}
	mem_free(text);
	return done;
}

/* ---- readline ---- */

static struct completer *installed;

static struct word_list matches;
static size_t next_at;

static void keep_word(void *arg, const char *word)
{
	if (printable_length(word, strlen(word)) < strlen(word) || strpbrk(word, "\n\t"))
		return; /* readline prints candidates without making bytes visible */
	word_list_keep(arg, word);
}

/* Gives readline the words, which it frees (mem_strdup() uses malloc()). */
static char *next_match(const char *text, int state)
{
	(void)text;
	if (!state)
		next_at = 0;
	return next_at < matches.count ? matches.items[next_at++] : NULL;
}

static char **attempt(const char *text, int start, int end)
{
	char **list;

	matches = (struct word_list){0};
	if (!complete_at(installed, rl_line_buffer, (size_t)start, (size_t)end, keep_word,
			 &matches))
		return NULL;
	rl_attempted_completion_over = 1;
	list = rl_completion_matches(text, next_match);
	mem_free(matches.items);
	return list;
}

/* Readline would close the quote before a completed word, but a one-liner goes on within it. */
static char *set_quotes(void)
{
	rl_basic_quote_characters = strncmp(rl_line_buffer, "do ", 3) != 0 ? "\"'" : "";
	return NULL; /* the usual characters break words */
}

void complete_install(struct completer *completer)
{
	installed = completer;
	rl_readline_name = "yore";
	rl_basic_word_break_characters = " \t\n\"'`=,({";
	rl_completer_quote_characters = "";
	rl_completion_word_break_hook = set_quotes;
	rl_attempted_completion_function = attempt;
}
