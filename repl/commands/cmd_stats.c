/*
 * cmd_stats.c - events per class and per stream: how many, how much room, how often
 *
 * Classes of one name are one row: a tracer writes the same event once per channel and process.
 */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/partials.h"
#include "repl/render/redraw.h"
#include "repl/render/render.h"
#include "repl/render/summary.h"

#include <stdlib.h>
#include <string.h>

/* The options that this command alone has. */
struct stats_choices {
	enum by { BY_CLASS, BY_STREAM } by;
	bool has_by;
};

struct stats_row {
	const char *name;
	int32_t cpu;
	uint64_t lost;
	struct tally tally;
};

struct stats {
	struct session *session;
	const struct options *options;
	const struct trace *trace;
	struct summary sum;
	struct stats_row *rows;
	size_t nrows;
	double seconds; /* length of the range, for rates; 0: not known */
	struct times times;
	struct sink *sink;
};

static int by_name(const void *a, const void *b)
{
	const struct stats_row *p = a, *q = b;

	return strcmp(p->name, q->name);
}

static int by_events(const void *a, const void *b)
{
	const struct stats_row *p = a, *q = b;

	if (p->tally.events != q->tally.events)
		return p->tally.events > q->tally.events ? -1 : 1;
	return strcmp(p->name, q->name);
}

static void class_rows(struct stats *stats)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < stats->trace->nclasses; i++)
		if (stats->sum.classes[i].events)
			stats->rows[n++] =
				(struct stats_row){.name = stats->trace->classes[i]->name,
						   .tally = stats->sum.classes[i]};
	if (n)
		qsort(stats->rows, n, sizeof *stats->rows, by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(stats->rows[kept - 1].name, stats->rows[i].name))
			tally_join(&stats->rows[kept - 1].tally, &stats->rows[i].tally);
		else
			stats->rows[kept++] = stats->rows[i];
	}
	stats->nrows = kept;
	if (kept)
		qsort(stats->rows, kept, sizeof *stats->rows, by_events);
}

/* Makes rows of streams, in the order of the trace. */
static void stream_rows(struct stats *stats)
{
	stats->nrows = 0;
	for (size_t i = 0; i < stats->trace->nstreams; i++) {
		const struct stream *stream = stats->trace->streams[i];
		if (stats->sum.streams[i].events || stats->sum.lost[i])
			stats->rows[stats->nrows++] =
				(struct stats_row){.name = stream->name,
						   .cpu = stream->cpu,
						   .lost = stats->sum.lost[i],
						   .tally = stats->sum.streams[i]};
	}
}

static uint64_t bytes_of(const struct tally *tally)
{
	return tally->bits / 8 + (tally->bits % 8 != 0);
}

/* Finds the length of the range; open ends are the first and last event. */
static bool find_seconds(struct stats *stats, struct error *err)
{
	nstime begin, end;

	if (!session_range(stats->session, &begin, &end, err))
		return false;
	if (trace_has_ordinals(stats->trace)) /* events without a clock have no rate */
		return true;
	begin = begin == NSTIME_MIN ? stats->sum.all.first : begin;
	end = end == NSTIME_MAX ? stats->sum.all.last : end;
	if (stats->sum.all.first <= stats->sum.all.last && begin < end)
		stats->seconds = (double)((uint64_t)end - (uint64_t)begin) / 1e9;
	return true;
}

/* JSON */

static void json_rows(struct stats *stats, bool streams)
{
	struct sink *out = stats->sink;

	for (size_t i = 0; i < stats->nrows; i++) {
		const struct stats_row *row = &stats->rows[i];
		sink_text(out, streams ? "{\"stream\":" : "{\"name\":");
		json_text(out, row->name);
		if (streams)
			json_member_u64(out, ",\"cpu\":", row->cpu >= 0, (uint64_t)row->cpu);
		sink_printf(out, ",\"events\":%llu,\"bytes\":%llu",
			    (unsigned long long)row->tally.events,
			    (unsigned long long)bytes_of(&row->tally));
		if (streams)
			sink_printf(out, ",\"lost\":%llu", (unsigned long long)row->lost);
		json_member_time(out, ",\"first\":", row->tally.first);
		json_member_time(out, ",\"last\":", row->tally.last);
		sink_text(out, "}\n");
		if (!sink_row(out))
			return;
	}
}

