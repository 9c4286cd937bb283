/*
 * computed.c - computed attributes over a range, from the spans of their operands
 *
 *     .....[   piece   ][ piece ][== range ==][ piece ][   piece   ].....
 *
 * By need: computing a view shows which operands it reads. Operands without a track count as
 * unknown and are noted; a source then reads all noted ones together, and the view is computed
 * again, until none is missing. Operands are read from the time at which the view first reads them
 * up to the piece's end: the name of a thread that begins to run is often written there, and was
 * last written long before.
 *
 * By shapes: a source reads all attributes of the shapes that views may read, also beyond the
 * range. That takes a run, which lists with keys not known before reading need anyway.
 *
 * A value that holds at an end of the range is followed as far as operands are known, then piece by
 * piece, each wider than the one before, until it ends.
 */
#include "engine/base/mem.h"
#include "state/context/reach.h"
#include "state/intervals/intervals.h"

enum {
	ROUNDS = 16,    /* of reading missing operands */
	WIDER = 4,      /* each piece is so many times as wide as the one before; */
	PARTS = 1 << 16 /* the first one is at least 1/PARTS of the trace */
};

/* ---- by need ---- */

/* Tracks of a list of attributes over a range. */
struct named_tracks {
	struct wanted wanted;
	struct tracks tracks;
};

static void named_begin(struct named_tracks *named, struct state *state, nstime begin, nstime end)
{
	*named = (struct named_tracks){0};
	named->tracks = (struct tracks){.state = state,
					.wanted = &named->wanted,
					.range = {.begin = begin, .end = end, .within = true},
					.all_known = true};
}

static void named_end(struct named_tracks *named)
{
	tracks_release(&named->tracks);
	wanted_release(&named->wanted);
}

/* Reads operands->names. Some may have a track already, with a later begin. */
static enum outcome read_missing(struct tracks *operands, struct error *err)
{
	struct named_tracks named;
	enum outcome outcome;

	named_begin(&named, operands->state, operands->range.begin, operands->range.end);
	named.tracks.by_need = true;
	for (size_t i = 0; i < operands->names.count; i++) {
		attr_list_add(&named.tracks.names, operands->names.items[i].attr,
			      operands->names.items[i].from);
		wanted_add(&named.wanted, operands->names.items[i].attr);
	}
	attr_list_clear(&operands->names);
	outcome = tracks_read(&named.tracks, err);
	for (size_t i = 0; i < named.tracks.count && outcome == OUTCOME_DONE; i++)
		track_move(operands, &named.tracks, &named.tracks.items[i]);
	named_end(&named);
	return outcome;
}

/*
 * Adds sources of views as operands. False: one has an initial value, and when lists first had it
 * is not found by need.
 */
static bool add_sources(const struct tracks *computed, struct tracks *operands)
{
	for (size_t i = 0; i < computed->count; i++) {
		const struct track_more *more = track_more(computed, &computed->items[i]);

		for (size_t k = 0; more && k < more->nsources; k++) {
			const struct track_source *source = &more->sources[k];

			if (source->initial)
				return false;
			attr_list_add(&operands->names, source->attr, operands->range.begin);
		}
	}
	return true;
}

/* OUTCOME_GAVE_UP: some operand cannot be read without a run. */
static enum outcome by_need(struct state *state, nstime begin, nstime end,
			    struct tracks *computed, struct error *err)
{
	struct tracks operands = {.state = state,
				  .range = {.begin = begin, .end = end},
				  .by_need = true,
				  .low = begin,
				  .high = end};
	enum outcome outcome = add_sources(computed, &operands) ? OUTCOME_DONE : OUTCOME_GAVE_UP;
	int round = 0;

	do {
		if (outcome == OUTCOME_DONE && operands.names.count)
			outcome = read_missing(&operands, err);
		if (outcome == OUTCOME_DONE)
			views_compute(&operands, computed, begin, end);
		if (outcome == OUTCOME_DONE && operands.names.count && ++round == ROUNDS)
			outcome = OUTCOME_GAVE_UP;
	} while (outcome == OUTCOME_DONE && operands.names.count);
	tracks_release(&operands);
	return outcome;
}

