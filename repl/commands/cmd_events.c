/*
 * cmd_events.c - events in time order
 *
 * Unless a filter reads the state, the cursor returns runs of heads, and fields go from the decoder
 * straight to the output buffer. --count sweeps heads on all threads, or only reads the packet
 * table.
 * --follow repeats this for events that have become final (following.h).
 */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/triggers.h"
#include "repl/filter.h"
#include "repl/render/event_rows.h"
#include "repl/render/render.h"
#include "repl/render/summary.h"

enum {
	LOOK_EACH = 1024,     /* runs or events between tests for Ctrl-C and a closed output */
	FIRST_ROWS = 1 << 14, /* windows are tried after so many rows, */
	FIRST_PACKETS = 512   /* or after a row and so many packets */
};

struct events_shown {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct filter *filter;
	struct event_rows *rows;   /* unless `probes` */
	struct triggers *triggers; /* --until and --on; NULL: none */
	nstime row;                /* time of the last row */
	bool probes; /* counts rows, and finds the time of the last one, instead of writing */
	bool shown;          /* some row was written */
	bool timed;          /* leave out records without a time */
	bool backward;       /* reads from the end of the range */
	uint64_t left, skip; /* rows that may still be written; rows to skip before */
	uint64_t count;      /* events counted, or rows probed */
	nstime last;         /* time of the row probed last */
	bool stopped;        /* the limit is reached, or the reader has gone */

	/* windows of time, behind the first rows */
	bool parts;       /* windows may be tried */
	uint64_t written; /* events so far */
	uint64_t packets; /* packets read so far */
	uint64_t again;   /* events to skip in the cursor: windows have written them */
	nstime *cuts;     /* windows begin at the first; NULL: not searched for */
	size_t ncuts;
	uint64_t disorder; /* trace_disorder() at the start */

	/* --follow */
	struct event_rows *before; /* paused rows of the last step; NULL: none yet */
	nstime from;               /* events before this time were read; NSTIME_MIN: none */
	struct follow_names names;
};

/* Counts a row; true if it must be written. */
static bool take_row(struct events_shown *show, nstime t)
{
	if (show->probes) {
		show->count++;
		show->last = t;
		show->stopped = !--show->left;
	}
	if (!show->skip)
		return !show->probes;
	show->skip--;
	return false;
}

static void meet_loss(struct events_shown *show, const struct event *loss)
{
	if (show->again)
		return;
	show->session->lost += !show->probes;
	if (filter_selects(show->filter) || triggers_behind(show->triggers, loss))
		return;
	show->row = loss->time;
	if (show->options->around) { /* --context counts events, so losses are shown in addition */
		if (!show->probes && !show->skip && !event_rows_loss(show->rows, loss))
			show->stopped = true;
	} else if (take_row(show, loss->time)) {
		show->shown = true;
		if (!event_rows_loss(show->rows, loss) || !--show->left)
			show->stopped = true;
	}
}

/* How many of these entries are not behind the event of --until. */
static uint32_t until_stop(struct events_shown *show, const struct run *run, uint32_t first,
			   uint32_t count)
{
	struct event event;

	if (!triggers_found(show->triggers))
		return count;
	for (uint32_t n = 0; n < count; n++) {
		run_event(show->session->trace, run, first + n, &event);
		if (triggers_behind(show->triggers, &event))
			return n;
	}
	return count;
}

/* Writes, probes or skips rows of entries [first, first + count) of a run. */
static void show_entries(struct events_shown *show, const struct run *run, uint32_t first,
			 uint32_t count)
{
	bool backward = show->backward;
	uint32_t again = show->again < count ? (uint32_t)show->again : count;

	show->again -= again;
	first += again;
	count -= again;
	/* probes or skips rows one by one */
	while (count && !show->stopped && (show->probes || show->skip)) {
		take_row(show, run->batch->time[backward ? first + count - 1 : first]);
		first += !backward;
		count--;
	}
	if (!count || show->stopped)
		return;
	uint32_t most = show->left < count ? (uint32_t)show->left : count;
	most = until_stop(show, run, first, most);
	if (!most)
		return;
	show->left -= most;
	show->written += most;
	show->row = run->batch->time[backward ? first : first + most - 1];
	show->shown = true;
	if (!event_rows_run(show->rows, run, backward ? first + count - most : first, most) ||
	    !show->left)
		show->stopped = true;
}

