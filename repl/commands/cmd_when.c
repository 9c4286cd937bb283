/* cmd_when.c - the intervals in which an attribute had a value */
#include "repl/commands/cmds.h"
#include "repl/commands/intervals.h"

const struct cmd cmd_when = {
	/* clang-format off */
	.name = "when",
	.args = "PATH=VALUE...",
	.summary = "intervals in which an attribute had a value",
	.help = "Prints the intervals in which the attribute had that value. A number is a number,\n"
		"any other word is a string. --follow goes on while the trace is written, as 'state'\n"
		"does.\n"
		"\n"
		"--on EXPR --do 'PROGRAM WORD...' runs PROGRAM for each interval for which EXPR is\n"
		"true, once, one at a time. EXPR is a condition on path value ts dur tid comm cpu, as\n"
		"'dur > 5ms && comm ~ \"demo*\"'. With --follow an interval that goes on has the\n"
		"length that it has so far: PROGRAM is run as soon as that is enough. A length of\n"
		"which begin or end is not known is at least what was recorded of it. WORDs are cut at\n"
		"blanks, then {ts} (the begin) {path} {value} {dur} {tid} {comm} {cpu} of the interval,\n"
		"{begin} {end} of the trace (all in ns) and {trace} are filled in. --do-shell TEXT has\n"
		"a shell read TEXT, with YORE_TS and so on in its environment. --until EXPR ends behind\n"
		"the first interval for which EXPR is true; status 1 when it is of none.\n"
		"\n"
		"Examples:\n"
		"  $ yore when fixtures/golden/sched-demo 'cpu[0]/thread=10891'\n"
		"  $ yore when fixtures/golden/sched-demo 'cpu[*]/thread=10892' --end +5ms\n"
		"  $ yore when fixtures/golden/sched-demo 'cpu[*]/thread=10892' --follow --limit 2\n"
		"  $ yore when fixtures/golden/sched-demo 'thread[*]/state=ready' --on 'dur > 100us' --do 'echo {comm} {dur}'\n"
		"  $ yore when fixtures/golden/sched-demo 'thread[*]/state=ready' --until 'dur > 100us'\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_FOLLOW | OPT_TRIGGERS,
	.words = WORD_PATH_VALUE,
	.min_words = 1,
	.max_words = -1,
	.run = intervals_run,
	.explain = intervals_explain,
}; /* clang-format on */