/* Rows */

static void put_time(struct stats *stats, struct sink *cell, nstime t)
{
	if (t != NSTIME_MIN && t != NSTIME_MAX)
		time_add(&stats->times, t, cell);
	else if (stats->options->format != FORMAT_CSV)
		sink_char(cell, '-');
}

static void csv_rows(struct stats *stats, bool streams)
{
	static const struct table_column classes[] = {{"name", false},
						      {"events", true},
						      {"bytes", true},
						      {"first", true},
						      {"last", true}};
	static const struct table_column of_streams[] = {
		{"stream", false}, {"cpu", true},   {"events", true}, {"bytes", true},
		{"lost", true},    {"first", true}, {"last", true}};
	struct rows rows;
	bool open = true;

	rows_begin(&rows, stats->sink, FORMAT_CSV, streams ? of_streams : classes, streams ? 7 : 5);
	for (size_t i = 0; i < stats->nrows && open; i++) {
		const struct stats_row *row = &stats->rows[i];
		rows_text(&rows, row->name);
		if (streams)
			rows_u64(&rows, row->cpu >= 0, (uint64_t)row->cpu);
		sink_u64(rows_cell(&rows), row->tally.events);
		sink_u64(rows_cell(&rows), bytes_of(&row->tally));
		if (streams)
			sink_u64(rows_cell(&rows), row->lost);
		put_time(stats, rows_cell(&rows), row->tally.first);
		put_time(stats, rows_cell(&rows), row->tally.last);
		open = rows_end(&rows);
	}
	rows_finish(&rows);
}

static void share_cell(struct rows *rows, uint64_t part, uint64_t all)
{
	struct sink *cell = rows_cell(rows);

	if (all)
		sink_printf(cell, "%.1f", (double)part * 100 / (double)all);
}

static void put_rate(const struct stats *stats, struct sink *out, const struct tally *tally)
{
	double rate = stats->seconds > 0 ? (double)tally->events / stats->seconds : 0;

	if (stats->seconds > 0)
		sink_printf(out, rate < 10 ? "%.2f" : "%.0f", rate);
	else
		sink_char(out, '-');
}

static void table_rows(struct stats *stats, bool streams)
{
	static const struct table_column classes[] = {
		{"events", true}, {"%", true},     {"per second", true},
		{"bytes", true},  {"%", true},     {"each", true},
		{"first", false}, {"last", false}, {"class", false}};
	static const struct table_column of_streams[] = {
		{"events", true}, {"%", true},     {"per second", true},
		{"bytes", true},  {"%", true},     {"lost", true},
		{"first", false}, {"last", false}, {"stream", false}};
	const struct tally *all = &stats->sum.all;
	struct rows rows;
	bool open = true;

	rows_begin(&rows, stats->sink, FORMAT_TABLE, streams ? of_streams : classes, 9);
	for (size_t i = 0; i < stats->nrows && open; i++) {
		const struct stats_row *row = &stats->rows[i];
		const struct tally *tally = &row->tally;
		sink_u64(rows_cell(&rows), tally->events);
		share_cell(&rows, tally->events, all->events);
		put_rate(stats, rows_cell(&rows), tally);
		sink_u64(rows_cell(&rows), bytes_of(tally));
		share_cell(&rows, tally->bits, all->bits);
		if (streams)
			sink_u64(rows_cell(&rows), row->lost);
		else
			sink_printf(rows_cell(&rows), "%.1f",
				    (double)tally->bits / 8 / (double)tally->events);
		put_time(stats, rows_cell(&rows), tally->first);
		put_time(stats, rows_cell(&rows), tally->last);
		rows_text(&rows, row->name);
		open = rows_end(&rows);
	}
	rows_finish(&rows);
}

