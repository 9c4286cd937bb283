/*
 * intervals.c - values over a range: from queries to tracks, and from tracks to intervals
 *
 * Each wanted attribute gets a track (intervals.h). Its intervals are those of its spans that have
 * a value and overlap the range.
 */
#include "state/intervals/intervals.h"
#include "engine/base/mem.h"
#include "state/context/handover.h"
#include "state/context/reach.h"
#include "state/intervals/named.h"
#include "state/intervals/own_timelines.h"
#include "state/state.h"
#include "state/timelines/retry.h"
#include "state/timelines/timelines.h"

#include <stdlib.h>

/* ---- from tracks to intervals ---- */

struct track_output {
	struct tracks *tracks;
	const struct sums_sink *sink;
	bool more; /* the sink wants more */
	/* of the present track */
	const struct track *track;
	const char *path;
	nstime named;     /* lists do not show what it was before */
	size_t sums;      /* sums given so far */
	struct span last; /* waits for the next span, which decides `lost` */
	bool waits;       /* `last` was not given yet */
};

/* Gives the sums that begin before t. */
static void give_sums(struct track_output *giving, nstime t)
{
	const struct track_more *more = track_more(giving->tracks, giving->track);

	for (; giving->more && more && giving->sums < more->nsums; giving->sums++) {
		struct sums sums = more->sums[giving->sums].sums;

		if (sums.begin >= t)
			return;
		sums.values = more->sums[giving->sums].values;
		giving->more = giving->sink->sums(giving->sink->arg, giving->path, &sums);
	}
}

static void give_interval(struct track_output *giving, const struct span *span, nstime end,
			  bool lost)
{
	struct interval interval = {.path = giving->path, .lost = lost};

	if (!track_interval(giving->tracks, giving->track, giving->named, span, end, &interval))
		return;
	give_sums(giving, span->begin);
	giving->more = giving->more && giving->sink->interval(giving->sink->arg, &interval);
}

/* Is the span unknown, and, in a growing trace, may a later event fill it? */
static bool is_lost(const struct track_output *giving, const struct span *span)
{
	const struct state *state = giving->tracks->state;

	return span->value.kind == VALUE_UNKNOWN &&
	       (!state->handover ||
		catalog_was(state->catalog, attr_shape(state->attrs, giving->track->attr)));
}

/* In a growing trace: gives an empty interval when it is final that the last span stays unknown. */
static void give_none(struct track_output *giving, const struct span *span)
{
	const struct interval none = {.path = giving->path,
				      .begin = span->begin,
				      .end = span->begin,
				      .value = span->value};

	if (giving->tracks->state->handover && giving->last.value.kind == VALUE_UNKNOWN &&
	    span->value.kind == VALUE_NONE)
		giving->more = giving->sink->interval(giving->sink->arg, &none);
}

/* Returns false when the sink wants no more. */
static bool give_span(void *arg, const struct span *span)
{
	struct track_output *giving = arg;

	if (giving->waits)
		give_interval(giving, &giving->last, span->begin, is_lost(giving, span));
	if (giving->waits && giving->more)
		give_none(giving, span);
	giving->last = *span;
	giving->waits = true;
	return giving->more;
}

static void give_track(struct track_output *giving, struct track *track)
{
	giving->track = track;
	giving->named = track_shown(giving->tracks, track);
	giving->sums = 0;
	giving->waits = false;
	if (totals_wanted(giving->tracks, track)) {
		totals_add(giving->tracks, track, track->count);
		giving->more = totals_give(giving->tracks, track, giving->path);
		return;
	}
	if (track->spooled)
		spool_read(giving->tracks->spooling.spool, track->run, give_span, giving);
	for (size_t i = 0; i < track->count && giving->more; i++)
		give_span(giving, track_spans(track) + i);
	if (giving->waits && giving->more)
		give_interval(giving, &giving->last, track_end(giving->tracks, track), false);
	give_sums(giving, NSTIME_MAX);
}

static bool is_asked(const struct tracks *tracks, const struct track *track)
{
	struct value values[ENV_VARIABLES];

	if (!track->computed && program_view_of(tracks->state->program, track->attr, values))
		return false;
	if (wanted_by_name(tracks->wanted, track->attr))
		return true;
	if (tracks->range.window && !track->given && !track->computed)
		return false;
	return (track->computed || track_named(tracks, track) < tracks->range.end) &&
	       wanted_lists(tracks->state, tracks->wanted, track->attr);
}

static int intervals_by_path(const void *a, const void *b, void *arg)
{
	const struct tracks *tracks = arg;

	return attr_compare(tracks->state->attrs, tracks->items[*(const uint32_t *)a].attr,
			    tracks->items[*(const uint32_t *)b].attr);
}