/* ---- by shapes ---- */

/* Fills the tracks, too. Reads again if operands with an `initial` value turn out to be needed. */
static enum outcome by_shapes(struct tracks *tracks, struct tracks *computed, struct error *err)
{
	enum outcome outcome;
	size_t names;

	if (tracks->state->horizon || tracks->state->no_runs)
		return OUTCOME_GAVE_UP; /* it takes a run */
	views_add_operands(tracks);
	do {
		names = tracks->names.count;
		outcome = tracks_read(tracks, err);
		if (outcome == OUTCOME_DONE) {
			computed_list(tracks, computed);
			views_compute(tracks, computed, tracks->range.begin, tracks->range.end);
		}
	} while (outcome == OUTCOME_DONE && tracks->names.count > names);
	return outcome;
}

/* ---- beyond the range ---- */

struct computed_piece {
	nstime begin, end;
	struct tracks computed; /* tracks that go on there, in the order of all tracks */
};

/* OUTCOME_GAVE_UP: the piece reaches beyond the horizon. */
static enum outcome compute_piece(struct state *state, struct computed_piece *piece,
				  struct error *err)
{
	enum outcome outcome = by_need(state, piece->begin, piece->end, &piece->computed, err);
	struct named_tracks named;

	if (outcome != OUTCOME_GAVE_UP)
		return outcome;
	named_begin(&named, state, piece->begin, piece->end);
	for (size_t i = 0; i < piece->computed.count; i++)
		wanted_add(&named.wanted, piece->computed.items[i].attr);
	outcome = by_shapes(&named.tracks, &piece->computed, err);
	named_end(&named);
	return outcome;
}

static bool is_more(const struct track *track, bool down)
{
	return down ? track->down : track->up;
}

/* Ends the search in one direction: whether the value goes on is unknown. */
static void end_unknown(struct tracks *computed, struct track *track, bool down)
{
	track->down = track->down && !down;
	track->up = track->up && down;
	if (!down)
		track_set_end(computed, track, NSTIME_MAX);
}

/*
 * Extends the track's span into the piece if the value is the same at the edge between them. It
 * goes on beyond the piece if it holds up to the other edge.
 */
static void join(struct tracks *computed, struct track *track, const struct track *part,
		 const struct computed_piece *piece, bool down)
{
	struct span *span = track_own_spans(track) + (down ? 0 : track->count - 1);
	const struct span *next = down ? track_last(part) : track_spans(part);
	bool same = value_equal(&next->value, &span->value);

	if (is_beyond(computed, &next->value)) {
		end_unknown(computed, track, down);
		return;
	}
	if (down) {
		span->begin = same ? next->begin : span->begin;
		track->down = same && next->begin == piece->begin;
	} else {
		nstime end = span_end(&piece->computed, part, next);
		if (same)
			track_set_end(computed, track, end);
		track->up = same && end == piece->end;
	}
}

/* Where the first piece begins: the edge nearest to the range at which some track may go on. */
static nstime edge_of(const struct tracks *computed, bool down)
{
	nstime edge = down ? NSTIME_MIN : NSTIME_MAX;

	for (size_t i = 0; i < computed->count; i++) {
		const struct track *track = &computed->items[i];
		nstime at = down ? track_spans(track)[0].begin : track_end(computed, track);

		if (is_more(track, down) && (down ? at > edge : at < edge))
			edge = at;
	}
	return edge;
}

struct trace_span { /* of the trace's events, within the horizon */
	nstime first, last;
	nstime low, high; /* limits of pieces */
};

static nstime below(const struct trace_span *trace, nstime at, nstime width)
{
	if (at <= trace->first)
		return trace->low;
	return time_span(trace->first, at) > (uint64_t)width ? at - width : trace->first;
}

