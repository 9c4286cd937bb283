/* cmd_rules.c - prints yore's rule sets, and checks files of rules */
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"
#include "state/program/program.h"
#include "state/state.h"

/* The options that this command alone has. */
struct rules_choices {
	bool explain_rules, check_rules;
};

static bool cmd_rules_list(const struct options *options, struct sink *sink)
{
	static const struct table_column columns[] = {{"name", false}, {"summary", false}};
	size_t count;
	const struct rules_builtin *builtins = rules_builtins(&count);
	struct rows rows;

	rows_begin(&rows, sink, options->format, columns, 2);
	for (size_t i = 0; i < count; i++) {
		rows_text(&rows, builtins[i].name);
		rows_text(&rows, builtins[i].summary);
		rows_end(&rows);
	}
	rows_finish(&rows);
	return true;
}

/* ---- --explain ---- */

struct explain_writer {
	struct sink *sink;
	struct rows rows;
	struct buf file; /* of the line before */
	const void *block;
	bool viewed; /* a view was written */
};

/* An explain_line that writes lines of text below their file and head. */
static void explain_text(void *arg, const struct explained_line *line)
{
	struct explain_writer *to = arg;

	if (line->block && strcmp(buf_text(&to->file), line->file) != 0) {
		buf_clear(&to->file);
		buf_add_text(&to->file, line->file);
		sink_printf(to->sink, "%s\n\n", line->file);
	}
	if (line->block && line->block != to->block)
		sink_printf(to->sink, "%s\n", line->head);
	to->block = line->block;
	if (line->block)
		sink_printf(to->sink, "  %4u  %-7s %s\n        %s\n        in a shard: %s",
			    line->line, line->verb, line->writes, line->evaluation,
			    line->in_shards);
	else
		sink_printf(to->sink, "%s  %4u  %s",
			    to->viewed ? "" : "views, computed when asked\n", line->line,
			    line->writes);
	to->viewed = !line->block;
	if (*line->reads)
		sink_printf(to->sink, "\n        reads %s", line->reads);
	sink_char(to->sink, '\n');
}

/* An explain_line that writes a row. */
static void explain_row(void *arg, const struct explained_line *line)
{
	struct explain_writer *to = arg;

	rows_text(&to->rows, line->file);
	rows_u64(&to->rows, true, line->line);
	rows_text(&to->rows, line->head);
	rows_text(&to->rows, line->verb);
	rows_text(&to->rows, line->writes);
	rows_text(&to->rows, line->evaluation);
	rows_text(&to->rows, line->in_shards);
	rows_text(&to->rows, line->reads);
	rows_end(&to->rows);
}

/* Explains the named set, else those of --rules, else all that come with yore. */
static bool explain(struct session *session, const struct rules_builtin *one, struct sink *sink,
		    struct error *err)
{
	static const struct table_column columns[] = {
		{"file", false},   {"line", true},        {"head", false},      {"verb", false},
		{"writes", false}, {"evaluation", false}, {"in_shards", false}, {"reads", false}};
	struct rules *named = one ? rules_new() : NULL;
	struct explain_writer to = {.sink = sink};
	enum format format = session->options->format;
	bool ok = one ? rules_add_builtin(named, one->name, err)
		      : session_rules(session, err) != NULL;
	struct rules *rules = one ? named : session->rules;

	if (ok && format == FORMAT_TEXT) {
		ok = rules_explain(rules, explain_text, &to, err);
		sink_row(sink);
	} else if (ok) {
		rows_begin(&to.rows, sink, format, columns, 8);
		ok = rules_explain(rules, explain_row, &to, err);
		rows_finish(&to.rows);
	}
	buf_release(&to.file);
	rules_free(named);
	return ok;
}

/* ---- --check ---- */

/* Writes findings: places with their lines of text, or rows. */
struct report {
	struct sink *sink;
	enum format format;
	struct rows rows;
	size_t errors, warnings, failures;
};

enum found { FOUND_ERROR, FOUND_WARNING, FOUND_FAILURE };
static const char *const found_names[] = {"error", "warning", "failed"};

