/* cmd.c - the list of commands, found by name, and run from the prompt */
#include "repl/cmd.h"

#include "engine/base/nearest.h"
#include "lua-lib/script.h"
#include "repl/commands/cmds.h"
#include "repl/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const struct cmd *const commands[] = {
	&cmd_info,     &cmd_catalog,    &cmd_index, &cmd_check,   &cmd_dump,    &cmd_events,
	&cmd_at,       &cmd_state,      &cmd_when,  &cmd_longest, &cmd_diff,    &cmd_stats,
	&cmd_timeline, &cmd_run_script, &cmd_rules, &cmd_explain, &cmd_convert, &cmd_view,
	&cmd_serve,    &cmd_aux,        &cmd_sql,   &cmd_do,      &cmd_frame,   &cmd_sessions,
	&cmd_attach,   &cmd_live,       &cmd_repl,  &cmd_help,    NULL};

static void no_command(const char *name, struct error *err)
{
	char hint[NEAREST_WORDS_MAX];
	struct script_analyses analyses = {0};
	struct nearest nearest;
	struct error none;

	nearest_begin(&nearest, name);
	for (size_t i = 0; commands[i]; i++)
		nearest_offer(&nearest, commands[i]->name);
	if (script_analyses_read(NULL, &analyses, &none))
		for (size_t i = 0; i < analyses.count; i++)
			nearest_offer(&nearest, analyses.items[i].name);
	error_set(err, ERR_QUERY, "%s: neither a command nor a trace: %s'yore help' lists commands",
		  name, nearest_hint(&nearest, hint, sizeof hint));
	script_analyses_release(&analyses);
}

const struct cmd *cmd_named(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

const struct cmd *cmd_find(const char *name, struct error *err)
{
	const struct cmd *found = cmd_named(name);
	struct buf all = {0};
	size_t len = strlen(name), hits = 0;

	if (found)
		return found;
	for (size_t i = 0; commands[i]; i++) {
		if (!len || strncmp(commands[i]->name, name, len) != 0)
			continue;
		found = commands[i];
		buf_add_text(&all, hits++ ? ", " : "");
		buf_add_text(&all, found->name);
	}
	if (hits > 1)
		error_set(err, ERR_QUERY, "ambiguous: '%s' may be %s", name, buf_text(&all));
	else if (!hits)
		no_command(name, err);
	buf_release(&all);
	return hits == 1 ? found : NULL;
}

/* The value of --format among the words of an analysis; NULL: not given. */
static const char *format_of(const struct words *words)
{
	static const char option[] = "--format";
	const size_t len = sizeof option - 1;
	const char *format = NULL;

	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->items[i];
		if (!strncmp(word, option, len) && word[len] == '=')
			format = word + len + 1;
		else if (!strcmp(word, option) && i + 1 < words->count)
			format = words->items[i + 1];
	}
	return format;
}

/*
 * Does output go out byte by byte? Not if somebody sees it. JSON, CSV and the output of users'
 * scripts do; tables and bars of yore's own analyses do not.
 */
static bool is_exact(const struct options *options, const struct sink *sink)
{
	bool script = options->cmd == &cmd_run_script && !options->sandbox;

	if (sink_is_seen(sink))
		return false;
	if (script && options->words.count && script_has_analysis(options->words.items[0])) {
		const char *format = format_of(&options->words);
		return format && strcmp(format, "table") != 0 && strcmp(format, "bars") != 0;
	}
	return script || options->format == FORMAT_JSON || options->format == FORMAT_CSV;
}

bool cmd_run(struct session *session, const struct options *options, struct sink *sink,
	     struct error *err)
{
	const struct options *outer = session->options;
	bool ok;

	bool exact = sink->exact;

	session->options = options;
	sink_set_exact(sink, is_exact(options, sink));
	session_begin_command(session);
	if (options->help)
		ok = help_print(options->cmd, sink);
	else if (options->explain_only)
		ok = explain_print(session, options, sink, err);
	else
		ok = options->cmd->run(session, options, sink, err);
	session->options = outer;
	progress_clear(session->progress);
	sink_drop_row(sink);
	sink_flush(sink);
	sink_set_exact(sink, exact);
	if (ok && sink->failed)
		return error_set(err, ERR_IO, "writing the answer: %s", sink_failure(sink));
	return ok;
}

void cmd_inherit(struct options *options, const struct options *outer)
{
	options->stats |= outer->stats;
	options->strict |= outer->strict;
	options->progress |= outer->progress;
	options->quiet |= outer->quiet;
	options->no_index |= outer->no_index;
	options->utc |= outer->utc;
	options->index_dir = outer->index_dir;
	options->program = outer->program;
	options->jobs = options->jobs ? options->jobs : outer->jobs;
	options->memory_most = options->memory_most ? options->memory_most : outer->memory_most;
	if (options->cmd && options->cmd->options & OPT_LISTS) {
		options->all |= outer->all;
		options->budget = options->budget ? options->budget : outer->budget;
	}
	if (!options->format_set)
		options->format = outer->format;
	if (!options->time_set)
		options->time = options->format == FORMAT_CSV && !outer->time_set ? TIME_NS
										  : outer->time;
}

bool cmd_run_words(struct session *session, int nwords, char **words, struct sink *sink,
		   struct error *err)
{
	struct options options;
	bool ok = options_parse(nwords, words, true, &options, err);

	if (ok && !options.cmd)
		ok = error_set(err, ERR_QUERY, "a command is missing");
	if (ok) {
		cmd_inherit(&options, session->options);
		ok = cmd_run(session, &options, sink, err);
	}
	options_release(&options);
	return ok;
}

bool lines_read(struct input_lines *lines, struct error *err)
{
	enum { AT_ONCE = 1 << 16 };
	struct buf *text = &lines->text;
	ssize_t n;

	if (lines->at)
		memmove(text->data, text->data + lines->at, text->len - lines->at);
	text->len -= lines->at;
	lines->at = 0;
	do
		n = read(lines->fd, buf_room(text, AT_ONCE), AT_ONCE);
	while (n < 0 && errno == EINTR && !signals_interrupted());
	lines->end = n <= 0;
	text->len += n > 0 ? (size_t)n : 0;
	text->data[text->len] = '\0';
	return n >= 0 || error_set(err, errno == EINTR ? ERR_INTERRUPTED : ERR_IO, "%s: %s",
				   lines->name, strerror(errno));
}

char *lines_next(struct input_lines *lines)
{
	struct buf *text = &lines->text;
	char *line = text->data + lines->at;
	char *end = memchr(line, '\n', text->len - lines->at);

	if (!end && (!lines->end || lines->at == text->len))
		return NULL;
	lines->at = end ? (size_t)(end + 1 - text->data) : text->len;
	if (end)
		*end = '\0';
	return line;
}