static nstime above(const struct trace_span *trace, nstime at, nstime width)
{
	if (at > trace->last || trace->last == NSTIME_MAX)
		return trace->high;
	return time_span(at, trace->last) > (uint64_t)width ? at + width : trace->last + 1;
}

static void add_part(const struct tracks *tracks, struct computed_piece *piece,
		     const struct tracks *computed, const struct track *track)
{
	const struct track_more *more = track_more(computed, track);

	computed_add(&piece->computed, track->attr);
	for (size_t i = 0; more && i < more->nsources; i++)
		computed_add_source(tracks, &piece->computed, track->attr, more->sources[i].attr,
				    more->sources[i].variables);
}

static bool extend(const struct tracks *tracks, struct tracks *computed, bool down,
		   const struct trace_span *trace, nstime width, struct error *err)
{
	nstime at = edge_of(computed, down), end = down ? trace->low : trace->high;
	bool ok = true, more = true;

	while (ok && more && (down ? at > end : at < end)) {
		struct computed_piece piece = {.begin = down ? below(trace, at, width) : at,
					       .end = down ? at : above(trace, at, width),
					       .computed = {.state = tracks->state}};
		const struct track *part;

		for (size_t i = 0; i < computed->count; i++)
			if (is_more(&computed->items[i], down))
				add_part(tracks, &piece, computed, &computed->items[i]);
		more = piece.computed.count > 0;
		if (more) {
			enum outcome outcome = compute_piece(tracks->state, &piece, err);
			ok = outcome != OUTCOME_ERROR;
			more = outcome == OUTCOME_DONE;
		}
		part = piece.computed.items;
		for (size_t i = 0; i < computed->count && ok && more; i++)
			if (is_more(&computed->items[i], down))
				join(computed, &computed->items[i], part++, &piece, down);
		at = down ? piece.begin : piece.end;
		tracks_release(&piece.computed);
		width = width > NSTIME_MAX / WIDER ? NSTIME_MAX : width * WIDER;
	}
	for (size_t i = 0; i < computed->count && ok; i++)
		if (is_more(&computed->items[i], down))
			end_unknown(computed, &computed->items[i], down);
	return ok;
}

static bool find_span(const struct state *state, struct trace_span *out, struct error *err)
{
	struct event_source *events = state->event_source;
	const struct horizon *horizon = state->horizon;

	if (!events->ops->span(events, &out->first, &out->last, err))
		return false;
	out->low = horizon ? horizon->floor : NSTIME_MIN;
	out->high = horizon ? horizon->ceil : NSTIME_MAX;
	if (out->first < out->low)
		out->first = out->low;
	if (out->last >= out->high)
		out->last = out->high - 1;
	return true;
}

/* Finds the true ends of values that reach over the ends of the range. */
static bool find_ends(struct tracks *tracks, struct tracks *computed, struct error *err)
{
	struct trace_span trace;
	uint64_t width, part;

	if (!find_span(tracks->state, &trace, err))
		return false;
	width = time_span(tracks->range.begin, tracks->range.end);
	part = time_span(trace.first, trace.last) / PARTS;
	width = width < part ? part : width;
	width = width < INT64_MAX ? width : INT64_MAX;
	for (size_t i = 0; i < computed->count; i++) {
		views_follow(tracks, computed, &computed->items[i], true);
		views_follow(tracks, computed, &computed->items[i], false);
	}
	return extend(tracks, computed, true, &trace, (nstime)width, err) &&
	       extend(tracks, computed, false, &trace, (nstime)width, err);
}

/* ---- the range ---- */

static void move_all(struct tracks *tracks, struct tracks *computed)
{
	for (size_t i = 0; i < computed->count; i++)
		track_move_computed(tracks, computed, &computed->items[i]);
}

bool tracks_compute_on(struct tracks *tracks, struct error *err)
{
	struct tracks computed = {.state = tracks->state};
	bool ok;

	tracks_forget(tracks);
	ok = by_shapes(tracks, &computed, err) == OUTCOME_DONE;
	if (ok)
		move_all(tracks, &computed);
	tracks_release(&computed);
	return ok;
}

