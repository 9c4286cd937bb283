/*
 * interval_run.c - fills tracks by a forward run
 *
 * Changes cut tracks. A fill cuts an unknown span before the event that fills it. The run goes on
 * past the range's end until every value that held there has ended. From some point on, an event
 * filter can select the few events that may end them, and near.c reads these:
 *
 *     ....|== range ==|..........|                      the run
 *                                |. . . .    . .    .   only events that may write what is open
 *                     told: fills ^
 *
 * What is unknown at the range's end may be filled by any later event. An earlier run that saw all
 * of them has stored the fills, with its checkpoints.
 */
#include "engine/base/bitset.h"
#include "engine/base/helper.h"
#include "engine/base/mem.h"
#include "state/context/handover.h"
#include "state/context/run.h"
#include "state/intervals/intervals.h"
#include "state/replay/cells_internal.h"

enum { TRY_AGAIN = 1 << 17 /* events */ };

struct range_run {
	struct tracks *tracks;
	struct replay *replay;
	/* evaluates only the statements that the question depends on, and keeps brief cells: */
	bool brief;
	/* values that lines give: heard of only while they matter; other cells have what was before
	 */
	bool hears;
	uint64_t *gives, *heard; /* statements that give wanted values; those heard of now */
	size_t words;            /* of both */
	/* operands outside of the range */
	bool follows;     /* their changes may still matter */
	size_t cuts, due; /* their changes so far; number at which to prune */
	/* past the range */
	bool goes_on;       /* runs to the trace's end, to leave checkpoints for later ranges */
	bool done;          /* the answer is complete: stop, unless goes_on */
	bool has_was;       /* some line is a `was` of a wanted attribute */
	nstime told;        /* fills by events from this time on are stored; NSTIME_MAX: none are */
	bool is_told;       /* the stored fills were applied: what is unknown stays unknown */
	struct rest rest;   /* for near.c, once it takes over */
	size_t tried;       /* open and unknown tracks at the last attempt to hand over, */
	uint64_t try_again; /* and number of events at which to try again */
};

static bool interval_run_is_listed(const struct tracks *tracks, uint32_t attr)
{
	uint32_t place = number_map_get(&tracks->names.places, attr);

	return place && tracks->names.items[place - 1].listed;
}

static struct track *track_new(struct range_run *run, uint32_t attr, const struct cell *cell)
{
	/* deletes before `last_run` are not known */
	struct track *track = tracks_add_from(run->tracks, attr, cell->last_run);

	track->operand = is_operand(run->tracks, attr);
	track->given = interval_run_is_listed(run->tracks, attr);
	if (cell->named)
		track_set_named(run->tracks, track, cell->named_at);
	if (cell->written && cell->run == cell->since && cell->since > NSTIME_MIN)
		track_push(track, cell->last_run, &cell->last);
	track_push(track, cell->run, &cell->value);
	return track;
}

static void see_value(struct range_run *run, struct track *track, nstime since,
		      const struct value *value, nstime named)
{
	struct tracks *tracks = run->tracks;

	if (tracks->over.past && !track->open && !track->unknown &&
	    !(track->operand && run->follows))
		return;
	track_cut(track, since, value, track->operand ? tracks->low : tracks->range.begin);
	run->cuts += track->operand;
	tracks_changed(tracks, track);
	track_note_named(tracks, track, named);
	if (tracks->over.past)
		tracks_touch(tracks, track);
}

/* Does it matter no more what is written to an attribute without a track? */
static bool is_late(const struct range_run *run, uint32_t attr)
{
	return run->tracks->over.past && (!run->follows || !is_operand(run->tracks, attr));
}

static void see_change(struct range_run *run, const struct change *change)
{
	const struct cell *after = change->after;
	struct tracks *tracks = run->tracks;
	struct track *track = tracks_find(tracks, change->attr);

	if (!track) {
		bool fills = tracks->over.past && change->fill && !run->is_told;

		if ((!fills && is_late(run, change->attr)) || !tracks_want(tracks, change->attr))
			return;
		track = track_new(run, change->attr, change->before);
		track_set_unknown(tracks, track, fills);
	}
	if (!change->fill && tracks_gives(tracks, &after->writer))
		track_note_given(tracks, track, change->time, replay_at_event(run->replay));
	see_value(run, track, after->since, &after->value,
		  after->named ? after->named_at : NSTIME_MAX);
}