static void show_run(struct events_shown *show, const struct run *run)
{
	if (run->count)
		show_entries(show, run, run->first, run->count);
	else
		meet_loss(show, &run->loss);
}

/* False: the reader has gone. */
static bool tick(struct events_shown *show)
{
	return show->rows ? event_rows_tick(show->rows) : sink_tick(show->sink);
}

/* ---- windows of time, on all threads ---- */

static bool wants_windows(const struct events_shown *show)
{
	return show->parts &&
	       (show->written >= FIRST_ROWS || (show->written && show->packets >= FIRST_PACKETS));
}

/* Finds where the rest of the rows may be cut into windows. */
static bool find_cuts(struct events_shown *show, struct error *err)
{
	show->parts = false;
	return event_windows_find(show->session, show->filter, show->rows, show->row, &show->cuts,
				  &show->ncuts, err);
}

/* Are windows possible: no loss, damage or disorder so far? */
static bool is_certain(const struct events_shown *show)
{
	const struct session *session = show->session;

	return !session->lost && !session->damaged &&
	       trace_disorder(session->trace) == show->disorder;
}

/* If the run reaches the first cut: writes the entries before it. True: windows begin there. */
static bool reach_cut(struct events_shown *show, const struct run *run)
{
	const nstime *time = run->batch->time;
	uint32_t n = 0;

	if (!run->count || time[run->first + run->count - 1] < show->cuts[0])
		return false;
	if (!is_certain(show)) {
		show->ncuts = 0;
		return false;
	}
	while (time[run->first + n] < show->cuts[0])
		n++;
	show_entries(show, run, run->first, n);
	return true;
}

/* Writes rows of [cuts[0], end) by windows. *whole false: a cursor writes the rest, see `again`. */
static bool show_windows(struct events_shown *show, nstime end, bool *whole, struct error *err)
{
	struct events_options range = {0};
	struct windows_done done;

	filter_fill(show->filter, &range);
	range.begin = show->cuts[0];
	range.end = end;
	range.losses = true;
	const struct event_windows_setup setup = {.session = show->session,
						  .filter = show->filter,
						  .range = &range,
						  .cuts = show->cuts + 1,
						  .ncuts = show->ncuts - 1,
						  .rows = show->rows,
						  .sink = show->sink};
	show->ncuts = 0;
	*whole = true;
	if (!event_windows_run(&setup, &done, err))
		return false;
	show->written += done.events;
	show->row = done.events ? done.last : show->row;
	show->again = done.whole ? 0 : show->written;
	*whole = done.whole;
	return true;
}

/* ---- runs ---- */

static bool show_runs(struct events_shown *show, struct events *events, struct error *err)
{
	struct run run;
	enum step step;
	uint64_t n = 0;

	while (!show->stopped &&
	       (step = filter_next_run(show->filter, events, &run, err)) != STEP_END) {
		if (step == STEP_ERROR)
			return show->stopped;
		if (show->ncuts && reach_cut(show, &run))
			return true;
		show_run(show, &run);
		if (wants_windows(show) && !find_cuts(show, err))
			return false;
		if (++n % LOOK_EACH == 0 && !tick(show))
			show->stopped = true;
	}
	show->ncuts = 0;
	return true;
}

/* Called at each packet, since a filter may pass no event for long. False: stop. */
static bool show_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct events_shown *show = arg;

	show->packets++;
	show->stopped |= !tick(show);
	return !show->stopped && session_progress_time(show->session, at, first, last);
}

/* Records without a time have NSTIME_MIN, and come before all others. */
enum { UNTIMED_END = 1 /* their end: NSTIME_MIN + 1 */ };

static void fill_range(const struct events_shown *show, struct events_options *out)
{
	filter_fill(show->filter, out);
	if (show->timed && out->begin == NSTIME_MIN)
		out->begin = NSTIME_MIN + UNTIMED_END;
}

/* Reads [begin, end) in one direction with a cursor, up to the first cut if there are windows. */
static bool read_range(struct events_shown *show, nstime begin, nstime end, bool backward,
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
	bool ok = show_runs(show, events, err);
	events_close(events);
	return ok;
}

