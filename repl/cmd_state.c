/* cmd_state.c - the intervals of attributes */
#include "repl/cmds.h"
#include "repl/intervals.h"

static bool run_state(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	return intervals_show(session, options, VALUE_FORBIDDEN, sink, err);
}

static bool explain_state(struct session *session, const struct options *options, struct sink *sink,
			  struct error *err)
{
	return intervals_explain(session, options, VALUE_FORBIDDEN, sink, err);
}

const struct cmd cmd_state = {
	.name = "state",
	.args = "PATH...",
	.summary = "intervals of attributes",
	.help = "Prints the intervals [begin, end) in which each attribute had one value, as far "
		"as\n"
		"they touch --begin --end. Beginnings and ends are true ones, not cut off; one "
		"that\n"
		"is not known is ?. thread[\"NAME\"] stands for all threads that are called so at "
		"some\n"
		"time of the range; --cpu --tid --pid --comm leave other rows out. A list over a\n"
		"short range of a large trace has what the range's events change: --all has all\n"
		"that lives there, --budget N reads N packets of each stream around the range.\n"
		"\n"
		"Examples:\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[0]/thread' --end +1ms\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[*]/thread' --format json --limit "
		"3\n"
		"  $ yore state fixtures/golden/sched-demo 'thread[10891]/state' --begin -2ms\n"
		"  $ yore state fixtures/golden/sched-demo 'thread[\"demo-sleep\"]/state' --begin "
		"-1ms\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES | OPT_LIMIT,
	.words = WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = run_state,
	.explain = explain_state,
};
