/*
 * window.c - lists over a window: the attributes to which its events give a value
 *
 *     floor ...|.........[==== window ====].........|... ceil
 *                begin <-  who is written?  -> end
 *
 * A replay of the window begins without the state at its begin. What a line reads of that, and what
 * an attribute that is written was before, is noted; one backward pass for all notes tells it, and
 * the replay is run again with that, until nothing is missing. It then goes on past the window's
 * end until all that reaches over it has ended. Nothing is read beyond the horizon.
 *
 * A line that rests on what lies beyond is open: what it may have written is not known from there
 * on, until it is surely written again. Where its target is open that is every attribute of a shape.
 */
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/planner.h"
#include "state/intervals/intervals.h"
#include "state/replay/replay.h"

enum { ROUNDS = 32 /* of asking for what was read */ };
/* Limits of a backward pass, whose reading the horizon bounds already. */
enum { PASS_ROUNDS = 64 };
#define PASS_BYTES ((size_t)1 << 30)

struct window_reader {
	struct tracks *tracks;
	struct closure *closure; /* of what may be listed */
	struct program *program; /* what writes what is listed, and what that reads */
	uint64_t *heard;         /* the former, by statement */
	struct replay *replay;   /* of the round */
	struct number_map asked; /* attribute → 1 + its place: what it was at the begin matters */
	struct ask_place *places;
	struct fact *facts; /* of the first `nfacts` places */
	size_t nplaces, places_capacity, nfacts;
	/* of the round: */
	bool missed; /* a line read what was not asked for yet */
	bool again;  /* another one is needed */
};

/* ---- what the replay does not know of the window's begin ---- */

static void note(struct window_reader *reader, uint32_t attr)
{
	nstime begin = reader->tracks->range.begin;

	if (number_map_get(&reader->asked, attr))
		return;
	*mem_push(reader->places, reader->nplaces, reader->places_capacity) =
		(struct ask_place){{begin, begin > NSTIME_MIN}, attr};
	number_map_set(&reader->asked, attr, (uint32_t)reader->nplaces);
}

static void miss(void *arg, uint32_t attr)
{
	struct window_reader *reader = arg;

	note(reader, attr);
	reader->missed = true;
}

static bool get_section(void *arg, uint32_t stream, uint32_t section, struct value *out,
			bool *written)
{
	struct window_reader *reader = arg;
	uint32_t attr = catalog_section(reader->tracks->state->catalog, stream, section);
	uint32_t place = number_map_get(&reader->asked, attr);
	const struct fact *fact = NULL;

	if (place && place <= reader->nfacts)
		fact = &reader->facts[place - 1];
	else
		miss(reader, attr);
	if (!fact || fact->beyond)
		return false;
	*out = fact->value;
	*written = fact->written;
	return true;
}

/* ---- tracks ---- */

static void name(struct window_reader *reader, uint32_t attr)
{
	struct tracks *tracks = reader->tracks;
	uint32_t shape = attr_shape(tracks->state->attrs, attr);

	if (!wanted_lists(tracks->state, tracks->wanted, attr) &&
	    !wanted_is_source(tracks->state, tracks->wanted, shape))
		return;
	attr_list_add(&tracks->names, attr, tracks->range.begin);
	note(reader, attr);
}

static void see_change(void *arg, const struct change *change)
{
	struct window_reader *reader = arg;
	struct tracks *tracks = reader->tracks;
	const struct cell *after = change->after;
	struct track *track = tracks_find(tracks, change->attr);
	bool open = value_is_open(&after->value);
	bool gives = !change->fill && tracks_gives(tracks, &after->writer);

	if (open && reader->missed) { /* the next round may know */
		reader->again = reader->again || (tracks->over.past && track &&
						  !track_is_settled(tracks, track));
	} else if (!track) {
		if (gives && change->item->stream && !tracks->over.past)
			name(reader, change->attr);
	} else if (!track_is_settled(tracks, track)) {
		if (gives)
			track_note_given(tracks, track, change->time, change->item->stream);
		else if (change->fill && !open)
			track_note_named(tracks, track, after->since);
		track_write(tracks, track, after->since, &after->value, open);
	}
}

/* May a `was` that is still to come say what is unknown at the window's end? */
static bool may_fill(const struct window_reader *reader)
{
	const struct tracks *tracks = reader->tracks;
	const struct cells *cells = replay_cells(reader->replay);
	bool may = reader->closure->end;

	for (uint32_t i = 0; i < tracks->state->event_source->trace->nstreams && !may; i++)
		may = cells_until(cells, i) < tracks->over.fills;
	return may;
}

