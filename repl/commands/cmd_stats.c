/*
 * cmd_stats.c - events per class and per stream: how many, how much room, how often
 *
 * Counts are groups with two keys: classes by name, since a tracer writes the same event once per
 * channel and process, and streams by number. Parts of a trace (--chunk, --follow) add up in them.
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

enum { OF_CLASS, OF_STREAM, LOSSES }; /* the first key; LOSSES: of all streams, as LOST */
enum { EVENTS, BITS, FIRST, LAST, LOST, TOTALS };

static const struct aggregate totals[TOTALS] = {
	[EVENTS] = {.kind = AGGREGATE_COUNT}, [BITS] = {.kind = AGGREGATE_SUM},
	[FIRST] = {.kind = AGGREGATE_MIN},    [LAST] = {.kind = AGGREGATE_MAX},
	[LOST] = {.kind = AGGREGATE_SUM},
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
	struct groups *counts;
	const uint32_t *numbers; /* of streams, by index; NULL: the indices */
	size_t nnumbers;
	struct stats_row all; /* of all streams */
	uint64_t losses;      /* places where events were lost */
	struct stats_row *rows;
	size_t nrows;
	double seconds; /* length of the range, for rates; 0: not known */
	struct times times;
	struct sink *sink;
};

static int by_events(const void *a, const void *b)
{
	const struct stats_row *p = a, *q = b;

	if (p->tally.events != q->tally.events)
		return p->tally.events > q->tally.events ? -1 : 1;
	return strcmp(p->name, q->name);
}

/* The counts of a group; NULL: of no event. */
static struct stats_row row_of(const struct group *group)
{
	struct stats_row row = {.tally = {.first = NSTIME_MAX, .last = NSTIME_MIN}};

	if (!group)
		return row;
	row.lost = (uint64_t)group->totals[LOST].number;
	row.tally.events = group->totals[EVENTS].count;
	row.tally.bits = (uint64_t)group->totals[BITS].number;
	if (group->totals[FIRST].count)
		row.tally.first = (nstime)group->totals[FIRST].number;
	if (group->totals[LAST].count)
		row.tally.last = (nstime)group->totals[LAST].number;
	return row;
}

static void class_rows(struct stats *stats)
{
	const struct group *group;

	stats->nrows = 0;
	for (size_t i = 0; (group = groups_next(stats->counts, &i));) {
		if (group->keys[0].u != OF_CLASS)
			continue;
		stats->rows[stats->nrows] = row_of(group);
		stats->rows[stats->nrows++].name = group->keys[1].text;
	}
	if (stats->nrows)
		qsort(stats->rows, stats->nrows, sizeof *stats->rows, by_events);
}

static struct stats_row stream_row(const struct stats *stats, size_t i)
{
	const struct value keys[] = {value_u64(OF_STREAM),
				     value_u64(stats->numbers ? stats->numbers[i] : i)};
	struct stats_row row = row_of(groups_find(stats->counts, keys));

	row.name = stats->trace->streams[i]->name;
	row.cpu = stats->trace->streams[i]->cpu;
	return row;
}

/* Makes rows of streams, in the order of the trace. */
static void stream_rows(struct stats *stats)
{
	stats->nrows = 0;
	for (size_t i = 0; i < stats->nnumbers; i++) {
		struct stats_row row = stream_row(stats, i);
		if (row.tally.events || row.lost)
			stats->rows[stats->nrows++] = row;
	}
}

static void add_up(struct stats *stats)
{
	const struct value keys[] = {value_u64(LOSSES), value_u64(0)};

	stats->all = row_of(NULL);
	stats->losses = row_of(groups_find(stats->counts, keys)).lost;
	for (size_t i = 0; i < stats->nnumbers; i++) {
		struct stats_row row = stream_row(stats, i);
		stats->all.lost += row.lost;
		tally_join(&stats->all.tally, &row.tally);
	}
}

static uint64_t cmd_stats_bytes_of(const struct tally *tally)
{
	return tally->bits / 8 + (tally->bits % 8 != 0);
}

