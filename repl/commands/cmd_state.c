/* cmd_state.c - the intervals of attributes */
#include "repl/commands/cmds.h"
#include "repl/commands/intervals.h"

const struct cmd cmd_state = {
	/* clang-format off */
	.name = "state",
	.args = "PATH...",
	.summary = "intervals of attributes",
	.help = "Prints the intervals [begin, end) in which each attribute had one value, as far as\n"
		"they touch --begin --end. Beginnings and ends are true ones, not cut off; one that\n"
		"is not known is ?. thread[\"NAME\"] stands for all threads that are called so at some\n"
		"time of the range; --cpu --tid --pid --comm leave other rows out. A list over a\n"
		"short range of a large trace has what the range's events change: --all has all\n"
		"that lives there, --budget N reads N packets of each stream around the range.\n"
		"\n"
		"--follow goes on while the trace is written: an interval is printed when its end is\n"
		"final, in order of ends, then of paths. Ctrl-C prints what goes on as 'so far'.\n"
		"docs/live.md says what is final, and what cannot be followed.\n"
		"\n"
		"--until EXPR, --on EXPR --do COMMAND and --do-shell are those of 'when': what happens at\n"
		"intervals of a condition on path value ts dur tid comm cpu.\n"
		"\n"
		"Examples:\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[0]/thread' --end +1ms\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[*]/thread' --format json --limit 3\n"
		"  $ yore state fixtures/golden/sched-demo 'thread[10891]/state' --begin -2ms\n"
		"  $ yore state fixtures/golden/sched-demo 'thread[\"demo-sleep\"]/state' --begin -1ms\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[*]/thread' --follow --limit 3\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[*]/thread' --until 'value == 0 && dur > 90us'\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_FOLLOW | OPT_TRIGGERS,
	.words = WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = intervals_run,
	.explain = intervals_explain,
}; /* clang-format on */