static void text_head(struct stats *stats)
{
	const struct tally *all = &stats->sum.all;
	struct sink *out = stats->sink;
	uint64_t lost = 0;

	for (size_t i = 0; i < stats->trace->nstreams; i++)
		lost += stats->sum.lost[i];
	sink_text(out, "range   ");
	put_time(stats, out, all->first);
	sink_text(out, " to ");
	put_time(stats, out, all->last);
	if (trace_has_ordinals(stats->trace)) {
		sink_printf(out, ", numbers of events\nevents  %llu",
			    (unsigned long long)all->events);
	} else {
		if (all->first <= all->last) {
			sink_text(out, ", ");
			span_add(time_span(all->first, all->last), out);
		}
		sink_printf(out, "\nevents  %llu, ", (unsigned long long)all->events);
		put_rate(stats, out, all);
		sink_text(out, " per second");
	}
	if (stats->sum.losses)
		sink_printf(out, ", %llu lost at %llu place%s", (unsigned long long)lost,
			    (unsigned long long)stats->sum.losses,
			    stats->sum.losses == 1 ? "" : "s");
	sink_printf(out, "\nbytes   %llu", (unsigned long long)bytes_of(all));
	if (all->events)
		sink_printf(out, ", %.1f each", (double)all->bits / 8 / (double)all->events);
	sink_text(out, "\n\n");
	sink_row(out);
}

static void print_rows(struct stats *stats, bool streams)
{
	if (streams)
		stream_rows(stats);
	else
		class_rows(stats);
	if (stats->options->has_limit && stats->nrows > stats->options->limit)
		stats->nrows = (size_t)stats->options->limit;
	if (stats->options->format == FORMAT_JSON)
		json_rows(stats, streams);
	else if (stats->options->format == FORMAT_CSV)
		csv_rows(stats, streams);
	else
		table_rows(stats, streams);
}

static void print(struct stats *stats)
{
	const struct stats_choices *own = stats->options->own;
	bool both = stats->options->format == FORMAT_TEXT && !own->has_by;
	size_t most = stats->trace->nclasses > stats->trace->nstreams ? stats->trace->nclasses
								      : stats->trace->nstreams;

	stats->rows = mem_new_array(most + 1, sizeof *stats->rows);
	if (stats->options->format == FORMAT_TEXT)
		text_head(stats);
	print_rows(stats, own->by == BY_STREAM);
	if (both) {
		sink_char(stats->sink, '\n');
		print_rows(stats, true);
	}
	mem_free(stats->rows);
}

/* Writes the counts. */
static bool show(struct stats *stats, struct error *err)
{
	stats->trace = stats->session->trace;
	if (!session_times(stats->session, &stats->times, err) || !find_seconds(stats, err))
		return false;
	print(stats);
	return true;
}

/* --chunk and --merge: groups with two keys, the kind (class, stream, all) and its index */

enum { OF_CLASS, OF_STREAM, OF_ALL };
enum { EVENTS, BITS, FIRST, LAST, LOST, TOTALS };

static const struct aggregate totals[TOTALS] = {
	[EVENTS] = {.kind = AGGREGATE_COUNT}, [BITS] = {.kind = AGGREGATE_SUM},
	[FIRST] = {.kind = AGGREGATE_MIN},    [LAST] = {.kind = AGGREGATE_MAX},
	[LOST] = {.kind = AGGREGATE_SUM},
};

static struct groups no_groups(void)
{
	return (struct groups){.nkeys = 2, .naggregates = TOTALS, .aggregates = totals};
}

