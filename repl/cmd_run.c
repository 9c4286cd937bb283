/* cmd_run.c - Lua scripts, and the analyses that come with yore */
#include "repl/cmds.h"
#include "repl/scripting.h"

#include <string.h>

static bool list(struct scripting *scripting, struct sink *sink, struct error *err)
{
	struct buf text = {0};
	bool ok = script_list(scripting_script(scripting), &text, err);

	if (ok) {
		sink_text(sink, buf_text(&text));
		sink_row(sink);
	}
	buf_release(&text);
	return ok;
}

static bool is_script(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".lua");
}

/* The words the other way round: `run TRACE SCRIPT`. */
static bool is_turned(const char *script, const char *trace)
{
	return trace && !is_script(script) && !script_has_analysis(script) &&
	       (is_script(trace) || script_has_analysis(trace));
}

static bool run_run(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	const struct words *words = &options->words;
	struct scripting *scripting;
	bool ok;

	if (options->sandbox && !strchr(words->items[0], '/') && !strstr(words->items[0], ".lua"))
		return error_set(err, ERR_QUERY,
				 "--sandbox: '%s' names an analysis that comes with yore, which needs "
				 "none; a script in this folder is ./%s",
				 words->items[0], words->items[0]);
	if (!options->list && is_turned(words->items[0], session->path))
		return error_set(err, ERR_QUERY, "run: the script comes first: yore run %s %s",
				 session->path, words->items[0]);
	if (!scripting_open(session, sink, &scripting, err))
		return false;
	if (options->list)
		ok = list(scripting, sink, err);
	else
		ok = scripting_run(scripting, words->items[0], words->items + 1, words->count - 1,
				   &session->status, err);
	scripting_close(scripting);
	return ok;
}

const struct cmd cmd_run_script = {
	.name = "run",
	.args = "SCRIPT TRACE [ARGS...]",
	.summary = "runs a Lua script, the trace open as `trace`",
	.help = "Runs a Lua file; a bare NAME runs the analysis of that name that comes with yore\n"
		"(--list names them). The script finds the trace as `trace`, its arguments in "
		"`arg`.\n"
		"--sandbox runs a script of somebody else's: it can ask the trace and print, and has\n"
		"neither io, os, require nor yore.open.\n"
		"Options before SCRIPT are yore's, all words after TRACE are the script's.\n"
		"\n"
		"Examples:\n"
		"  $ yore run --list\n"
		"  $ yore run cputop fixtures/golden/sched-demo\n"
		"  $ yore run --begin +1ms --end +5ms switches fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FORMAT | OPT_RULES | OPT_LIST | OPT_LISTS,
	.words = WORD_FILE,
	.min_words = 1,
	.max_words = -1,
	.run = run_run,
};
