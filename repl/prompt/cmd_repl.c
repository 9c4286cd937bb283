/* cmd_repl.c - the prompt, by its name */
#include "repl/commands/cmds.h"

static bool run_repl(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	(void)options;
	(void)sink;
	if (session->prompt)
		return error_set(err, ERR_QUERY, "repl: this is the prompt");
	session->prompt = true;
	session->status = prompt_run(session);
	return true;
}

const struct cmd cmd_repl = {
	/* clang-format off */
	.name = "repl",
	.args = "",
	.summary = "the prompt; `yore TRACE` opens it, too",
	.help = "Asks one question after another of a trace. All commands work without TRACE; a\n"
		"current moment and range stand in for times that are left out. SELECT ... is SQL; any\n"
		"other line that is no command is Lua. 'COMMAND | sort' and 'COMMAND > FILE' send an\n"
		"answer elsewhere. Without a terminal, lines are read from standard input.\n"
		"\n"
		"Examples:\n"
		"  $ yore fixtures/golden/sched-demo\n"
		"  $ printf 'goto +5ms\\n"
		"at cpu[0]/thread\\n"
		"' | yore repl fixtures/golden/sched-demo\n",
	.options = OPT_LISTS | OPT_TRACE | OPT_RANGE | OPT_FORMAT | OPT_RULES,
	.run = run_repl,
}; /* clang-format on */
