/*
 * near.c - values over a range, from the events in and around it
 *
 *          seed                 a backward pass: the values just before the range
 *     ......|== range ==|...    then forward, only events that may write one of the attributes;
 *                               past the range only those that may write one whose value at the
 *                               range's end still holds, until all have ended
 *     begin <-                  then back from the seed, as long as the value was the same
 *
 * A line that reads state is decided by a backward pass from its own event (forward_scan.h).
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/backfill.h"
#include "state/answer/forward_scan.h"
#include "state/answer/planner.h"
#include "state/intervals/intervals.h"

enum { STEPS_DOWN = 64 };

struct near {
	struct forward_scan scan;
	struct forward_scan_reader reader;
	struct tracks *tracks;
	nstime *since;                         /* by track: time of its last write */
	const struct stretch_of_ends *stretch; /* only its tracks are searched; NULL: all are */
	uint64_t *only;                        /* bit per track of `stretch` */
	size_t stay;                           /* number of open tracks that are not searched */
	size_t looked_for; /* tracks searched when the event filter was last narrowed */
};

/* A track that begins within the range starts with the value after all events of that time. */
static bool begins_later(const struct near *near, const struct track *track)
{
	return track_from(near->tracks, track) > near->tracks->range.begin;
}

static bool is_concerned(void *arg, uint32_t attr)
{
	const struct near *near = arg;
	const struct track *track = tracks_find(near->tracks, attr);

	if (track && near->only && !bitset_has(near->only, (size_t)(track - near->tracks->items)))
		return false; /* some events that write it may be filtered out */
	return track && !track_is_settled(near->tracks, track) &&
	       !(begins_later(near, track) &&
		 near->scan.item.event.time <= track_from(near->tracks, track));
}

static enum step near_apply(void *arg, struct scan_write *writes, size_t count)
{
	struct near *near = arg;
	struct tracks *tracks = near->tracks;

	for (size_t i = 0; i < count; i++) {
		struct scan_write *write = &writes[i];
		struct track *track = tracks_find(tracks, write->attr);
		nstime *since = &near->since[track - tracks->items];
		nstime at = near->scan.item.event.time;

		if (write->was) {
			if (!track_takes_fill(tracks, track, &write->value, write->beyond))
				continue;
			if (!forward_scan_fill_begin(&near->scan, *since, &at))
				return STEP_ERROR;
			track_note_named(tracks, track, at);
		}
		if (write->gives)
			track_note_given(tracks, track, at, near->scan.item.stream);
		track_write(tracks, track, at, &write->value, write->beyond);
		*since = at;
	}
	return STEP_ITEM;
}

/* ---- event filter ---- */

static size_t left(const struct near *near)
{
	const struct overhang *over = &near->tracks->over;

	return over->open + over->unknown - near->stay;
}

/* Narrows the event filter to events that may write a track that is not settled. */
static void look_for(struct near *near)
{
	const struct tracks *tracks = near->tracks;
	const struct stretch_of_ends *stretch = near->stretch;
	size_t most = stretch ? stretch->count : tracks->count, count = 0;
	uint32_t *attrs = mem_new_array(most + 1, sizeof *attrs);

	for (size_t i = 0; i < most; i++) {
		const struct track *track = &tracks->items[stretch ? stretch->which[i] : i];

		if (!track_is_settled(tracks, track))
			attrs[count++] = track->attr;
	}
	forward_scan_look_for(&near->scan, attrs, count);
	near->looked_for = left(near);
	mem_free(attrs);
}

/* ---- forward ---- */

/* May a later `was` fill what is unknown at the range's end? */
static bool awaits_fills(const struct near *near)
{
	const struct overhang *over = &near->tracks->over;

	return over->fillable && forward_scan_may_fill(&near->scan, over->fills);
}

/* Called before the first item of a later time. True: the answer is complete. */
static bool near_is_over(void *arg, nstime next)
{
	struct near *near = arg;
	struct tracks *tracks = near->tracks;

	if (!tracks->over.past && next >= tracks->range.end)
		tracks_pass_end(tracks);
	tracks_settle(tracks);
	tracks_spool(tracks);
	if (tracks->over.past && left(near) <= near->looked_for / 2)
		look_for(near);
	return tracks->over.past && tracks->over.open <= near->stay && !awaits_fills(near);
}

/* Reads past the range, from `from` on, until all values that held at its end have ended. */
static enum outcome read_rest(struct near *near, nstime from)
{
	const struct horizon *horizon = near->scan.state->horizon;
	struct order to = horizon_end(horizon);
	enum outcome outcome = OUTCOME_DONE;

