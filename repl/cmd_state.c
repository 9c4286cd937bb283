/* cmd_state.c - the intervals of attributes */
#include "repl/cmds.h"
#include "repl/intervals.h"

struct show {
	struct interval_writer *writer;
	uint64_t left;
};

static bool show_interval(void *arg, const struct interval *interval)
{
	struct show *show = arg;

	return show->left-- && interval_write(show->writer, interval) && show->left;
}

static bool run_state(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	struct show show = {.left = options->has_limit ? options->limit : UINT64_MAX};
	struct wanteds wanteds;
	bool ok;

	if (!wanteds_parse(&options->words, VALUE_FORBIDDEN, &wanteds, err))
		return false;
	ok = interval_writer_new(session, options, sink, &show.writer, err);
	if (ok) {
		ok = !show.left || intervals_each(session, &wanteds, show_interval, &show, err);
		ok = interval_writer_finish(show.writer, !ok, err) && ok;
	}
	wanteds_release(&wanteds);
	return ok;
}

static bool explain_state(struct session *session, const struct options *options, struct sink *sink,
			  struct error *err)
{
	struct wanteds wanteds;

	if (!wanteds_parse(&options->words, VALUE_FORBIDDEN, &wanteds, err))
		return false;
	bool ok = intervals_explain(session, &wanteds, sink, err);
	wanteds_release(&wanteds);
	return ok;
}

const struct cmd cmd_state = {
	.name = "state",
	.args = "PATH...",
	.summary = "intervals of attributes",
	.help = "Prints the intervals [begin, end) in which each attribute had one value, as far "
		"as\n"
		"they touch --begin --end. Beginnings and ends are true ones, not cut off; one "
		"that\n"
		"is not known is ?.\n"
		"\n"
		"Examples:\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[0]/thread' --end +1ms\n"
		"  $ yore state fixtures/golden/sched-demo 'cpu[*]/thread' --format json --limit "
		"3\n"
		"  $ yore state fixtures/golden/sched-demo 'thread[10891]/state' --begin -2ms\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FORMAT | OPT_RULES | OPT_LIMIT,
	.words = WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = run_state,
	.explain = explain_state,
};
