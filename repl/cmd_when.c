/* cmd_when.c - the intervals in which an attribute had a value */
#include "repl/cmds.h"
#include "repl/intervals.h"

static bool run_when(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	return intervals_show(session, options, VALUE_NEEDED, sink, err);
}

static bool explain_when(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	return intervals_explain(session, options, VALUE_NEEDED, sink, err);
}

const struct cmd cmd_when = {
	.name = "when",
	.args = "PATH=VALUE...",
	.summary = "intervals in which an attribute had a value",
	.help = "Prints the intervals in which the attribute had that value. A number is a "
		"number,\n"
		"any other word is a string.\n"
		"\n"
		"Examples:\n"
		"  $ yore when fixtures/golden/sched-demo 'cpu[0]/thread=10891'\n"
		"  $ yore when fixtures/golden/sched-demo 'cpu[*]/thread=10892' --end +5ms\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES | OPT_LIMIT,
	.words = WORD_PATH_VALUE,
	.min_words = 1,
	.max_words = -1,
	.run = run_when,
	.explain = explain_when,
};