static bool show_range(struct events_shown *show, nstime begin, nstime end, bool backward,
		       struct error *err)
{
	bool whole = true;

	if (!read_range(show, begin, end, backward, err))
		return false;
	if (show->ncuts && !show->stopped && !show_windows(show, end, &whole, err))
		return false;
	return whole || read_range(show, begin, end, backward, err);
}

/*
 * Finds where the N rows before --around begin: a backward probe finds the time of the first of
 * them, a forward probe how many rows of that time to skip. Then all rows are written forward,
 * once.
 */
static bool probe_before(struct events_shown *show, nstime begin, nstime around, nstime *from,
			 struct error *err)
{
	uint64_t wanted = show->options->context, found;

	*from = around;
	show->probes = true;
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
	show->probes = false;
	return true;
}

static bool show_around(struct events_shown *show, struct error *err)
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

static bool counted_already(struct events_shown *show)
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

static bool count_events(struct events_shown *show, struct error *err)
{
	struct events_options range = {0};
	struct sink *out = show->sink;

	fill_range(show, &range);
	if (!counted_already(show) &&
	    !summary_count(show->session, show->filter, range.begin, range.end, &show->count, err))
		return false;
	if (show->options->format == FORMAT_JSON)
		sink_text(out, "{\"events\":");
	sink_u64(out, show->count);
	sink_text(out, show->options->format == FORMAT_JSON ? "}\n" : "\n");
	sink_row(out);
	return true;
}

/* Learns thread names from records without a time, which come before all others. */
static bool learn_first(struct events_shown *show, struct error *err)
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

/* Prepares thread names in lines: from the first records, and from events that are not shown. */
static bool learn_names(struct events_shown *show, const struct events_options *range,
			struct error *err)
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

/*
 * Runs commands of --on at the events of [begin, end), up to the last row. `ended`: no more rows
 * follow, so that --until must have been true.
 */
static bool run_triggers(struct events_shown *show, nstime begin, nstime end, bool ended,
			 struct error *err)
{
	bool full = show->options->has_limit && !show->left;

	if (!show->triggers || (show->stopped && !full))
		return true; /* the reader has gone */
	if (full && show->row < end)
		end = show->row + 1;
	sink_flush(show->sink);
	return triggers_run(show->triggers, begin, end, !show->options->follow, err) &&
	       (full || !ended || triggers_met(show->triggers, err));
}

static bool show_rows(struct events_shown *show, struct error *err)
{
	const struct options *options = show->options;
	struct events_options range = {0};

	fill_range(show, &range);
	if (!event_rows_new(show->session, options, range.classes, show->sink, NULL, NSTIME_MIN,
			    &show->rows, err))
		return false;
	bool ok = options->format != FORMAT_TEXT || !has_texts(show->session->trace) ||
		  learn_names(show, &range, err);
	show->parts = event_rows_shares(show->rows) && !options->around && !options->reverse &&
		      !options->has_limit && !show->triggers && !filter_per_event(show->filter);
	show->disorder = trace_disorder(show->session->trace);
	if (ok)
		ok = options->around ? show_around(show, err)
				     : show_range(show, range.begin,
						  triggers_end(show->triggers, range.end),
						  options->reverse, err);
	ok = ok && event_rows_good(show->rows, err);
	if (ok || err->kind != ERR_INTERRUPTED)
		event_rows_end(show->rows);
	event_rows_free(show->rows);
	mem_free(show->cuts);
	return ok && run_triggers(show, range.begin, range.end, true, err);
}

/* Finds the event of --until before any row is written. */
static bool begin_triggers(struct events_shown *show, struct error *err)
{
	struct events_options range = {0};

	fill_range(show, &range);
	return triggers_begin(show->triggers, err) &&
	       triggers_seek(show->triggers, range.begin, range.end, err);
}

/*
 * Finds whether to leave out records without a time, such as names and maps of perf and ftrace: not
 * with --all, a filter, or a trace in which nothing has a time.
 */
static bool leaves_untimed(struct events_shown *show, struct error *err)
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

/* --follow ------------------------------------------------------------------------------------- */