/* Turns on or off that change() hears of values from lines; it hears of all fills and deletes. */
static void hear(struct range_run *run, bool on)
{
	if (on && !run->hears)
		memcpy(run->heard, run->gives, run->words * sizeof *run->heard);
	else if (!on && run->hears)
		memset(run->heard, 0, run->words * sizeof *run->heard);
	run->hears = on;
}

static void on_change(void *arg, const struct change *change)
{
	struct range_run *run = arg;

	run_changes(run->tracks->state, change);
	if (run->done || (!run->hears && !(run->tracks->over.past && change->fill)))
		return;
	hear(run, true); /* hear also of the event's later lines */
	see_change(run, change);
}

/* put(). Each cell was made in this run, and a wanted attribute has a track since then. */
static void on_write(void *arg, uint32_t attr, const struct value *value, nstime time)
{
	struct range_run *run = arg;
	struct track *track = tracks_find(run->tracks, attr);

	if (!track)
		return;
	track_note_given(run->tracks, track, time, replay_at_event(run->replay));
	see_value(run, track, time, value, time);
}

static void on_bury(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time)
{
	struct range_run *run = arg;

	(void)kind;
	(void)time;
	buried_add(&run->tracks->buried, pattern);
}

/* Adds the tombstones of the state with which the run begins. */
static void add_buried(struct range_run *run)
{
	const struct cells *cells = replay_cells(run->replay);
	const struct tombstone *tombstone = NULL;
	struct pattern exact;

	while ((tombstone = cells_next_tombstone(cells, tombstone)))
		buried_add(&run->tracks->buried, tombstone_pattern(tombstone, &exact));
}

/* keeps(). A deleted attribute that becomes unknown later may be filled. */
static bool is_followed(void *arg, uint32_t attr)
{
	return tracks_find(((const struct range_run *)arg)->tracks, attr) != NULL;
}

/* Adds a track with the attribute's present value. */
static void track_now(struct range_run *run, uint32_t attr)
{
	struct cell cell;

	cells_get(replay_cells(run->replay), attr, &cell);
	track_new(run, attr, &cell);
}

/* Adds tracks of all wanted attributes that did not change in the range. */
static void track_all(struct range_run *run)
{
	for (uint32_t a = ATTR_ROOT; cells_next(replay_cells(run->replay), &a);)
		if (!tracks_find(run->tracks, a) && tracks_want(run->tracks, a))
			track_now(run, a);
}

/* Adds tracks of `names`, each with a cell, so that change() hears of all their changes. */
static void track_names(struct range_run *run)
{
	const struct attr_list *names = &run->tracks->names;
	struct cells *cells = replay_cells(run->replay);
	struct cell cell;

	for (size_t i = 0; i < names->count; i++) {
		cells_get(cells, names->items[i].attr, &cell);
		cells_set(cells, names->items[i].attr, &cell);
		track_new(run, names->items[i].attr, &cell);
	}
}

/* absent(): adds a track before the attribute's first write. */
static void on_absent(void *arg, uint32_t attr)
{
	struct range_run *run = arg;

	if (is_late(run, attr) || !tracks_want(run->tracks, attr) || tracks_find(run->tracks, attr))
		return;
	track_now(run, attr);
}

/* ---- past the range ---- */

/* May a later `was` fill what is unknown at the range's end? */
static bool awaits_fills(const struct range_run *run)
{
	const struct tracks *tracks = run->tracks;

	if (!run->has_was || ((tracks->all_known || run->is_told) && tracks->over.unknown == 0))
		return false;
	return replay_may_fill(run->replay, tracks->over.fills - 1);
}

static void take_fill(void *arg, uint32_t attr, const struct cell *after)
{
	struct range_run *run = arg;
	struct cell before;

	cells_get(replay_cells(run->replay), attr, &before);
	see_change(run, &(const struct change){
				.attr = attr, .before = &before, .after = after, .fill = true});
}

/* At run->told: applies the fills by later events that an earlier run stored. */
static void take_told(struct range_run *run, nstime next)
{
	struct tracks *tracks = run->tracks;

	if (next < run->told)
		return;
	if (run_fills(tracks->state, run->told, take_fill, run)) {
		tracks_settle(tracks);
		for (size_t i = 0; i < tracks->count; i++)
			track_set_unknown(tracks, &tracks->items[i], false);
		run->is_told = true;
	}
	run->told = NSTIME_MAX;
}