/* Writes one finding. `count`: how often a failure happened. */
static void report(struct report *to, enum found found, const struct rule_error *error,
		   uint64_t count)
{
	struct rule_error said = *error;
	struct buf text = {0}, line = {0};

	if (to->format != FORMAT_TEXT) {
		rows_text(&to->rows, found_names[found]);
		rows_text(&to->rows, error->file);
		sink_printf(rows_cell(&to->rows), "%u", error->line);
		sink_printf(rows_cell(&to->rows), "%u", error->column);
		rows_text(&to->rows, error->text);
		sink_printf(rows_cell(&to->rows), "%llu", (unsigned long long)count);
		rows_end(&to->rows);
		return;
	}
	if (found == FOUND_FAILURE) {
		buf_printf(&text, "%s:%u: this line failed %llu time%s: %s\n  %s\n", error->file,
			   error->line, (unsigned long long)count, count == 1 ? "" : "s",
			   error->text, error->source);
	} else {
		if (found == FOUND_WARNING)
			buf_printf(&line, "warning: %s", error->text);
		else
			buf_add_text(&line, error->text);
		said.text = buf_text(&line);
		rule_error_add_text(&said, &text);
	}
	sink_take(to->sink, &text, true);
	buf_release(&line);
}

static void report_errors(struct report *to, const struct rules *rules)
{
	const struct rule_error *errors = rules_errors(rules, &to->errors);

	for (size_t i = 0; i < to->errors; i++)
		report(to, FOUND_ERROR, &errors[i], 1);
}

static void report_warnings(struct report *to, const struct rules *rules,
			    const struct program *program)
{
	struct arena *arena = arena_new();
	struct rule_error *found;

	rules_lint(rules, program, LINT_ALL, arena, &found, &to->warnings);
	for (size_t i = 0; i < to->warnings; i++)
		report(to, FOUND_WARNING, &found[i], 1);
	mem_free(found);
	arena_free(arena);
}

static bool report_failure(void *arg, const struct rule_error *line, uint64_t count)
{
	struct report *to = arg;

	report(to, FOUND_FAILURE, line, count);
	to->failures++;
	return !to->sink->closed;
}

/* Finds failing lines by a replay of the whole trace: other evaluations leave lines out. */
static bool report_failures(struct report *to, struct session *session, struct rules *rules,
			    struct error *err)
{
	struct state_options open = {.rules = rules,
				     .progress = session_progress_time,
				     .progress_arg = session,
				     .replay_only = true,
				     .no_checkpoints = true};
	struct index *index = session_index(session, err);
	struct moment moment = {0};
	nstime begin;
	struct answers answers = {0};
	struct state *state;

	if (!index || !state_open(index, &open, &state, err))
		return false;
	bool ok = state_recorded(state, &begin, &moment.t, err) &&
		  state_at(state, &moment, 1, NULL, 0, false, &answers, err);
	if (ok) {
		answers_release(&answers);
		state_failed_lines(state, report_failure, to);
	}
	state_close(state);
	return ok;
}

static bool check_trace(struct report *to, struct session *session, struct rules *rules,
			struct error *err)
{
	struct trace *trace = session_trace(session, err);
	struct program *program;

	if (!trace || !program_compile(rules, trace, NULL, &program, err))
		return false;
	report_warnings(to, rules, program);
	program_free(program);
	return report_failures(to, session, rules, err);
}

static void report_sum(const struct report *to)
{
	if (to->errors)
		sink_printf(to->sink, "%zu error%s\n", to->errors, to->errors == 1 ? "" : "s");
	else if (to->warnings || to->failures)
		sink_printf(to->sink, "no error, %zu warning%s, %zu line%s that failed\n",
			    to->warnings, to->warnings == 1 ? "" : "s", to->failures,
			    to->failures == 1 ? "" : "s");
	else
		sink_text(to->sink, "no error, no warning\n");
	sink_row(to->sink);
}