/* Indexes of the tracks of the answer, ordered by path; the caller frees them. */
static uint32_t *asked_tracks(struct tracks *tracks, size_t *count)
{
	uint32_t *asked = mem_new_array(tracks->count, sizeof *asked);

	*count = 0;
	for (size_t i = 0; i < tracks->count; i++)
		if (is_asked(tracks, &tracks->items[i]))
			asked[(*count)++] = (uint32_t)i;
	qsort_r(asked, *count, sizeof *asked, intervals_by_path, tracks);
	return asked;
}

/* Gives the attributes of the first queries (`first`), or of the others. */
static void give_tracks(struct tracks *tracks, const struct sums_sink *sink, const uint32_t *asked,
			size_t count, bool first)
{
	struct track_output giving = {.tracks = tracks, .sink = sink, .more = true};
	struct buf path = {0};

	for (size_t i = 0; i < count && giving.more; i++) {
		struct track *track = &tracks->items[asked[i]];

		if (tracks->first && !tracks_ask(tracks, first, track->attr))
			continue;
		buf_clear(&path);
		attr_add_text(tracks->state->attrs, track->attr, &path);
		giving.path = buf_text(&path);
		give_track(&giving, track);
	}
	buf_release(&path);
}

static void give_all(struct tracks *tracks)
{
	size_t count;
	uint32_t *asked = asked_tracks(tracks, &count);

	if (tracks->first) {
		const struct sums_sink sink = {.interval = tracks->first->each,
					       .arg = tracks->first->arg};

		give_tracks(tracks, &sink, asked, count, true);
	}
	give_tracks(tracks, tracks->sink, asked, count, false);
	mem_free(asked);
}

/* ---- from queries to tracks ---- */

/* Adds the stored attributes that queries without wildcards want. */
static void intervals_add_named(struct tracks *tracks)
{
	const struct wanted *wanted = tracks->wanted;
	struct value values[ENV_VARIABLES];

	for (size_t i = 0; i < wanted->nattrs; i++)
		if (!program_view_of(tracks->state->program, wanted->attrs[i], values))
			attr_list_add(&tracks->names, wanted->attrs[i], tracks->range.begin);
}

/*
 * Adds the wanted stored attributes to `names`, with those of lists if they are known before
 * reading, which the lists of a window are not.
 */
static bool intervals_find_names(struct tracks *tracks, struct listed **listed, size_t *nlisted,
				 struct error *err)
{
	const struct wanted *wanted = tracks->wanted;

	err->kind = ERR_NONE;
	tracks->all_known =
		!wanted->lists ||
		(!tracks->range.window &&
		 wanted_enumerate(tracks->state, tracks->wanted, listed, nlisted, err));
	intervals_add_named(tracks);
	for (size_t i = 0; i < *nlisted; i++)
		if ((*listed)[i].source == ATTR_ABSENT)
			attr_list_add(&tracks->names, (*listed)[i].attr, tracks->range.begin);
	return err->kind == ERR_NONE;
}

/* Instead of a run, reads up to `packets` packets of each stream around the range; 0: no limit. */
static bool fill_tracks(struct tracks *tracks, uint64_t packets, struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct listed *listed = NULL;
	size_t nlisted = 0;

	if (!intervals_find_names(tracks, &listed, &nlisted, err))
		outcome = OUTCOME_ERROR;
	if (outcome == OUTCOME_GAVE_UP && packets)
		outcome = tracks_compute_near(tracks, listed, nlisted, packets, err);
	if (outcome == OUTCOME_GAVE_UP)
		outcome = tracks_compute(tracks, listed, nlisted, err);
	mem_free(listed);
	return outcome == OUTCOME_DONE;
}

/* Fills tracks for a step of a growing trace, by a run that continues the last one. */
static bool fill_on(struct tracks *tracks, struct error *err)
{
	intervals_add_named(tracks);
	return tracks_compute_on(tracks, err);
}

enum { WINDOW_PART = 8 /* a window is at most 1/8 of the trace */ };

struct intervals_question {
	struct intervals_range range;
	uint64_t packets; /* packets of each stream to read around a window; 0: as usual */
	bool quiet;       /* print no note on what a window leaves out */
	const struct query *const *queries;
	size_t nqueries;
	const struct intervals_first *first; /* NULL: there are none */
};