static void add(struct groups *groups, unsigned of, size_t i, const struct tally *tally,
		uint64_t lost)
{
	const struct value keys[] = {value_u64(of), value_u64(i)};

	if (!tally->events && !lost)
		return;
	struct accumulator *to = groups_at(groups, keys)->totals;
	to[EVENTS].count = tally->events;
	accumulate(&totals[BITS], &to[BITS], tally->bits);
	if (tally->first != NSTIME_MAX)
		accumulate(&totals[FIRST], &to[FIRST], tally->first);
	if (tally->last != NSTIME_MIN)
		accumulate(&totals[LAST], &to[LAST], tally->last);
	accumulate(&totals[LOST], &to[LOST], lost);
}

/* Appends a chunk's counts to the body of a partial file. */
static void add_parts(struct buf *body, const struct trace *trace, const struct summary *sum)
{
	const struct tally none = {.first = NSTIME_MAX, .last = NSTIME_MIN};
	struct groups groups = no_groups();

	for (size_t i = 0; i < trace->nclasses; i++)
		add(&groups, OF_CLASS, i, &sum->classes[i], 0);
	for (size_t i = 0; i < trace->nstreams; i++)
		add(&groups, OF_STREAM, i, &sum->streams[i], sum->lost[i]);
	add(&groups, OF_ALL, 0, &none, sum->losses);
	partial_add_groups(body, &groups);
	groups_clear(&groups);
}

static struct tally tally_of(const struct accumulator *totals_of)
{
	const struct accumulator *first = &totals_of[FIRST], *last = &totals_of[LAST];

	return (struct tally){.events = totals_of[EVENTS].count,
			      .bits = (uint64_t)totals_of[BITS].number,
			      .first = first->count ? (nstime)first->number : NSTIME_MAX,
			      .last = last->count ? (nstime)last->number : NSTIME_MIN};
}

/* Does the trace have the class or stream of this group? */
static bool fits(const struct group *group, const struct trace *trace)
{
	const uint64_t of = group->keys[0].u, i = group->keys[1].u;

	if (group->keys[0].kind != VALUE_INT || group->keys[1].kind != VALUE_INT)
		return false;
	return of == OF_CLASS    ? i < trace->nclasses
	       : of == OF_STREAM ? i < trace->nstreams
				 : of == OF_ALL;
}

static void take(const struct group *group, struct summary *out)
{
	const struct tally tally = tally_of(group->totals);
	const uint64_t of = group->keys[0].u, i = group->keys[1].u;
	const uint64_t lost = (uint64_t)group->totals[LOST].number;

	if (of == OF_CLASS) {
		out->classes[i] = tally;
	} else if (of == OF_STREAM) {
		out->streams[i] = tally;
		out->lost[i] = lost;
		tally_join(&out->all, &tally);
	} else {
		out->losses = lost;
	}
}

static bool join_file(const struct partials *partials, uint32_t i, const struct trace *trace,
		      struct groups *groups, struct error *err)
{
	struct cursor body = partials_body(partials, i);
	size_t next = groups->nitems; /* the first group that this file adds */
	enum partial_taken taken = partial_take_groups(&body, groups);
	bool good = taken == PARTIAL_TAKEN && body.pos == body.size;
	const struct group *group;

	while (good && (group = groups_next(groups, &next)))
		good = fits(group, trace);
	return good || partials_refuse(partials, i, PARTIAL_DAMAGED, err);
}

/* Joins all files of --merge into *out. False: *err, and *out needs no release. */
static bool join_parts(const struct partials *partials, const struct trace *trace,
		       struct summary *out, struct error *err)
{
	struct groups groups = no_groups();
	const struct group *group;
	bool good = true;

	for (uint32_t i = 0; good && i < partials->count; i++)
		good = join_file(partials, i, trace, &groups, err);
	if (good)
		summary_init(out, trace);
	for (size_t k = 0; good && (group = groups_next(&groups, &k));)
		take(group, out);
	groups_clear(&groups);
	return good;
}