enum outcome tracks_compute(struct tracks *tracks, const struct listed *listed, size_t nlisted,
			    struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct tracks computed = {.state = tracks->state};

	tracks_forget(tracks);
	if (tracks->all_known) {
		computed_add_named(tracks, &computed);
		for (size_t i = 0; i < nlisted; i++)
			if (listed[i].source != ATTR_ABSENT)
				computed_add_source(tracks, &computed, listed[i].attr,
						    listed[i].source, 1);
		outcome = by_need(tracks->state, tracks->range.begin, tracks->range.end, &computed,
				  err);
	}
	if (outcome == OUTCOME_DONE && tracks->names.count)
		outcome = tracks_read(tracks, err);
	else if (outcome == OUTCOME_GAVE_UP)
		outcome = by_shapes(tracks, &computed, err);
	if (outcome == OUTCOME_DONE && !tracks->range.within && !find_ends(tracks, &computed, err))
		outcome = OUTCOME_ERROR;
	if (outcome == OUTCOME_DONE)
		move_all(tracks, &computed);
	tracks_release(&computed);
	return outcome;
}

enum outcome tracks_compute_near(struct tracks *tracks, const struct listed *listed, size_t nlisted,
				 uint64_t packets, struct error *err)
{
	const struct intervals_range *range = &tracks->range;
	struct state *state = tracks->state;
	const uint64_t visits = state->limits.visits;
	struct state_reach reach;
	enum outcome outcome;

	if (state->options.replay_only || state->force != FORCE_NONE)
		return OUTCOME_GAVE_UP;
	state->no_runs = true;
	state->limits.visits = reach_visits(state);
	outcome = tracks_compute(tracks, listed, nlisted, err);
	state->limits.visits = visits;
	if (outcome == OUTCOME_GAVE_UP) {
		if (reach_begin(state, range->begin, range->end, packets, &reach, err)) {
			outcome = tracks_compute(tracks, listed, nlisted, err);
			reach_end(state, &reach);
		} else {
			outcome = OUTCOME_ERROR;
		}
	}
	state->no_runs = false;
	return outcome;
}

bool tracks_compute_named(struct tracks *tracks, uint64_t packets, struct error *err)
{
	const struct wanted *wanted = tracks->wanted;
	struct value values[ENV_VARIABLES];
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct named_tracks named;

	if (!wanted->nattrs)
		return true;
	named_begin(&named, tracks->state, tracks->range.begin, tracks->range.end);
	named.tracks.range.within = tracks->range.within;
	for (size_t i = 0; i < wanted->nattrs; i++) {
		wanted_add(&named.wanted, wanted->attrs[i]);
		if (!program_view_of(tracks->state->program, wanted->attrs[i], values))
			attr_list_add(&named.tracks.names, wanted->attrs[i], tracks->range.begin);
	}
	if (tracks->range.window)
		outcome = tracks_compute_near(&named.tracks, NULL, 0, packets, err);
	if (outcome == OUTCOME_GAVE_UP)
		outcome = tracks_compute(&named.tracks, NULL, 0, err);
	for (size_t i = 0; i < named.tracks.count && outcome == OUTCOME_DONE; i++)
		track_move(tracks, &named.tracks, &named.tracks.items[i]);
	named_end(&named);
	return outcome == OUTCOME_DONE;
}

enum outcome tracks_compute_window(struct tracks *tracks, struct error *err)
{
	const struct intervals_range *range = &tracks->range;
	struct tracks computed = {.state = tracks->state};
	enum outcome outcome;

	computed_list(tracks, &computed);
	outcome = by_need(tracks->state, range->begin, range->end, &computed, err);
	if (outcome == OUTCOME_DONE && !range->within && !find_ends(tracks, &computed, err))
		outcome = OUTCOME_ERROR;
	if (outcome == OUTCOME_DONE)
		move_all(tracks, &computed);
	tracks_release(&computed);
	return outcome;
}