/* Can near.c find the rest? Tried again when fewer tracks are open, or after TRY_AGAIN events. */
static bool hands_over(struct range_run *run, nstime next)
{
	const struct tracks *tracks = run->tracks;
	uint64_t events = replay_events(run->replay);
	size_t left = tracks->over.open + tracks->over.unknown;

	if (run->goes_on)
		return false;
	if (!tracks->all_known && !run->is_told && awaits_fills(run))
		return false; /* a fill may concern attributes without a track, too */
	if (left > run->tried / 2 && events < run->try_again)
		return false;
	run->tried = left;
	run->try_again = events + TRY_AGAIN;
	run->rest.closure = tracks_rest(tracks);
	run->rest.from = next;
	return run->rest.closure != NULL;
}

/* Is the answer complete, or handed over? */
static bool interval_run_is_over(struct range_run *run, nstime next)
{
	struct tracks *tracks = run->tracks;

	take_told(run, next);
	run->done = (!tracks->over.open && !awaits_fills(run)) || hands_over(run, next);
	if (run->done && next < tracks->high)
		tracks->high = next;
	return run->done && !run->goes_on;
}

/* Drops spans of operands, or ceases to follow them, when no view needs them any more. */
static void look_at_operands(struct range_run *run, nstime next)
{
	struct tracks *tracks = run->tracks;
	size_t more;

	if (tracks->over.past) {
		more = views_go_on(tracks, next);
		run->due = run->cuts * 2 + more;
		run->follows = more != 0;
		if (more)
			return;
		tracks->high = next;
	} else if (next <= tracks->range.begin) {
		run->due = run->cuts + views_prune(tracks, next);
	}
}

/* At the range's begin. */
static void hear_range(struct range_run *run)
{
	hear(run, true);
	track_names(run);
}

/* At the range's end. */
static void pass_end(struct range_run *run)
{
	struct tracks *tracks = run->tracks;

	track_all(run);
	tracks_pass_end(tracks);
	run->told = run_told(tracks->state, tracks->range.end - 1);
	run->cuts = run->due = 0;
}

/* At the trace's end, if it lies before the range's end. */
static void end_early(struct range_run *run)
{
	if (!run->hears)
		hear_range(run);
	track_all(run);
}

/* Without a change, moment() need not be called before these. */
static void rest(struct range_run *run)
{
	const struct tracks *tracks = run->tracks;
	nstime until = !run->hears ? tracks->range.begin : tracks->range.end;

	if (tracks->over.past)
		until = run->done ? NSTIME_MAX : run->goes_on ? run->told : NSTIME_MIN;
	replay_rests(run->replay, until, tracks->state->checkpoint_due);
}

/* Returns false when the run is over. */
static bool look_at_range(struct range_run *run, nstime next)
{
	struct tracks *tracks = run->tracks;

	if (!run->hears && !tracks->over.past && next >= tracks->range.begin)
		hear_range(run);
	if (!tracks->over.past && next >= tracks->range.end)
		pass_end(run);
	run_passes(tracks->state, run->replay, next);
	if (run->done || (!tracks->over.past && !run->hears))
		return true;
	tracks_settle(tracks);
	if (run->follows && run->cuts >= run->due)
		look_at_operands(run, next);
	tracks_spool(tracks);
	if (!tracks->over.past)
		return true;
	if (interval_run_is_over(run, next))
		return false;
	hear(run, !run->done && (run->follows || tracks->over.open || tracks->over.unknown));
	return true;
}

static bool on_moment(void *arg, nstime next)
{
	struct range_run *run = arg;

	if (!look_at_range(run, next))
		return false;
	rest(run);
	return true;
}

/* ---- the run ---- */

/* Sets up hearing and operands; `from` is where the replay begins. */
static void begin_tracks(struct range_run *run, const struct order *from)
{
	struct tracks *tracks = run->tracks;
	bool whole = from->time == NSTIME_MIN;

	run->follows = !tracks->range.within && tracks->nshapes;
	if (run->follows) {
		tracks->low = whole ? NSTIME_MIN : tracks->range.begin;
		tracks->high = NSTIME_MAX;
	}
	run->due = tracks->low < tracks->range.begin ? views_due(tracks->state, 0) : SIZE_MAX;
	if (run->follows || run->brief || tracks->state->force == FORCE_REPLAY)
		hear_range(run);
}