/* Reads only the window, or takes a run; its tracks are those to which its events give a value. */
static bool fill_window(struct tracks *tracks, uint64_t packets, struct error *err)
{
	enum outcome outcome = tracks_window(tracks, packets, err);

	if (outcome == OUTCOME_GAVE_UP) {
		tracks_forget(tracks);
		attr_list_clear(&tracks->names);
		return tracks_name_known(tracks, err) && fill_tracks(tracks, 0, err);
	}
	return outcome == OUTCOME_DONE && tracks_compute_named(tracks, packets, err);
}

/* Speed of a run with linux.rules that leaves checkpoints, measured on generated traces. */
enum { MB_A_SECOND = 128 };

/* Number of wanted attributes whose value at the range's begin lies beyond the horizon. */
static size_t count_beyond(const struct tracks *tracks)
{
	size_t count = 0;

	for (size_t i = 0; i < tracks->count; i++) {
		const struct track *track = &tracks->items[i];
		const struct span *first = track->count ? track_spans(track) : NULL;

		count += first && first->begin <= tracks->range.begin &&
			 value_is_open(&first->value) && is_asked(tracks, track);
	}
	return count;
}

/* Prints, once, what lists over a short range leave out, and what it would cost to have it. */
static void note_window(struct tracks *tracks, uint64_t packets)
{
	struct state *state = tracks->state;
	uint64_t megabytes = trace_bytes(state->event_source->trace) / 1000000;

	if (state->lists != LISTS_WINDOW || state->window_noted)
		return;
	size_t unknown = count_beyond(tracks);
	state->window_noted = unknown || tracks->range.window;
	if (tracks->range.window)
		notice(&state->options.notices, NOTICE_INFO,
		       "lists leave out what no event of the range changes: --all has it, and "
		       "reads all of the trace, %llu MB, about %llu s; after 'yore index "
		       "--timelines' it reads little",
		       (unsigned long long)megabytes,
		       (unsigned long long)(megabytes / MB_A_SECOND + 1));
	if (unknown)
		notice(&state->options.notices, NOTICE_INFO,
		       "%zu attributes were set last more than %llu packets of a stream before the "
		       "range, and are unknown up to their first event: --budget N reads further "
		       "back, --all as far as it takes",
		       unknown, (unsigned long long)packets);
}

/*
 * How to read a range of a large trace: of a short one as a window if lists have keys that are not
 * known without reading; else completely, but without a run.
 */
enum reading { READ_WHOLE, READ_NEAR, READ_WINDOW };
static bool look_at_range(struct state *state, const struct intervals_range *range,
			  struct wanted *wanted, enum reading *out, struct error *err)
{
	struct listed *listed = NULL;
	uint64_t in, all;
	size_t count;

	*out = READ_WHOLE;
	err->kind = ERR_NONE;
	if (!horizon_packets(state->event_source, range->begin, range->end, &in, &all, err))
		return false;
	if (in <= all / WINDOW_PART)
		*out = wanted_enumerate(state, wanted, &listed, &count, err) ? READ_NEAR
									     : READ_WINDOW;
	mem_free(listed);
	return err->kind == ERR_NONE;
}

static bool is_large(const struct state *state)
{
	return trace_bytes(state->event_source->trace) >= LARGE_TRACE;
}

static bool may_be_window(const struct state *state, const struct intervals_range *range)
{
	return !range->all && state->lists == LISTS_WINDOW && is_large(state);
}

static bool choose_reading(struct state *state, const struct intervals_range *range,
			   struct wanted *wanted, enum reading *out, struct error *err)
{
	*out = wanted->lists && range->window ? READ_WINDOW : READ_WHOLE;
	return *out == READ_WINDOW || !may_be_window(state, range) ||
	       look_at_range(state, range, wanted, out, err);
}

/* Fills tracks of a trace that does not grow. */
static bool intervals_fill(struct tracks *tracks, uint64_t packets, struct error *err)
{
	enum reading reading;

	if (!choose_reading(tracks->state, &tracks->range, tracks->wanted, &reading, err))
		return false;
	tracks->range.window = reading == READ_WINDOW;
	return reading == READ_WINDOW
		       ? fill_window(tracks, packets, err)
		       : fill_tracks(tracks, reading == READ_NEAR ? packets : 0, err);
}

static bool ask_paths(struct state *state, const struct intervals_question *question,
		      const struct sums_sink *sink, struct error *err)
{
	const uint64_t packets = reach_packets(state, question->packets);
	struct retry retry = retry_begin(state);
	bool ok, more;

	do {
		struct wanted wanted;
		struct tracks tracks = {.state = state,
					.wanted = &wanted,
					.range = question->range,
					.sink = sink,
					.first = question->first};

		wanted_init(state, question->queries, question->nqueries, &wanted);
		wanted.settled = state->handover != NULL;
		ok = question->range.begin >= question->range.end ||
		     (state->handover && fill_on(&tracks, err)) ||
		     (!state->handover && intervals_fill(&tracks, packets, err));
		more = retry_wanted(state, &retry);
		if (ok && !more)
			give_all(&tracks);
		if (ok && !more && !question->quiet)
			note_window(&tracks, packets);
		tracks_release(&tracks);
		wanted_release(&wanted);
	} while (more);
	return ok;
}