/* False, *err: an option makes sense only for a recording that has ended. */
static bool can_follow(const struct options *options, struct error *err)
{
	const char *other =
		options->reverse  ? "--reverse: the end is not known yet"
		: options->around ? "--around: --begin says from when on"
		: options->count  ? "--count: the number is not known yet"
		: options->format == FORMAT_TABLE
			? "--format table, whose columns fit all rows: text, csv and json do"
			: NULL;

	return !other || error_set(err, ERR_QUERY, "--follow does not go together with %s", other);
}

/* Writes rows of [begin, end), which continue those of the last step. */
static bool show_more(struct events_shown *show, nstime begin, nstime end, struct error *err)
{
	struct events_options range = {0};
	struct event_rows *before = show->before;

	if (!before && !leaves_untimed(show, err))
		return false;
	fill_range(show, &range);
	if (!before && end <= range.begin)
		return true; /* no rows yet: the first lines will search for names before them */
	if (!event_rows_new(show->session, show->options, range.classes, show->sink, before, begin,
			    &show->rows, err))
		return false;
	bool ok = before || show->options->format != FORMAT_TEXT ||
		  !has_texts(show->session->trace) || learn_names(show, &range, err);
	event_rows_free(before);
	show->before = NULL;
	begin = begin > range.begin ? begin : range.begin;
	end = end < range.end ? end : range.end;
	ok = ok && show_range(show, begin, end, false, err) && event_rows_good(show->rows, err) &&
	     event_rows_pause(show->rows, end, err);
	if (!ok && err->kind == ERR_INTERRUPTED)
		event_rows_free(show->rows);
	else
		show->before = show->rows;
	show->rows = NULL;
	return ok;
}

/* Writes rows of the events that became final, and runs the commands at them. */
static bool show_final(struct events_shown *show, const struct follow_news *news, struct error *err)
{
	struct events_options range = {0};

	fill_range(show, &range);
	nstime begin = show->from > range.begin ? show->from : range.begin;
	nstime end = news->end < range.end ? news->end : range.end;

	return triggers_seek(show->triggers, begin, end, err) &&
	       show_more(show, show->from, triggers_end(show->triggers, news->end), err) &&
	       run_triggers(show, begin, end, news->ended || news->end >= range.end, err);
}

/*
 * Opens filters and triggers for the trace as it is now; `last`: it has ended. False, err->kind
 * ERR_NONE: a name in them is not in the trace yet.
 */
static bool open_filters(struct events_shown *show, bool last, struct error *err)
{
	struct error cause;

	if (!follow_filter(show->session, &show->names, last, &show->filter, err))
		return false;
	if (triggers_begin(show->triggers, &cause))
		return true;
	filter_close(show->filter);
	triggers_pause(show->triggers);
	show->filter = NULL;
	if (last || cause.kind != ERR_RANGE)
		*err = cause;
	return false;
}

/* A follow_more. */
static bool show_news(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		      struct error *err)
{
	struct events_options range = {0};
	struct events_shown *show = arg;
	bool begun;

	if (!follow_has_begun(show->session, show->from, news->end, &begun, err))
		return false;
	if (!begun)
		return true;
	if (!open_filters(show, news->ended, err))
		return err->kind == ERR_NONE;
	fill_range(show, &range);
	range.losses = !filter_selects(show->filter);
	bool ok = follow_late(show->session, follow, news, NSTIME_MAX, &range, show->filter, NULL,
			      NULL, err) &&
		  (news->end <= show->from || show_final(show, news, err));
	*done = show->stopped || news->end >= range.end || triggers_found(show->triggers);
	show->from = news->end > show->from ? news->end : show->from;
	filter_close(show->filter);
	triggers_pause(show->triggers);
	show->filter = NULL;
	sink_flush(show->sink);
	if (ok && news->ended && !show->shown && show_wants_rows(show->options))
		asked_no_events(show->session, show->options);
	return ok;
}

static bool run_following(struct events_shown *show, struct error *err)
{
	show->from = NSTIME_MIN;
	bool ok = can_follow(show->options, err) &&
		  (!show->left || follow_run(show->session, show->options, show->sink->fd,
					     show_news, show, err));
	filter_close(show->filter);
	event_rows_free(show->before);
	return ok;
}

