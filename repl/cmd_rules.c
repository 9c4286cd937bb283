/* cmd_rules.c - the rule sets that come with yore, and what rules read and write */
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "repl/cmds.h"
#include "repl/render.h"

#include <stdio.h>
#include <string.h>

static bool list(const struct options *options, struct sink *sink)
{
	static const struct column columns[] = {{"name", false}, {"summary", false}};
	size_t count;
	const struct rules_builtin *builtins = rules_builtins(&count);
	struct rows rows;

	if (options->format == FORMAT_JSON) {
		for (size_t i = 0; i < count; i++) {
			sink_text(sink, "{\"name\":");
			json_text(sink, builtins[i].name);
			sink_text(sink, ",\"summary\":");
			json_text(sink, builtins[i].summary);
			sink_text(sink, "}\n");
			sink_row(sink);
		}
		return true;
	}
	rows_begin(&rows, sink, options->format, columns, 2);
	for (size_t i = 0; i < count; i++) {
		rows_text(&rows, builtins[i].name);
		rows_text(&rows, builtins[i].summary);
		rows_end(&rows);
	}
	rows_finish(&rows);
	return true;
}

static const struct rules_builtin *builtin(const char *name, struct error *err)
{
	size_t count;
	const struct rules_builtin *builtins = rules_builtins(&count);
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(builtins[i].name, name) == 0)
			return &builtins[i];
		nearest_offer(&nearest, builtins[i].name);
	}
	error_set(err, ERR_QUERY, "rules: no rule set '%s': %s'yore rules' lists them", name,
		  nearest_hint(&nearest, hint, sizeof hint));
	return NULL;
}

/* The rules of --rules, of the name that was given, or all that come with yore. */
static struct rules *chosen(struct session *session, const struct options *options,
			    struct error *err)
{
	struct rules *rules = rules_new();
	bool ok = true;
	size_t count;

	if (!options->words.count) {
		rules_free(rules);
		return session_rules(session, err) ? session->rules : NULL;
	}
	ok = rules_add_builtin(rules, options->words.items[0], err) && rules_check(rules, err);
	rules_errors(rules, &count);
	if (ok) {
		rules_free(session->rules);
		session->rules = rules; /* lives on with the session */
		return rules;
	}
	rules_free(rules);
	return NULL;
}

static bool run_rules(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	const struct rules_builtin *one = NULL;
	struct buf text = {0};

	if (options->words.count && !(one = builtin(options->words.items[0], err)))
		return false;
	if (!options->explain_rules) {
		if (!one && options->rules.count)
			return error_set(err, ERR_QUERY, "rules: --rules FILE needs --explain");
		if (!one)
			return list(options, sink);
		sink_text(sink, one->text);
		sink_row(sink);
		return true;
	}
	struct rules *rules = chosen(session, options, err);
	bool ok = rules && rules_explain(rules, &text, err);
	if (ok) {
		sink_text(sink, buf_text(&text));
		sink_row(sink);
	}
	buf_release(&text);
	return ok;
}

const struct cmd cmd_rules = {
	.name = "rules",
	.args = "[NAME]",
	.summary = "rule sets that come with yore, or one's text",
	.help = "Lists the rule sets that come with yore; with NAME, prints that one's text, to "
		"be\n"
		"read or to begin one's own with. --explain shows what each line reads and writes\n"
		"and how it may be evaluated; with --rules FILE, of one's own file.\n"
		"\n"
		"Examples:\n"
		"  $ yore rules\n"
		"  $ yore rules linux\n"
		"  $ yore rules linux --explain\n",
	.options = OPT_RULES | OPT_EXPLAIN | OPT_FORMAT,
	.words = WORD_RULES,
	.max_words = 1,
	.no_trace = true,
	.run = run_rules,
};
