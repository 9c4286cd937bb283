/*
 * cmd_events.c - events in time order
 *
 * Without a filter that looks at single events, runs of heads are taken from the cursor and fields
 * go straight from the decoder to the output buffer. --count sweeps heads on all threads, or needs
 * nothing but the table.
 */
#include "engine/base/mem.h"
#include "index/sweep/sweep.h"
#include "repl/asked.h"
#include "repl/cmds.h"
#include "repl/event_rows.h"
#include "repl/filter.h"
#include "repl/render.h"

enum { LOOK_EACH = 1024 /* runs or events: Ctrl-C, and whether somebody still reads */ };

enum mode {
	MODE_COUNT, /* events that a filter must look at one by one */
	MODE_PROBE, /* rows: how many there are, and the time of the last one */
	MODE_WRITE
};

struct show {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct filter *filter;
	struct event_rows *rows; /* when they are written */
	enum mode mode;
	bool shown;          /* some row was written */
	bool timed;          /* records without a time are left out */
	bool backward;       /* the range that is gone through */
	uint64_t left, skip; /* rows that may still come; that are passed over first */
	uint64_t count;      /* events, or rows that were probed */
	nstime last;         /* of the row probed last */
	bool stopped;        /* the limit, or the reader has gone */
};

/* Is the row to be written? Counts it. */
static bool take_row(struct show *show, nstime t)
{
	if (show->mode == MODE_PROBE) {
		show->count++;
		show->last = t;
		show->stopped = !--show->left;
	}
	if (show->mode != MODE_WRITE)
		return false;
	if (!show->skip)
		return true;
	show->skip--;
	return false;
}

static void wrote(struct show *show, bool open)
{
	show->shown = true;
	if (!--show->left || !open)
		show->stopped = true;
}

static void meet_loss(struct show *show, const struct event *loss)
{
	show->session->lost += show->mode != MODE_PROBE;
	if (show->mode == MODE_COUNT || filter_selects(show->filter))
		return;
	if (show->options->around) { /* --context is a number of events: shown besides */
		if (show->mode == MODE_WRITE && !show->skip && !event_rows_loss(show->rows, loss))
			show->stopped = true;
	} else if (take_row(show, loss->time)) {
		wrote(show, event_rows_loss(show->rows, loss));
	}
}

/* Entries [first, first + count) of a run, which are rows. */
static void show_entries(struct show *show, const struct run *run, uint32_t first, uint32_t count)
{
	bool backward = show->backward;

	/* those that are probed or passed over, one by one */
	while (count && !show->stopped && (show->mode != MODE_WRITE || show->skip)) {
		take_row(show, run->batch->time[backward ? first + count - 1 : first]);
		first += !backward;
		count--;
	}
	if (!count || show->stopped)
		return;
	uint32_t most = show->left < count ? (uint32_t)show->left : count;
	show->left -= most;
	show->shown = true;
	if (!event_rows_run(show->rows, run, backward ? first + count - most : first, most) ||
	    !show->left)
		show->stopped = true;
}

static void show_run(struct show *show, const struct run *run)
{
	if (run->count)
		show_entries(show, run, run->first, run->count);
	else
		meet_loss(show, &run->loss);
}

/* False: the reader has gone. */
static bool tick(struct show *show)
{
	return show->rows ? event_rows_tick(show->rows) : sink_tick(show->sink);
}

static bool show_runs(struct show *show, struct events *events, struct error *err)
{
	struct run run;
	enum step step;
	uint64_t n = 0;

	while (!show->stopped && (step = events_next_run(events, &run, err)) != STEP_END) {
		if (step == STEP_ERROR)
			return show->stopped;
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		show_run(show, &run);
		if (++n % LOOK_EACH == 0 && !tick(show))
			show->stopped = true;
	}
	return true;
}

static bool show_event(struct show *show, struct events *events, const struct event *event,
		       struct error *err)
{
	struct run run;
	bool pass;