/* At the window's end: is another round needed? */
static bool misses_some(const struct window_reader *reader)
{
	const struct tracks *tracks = reader->tracks;

	return reader->missed || tracks->count < tracks->names.count;
}

/* The round is at `next`; true: nothing more can matter. */
static bool is_over(struct window_reader *reader, nstime next)
{
	struct tracks *tracks = reader->tracks;

	if (!tracks->over.past && next >= tracks->range.end) {
		reader->again = misses_some(reader);
		tracks_pass_end(tracks);
	}
	tracks_settle(tracks);
	return reader->again ||
	       (tracks->over.past && !tracks->over.open &&
		!(tracks->over.fillable && may_fill(reader)));
}

static bool see_moment(void *arg, nstime next)
{
	return !is_over(arg, next);
}

/* A cell that is deleted says more than none: it was asked for. */
static bool keeps_all(void *arg, uint32_t attr)
{
	(void)arg;
	(void)attr;
	return true;
}

/* ---- rounds ---- */

/* Before all, also what @start writes, nothing was written. */
static void put_initial(struct window_reader *reader, size_t first)
{
	for (size_t i = first; i < reader->nplaces; i++) {
		struct fact *fact = &reader->facts[i];

		*fact = (struct fact){.since = NSTIME_MIN};
		if (!program_initial(reader->program, reader->places[i].attr, &fact->value))
			fact->value.kind = VALUE_UNKNOWN;
	}
	reader->nfacts = reader->nplaces;
}

/* What was noted and not asked for yet. */
static enum outcome ask(struct window_reader *reader, struct error *err)
{
	struct state *state = reader->tracks->state;
	size_t first = reader->nfacts, count = reader->nplaces - first;
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct closure *closure;
	uint32_t *shapes;

	if (!count)
		return OUTCOME_DONE;
	reader->facts = mem_resize(reader->facts, reader->nplaces, sizeof *reader->facts);
	if (reader->tracks->range.begin == NSTIME_MIN) {
		put_initial(reader, first);
		return OUTCOME_DONE;
	}
	shapes = mem_new_array(count + 1, sizeof *shapes);
	for (size_t i = 0; i < count; i++)
		shapes[i] = attr_shape(state->attrs, reader->places[first + i].attr);
	closure = closure_new(state->catalog, shapes, count);
	mem_free(shapes);
	if (looks_back(closure))
		outcome = ask_reads(state, closure, reader->places + first, count,
				     reader->facts + first, err);
	closure_free(closure);
	reader->nfacts = reader->nplaces;
	return outcome;
}

/* What the attribute was at the window's begin. */
static void put_fact(struct window_reader *reader, uint32_t attr, const struct fact *fact)
{
	struct cell cell = {.value = fact->value,
			    .since = fact->since,
			    .named = fact->named,
			    .written = true,
			    .run = fact->since,
			    .last_run = fact->since,
			    .named_at = fact->named ? fact->since : NSTIME_MAX};
	uint32_t stream, section;

	if (catalog_section_of(reader->tracks->state->catalog, attr, &stream, &section))
		return;
	if (cell.value.kind == VALUE_UNKNOWN)
		cell.value = fact->beyond ? value_open() : (struct value){.kind = VALUE_UNKNOWN};
	cells_set(replay_cells(reader->replay), attr, &cell);
}

/* A track of what it was there. */
static void add_track(struct window_reader *reader, const struct attr_from *item)
{
	struct tracks *tracks = reader->tracks;
	const struct fact *fact =
		&reader->facts[number_map_get(&reader->asked, item->attr) - 1];
	struct track *track = tracks_add(tracks, item->attr);
	struct value value;

	track->given = item->listed;
	track_set_named(tracks, track, NSTIME_MIN);
	/* when an initial value came to be listed is not looked for */
	if (program_initial(reader->program, item->attr, &value))
		track_set_named(tracks, track, fact->named ? fact->since : NSTIME_MAX);
	cells_value(replay_cells(reader->replay), item->attr, &value);
	track_push(tracks->state, track, fact->since, &value);
}