/* Counts all events or those of a chunk, or joins the counts of chunks. */
static bool gather(struct partials *partials, struct filter *filter, struct stats *stats,
		   struct error *err)
{
	struct session *session = stats->session;

	if (partials->mode == PARTIALS_NONE)
		return summary_gather(session, filter, NSTIME_MIN, NSTIME_MAX, NULL, &stats->sum,
				      err);
	if (filter_per_event(filter))
		return partials_not_sums(stats->options,
					 "a filter reads the state, which follows from all events "
					 "before",
					 err);
	if (partials->mode == PARTIALS_CHUNK)
		return summary_gather(session, filter, NSTIME_MIN, NSTIME_MAX, &partials->chunk,
				      &stats->sum, err);
	if (!join_parts(partials, session->trace, &stats->sum, err))
		return false;
	session->lost += stats->sum.losses;
	return true;
}

static bool write_chunk(struct partials *partials, struct stats *stats, struct error *err)
{
	struct buf body = {0};

	add_parts(&body, stats->session->trace, &stats->sum);
	bool ok = partials_write(partials, &body, true, stats->sink, err);
	buf_release(&body);
	return ok;
}

static bool run_with(struct partials *partials, struct filter *filter, struct stats *stats,
		     struct error *err)
{
	if (!partials_begin(stats->session, PARTIAL_STATS, "", 0, partials, err) ||
	    !gather(partials, filter, stats, err))
		return false;
	bool chunk = partials->mode == PARTIALS_CHUNK;
	bool ok = chunk ? write_chunk(partials, stats, err) : show(stats, err);
	if (ok && !chunk && !stats->sum.all.events)
		asked_no_events(stats->session, stats->options);
	summary_release(&stats->sum);
	return ok;
}

static bool run_once(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct stats stats = {.session = session, .options = options, .sink = sink};
	struct partials partials = {0};
	struct filter *filter;

	if (!filter_look_up(session, options, err) ||
	    !filter_open(session, options, false, &filter, err))
		return false;
	bool ok = run_with(&partials, filter, &stats, err);
	partials_end(&partials);
	filter_close(filter);
	return ok;
}

/* --follow ------------------------------------------------------------------------------------- */

struct counting {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct summary_kept *kept;
	struct follow_names names;
	struct redraw redraw;
	bool draws;
	nstime from; /* events before this time were counted; NSTIME_MIN: none */
	bool ended;  /* the recording has ended */
};

static bool show_kept(struct counting *counting, struct sink *sink, struct error *err)
{
	struct stats stats = {
		.session = counting->session, .options = counting->options, .sink = sink};

	summary_of_kept(counting->kept, counting->session->trace, &stats.sum);
	bool ok = show(&stats, err);
	summary_release(&stats.sum);
	return ok;
}

/* Draws the counts so far over the last drawing, a few times a second. */
static bool draw(struct counting *counting, struct error *err)
{
	struct sink rows;

	sink_init(&rows, -1);
	bool ok = show_kept(counting, &rows, err);
	if (ok)
		redraw_show(&counting->redraw, NULL, &rows);
	sink_release(&rows);
	return ok;
}

static void count_late(void *sum, struct events *events, const struct event *event)
{
	summary_add(sum, events, event);
}

/* Counts new events, and those that came late: sums need no order. */
static bool count_more(struct counting *counting, struct follow *follow,
		       const struct follow_news *news, struct filter *filter, struct error *err)
{
	struct session *session = counting->session;
	struct events_options range = {0};
	struct summary sum;

	if (!summary_gather(session, filter, counting->from,
			    news->end > counting->from ? news->end : counting->from, NULL, &sum,
			    err))
		return false;
	filter_fill(filter, &range);
	range.losses = !filter_selects(filter);
	bool ok = follow_late(session, follow, news, NSTIME_MAX, &range, filter, count_late, &sum,
			      err);
	if (ok)
		summary_keep(counting->kept, follow, session->trace, &sum);
	summary_release(&sum);
	if (!ok || news->end <= counting->from)
		return ok;
	counting->from = news->end;
	return !counting->draws || draw(counting, err);
}