/* Finds the length of the range; open ends are the first and last event. */
static bool find_seconds(struct stats *stats, struct error *err)
{
	const struct tally *all = &stats->all.tally;
	nstime begin, end;

	if (!session_range(stats->session, &begin, &end, err))
		return false;
	if (trace_has_ordinals(stats->trace)) /* events without a clock have no rate */
		return true;
	begin = begin == NSTIME_MIN ? all->first : begin;
	end = end == NSTIME_MAX ? all->last : end;
	if (all->first <= all->last && begin < end)
		stats->seconds = (double)((uint64_t)end - (uint64_t)begin) / 1e9;
	return true;
}

/* Rows */

static void data_rows(struct stats *stats, bool streams)
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

	rows_begin(&rows, stats->sink, stats->options->format, streams ? of_streams : classes,
		   streams ? 7 : 5);
	for (size_t i = 0; i < stats->nrows && open; i++) {
		const struct stats_row *row = &stats->rows[i];
		rows_text(&rows, row->name);
		if (streams)
			rows_u64(&rows, row->cpu >= 0, (uint64_t)row->cpu);
		sink_u64(rows_cell(&rows), row->tally.events);
		sink_u64(rows_cell(&rows), cmd_stats_bytes_of(&row->tally));
		if (streams)
			sink_u64(rows_cell(&rows), row->lost);
		rows_time(&rows, &stats->times, row->tally.first, "");
		rows_time(&rows, &stats->times, row->tally.last, "");
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
	const struct tally *all = &stats->all.tally;
	struct rows rows;
	bool open = true;

	rows_begin(&rows, stats->sink, FORMAT_TABLE, streams ? of_streams : classes, 9);
	for (size_t i = 0; i < stats->nrows && open; i++) {
		const struct stats_row *row = &stats->rows[i];
		const struct tally *tally = &row->tally;
		sink_u64(rows_cell(&rows), tally->events);
		share_cell(&rows, tally->events, all->events);
		put_rate(stats, rows_cell(&rows), tally);
		sink_u64(rows_cell(&rows), cmd_stats_bytes_of(tally));
		share_cell(&rows, tally->bits, all->bits);
		if (streams)
			sink_u64(rows_cell(&rows), row->lost);
		else
			sink_printf(rows_cell(&rows), "%.1f",
				    (double)tally->bits / 8 / (double)tally->events);
		rows_time(&rows, &stats->times, tally->first, "-");
		rows_time(&rows, &stats->times, tally->last, "-");
		rows_text(&rows, row->name);
		open = rows_end(&rows);
	}
	rows_finish(&rows);
}

static void put_time(struct stats *stats, struct sink *out, nstime t)
{
	if (t != NSTIME_MIN && t != NSTIME_MAX)
		time_add(&stats->times, t, out);
	else
		sink_char(out, '-');
}

static void text_head(struct stats *stats)
{
	const struct tally *all = &stats->all.tally;
	struct sink *out = stats->sink;

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
	if (stats->losses)
		sink_printf(out, ", %llu lost at %llu place%s", (unsigned long long)stats->all.lost,
			    (unsigned long long)stats->losses, stats->losses == 1 ? "" : "s");
	sink_printf(out, "\nbytes   %llu", (unsigned long long)cmd_stats_bytes_of(all));
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
	if (stats->options->format == FORMAT_JSON || stats->options->format == FORMAT_CSV)
		data_rows(stats, streams);
	else
		table_rows(stats, streams);
}