	if (!event->class) {
		meet_loss(show, event);
		return true;
	}
	if (!filter_pass(show->filter, events, &pass, err))
		return false;
	if (!pass)
		return true;
	show->count += show->mode == MODE_COUNT;
	events_current(events, &run);
	show_entries(show, &run, run.first, 1);
	return true;
}

static bool show_each(struct show *show, struct events *events, struct error *err)
{
	struct event event;
	enum step step;
	uint64_t n = 0;

	while (!show->stopped && (step = events_next(events, &event, err)) != STEP_END) {
		if (step == STEP_ERROR)
			return show->stopped;
		if (++n % LOOK_EACH == 0 && signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (!show_event(show, events, &event, err))
			return false;
		if (n % LOOK_EACH == 0 && !tick(show))
			show->stopped = true;
	}
	return true;
}

/* Whether to go on, at each packet: a filter may let nothing through for long. */
static bool show_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct show *show = arg;

	show->stopped |= !tick(show);
	return !show->stopped && session_progress_time(show->session, at, first, last);
}

/* Records without a time come before all others. */
enum { UNTIMED_END = 1 /* behind NSTIME_MIN */ };

static void fill_range(const struct show *show, struct events_options *out)
{
	filter_fill(show->filter, out);
	if (show->timed && out->begin == NSTIME_MIN)
		out->begin = NSTIME_MIN + UNTIMED_END;
}

/* All of [begin, end) in one direction. */
static bool show_range(struct show *show, nstime begin, nstime end, bool backward,
		       struct error *err)
{
	struct index *index = session_index(show->session, err);
	struct events_options open = {0};
	struct events *events;

	if (!index)
		return false;
	filter_fill(show->filter, &open);
	open.begin = begin;
	open.end = end;
	open.backward = show->backward = backward;
	open.losses = true;
	open.progress = show_progress;
	open.progress_arg = show;
	show->stopped = !show->left;
	if (begin >= end)
		return true;
	if (!events_open(index, &open, &events, err))
		return false;
	bool ok = filter_per_event(show->filter) ? show_each(show, events, err)
						 : show_runs(show, events, err);
	events_close(events);
	return ok;
}

/*
 * Where the N rows before --around begin: a backward probe finds the time of the first of them, a
 * forward one how many rows of that time come before it. So all rows are written forward, once.
 */
static bool probe_before(struct show *show, nstime begin, nstime around, nstime *from,
			 struct error *err)
{
	uint64_t wanted = show->options->context, found;

	*from = around;
	show->mode = MODE_PROBE;
	show->left = wanted;
	if (!show_range(show, begin, around, true, err))
		return false;
	found = show->count;
	show->count = 0;
	if (found) {
		*from = show->last;
		show->left = UINT64_MAX;
		if (!show_range(show, *from, around, false, err))
			return false;
	}
	show->skip = show->count - found;
	show->left = found;
	show->mode = MODE_WRITE;
	return true;
}

static bool show_around(struct show *show, struct error *err)
{
	struct events_options range = {0};
	nstime around, from;

	if (!session_time(show->session, show->options->around, &around, err))
		return error_while(err, "--around");
	fill_range(show, &range);
	if (around > range.end)
		around = range.end;
	if (around < range.begin)
		around = range.begin;
	if (!probe_before(show, range.begin, around, &from, err))
		return false;
	if (__builtin_add_overflow(show->left, show->options->context, &show->left))
		show->left = UINT64_MAX;
	return show_range(show, from, range.end, false, err);
}

static bool counted_already(struct show *show)
{
	const struct options *o = show->options;
	struct events_options range = {0};
	struct error ignored = {0};
	struct index *index = session_index(show->session, &ignored);

	fill_range(show, &range);
	return index && !filter_selects(show->filter) && !range.classes && !range.streams &&
	       !range.ncpus && range.begin == NSTIME_MIN && range.end == NSTIME_MAX &&
	       !o->reverse && events_counted(index, &show->count);
}