	look_for(near);
	if (order_compare(&to, &(struct order){.time = from}) > 0)
		outcome = forward_scan_run(&near->scan, order_before(from), to);
	if (outcome == OUTCOME_DONE && horizon && horizon->ceil < NSTIME_MAX)
		tracks_end_beyond(near->tracks, forward_scan_may_fill(&near->scan,
								      near->tracks->over.fills));
	return outcome;
}

/* Reads the range and, if values hold at its end, until they have ended. */
static enum outcome read_range(struct near *near)
{
	const struct intervals_range *range = &near->tracks->range;
	bool to_end = range->end == NSTIME_MAX;
	enum outcome outcome =
		forward_scan_run(&near->scan, order_before(range->begin),
				 to_end ? order_after(NSTIME_MAX) : order_before(range->end));

	if (outcome != OUTCOME_DONE || to_end || near_is_over(near, range->end))
		return outcome;
	return read_rest(near, range->end);
}

/* ---- seeds, and true beginnings ---- */

/* Lists have the attribute since the fact was written, or since earlier. */
static void name_by(struct tracks *tracks, struct track *track, const struct fact *fact)
{
	if (fact->named && fact->since < track_named(tracks, track))
		track_set_named(tracks, track, fact->since);
}

static enum outcome seed(struct near *near)
{
	struct tracks *tracks = near->tracks;
	struct state_place *places = mem_new_array(tracks->count + 1, sizeof *places);
	struct fact *facts = mem_new_array(tracks->count + 1, sizeof *facts);
	enum outcome outcome;

	for (size_t i = 0; i < tracks->count; i++) {
		const struct track *track = &tracks->items[i];
		nstime from = track_from(tracks, track);
		bool before = from > NSTIME_MIN && !begins_later(near, track);

		places[i] = (struct state_place){{from, before}, track->attr};
	}
	outcome = ask_places(near->scan.state, near->scan.closure, places, tracks->count, true,
			     facts, near->scan.err);
	for (size_t i = 0; i < tracks->count && outcome == OUTCOME_DONE; i++) {
		struct track *track = &tracks->items[i];
		struct value value = facts[i].value;

		if (value.kind == VALUE_UNKNOWN)
			value = facts[i].beyond ? value_open()
						: (struct value){.kind = VALUE_UNKNOWN};
		track_push(track, facts[i].since, &value);
		near->since[i] = facts[i].since;
		name_by(tracks, track, &facts[i]);
	}
	mem_free(places);
	mem_free(facts);
	return outcome;
}

/* Does its first span have a value, overlap the range, and perhaps begin earlier? */
static bool reaches_down(const struct tracks *tracks, const struct track *track)
{
	const struct span *first = track_spans(track);

	return value_exists(&first->value) && first->begin > NSTIME_MIN &&
	       first->begin < tracks->range.end &&
	       span_end(tracks, track, first) > tracks->range.begin;
}

/*
 * Extends the tracks whose value was the same before. Moves those that may begin even earlier to
 * the front of `which`, and sets *left to their number.
 */
static void step_down(struct tracks *tracks, const struct fact *facts, uint32_t *which,
		      size_t *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < *left; i++) {
		struct track *track = &tracks->items[which[i]];
		struct span *first = track_own_spans(track);

		if (facts[i].beyond || !value_equal(&facts[i].value, &first->value))
			continue;
		first->begin = facts[i].since;
		name_by(tracks, track, &facts[i]);
		if (first->begin > NSTIME_MIN)
			which[kept++] = which[i];
	}
	*left = kept;
}

enum outcome tracks_find_beginnings(struct tracks *tracks, const struct closure *closure,
				    struct error *err)
{
	struct state *state = tracks->state;
	const struct horizon *horizon = state->horizon;
	uint32_t *which = mem_new_array(tracks->count + 1, sizeof *which);
	struct state_place *places = mem_new_array(tracks->count + 1, sizeof *places);
	struct fact *facts = mem_new_array(tracks->count + 1, sizeof *facts);
	/* without a horizon each step may begin at a checkpoint of its own */
	struct answering *series = horizon ? ask_series(state, closure, horizon->floor) : NULL;
	enum outcome outcome = OUTCOME_DONE;
	size_t left = 0;