static bool run_recorded(struct events_shown *show, struct error *err)
{
	const struct options *options = show->options;

	if (!filter_look_up(show->session, options, err) ||
	    !filter_open(show->session, options, options->reverse && !options->count, &show->filter,
			 err))
		return false;
	bool ok = leaves_untimed(show, err) && begin_triggers(show, err) &&
		  (options->count ? count_events(show, err) : show_rows(show, err));
	if (ok && (options->count ? !show->count : !show->shown && show_wants_rows(options)))
		asked_no_events(show->session, options);
	filter_close(show->filter);
	return ok;
}

static bool run_events(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	struct events_shown show = {.session = session, .options = options, .sink = sink};

	if (options->around && options->count)
		return error_set(err, ERR_QUERY, "--around and --count do not go together");
	if (options->around && options->reverse)
		return error_set(err, ERR_QUERY, "--around and --reverse do not go together");
	if (options->has_context && !options->around)
		return error_set(err, ERR_QUERY, "--context needs --around TIME");
	if (!follow_words(options, err) || !triggers_words(options, err))
		return false;
	show.left = options->has_limit ? options->limit : UINT64_MAX;
	bool ok = triggers_open(session, options, &show.triggers, err) &&
		  (options->follow ? run_following(&show, err) : run_recorded(&show, err));
	return triggers_close(show.triggers, ok, err);
}

const struct cmd cmd_events = {
	/* clang-format off */
	.name = "events",
	.args = "",
	.summary = "events in time order",
	.help = "Prints events, one a line, in the order of time. Filters say which; several values\n"
		"of one filter are alternatives, several filters must all hold. Losses that the\n"
		"tracer noted stand between the events, except where --name, --where or a thread\n"
		"was asked for. Call chains are written as frames, a line each.\n"
		"\n"
		"Text shows an event of perf.data and trace.dat in the words of the kernel's print\n"
		"format, as perf script and trace-cmd report do; JSON has typed fields. CSV has a\n"
		"column for each field where all events that were asked for have the same ones, as\n"
		"by one --name; else a cell for the context and one for the payload.\n"
		"Records without a time (names, maps of perf and ftrace) hold from the start. --all, or a\n"
		"filter such as --name 'perf_*', shows them: they come first, with - as their time.\n"
		"\n"
		"--follow goes on while the trace is written: rows come when no earlier event can come\n"
		"any more, so that they are those of the finished trace. It ends when the recording\n"
		"says that it has ended, at --end or --limit, or with Ctrl-C. TRACE may be a folder that\n"
		"is no trace yet, a FIFO, or - for what comes on standard input. A stream that is idle\n"
		"holds the others back for --patience at most. docs/live.md says what is final.\n"
		"\n"
		"--until EXPR ends behind the first event for which EXPR, in the language of --where,\n"
		"is true; status 1 when it is of none. --on EXPR --do 'PROGRAM WORD...' runs PROGRAM at\n"
		"each event for which EXPR is true, in order, one at a time. WORDs are cut at blanks,\n"
		"then {ts} {name} {cpu} {stream} of the event, {begin} {end} of the trace (ns) and\n"
		"{trace} are filled in; no shell reads them. --do-shell TEXT has a shell read TEXT, with\n"
		"YORE_TS and so on in its environment. Its output goes to standard error. Both look at\n"
		"all events of the range, also at those that filters leave out of the rows.\n"
		"\n"
		"Examples:\n"
		"  $ yore events fixtures/golden/sched-demo --limit 5\n"
		"  $ yore events fixtures/golden/sched-demo --name sched_switch --cpu 0 --end +10ms\n"
		"  $ yore events fixtures/golden/sched-demo --reverse --limit 3\n"
		"  $ yore events fixtures/golden/sched-demo --around +50ms --context 2\n"
		"  $ yore events fixtures/golden/sched-demo --where 'next_pid == 0' --count\n"
		"  $ yore events fixtures/golden/sched-demo --format json --limit 1\n"
		"  $ yore events fixtures/golden/sched-demo --follow --limit 3\n"
		"  $ yore events fixtures/golden/sched-demo --until 'next_pid == 0'\n"
		"  $ yore events fixtures/golden/sched-demo --on 'prio == 0' --do 'echo {name} @{ts}' --limit 9\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_EVENTS | OPT_FOLLOW | OPT_SYMBOLS | OPT_TRIGGERS,
	.run = run_events,
}; /* clang-format on */
