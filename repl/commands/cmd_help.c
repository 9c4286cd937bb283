/* cmd_help.c - prints help from the tables of commands and options */
#include "engine/base/buf.h"
#include "engine/reader.h"
#include "lua-lib/script.h"
#include "repl/commands/cmds.h"

#include <string.h>

enum { NAME_WIDTH = 34, ANALYSIS_WIDTH = 13 };

static void put_line(struct sink *sink, const char *left, const char *right, size_t width)
{
	size_t len = strlen(left);

	sink_text(sink, "  ");
	sink_text(sink, left);
	if (len < width)
		sink_pad(sink, width - len);
	sink_text(sink, "  ");
	sink_text(sink, right);
	sink_char(sink, '\n');
}

/* Writes an option's help; FORMATS in it is replaced by the names of all input formats. */
static void put_help(struct sink *sink, const char *left, const char *help)
{
	const char *mark = strstr(help, "FORMATS");
	struct buf text = {0};

	if (mark) {
		buf_add(&text, help, (size_t)(mark - help));
		reader_names(&text, " or ");
		help = mark + strlen("FORMATS");
	}
	buf_add_text(&text, help);
	put_line(sink, left, buf_text(&text), NAME_WIDTH);
	buf_release(&text);
}

/* Writes the options of every command (`common`), or the other options of this one. */
static void put_options(struct sink *sink, const struct cmd *cmd, bool common)
{
	const struct option_info *info;

	for (size_t i = 0; (info = option_info(cmd, i)); i++) {
		struct sink left;
		if ((info->group == OPT_COMMON) != common)
			continue;
		sink_init(&left, -1);
		sink_text(&left, info->name);
		if (info->value) {
			sink_char(&left, ' ');
			sink_text(&left, info->value);
		}
		sink_char(&left, 0);
		put_help(sink, left.data, info->help);
		sink_release(&left);
	}
}

static void put_analyses(struct sink *sink)
{
	struct script_analyses analyses;
	struct error err;

	if (!script_analyses_read(NULL, &analyses, &err))
		return;
	sink_text(sink, "\nAnalyses:\n");
	for (size_t i = 0; i < analyses.count; i++)
		put_line(sink, analyses.items[i].name, analyses.items[i].summary, ANALYSIS_WIDTH);
	script_analyses_release(&analyses);
}

static void overview(struct sink *sink)
{
	sink_text(sink, "yore COMMAND TRACE [ARGUMENTS] [OPTIONS]\n"
			"yore TRACE opens the prompt\n"
			"\n"
			"TRACE is a file or folder of any supported format.\n"
			"\n"
			"Commands:\n");
	for (size_t i = 0; commands[i]; i++)
		put_line(sink, commands[i]->name, commands[i]->summary, 8);
	put_analyses(sink);
	sink_text(sink, "\nOptions of every command:\n");
	put_options(sink, NULL, true);
	sink_text(
		sink,
		"\nTimes: 12:03:04.5 on the trace's first day, 2024-05-01T12:03:04, "
		"seconds.fraction\n"
		"and @nanoseconds since the clock's origin, +1.5s after the trace's start, -200ms\n"
		"before its end.\n"
		"\n"
		"`yore help COMMAND` tells more, with examples.\n");
}

static void usage(const struct cmd *cmd, struct sink *sink)
{
	bool script = strcmp(cmd->name, "run") == 0;

	sink_text(sink, "yore ");
	sink_text(sink, cmd->name);
	sink_text(sink, cmd->no_trace || script ? "" : " TRACE");
	if (cmd->args[0]) {
		sink_char(sink, ' ');
		sink_text(sink, cmd->args);
	}
	sink_text(sink, " [OPTIONS]\n\n");
	sink_text(sink, cmd->help);
	sink_text(sink, "\nOptions:\n");
	put_options(sink, cmd, false);
	put_options(sink, cmd, true);
}

bool help_print(const struct cmd *cmd, struct sink *sink)
{
	if (cmd)
		usage(cmd, sink);
	else
		overview(sink);
	sink_row(sink);
	return true;
}

bool help_analysis(const char *name, struct sink *sink, struct error *err)
{
	struct buf text = {0};

	return sink_take(sink, &text, script_analysis_help(name, &text, err));
}

static bool run_help(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	const char *name = options->words.count ? options->words.items[0] : NULL;
	const struct cmd *cmd = NULL;

	(void)session;
	if (name && script_has_analysis(name))
		return help_analysis(name, sink, err);
	if (name && !(cmd = cmd_find(name, err)))
		return false;
	return help_print(cmd, sink);
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "help on yore or on a command",
	.help = "Examples:\n"
		"  $ yore help\n"
		"  $ yore help events\n",
	.words = WORD_COMMAND,
	.max_words = 1,
	.no_trace = true,
	.run = run_help,
};