	for (size_t i = 0; i < tracks->count; i++)
		if (reaches_down(tracks, &tracks->items[i]))
			which[left++] = (uint32_t)i;
	for (int step = 0; left && outcome == OUTCOME_DONE; step++) {
		if (step == STEPS_DOWN) { /* for a window, the search ends here */
			outcome = horizon ? OUTCOME_DONE : OUTCOME_GAVE_UP;
			break;
		}
		for (size_t i = 0; i < left; i++) {
			const struct track *track = &tracks->items[which[i]];
			places[i] = (struct state_place){{track_spans(track)[0].begin, true},
							 track->attr};
		}
		outcome = series ? ask_next(series, places, left, facts, err)
				 : ask_places(state, closure, places, left, true, facts, err);
		if (outcome == OUTCOME_DONE)
			step_down(tracks, facts, which, &left);
	}
	if (series)
		ask_series_free(series);
	mem_free(which);
	mem_free(places);
	mem_free(facts);
	return outcome;
}

/* ---- which tracks ---- */

/* Adds a track for each name. False: some attributes are not known before reading. */
static bool add_tracks(struct tracks *tracks)
{
	const struct attr_list *names = &tracks->names;
	struct value initial;

	for (size_t i = 0; i < names->count; i++) {
		struct track *track = tracks_add(tracks, names->items[i].attr);

		track_set_named(tracks, track, NSTIME_MIN);
		if (!wanted_by_name(tracks->wanted, track->attr) &&
		    program_initial(tracks->state->program, track->attr, &initial))
			return false; /* since when lists have it is not searched */
		if (names->items[i].from > track_from(tracks, track))
			track_set_from(tracks, track, names->items[i].from);
	}
	return tracks->all_known;
}

/* Nothing before `begin` is read forward, only by backward passes. */
static void near_init(struct near *near, struct tracks *tracks, const struct closure *closure,
		      nstime begin, struct error *err)
{
	*near = (struct near){.tracks = tracks};
	near->reader = (struct forward_scan_reader){
		.concerns = is_concerned, .item = near_apply, .over = near_is_over, .arg = near};
	forward_scan_begin(&near->scan, tracks->state, closure, begin, &near->reader);
	near->scan.edge = tracks->range.end;
	near->scan.err = err;
	forward_scan_begins(&near->scan);
	near->since = mem_new_array(tracks->count + 1, sizeof *near->since);
}

static void near_release(struct near *near)
{
	forward_scan_end(&near->scan);
	mem_free(near->since);
	mem_free(near->only);
}

static enum outcome run_near(struct near *near)
{
	enum outcome outcome;

	look_for(near);
	outcome = seed(near);
	if (outcome == OUTCOME_DONE)
		outcome = read_range(near);
	if (outcome == OUTCOME_DONE && !near->tracks->range.within)
		outcome = tracks_find_beginnings(near->tracks, near->scan.closure, near->scan.err);
	return outcome;
}

/* Would a run read no more than this? */
static bool is_for_run(const struct tracks *tracks, nstime first)
{
	const struct intervals_range *range = &tracks->range;

	if (tracks->state->horizon)
		return false;
	return (range->begin == NSTIME_MIN && range->end > first) ||
	       (tracks->wanted->lists && tracks_are_whole(tracks)); /* of what counts alone */
}

enum outcome tracks_near(struct tracks *tracks, struct error *err)
{
	struct event_source *event_source = tracks->state->event_source;
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct choice choice;
	nstime first, last;
	struct near near;

	if (!event_source->ops->span(event_source, &first, &last, err))
		return OUTCOME_ERROR;
	if (is_for_run(tracks, first))
		return OUTCOME_GAVE_UP;
	if (!choose_at(tracks->state, tracks->wanted, &choice, err))
		return OUTCOME_ERROR;
	if (choice.backward && add_tracks(tracks)) {
		near_init(&near, tracks, choice.closure, tracks->range.begin, err);
		outcome = run_near(&near);
		near_release(&near);
	}
	if (outcome == OUTCOME_DONE)
		tracks->state->evaluation = "backward";
	choice_release(&choice);
	return outcome;
}

/* ---- what a run leaves open ---- */

struct closure *tracks_rest(const struct tracks *tracks)
{
	struct state *state = tracks->state;
	uint32_t *shapes = mem_new_array(tracks->count + 1, sizeof *shapes);
	struct closure *closure;
	struct event_filter *event_filter;
	size_t count = 0;
	bool keyed, of_cpus;