/* Replaces threads by name by those that have the name in the range. */
static bool ask_tracks(struct state *state, const struct intervals_question *question,
		       const struct sums_sink *sink, struct error *err)
{
	struct named_queries named;
	struct intervals_question plain = *question;

	if (!state_names_threads(state, question->queries, question->nqueries))
		return ask_paths(state, question, sink, err);
	bool ok = state_named_told(state, plain.range.begin, plain.range.end, plain.queries,
			      plain.nqueries, &named, err);
	plain.queries = named.items;
	plain.nqueries = named.count;
	if (ok && named.count)
		ok = ask_paths(state, &plain, sink, err);
	named_queries_release(&named);
	return ok;
}

/* Answers with nothing for a range outside of the recording, whatever held at its end. */
static bool ask_recorded(struct state *state, const struct intervals_question *question,
			 const struct sums_sink *sink, struct error *err)
{
	nstime begin, end;

	if (!event_source_recorded(state->event_source, &begin, &end, err))
		return false;
	if (question->range.begin > end || question->range.end <= begin)
		return true;
	struct state *asked = question->range.window ? state
						     : own_timelines_of(state, question->queries,
									question->nqueries);
	bool ok = ask_tracks(asked, question, sink, err);
	state->evaluation = asked->evaluation;
	return ok;
}

static struct intervals_range intervals_range_of(nstime begin, nstime end, enum interval_ends ends)
{
	return (struct intervals_range){
		.begin = begin, .end = end, .within = ends != INTERVALS_WHOLE};
}

bool state_intervals(struct state *state, nstime begin, nstime end, enum interval_ends ends,
		     const struct query *const *queries, size_t nqueries,
		     bool (*each)(void *arg, const struct interval *interval), void *arg,
		     struct error *err)
{
	return state_intervals_after(state, begin, end, ends, queries, nqueries, NULL, each, arg,
				     err);
}

bool state_intervals_after(struct state *state, nstime begin, nstime end, enum interval_ends ends,
			   const struct query *const *queries, size_t nqueries,
			   const struct intervals_first *first,
			   bool (*each)(void *arg, const struct interval *interval), void *arg,
			   struct error *err)
{
	const struct sums_sink sink = {.interval = each, .arg = arg};
	const struct intervals_question question = {.range = intervals_range_of(begin, end, ends),
						    .queries = queries,
						    .nqueries = nqueries,
						    .first = first};

	return ask_recorded(state, &question, &sink, err);
}

bool state_intervals_all(struct state *state, nstime begin, nstime end, enum interval_ends ends,
			 const struct query *const *queries, size_t nqueries,
			 bool (*each)(void *arg, const struct interval *interval), void *arg,
			 struct error *err)
{
	const struct sums_sink sink = {.interval = each, .arg = arg};
	struct intervals_question question = {.range = intervals_range_of(begin, end, ends),
					      .queries = queries,
					      .nqueries = nqueries};

	question.range.all = true;
	return ask_recorded(state, &question, &sink, err);
}

bool state_intervals_on(struct state *state, struct handover *handover, nstime begin, nstime end,
			const struct query *const *queries, size_t nqueries,
			const struct intervals_first *first,
			bool (*each)(void *arg, const struct interval *interval), void *arg,
			struct error *err)
{
	const struct sums_sink sink = {.interval = each, .arg = arg};
	/* also gives intervals that ended at `begin` */
	const nstime before = begin > NSTIME_MIN ? begin - 1 : begin;
	struct intervals_question question = {
		.range = intervals_range_of(before, end, INTERVALS_CUT),
		.queries = queries,
		.nqueries = nqueries,
		.first = first};

	question.range.all = true;
	state->handover = handover;
	state->event_source->until = end < NSTIME_MAX ? &end : NULL;
	bool ok = ask_paths(state, &question, &sink, err);
	state->event_source->until = NULL;
	state->handover = NULL;
	if (ok)
		handover_end(handover);
	return ok;
}

/* Do the rules have @end lines? */
static bool has_end_lines(const struct state *state)
{
	size_t count;
	const struct class_program *ends = program_end(state->program, &count);
	bool some = false;

	for (size_t i = 0; i < count && !some; i++)
		some = ends[i].nevent || ends[i].nsection;
	return some;
}