static void cmd_stats_print(struct stats *stats)
{
	const struct stats_choices *own = stats->options->own;
	bool both = stats->options->format == FORMAT_TEXT && !own->has_by;

	stats->rows = mem_new_array(stats->counts->count + 1, sizeof *stats->rows);
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
static bool cmd_stats_show(struct stats *stats, struct error *err)
{
	stats->trace = stats->session->trace;
	if (!stats->numbers || stats->nnumbers > stats->trace->nstreams)
		stats->nnumbers = stats->trace->nstreams;
	add_up(stats);
	if (!session_times(stats->session, &stats->times, err) || !find_seconds(stats, err))
		return false;
	cmd_stats_print(stats);
	return true;
}

/* Counting */

static struct groups no_groups(void)
{
	return (struct groups){.nkeys = 2, .naggregates = TOTALS, .aggregates = totals};
}

static void add(struct groups *groups, unsigned of, struct value which, const struct tally *tally,
		uint64_t lost)
{
	const struct value keys[] = {value_u64(of), which};

	if (!tally->events && !lost)
		return;
	struct accumulator *to = groups_at(groups, keys)->totals;
	to[EVENTS].count += tally->events;
	accumulate(&totals[BITS], &to[BITS], tally->bits);
	if (tally->first != NSTIME_MAX)
		accumulate(&totals[FIRST], &to[FIRST], tally->first);
	if (tally->last != NSTIME_MIN)
		accumulate(&totals[LAST], &to[LAST], tally->last);
	accumulate(&totals[LOST], &to[LOST], lost);
}

/* Adds what a sweep counted; keys of names have their final zero. */
static void add_sum(const struct stats *stats, const struct summary *sum)
{
	const struct tally none = {.first = NSTIME_MAX, .last = NSTIME_MIN};
	const struct trace *trace = stats->session->trace;

	for (size_t i = 0; i < trace->nclasses; i++) {
		const char *name = trace->classes[i]->name;
		add(stats->counts, OF_CLASS, value_text(name, strlen(name) + 1), &sum->classes[i],
		    0);
	}
	for (size_t i = 0; i < trace->nstreams; i++)
		add(stats->counts, OF_STREAM, value_u64(stats->numbers ? stats->numbers[i] : i),
		    &sum->streams[i], sum->lost[i]);
	add(stats->counts, LOSSES, value_u64(0), &none, sum->losses);
}

/* Is this a group of the trace? */
static bool cmd_stats_fits(const struct group *group, const struct trace *trace)
{
	const struct value *of = &group->keys[0], *which = &group->keys[1];

	if (of->kind != VALUE_INT)
		return false;
	if (of->u == OF_CLASS)
		return which->kind == VALUE_STRING && which->len && !which->text[which->len - 1];
	return which->kind == VALUE_INT &&
	       (of->u == OF_STREAM ? which->u < trace->nstreams : of->u == LOSSES);
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
		good = cmd_stats_fits(group, trace);
	return good || partials_refuse(partials, i, PARTIAL_DAMAGED, err);
}

/* Joins all files of --merge. */
static bool join_parts(const struct partials *partials, struct stats *stats, struct error *err)
{
	struct session *session = stats->session;

	for (uint32_t i = 0; i < partials->count; i++)
		if (!join_file(partials, i, session->trace, stats->counts, err))
			return false;
	return true;
}

/* Counts all events or those of a chunk, or joins the counts of chunks. */
static bool cmd_stats_gather(struct partials *partials, struct filter *filter, struct stats *stats,
			     struct error *err)
{
	struct sweep_chunk *chunk = partials->mode == PARTIALS_CHUNK ? &partials->chunk : NULL;
	struct summary sum;

	if (partials->mode != PARTIALS_NONE && filter_per_event(filter))
		return partials_not_sums(stats->options,
					 "a filter reads the state, which follows from all events "
					 "before",
					 err);
	if (partials->mode == PARTIALS_MERGE)
		return join_parts(partials, stats, err);
	if (!summary_gather(stats->session, filter, NSTIME_MIN, NSTIME_MAX, chunk, &sum, err))
		return false;
	add_sum(stats, &sum);
	summary_release(&sum);
	return true;
}

static bool write_chunk(struct partials *partials, struct stats *stats, struct error *err)
{
	struct buf body = {0};

	partial_add_groups(&body, stats->counts);
	bool ok = partials_write(partials, &body, true, stats->sink, err);
	buf_release(&body);
	return ok;
}

static bool run_with(struct partials *partials, struct filter *filter, struct stats *stats,
		     struct error *err)
{
	if (!partials_begin(stats->session, PARTIAL_STATS, "", 0, partials, err) ||
	    !cmd_stats_gather(partials, filter, stats, err))
		return false;
	bool chunk = partials->mode == PARTIALS_CHUNK;
	bool ok = chunk ? write_chunk(partials, stats, err) : cmd_stats_show(stats, err);
	if (partials->mode == PARTIALS_MERGE)
		stats->session->lost += stats->losses;
	if (ok && !chunk && !stats->all.tally.events)
		asked_no_events(stats->session, stats->options);
	return ok;
}

static bool run_once(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct groups counts = no_groups();
	struct stats stats = {
		.session = session, .options = options, .counts = &counts, .sink = sink};
	struct partials partials = {0};
	struct filter *filter;

	if (!filter_look_up(session, options, err) ||
	    !filter_open(session, options, false, &filter, err))
		return false;
	bool ok = run_with(&partials, filter, &stats, err);
	partials_end(&partials);
	groups_clear(&counts);
	filter_close(filter);
	return ok;
}

/* --follow ------------------------------------------------------------------------------------- */

struct counting {
	struct stats stats;
	struct groups counts;
	uint32_t *numbers; /* follow_number() of each stream as of the last step, by index */
	struct follow_names names;
	struct redraw redraw;
	bool draws;
	nstime from; /* events before this time were counted; NSTIME_MIN: none */
	bool ended;  /* the recording has ended */
};

/* Draws the counts so far over the last drawing, a few times a second. */
static bool cmd_stats_draw(struct counting *counting, struct error *err)
{
	struct stats stats = counting->stats;
	struct sink rows;

	sink_init(&rows, -1);
	stats.sink = &rows;
	bool ok = cmd_stats_show(&stats, err);
	if (ok)
		redraw_show(&counting->redraw, NULL, &rows);
	sink_release(&rows);
	return ok;
}

static void count_late(void *sum, struct events *events, const struct event *event)
{
	summary_add(sum, events, event);
}

/* Indices of streams change from step to step; numbers do not. */
static void number_streams(struct counting *counting, const struct follow *follow,
			   const struct trace *trace)
{
	mem_free(counting->numbers);
	counting->numbers = mem_new_array(trace->nstreams + 1, sizeof *counting->numbers);
	for (size_t i = 0; i < trace->nstreams; i++)
		counting->numbers[i] = follow_number(follow, i);
	counting->stats.numbers = counting->numbers;
	counting->stats.nnumbers = trace->nstreams;
}

/* Counts new events, and those that came late: sums need no order. */
static bool count_more(struct counting *counting, struct follow *follow,
		       const struct follow_news *news, struct filter *filter, struct error *err)
{
	struct session *session = counting->stats.session;
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
	if (ok) {
		number_streams(counting, follow, session->trace);
		add_sum(&counting->stats, &sum);
	}
	summary_release(&sum);
	if (!ok || news->end <= counting->from)
		return ok;
	counting->from = news->end;
	return !counting->draws || cmd_stats_draw(counting, err);
}

/* A follow_more. */
static bool cmd_stats_more(void *arg, struct follow *follow, const struct follow_news *news,
			   bool *done, struct error *err)
{
	struct counting *counting = arg;
	struct events_options range = {0};
	struct filter *filter;
	bool begun;

	counting->ended = news->ended;
	if (news->ended) /* run_counting() counts the whole trace then */
		return true;
	redraw_wait(&counting->redraw);
	if (!follow_has_begun(counting->stats.session, counting->from, news->end, &begun, err))
		return false;
	if (!begun)
		return true;
	if (!follow_filter(counting->stats.session, &counting->names, false, &filter, err))
		return err->kind == ERR_NONE;
	bool ok = count_more(counting, follow, news, filter, err);
	filter_fill(filter, &range);
	*done = news->end >= range.end || counting->stats.sink->closed;
	filter_close(filter);
	return ok;
}

/* Follows the trace; at its end, and after Ctrl-C, prints the counts as without --follow. */
static bool run_counting(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	struct counting counting = {.stats = {.session = session, .options = options, .sink = sink},
				    .counts = no_groups(),
				    .redraw = {.sink = sink},
				    .from = NSTIME_MIN};
	bool people = options->format == FORMAT_TEXT || options->format == FORMAT_TABLE;
	struct error ignored;

	counting.stats.counts = &counting.counts;
	counting.draws = people && redraw_can(sink);
	bool ok = follow_run(session, options, sink->fd, cmd_stats_more, &counting, err);
	redraw_clear(&counting.redraw);
	if (ok)
		ok = counting.ended ? run_once(session, options, sink, err)
				    : cmd_stats_show(&counting.stats, err);
	else if (counting.from != NSTIME_MIN && follow_interrupted(err))
		(void)!cmd_stats_show(&counting.stats, &ignored);
	groups_clear(&counting.counts);
	mem_free(counting.numbers);
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