/* In no order, on all threads. */

struct counted {
	struct where_pass *pass; /* NULL: all events of the classes count */
	uint64_t events, losses;
};

static bool count_progress(void *arg, uint64_t done, uint64_t all)
{
	const struct show *show = arg;

	return session_progress_bytes(show->session, done, all);
}

static void *count_begin(void *arg)
{
	const struct show *show = arg;
	struct counted *counted = mem_new(sizeof *counted);

	counted->pass = filter_pass_new(show->filter);
	return counted;
}

static bool count_run(void *own, const struct sweep_run *run, struct error *err)
{
	struct counted *counted = own;
	uint16_t entries[BATCH_MAX];

	(void)err;
	counted->events +=
		counted->pass ? where_select(counted->pass, &run->run, entries) : run->run.count;
	counted->losses += !run->run.count;
	return true;
}

static void count_end(void *arg, void *own, bool good)
{
	struct show *show = arg;
	struct counted *counted = own;

	show->count += good ? counted->events : 0;
	show->session->lost += good ? counted->losses : 0;
	where_pass_free(counted->pass);
	mem_free(counted);
}

static bool count_swept(struct show *show, struct events_options *range, struct error *err)
{
	const struct sweep work = {.events = range,
				   .arg = show,
				   .progress = count_progress,
				   .begin = count_begin,
				   .run = count_run,
				   .end = count_end};
	struct index *index = session_index(show->session, err);

	range->losses = true;
	return index && sweep(index, &work, err);
}

static bool count_events(struct show *show, struct error *err)
{
	struct events_options range = {0};
	struct sink *out = show->sink;

	fill_range(show, &range);
	if (!counted_already(show) &&
	    !(filter_per_event(show->filter) ? show_range(show, range.begin, range.end, false, err)
					     : count_swept(show, &range, err)))
		return false;
	if (show->options->format == FORMAT_JSON)
		sink_text(out, "{\"events\":");
	sink_u64(out, show->count);
	sink_text(out, show->options->format == FORMAT_JSON ? "}\n" : "\n");
	sink_row(out);
	return true;
}

/* What records without a time, which come before all others, tell of threads' names. */
static bool learn_first(struct show *show, struct error *err)
{
	struct events_options open = {.begin = NSTIME_MIN, .end = NSTIME_MIN + 1};
	struct index *index = session_index(show->session, err);
	struct event_writer *writer = event_rows_writer(show->rows);
	struct events *events;
	struct event event;
	enum step step;

	if (!index || !events_open(index, &open, &events, err))
		return false;
	while ((step = events_next(events, &event, err)) == STEP_ITEM) {
		struct error ignored = {0};
		struct fields fields;
		if (event.class && events_fields(events, &event, &fields, &ignored))
			event_writer_learn(writer, &fields);
	}
	events_close(events);
	return step == STEP_END;
}

/* Lines have names that other events told: of those that are not shown, somebody must ask. */
static bool learn_names(struct show *show, const struct events_options *range, struct error *err)
{
	bool hidden = filter_hides(show->filter) || show->options->around;

	if (!learn_first(show, err))
		return false;
	if (hidden || range->begin > NSTIME_MIN + UNTIMED_END)
		event_rows_name(show->rows, hidden);
	return true;
}

static bool has_texts(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nparts; i++)
		if (trace->parts[i]->reader->text)
			return true;
	return false;
}

static bool show_rows(struct show *show, struct error *err)
{
	const struct options *options = show->options;
	struct events_options range = {0};

	fill_range(show, &range);
	if (!event_rows_new(show->session, options, range.classes, show->sink, &show->rows, err))
		return false;
	show->mode = MODE_WRITE;
	bool ok = options->format != FORMAT_TEXT || !has_texts(show->session->trace) ||
		  learn_names(show, &range, err);
	if (ok)
		ok = options->around
			     ? show_around(show, err)
			     : show_range(show, range.begin, range.end, options->reverse, err);
	ok = ok && event_rows_good(show->rows, err);
	if (ok || err->kind != ERR_INTERRUPTED)
		event_rows_end(show->rows);
	event_rows_free(show->rows);
	return ok;
}

