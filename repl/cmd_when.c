/* cmd_when.c - the intervals in which an attribute had a value */
#include "repl/cmds.h"
#include "repl/intervals.h"

struct show {
	struct interval_writer *writer;
	const struct wanteds *wanteds;
	uint64_t left;
};

static bool show_interval(void *arg, const struct interval *interval)
{
	struct show *show = arg;

	if (!wanteds_hold(show->wanteds, interval))
		return true;
	show->left--;
	return interval_write(show->writer, interval) && show->left;
}

static bool run_when(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct wanteds wanteds;
	struct show show = {.wanteds = &wanteds,
			    .left = options->has_limit ? options->limit : UINT64_MAX};
	bool ok;

	if (!wanteds_parse(&options->words, VALUE_NEEDED, &wanteds, err))
		return false;
	ok = interval_writer_new(session, options, sink, &show.writer, err);
	if (ok) {
		ok = !show.left || intervals_each(session, &wanteds, show_interval, &show, err);
		ok = interval_writer_finish(show.writer, !ok, err) && ok;
	}
	wanteds_release(&wanteds);
	return ok;
}

static bool explain_when(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	struct wanteds wanteds;

	if (!wanteds_parse(&options->words, VALUE_NEEDED, &wanteds, err))
		return false;
	bool ok = intervals_explain(session, &wanteds, sink, err);
	wanteds_release(&wanteds);
	return ok;
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
	.options = OPT_TRACE | OPT_RANGE | OPT_FORMAT | OPT_RULES | OPT_LIMIT,
	.words = WORD_PATH_VALUE,
	.min_words = 1,
	.max_words = -1,
	.run = run_when,
	.explain = explain_when,
};