bool state_settled(struct state *state, nstime least, nstime end, nstime *out, struct error *err)
{
	nstime first, last;

	*out = end;
	if (state->found && !contradictions_settled(state->found, least, end, out, err))
		return false;
	if (!has_end_lines(state))
		return true;
	if (!state->event_source->ops->span(state->event_source, &first, &last, err))
		return false;
	*out = *out > last ? last : *out; /* @end lines belong to the last event's time */
	return true;
}

bool state_computes_late(struct state *state, const struct query *query)
{
	uint32_t shape = ATTR_ABSENT;
	bool late = false;

	if (!query_has_wildcard(query))
		shape = attr_shape(state->attrs, query_attr(query, state->attrs));
	for (uint32_t i = 0; i < program_views(state->program) && !late; i++) {
		uint32_t own = program_view(state->program, i)->path.shape;

		late = (shape == own ||
			(shape == ATTR_ABSENT && query_matches_shape(query, state->attrs, own))) &&
		       view_is_late(state, program_view(state->program, i));
	}
	return late;
}

void state_set_lists(struct state *state, enum lists lists, uint64_t packets)
{
	state->lists = lists;
	state->lists_packets = packets;
}

bool state_left_out(const struct state *state)
{
	return state->window_noted;
}

bool state_window_reach(struct state *state, nstime begin, nstime end, nstime *floor, nstime *ceil,
			struct error *err)
{
	struct horizon horizon;
	bool ok = horizon_find(state->event_source, begin, end, reach_packets(state, 0), &horizon,
			       err);

	*floor = horizon.floor;
	*ceil = horizon.ceil;
	horizon_release(&horizon);
	return ok;
}

bool state_lists_window(struct state *state, nstime begin, nstime end,
			const struct query *const *queries, size_t nqueries, bool *window,
			struct error *err)
{
	const struct intervals_range range = {.begin = begin, .end = end};
	enum reading reading = READ_WHOLE;
	struct wanted wanted;
	bool ok;

	wanted_init(state, queries, nqueries, &wanted);
	ok = choose_reading(state, &range, &wanted, &reading, err);
	wanted_release(&wanted);
	*window = reading == READ_WINDOW;
	return ok;
}

bool state_reads_range(struct state *state, nstime begin, nstime end,
		       const struct query *const *queries, size_t nqueries, bool *reads,
		       struct error *err)
{
	const struct intervals_range range = {.begin = begin, .end = end};
	enum reading reading = READ_NEAR;
	struct wanted wanted;
	bool ok = true;

	wanted_init(state, queries, nqueries, &wanted);
	if (wanted.lists && !timelines_there(state))
		ok = look_at_range(state, &range, &wanted, &reading, err);
	*reads = reading == READ_WHOLE || (reading == READ_WINDOW && !may_be_window(state, &range));
	wanted_release(&wanted);
	return ok;
}

bool state_window_reads_less(struct state *state, nstime begin, nstime end,
			     const struct query *query, bool *less, struct error *err)
{
	const struct intervals_range range = {.begin = begin, .end = end};
	enum reading reading = READ_WHOLE;
	struct wanted wanted;
	bool ok = true;

	wanted_init(state, &query, 1, &wanted);
	if (wanted.lists && is_large(state) && !timelines_there(state))
		ok = look_at_range(state, &range, &wanted, &reading, err);
	*less = reading == READ_WINDOW;
	wanted_release(&wanted);
	return ok;
}

bool state_window(struct state *state, const struct window_range *window,
		  const struct query *const *queries, size_t nqueries,
		  bool (*each)(void *arg, const struct interval *interval), void *arg,
		  struct error *err)
{
	const struct sums_sink sink = {.interval = each, .arg = arg};
	const struct intervals_question question = {.range = {.begin = window->begin,
							      .end = window->end,
							      .within = window->cut,
							      .window = true},
						    .packets = window->packets,
						    .quiet = window->quiet,
						    .queries = queries,
						    .nqueries = nqueries};

	return ask_recorded(state, &question, &sink, err);
}

bool state_sums(struct state *state, const nstime *edges, size_t nedges,
		const struct query *const *queries, size_t nqueries, const struct sums_sink *sink,
		struct error *err)
{
	const struct intervals_question columns = {.range = {.begin = edges[0],
							     .end = edges[nedges - 1],
							     .within = true,
							     .edges = edges,
							     .nedges = sink->sums ? nedges : 0},
						   .queries = queries,
						   .nqueries = nqueries};

	return ask_recorded(state, &columns, sink, err);
}