/*
 * Records without a time, such as names and maps that perf and ftrace write, are left out. The
 * option --all or a filter that matches them shows them. Where nothing has a time, all is shown.
 */
static bool leaves_untimed(struct show *show, struct error *err)
{
	const struct options *options = show->options;
	struct events_options open = {.begin = NSTIME_MIN, .end = NSTIME_MIN + UNTIMED_END};
	struct events *events;
	struct event event;
	struct error ignored;
	nstime first, last;

	if (options->all || filter_hides(show->filter) ||
	    !session_bounds(show->session, &first, &last, &ignored))
		return true;
	struct index *index = session_index(show->session, err);
	if (!index || !events_open(index, &open, &events, err))
		return false;
	enum step step = events_next(events, &event, err);
	show->timed = step == STEP_ITEM;
	events_close(events);
	return step != STEP_ERROR;
}

static bool show_wants_rows(const struct options *options)
{
	return !(options->has_limit && !options->limit) && !(options->around && !options->context);
}

static bool run_events(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	struct show show = {.session = session, .options = options, .sink = sink};

	if (options->around && options->count)
		return error_set(err, ERR_QUERY, "--around and --count do not go together");
	if (options->around && options->reverse)
		return error_set(err, ERR_QUERY, "--around and --reverse do not go together");
	if (options->has_context && !options->around)
		return error_set(err, ERR_QUERY, "--context needs --around TIME");
	show.left = options->has_limit ? options->limit : UINT64_MAX;
	if (!filter_look_up(session, options, err) ||
	    !filter_open(session, options, options->reverse, &show.filter, err))
		return false;
	bool ok = leaves_untimed(&show, err) &&
		  (options->count ? count_events(&show, err) : show_rows(&show, err));
	if (ok && (options->count ? !show.count : !show.shown && show_wants_rows(options)))
		asked_no_events(session, options);
	filter_close(show.filter);
	return ok;
}

const struct cmd cmd_events = {
	.name = "events",
	.args = "",
	.summary = "events in time order",
	.help = "Prints events, one a line, in the order of time. Filters say which; several "
		"values\n"
		"of one filter are alternatives, several filters must all hold. Losses that the\n"
		"tracer noted stand between the events, except where --name, --where or a thread\n"
		"was asked for. Call chains are written as frames, a line each.\n"
		"\n"
		"Text shows an event of perf.data and trace.dat in the words of the kernel's "
		"print\n"
		"format, as perf script and trace-cmd report do; JSON has typed fields. CSV has a\n"
		"column for each field where all events that were asked for have the same ones, as\n"
		"by one --name; else a cell for the context and one for the payload.\n"
		"Records without a time (names, maps of perf and ftrace) hold from the start. --all, "
		"or a\n"
		"filter such as --name 'perf_*', shows them: they come first, with - as their "
		"time.\n"
		"\n"
		"Examples:\n"
		"  $ yore events fixtures/golden/sched-demo --limit 5\n"
		"  $ yore events fixtures/golden/sched-demo --name sched_switch --cpu 0 --end "
		"+10ms\n"
		"  $ yore events fixtures/golden/sched-demo --reverse --limit 3\n"
		"  $ yore events fixtures/golden/sched-demo --around +50ms --context 2\n"
		"  $ yore events fixtures/golden/sched-demo --where 'next_pid == 0' --count\n"
		"  $ yore events fixtures/golden/sched-demo --format json --limit 1\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_EVENTS | OPT_SYMBOLS,
	.run = run_events,
};