static void begin_round(struct window_reader *reader)
{
	struct tracks *tracks = reader->tracks;
	const struct replay_options options = {.event_source = tracks->state->event_source,
					       .program = reader->program,
					       .missing = miss,
					       .missing_section = get_section,
					       .change = see_change,
					       .heard = reader->heard,
					       .moment = see_moment,
					       .keeps = keeps_all,
					       .arg = reader};

	tracks_forget(tracks);
	reader->missed = reader->again = false;
	reader->replay = replay_new(&options);
	for (size_t i = 0; i < reader->nfacts; i++)
		put_fact(reader, reader->places[i].attr, &reader->facts[i]);
	for (size_t i = 0; i < tracks->names.count && reader->nfacts; i++)
		add_track(reader, &tracks->names.items[i]);
}

/* What reached over the window's end, or was unknown there, goes on at the horizon's end. */
static void end_reading(struct window_reader *reader)
{
	struct tracks *tracks = reader->tracks;
	const struct horizon *horizon = tracks->state->horizon;

	if (tracks->range.end < NSTIME_MAX)
		is_over(reader, tracks->range.end);
	else
		reader->again = misses_some(reader);
	if (!reader->again && horizon->ceil < NSTIME_MAX)
		tracks_end_beyond(tracks, may_fill(reader));
}

static enum outcome read_round(struct window_reader *reader, struct error *err)
{
	struct order from = order_before(reader->tracks->range.begin);
	struct order to = horizon_end(reader->tracks->state->horizon);
	enum outcome outcome = OUTCOME_ERROR;

	begin_round(reader);
	if (replay_run(reader->replay, &from, &to, err)) {
		end_reading(reader);
		outcome = reader->again ? ask(reader, err) : OUTCOME_DONE;
	}
	replay_free(reader->replay);
	return outcome;
}

/* ---- the window ---- */

/* False: it cannot be read backward. */
static bool reader_init(struct window_reader *reader, struct tracks *tracks)
{
	bool has_was; /* is not asked here */

	*reader = (struct window_reader){.tracks = tracks, .closure = tracks_closure(tracks)};
	reader->heard = tracks_heard(tracks, &has_was);
	if (looks_back(reader->closure))
		reader->program = closure_program(reader->closure);
	return reader->program != NULL;
}

static void reader_release(struct window_reader *reader)
{
	program_subset_free(reader->program);
	mem_free(reader->heard);
	closure_free(reader->closure);
	mem_free(reader->asked.items);
	mem_free(reader->places);
	mem_free(reader->facts);
}

bool tracks_name_known(struct tracks *tracks, struct error *err)
{
	struct attr_list *names = &tracks->names;
	uint32_t *attrs;
	size_t count;

	if (!wanted_enumerate_some(tracks->state, tracks->wanted, &attrs, &count, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		attr_list_add(names, attrs[i], tracks->range.begin);
		names->items[number_map_get(&names->places, attrs[i]) - 1].listed = true;
	}
	mem_free(attrs);
	return true;
}

static enum outcome read_window(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct window_reader reader;

	if (reader_init(&reader, tracks))
		outcome = tracks_name_known(tracks, err) ? OUTCOME_DONE : OUTCOME_ERROR;
	for (size_t i = 0; i < tracks->names.count; i++)
		note(&reader, tracks->names.items[i].attr);
	reader.again = true;
	for (int round = 0; outcome == OUTCOME_DONE && reader.again; round++)
		outcome = round < ROUNDS ? read_round(&reader, err) : OUTCOME_GAVE_UP;
	if (outcome == OUTCOME_DONE && !tracks->range.within)
		outcome = tracks_find_beginnings(tracks, reader.closure, err);
	if (outcome == OUTCOME_DONE)
		outcome = tracks_compute_window(tracks, err);
	reader_release(&reader);
	return outcome;
}

enum outcome tracks_window(struct tracks *tracks, uint64_t packets, struct error *err)
{
	struct state *state = tracks->state;
	const struct backward_limits limits = state->limits;
	enum outcome outcome = OUTCOME_ERROR;
	struct horizon horizon;

	if (state->options.replay_only || state->force != FORCE_NONE)
		return OUTCOME_GAVE_UP;
	if (horizon_find(state->event_source, tracks->range.begin, tracks->range.end, packets,
			 &horizon, err)) {
		state->horizon = &horizon;
		state->event_source->fills_from = &horizon.floor;
		state->limits.visits = state->limits.questions = UINT32_MAX;
		state->limits.rounds = PASS_ROUNDS;
		state->limits.pendings = UINT32_MAX;
		state->limits.bytes = PASS_BYTES;
		outcome = read_window(tracks, err);
		if (outcome == OUTCOME_DONE)
			state->evaluation = "backward";
		state->limits = limits;
		state->horizon = NULL;
		state->event_source->fills_from = NULL;
	}
	horizon_release(&horizon);
	return outcome;
}