/* Should the run read the whole trace, for later ranges? Not if an earlier run has done so. */
static bool interval_run_goes_on(const struct tracks *tracks)
{
	struct state *state = tracks->state;

	return state->lists == LISTS_PASS && tracks->wanted->lists && !state->handover &&
	       !state->options.no_checkpoints && !state->options.replay_only &&
	       !run_went_on(state, tracks->range.end);
}

/*
 * The statements that the answer depends on: most events need not be decoded then, and the run
 * leaves no checkpoints. NULL: all statements.
 */
static struct program *subset_of(const struct tracks *tracks, bool whole)
{
	struct state *state = tracks->state;
	struct closure *closure = tracks_closure(tracks);
	struct program *subset =
		whole || state->handover
			? closure_program(closure)
			: run_subset(state, closure, tracks->range.begin, tracks->range.end);

	closure_free(closure);
	return subset;
}

/* A thread that reads ahead; NULL: there is only one processor. */
static struct helper *helper_of(const struct state *state)
{
	const struct index *index = state->event_source->index;

	return index && index_jobs(index) > 1 ? helper_new() : NULL;
}

/* `hands`: near.c may read what is open past the range; it may give up. */
static enum outcome run_over(struct tracks *tracks, bool hands, struct error *err)
{
	struct state *state = tracks->state;
	struct range_run run = {.tracks = tracks, .told = NSTIME_MAX};
	size_t statements = program_statements(state->program);
	struct replay_options options = {.event_source = state->event_source,
					 .program = state->program,
					 .change = on_change,
					 .moment = on_moment,
					 .keeps = is_followed,
					 .put = on_write,
					 .absent = on_absent,
					 .arg = &run};
	struct order from, to = order_after(NSTIME_MAX);
	bool whole = hands && tracks_are_whole(tracks) && !state->handover;
	enum outcome outcome;

	run.goes_on = !whole && interval_run_goes_on(tracks);
	struct program *subset = hands && !run.goes_on ? subset_of(tracks, whole) : NULL;

	run.brief = options.brief = subset && !state->handover;
	run.gives = tracks_heard(tracks, &run.has_was);
	run.heard = bitset_new(statements);
	run.words = statements / 64 + 1;
	options.heard = run.heard;
	if (subset)
		options.program = subset;
	if (tracks->nshapes && program_views_tell_none(state->program))
		options.bury = on_bury;
	run.tried = hands ? SIZE_MAX : 0;
	run.try_again = hands ? 0 : UINT64_MAX;
	if (run.goes_on || whole)
		options.helper = helper_of(state);
	tracks->spooling.stay = 1; /* spans before a known value are final */
	run.replay = run_begin(state, &options, tracks->range.begin, &from);
	begin_tracks(&run, &from);
	if (options.bury)
		add_buried(&run);
	outcome = replay_run(run.replay, &from, &to, err) ? OUTCOME_DONE : OUTCOME_ERROR;
	if (outcome == OUTCOME_DONE && !tracks->over.past)
		end_early(&run);
	if (outcome == OUTCOME_DONE && (!run.done || run.goes_on)) /* it reached the trace's end */
		run_seals(state, NSTIME_MAX);
	if (outcome == OUTCOME_DONE && state->handover)
		handover_leave(state->handover, state, options.program, replay_cells(run.replay),
			       tracks->range.end);
	run.rest.cells = replay_cells(run.replay);
	if (outcome == OUTCOME_DONE && run.rest.closure)
		outcome = tracks_read_rest(tracks, &run.rest, err);
	closure_free(run.rest.closure);
	run_end(state, run.replay);
	helper_free(options.helper);
	program_subset_free(subset);
	mem_free(run.heard);
	mem_free(run.gives);
	return outcome;
}

enum outcome tracks_run(struct tracks *tracks, struct error *err)
{
	const struct state *state = tracks->state;
	bool hands = state->force == FORCE_NONE && !state->options.replay_only;
	enum outcome outcome = run_over(tracks, hands, err);

	if (outcome == OUTCOME_GAVE_UP) {
		tracks_forget(tracks);
		outcome = run_over(tracks, false, err);
	}
	return outcome;
}