static bool cmd_rules_check(struct session *session, const struct options *options,
			    struct sink *sink, struct error *err)
{
	static const struct table_column columns[] = {{"kind", false}, {"file", false},
						      {"line", true},  {"column", true},
						      {"text", false}, {"count", true}};
	const struct words *words = &options->words;
	struct report to = {.sink = sink, .format = options->format};
	struct rules *rules = rules_new();
	bool ok = true;

	if (words->count > 1)
		session->path = words->items[1];
	if (to.format != FORMAT_TEXT)
		rows_begin(&to.rows, sink, to.format, columns, 6);
	for (size_t i = 0; i < options->rules.count && ok; i++)
		ok = rules_add_named(rules, options->rules.items[i], err);
	ok = ok && rules_add_named(rules, words->items[0], err) && rules_check(rules, err);
	report_errors(&to, rules);
	if (!ok && to.errors)
		ok = true; /* errors in rules are the answer */
	else if (ok && session->path)
		ok = check_trace(&to, session, rules, err);
	else if (ok)
		report_warnings(&to, rules, NULL);
	if (to.format != FORMAT_TEXT)
		rows_finish(&to.rows);
	else if (ok)
		report_sum(&to);
	rules_free(rules);
	session->status = ok && to.errors ? 1 : session->status;
	return ok;
}

/* ---- */

static bool run_rules(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	const struct rules_choices *own = options->own;
	const struct rules_builtin *one = NULL;

	if (own->check_rules && !options->words.count)
		return error_set(err, ERR_QUERY,
				 "rules: --check needs a FILE: 'yore rules --check "
				 "FILE [TRACE]'");
	if (own->check_rules && session->prompt && options->words.count > 1)
		return error_set(err, ERR_QUERY,
				 "rules: the prompt has a trace already: 'rules "
				 "--check FILE'");
	if (own->check_rules)
		return cmd_rules_check(session, options, sink, err);
	if (options->words.count > 1)
		return error_set(err, ERR_QUERY,
				 "rules: '%s' is one word too many: only --check "
				 "takes a TRACE",
				 options->words.items[1]);
	if (options->words.count && !(one = rules_builtin(options->words.items[0], err)))
		return error_while(err, "rules");
	if (own->explain_rules)
		return explain(session, one, sink, err);
	if (!one && options->rules.count)
		return error_set(err, ERR_QUERY, "rules: --rules FILE needs --explain");
	if (!one)
		return cmd_rules_list(options, sink);
	sink_text(sink, one->text);
	sink_row(sink);
	return true;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--explain", NULL, "what each line reads and writes", 0}, TAKE_FLAG, .at = offsetof(struct rules_choices, explain_rules)},
	{{"--check", NULL, "what is wrong with a file of rules", 0}, TAKE_FLAG, .at = offsetof(struct rules_choices, check_rules)},
	{.info.name = NULL},
};

const struct cmd cmd_rules = {
	.name = "rules",
	.args = "[NAME | --check FILE [TRACE]]",
	.summary = "rule sets that come with yore, one's text; what is wrong with a file",
	.help = "Lists the rule sets that come with yore; with NAME, prints that one's text, to be\n"
		"read or to begin one's own with. --explain shows what each line reads and writes\n"
		"and how it may be evaluated; with --rules FILE, of one's own file.\n"
		"\n"
		"--check says what is wrong with a file of rules, each with its place: errors, and\n"
		"warnings of state that is read and never written. With TRACE also heads that match\n"
		"no event, fields that no matching event has, and how often which line failed and\n"
		"why, over all of the trace. The exit status is 1 when there are errors; warnings\n"
		"leave it 0.\n"
		"\n"
		"Examples:\n"
		"  $ yore rules\n"
		"  $ yore rules linux\n"
		"  $ yore rules linux --explain\n"
		"  $ yore rules --check linux fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_RULES | OPT_FORMAT,
	.own = own_options,
	.own_bytes = sizeof(struct rules_choices),
	.words = WORD_RULES | WORD_FILE,
	.max_words = 2,
	.no_trace = true,
	.run = run_rules,
}; /* clang-format on */