/* A follow_more. */
static bool more(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		 struct error *err)
{
	struct counting *counting = arg;
	struct events_options range = {0};
	struct filter *filter;
	bool begun;

	counting->ended = news->ended;
	if (news->ended) /* run_counting() counts the whole trace then */
		return true;
	redraw_wait(&counting->redraw);
	if (!follow_has_begun(counting->session, counting->from, news->end, &begun, err))
		return false;
	if (!begun)
		return true;
	if (!follow_filter(counting->session, &counting->names, false, &filter, err))
		return err->kind == ERR_NONE;
	bool ok = count_more(counting, follow, news, filter, err);
	filter_fill(filter, &range);
	*done = news->end >= range.end || counting->sink->closed;
	filter_close(filter);
	return ok;
}

/* Follows the trace; at its end, and after Ctrl-C, prints the counts as without --follow. */
static bool run_counting(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	struct counting counting = {.session = session,
				    .options = options,
				    .sink = sink,
				    .kept = summary_kept_new(),
				    .redraw = {.sink = sink},
				    .from = NSTIME_MIN};
	bool people = options->format == FORMAT_TEXT || options->format == FORMAT_TABLE;
	struct error ignored;

	counting.draws = people && redraw_can(sink);
	bool ok = follow_run(session, options, sink->fd, more, &counting, err);
	redraw_clear(&counting.redraw);
	if (ok)
		ok = counting.ended ? run_once(session, options, sink, err)
				    : show_kept(&counting, sink, err);
	else if (counting.from != NSTIME_MIN && follow_interrupted(err))
		(void)!show_kept(&counting, sink, &ignored);
	summary_kept_free(counting.kept);
	return ok;
}

static bool run_stats(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	enum partials_mode mode;

	if (!follow_words(options, err) || !partials_asked(options, &mode, err))
		return false;
	return (options->follow ? run_counting : run_once)(session, options, sink, err);
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--by", "class|stream", "what is counted, instead of both", 0}, TAKE_CHOICE, .at = offsetof(struct stats_choices, by), offsetof(struct stats_choices, has_by)},
	{.info.name = NULL},
};

const struct cmd cmd_stats = {
	.name = "stats",
	.args = "",
	.summary = "events per class and per stream: how many, how often, how large",
	.help = "Counts the events of each class and of each stream, in one pass on all threads:\n"
		"how many, how many a second, and how many bytes they take in the trace, from\n"
		"their header to the next one. Classes of one name are one row; --by stream\n"
		"counts streams alone. Rates are over the given range, or\n"
		"from the first to the last event.\n"
		"\n"
		"--follow counts while the trace is written. On a terminal the counts so far are drawn\n"
		"anew a few times a second. When the recording has ended, at --end and after Ctrl-C\n"
		"they are printed as without --follow, and that alone where nobody looks on.\n"
		"\n"
		"--chunk I/N --partial FILE counts part I of N of the trace into a file: on any machine\n"
		"that has the trace, all at once. --merge and all of these files then answers as one\n"
		"run would, in any format. docs/shards.md has a line for GNU parallel.\n"
		"\n"
		"Examples:\n"
		"  $ yore stats fixtures/golden/sched-demo\n"
		"  $ yore stats fixtures/golden/sched-demo --cpu 1 --limit 3 --format json\n"
		"  $ yore stats fixtures/golden/sched-demo --by stream --format csv\n"
		"  $ yore stats fixtures/golden/sched-demo --follow --end +10ms\n"
		"  $ yore stats fixtures/golden/sched-demo --chunk 1/1 --partial /tmp/yore-stats.part\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_FOLLOW | OPT_PARTIALS | OPT_SLURM,
	.own = own_options,
	.own_bytes = sizeof(struct stats_choices),
	.run = run_stats,
}; /* clang-format on */