	for (size_t i = 0; i < tracks->count; i++)
		if (!track_is_settled(tracks, &tracks->items[i]))
			shapes[count++] = attr_shape(state->attrs, tracks->items[i].attr);
	closure = closure_new(state->catalog, shapes, count);
	of_cpus = closure->by_cpu;
	event_filter = event_filter_new(closure, state->event_source, NULL, NULL, 0);
	event_filter_clear(event_filter);
	for (size_t i = 0; i < tracks->count; i++) {
		uint32_t attr = tracks->items[i].attr;

		if (track_is_settled(tracks, &tracks->items[i]))
			continue;
		event_filter_add(event_filter, attr);
		of_cpus = of_cpus && closure_cpu(closure, state->attrs, attr) >= 0;
	}
	keyed = of_cpus || event_filter_is_keyed(event_filter);
	event_filter_free(event_filter);
	mem_free(shapes);
	if (keyed && looks_back(closure))
		return closure;
	closure_free(closure);
	return NULL;
}

/* Starts from the state at a moment, given as cells. */
static void near_from(struct near *near, const struct cells *cells)
{
	struct tracks *tracks = near->tracks;

	for (size_t i = 0; i < tracks->count; i++) {
		struct cell cell;
		cells_get(cells, tracks->items[i].attr, &cell);
		near->since[i] = cell.since;
	}
	for (uint32_t i = 0; i < tracks->state->event_source->trace->nstreams; i++)
		near->scan.until[i] = cells_until(cells, i);
}

/* Searches the ends of all open tracks from rest->from to the trace's end. */
static enum outcome read_all_rest(struct tracks *tracks, const struct rest *rest,
				  struct error *err)
{
	enum outcome outcome;
	struct near near;

	near_init(&near, tracks, rest->closure, tracks->range.begin, err);
	near_from(&near, rest->cells);
	outcome = read_rest(&near, rest->from);
	near_release(&near);
	return outcome;
}

/* Reads one stretch, in which these tracks end. `rest` has the state at its begin. */
static enum outcome read_stretch(struct tracks *tracks, const struct rest *rest,
				 const struct stretch_of_ends *stretch, struct error *err)
{
	bool last = stretch->to == NSTIME_MAX;
	struct order to = last ? order_after(NSTIME_MAX) : order_before(stretch->to);
	enum outcome outcome;
	struct near near;

	near_init(&near, tracks, rest->closure, stretch->from, err);
	near_from(&near, rest->cells);
	near.stretch = stretch;
	near.only = bitset_new(tracks->count);
	for (size_t i = 0; i < stretch->count; i++)
		bitset_add(near.only, stretch->which[i]);
	near.stay = tracks->over.open - stretch->count;
	look_for(&near);
	outcome = forward_scan_run(&near.scan, order_before(stretch->from), to);
	tracks_settle(tracks);
	if (outcome == OUTCOME_DONE && !last && tracks->over.open > near.stay)
		outcome = OUTCOME_GAVE_UP;
	near_release(&near);
	return outcome;
}

/* Loads the checkpoint at t. */
static bool rest_at(struct tracks *tracks, struct cells *cells, nstime t, struct rest *rest)
{
	nstime found;

	rest->from = t;
	rest->cells = cells;
	return checkpoints_get(tracks->state->checkpoints, t, cells, &found) && found == t;
}

/*
 * Reads stretch after stretch. An unknown value may be filled by any later event, so once a track
 * is unknown, all events from there on are read.
 */
static enum outcome read_stretches(struct tracks *tracks, const struct rest *rest,
				   const struct ends *ends, struct error *err)
{
	struct state *state = tracks->state;
	struct cells *cells =
		cells_new(state->program, state->event_source->trace->nstreams, false);
	struct rest at = *rest;
	enum outcome outcome = OUTCOME_DONE;

	for (size_t i = 0; i < ends->count && outcome == OUTCOME_DONE; i++) {
		const struct stretch_of_ends *stretch = &ends->items[i];

		if (at.from != stretch->from && !rest_at(tracks, cells, stretch->from, &at))
			outcome = OUTCOME_GAVE_UP;
		else
			outcome = read_stretch(tracks, &at, stretch, err);
		if (outcome != OUTCOME_DONE || !tracks->over.unknown || stretch->to == NSTIME_MAX)
			continue;
		outcome = rest_at(tracks, cells, stretch->to, &at) ? read_all_rest(tracks, &at, err)
								   : OUTCOME_GAVE_UP;
		break;
	}
	cells_free(cells);
	return outcome;
}

enum outcome tracks_read_rest(struct tracks *tracks, const struct rest *rest, struct error *err)
{
	enum outcome outcome;
	struct ends ends;

	if (tracks->over.unknown) {
		outcome = read_all_rest(tracks, rest, err);
	} else {
		ends_find(tracks, rest->from, &ends);
		outcome = read_stretches(tracks, rest, &ends, err);
		ends_release(&ends);
	}
	tracks->state->handed += outcome == OUTCOME_DONE;
	return outcome;
}
