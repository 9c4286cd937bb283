/*
 * window.c - lists over a window: the attributes to which its events give a value
 *
 *     floor ...|.........[==== window ====].........|... ceil
 *                begin <-  who is written?  -> end
 *
 * A replay of the window starts with an empty state. It notes each attribute of which it needs the
 * value at the window's begin: those that lines read, and those that are written. A backward pass
 * finds all noted values at once, and the replay runs again with them, in rounds, until none is
 * missing. If the pass would visit many events, a replay from the horizon's floor finds the values
 * instead; what it does not write lies beyond the horizon. The last round goes on past the window
 * until all values that held at its end have ended. Nothing beyond the horizon is read.
 *
 * A line that depends on a value beyond the horizon is open: what it may have written is unknown
 * until it is written for certain. If its target is open, that is every attribute of a shape.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/planner.h"
#include "state/context/reach.h"
#include "state/intervals/intervals.h"
#include "state/replay/cells_internal.h"
#include "state/replay/replay.h"

#include <string.h>

enum { ROUNDS = 32 /* most rounds */ };

struct window_reader {
	struct tracks *tracks;
	struct closure *closure; /* of attributes that may be in lists */
	struct program *program; /* statements that write these attributes, or what they read */
	uint64_t *heard;         /* bit per statement that writes these attributes */
	struct replay *replay;   /* of the round */
	struct replay *below;    /* from the floor to the begin; NULL: backward passes are used */
	bool stale;              /* `below` must run again, for attributes noted since */
	struct number_map asked; /* noted attribute → 1 + index into `places` */
	struct state_place *places;
	struct fact *facts; /* values of the first `nfacts` places */
	size_t nplaces, places_capacity, nfacts;
	/* of the round: */
	size_t nput;      /* number of places whose values it began with */
	uint64_t *opened; /* bit per shape of the closure: a line with an open target wrote it */
	bool missed;      /* a line read a value that is not known yet */
	bool again;       /* another round is needed */
	struct rest rest; /* unknown values at the window's end, whose fills near.c finds */
};

/* ---- values at the window's begin ---- */

/* Was it deleted or made unknown, and has no cell of its own? */
static bool is_buried(const struct cells *cells, uint32_t attr, struct cell *cell)
{
	cells_get(cells, attr, cell);
	return cell->written && !cells_find(cells, attr);
}

static void window_note(struct window_reader *reader, uint32_t attr)
{
	nstime begin = reader->tracks->range.begin;
	struct cell cell;

	if (number_map_get(&reader->asked, attr))
		return;
	*mem_push(reader->places, reader->nplaces, reader->places_capacity) =
		(struct state_place){{begin, begin > NSTIME_MIN}, attr};
	number_map_set(&reader->asked, attr, (uint32_t)reader->nplaces);
	if (reader->below && is_buried(replay_cells(reader->below), attr, &cell))
		reader->missed = reader->stale = true;
}

/* Does no line give it a value, so that it is always unknown? */
static bool is_valueless(const struct window_reader *reader, uint32_t attr)
{
	const struct closure *closure = reader->closure;
	uint32_t bit = closure_bit(closure, attr_shape(reader->tracks->state->attrs, attr));
	struct value initial;

	return bit != ATTR_ABSENT && !bitset_has(closure->valued, bit) &&
	       !program_initial(reader->program, attr, &initial);
}

static const struct fact never_valued = {.value = {.kind = VALUE_UNKNOWN}, .since = NSTIME_MIN};

/* Reads the attribute's value at the begin from the replay from the floor. */
static void get_below(const struct window_reader *reader, uint32_t attr, struct fact *out)
{
	struct cell cell;

	cells_get(replay_cells(reader->below), attr, &cell);
	fact_of_cell(&cell, out);
	if (is_valueless(reader, attr))
		*out = never_valued;
	else if (!cell.written || value_is_open(&cell.value))
		*out = (struct fact){.since = NSTIME_MIN, .beyond = true};
}

static void miss(void *arg, uint32_t attr)
{
	struct window_reader *reader = arg;
	struct fact fact = {0};
	struct cell cell;

	window_note(reader, attr);
	if (reader->below && !is_buried(replay_cells(reader->replay), attr, &cell))
		get_below(reader, attr, &fact);
	reader->missed = reader->missed || !fact.beyond;
}

static bool get_section(void *arg, uint32_t stream, uint32_t section, struct value *out,
			bool *written)
{
	struct window_reader *reader = arg;
	uint32_t attr = catalog_section(reader->tracks->state->catalog, stream, section);
	uint32_t place = number_map_get(&reader->asked, attr);
	const struct fact *fact = NULL;

	if (reader->below) {
		cells_section(replay_cells(reader->below), stream, section, out, written);
		return *written && !value_is_open(out);
	}
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

/* Adds a track of an attribute whose value at the begin is in `cell`. */
static struct track *add_track(struct window_reader *reader, uint32_t attr, bool listed,
			       const struct cell *cell)
{
	struct tracks *tracks = reader->tracks;
	struct track *track = tracks_add(tracks, attr);
	const struct value open = value_open();
	struct value initial;

	track->given = listed;
	track_set_named(tracks, track, NSTIME_MIN);
	/* since when lists have an initial value is not searched */
	if (program_initial(reader->program, attr, &initial))
		track_set_named(tracks, track, cell->named ? cell->since : NSTIME_MAX);
	track_push(track, cell->since, cell->written ? &cell->value : &open);
	return track;
}

/*
 * The first change that puts the attribute into lists. Adds its track if the replay from the floor
 * has its value at the begin, and at most one delete or unknown has changed it since. NULL: the
 * next round adds it.
 */
static struct track *new_track(struct window_reader *reader, const struct change *change)
{
	struct tracks *tracks = reader->tracks;
	uint32_t bit = closure_bit(reader->closure, attr_shape(tracks->state->attrs, change->attr));
	const struct cell *before = change->before;
	struct value initial;
	struct track *track;
	struct cell cell;

	if (!reader->below || reader->stale || before->last_run >= tracks->range.begin ||
	    number_map_get(&reader->asked, change->attr) <= reader->nput ||
	    bitset_has(reader->opened, bit) ||
	    program_initial(reader->program, change->attr, &initial))
		return NULL;
	cells_get(replay_cells(reader->below), change->attr, &cell);
	track = add_track(reader, change->attr, false, &cell);
	if (before->written)
		track_write(tracks, track, before->since, &before->value,
			    value_is_open(&before->value));
	return track;
}

static struct track *name(struct window_reader *reader, const struct change *change)
{
	struct tracks *tracks = reader->tracks;
	uint32_t shape = attr_shape(tracks->state->attrs, change->attr);

	if (!wanted_lists(tracks->state, tracks->wanted, change->attr) &&
	    !wanted_is_source(tracks->state, tracks->wanted, shape))
		return NULL;
	attr_list_add(&tracks->names, change->attr, tracks->range.begin);
	window_note(reader, change->attr);
	return new_track(reader, change);
}

/*
 * Does the attribute stand for all attributes of a shape with keys? After a replay from the floor
 * each such shape has a cell: a line with an open target makes it open, too.
 */
static bool is_of_all(const struct attrs *attrs, uint32_t attr)
{
	uint32_t shape = attr_shape(attrs, attr);

	if (shape_attr(attrs, shape) != attr)
		return false;
	while (shape != ATTR_ABSENT && !shape_is_key(attrs, shape))
		shape = shape_parent(attrs, shape);
	return shape != ATTR_ABSENT;
}

static void see_change(void *arg, const struct change *change)
{
	struct window_reader *reader = arg;
	struct tracks *tracks = reader->tracks;
	const struct cell *after = change->after;
	struct track *track = tracks_find(tracks, change->attr);
	uint32_t shape = attr_shape(tracks->state->attrs, change->attr);
	bool open = value_is_open(&after->value);
	bool gives = !change->fill && tracks_gives(tracks, &after->writer);

	if (open && is_of_all(tracks->state->attrs, change->attr)) {
		bitset_add(reader->opened, closure_bit(reader->closure, shape));
		return;
	}
	if (open && reader->missed) { /* the next round may know the value */
		reader->again = reader->again ||
				(tracks->over.past && track && !track_is_settled(tracks, track));
		return;
	}
	if (!track && gives && change->item->stream && !tracks->over.past)
		track = name(reader, change);
	if (track && !track_is_settled(tracks, track)) {
		if (gives)
			track_note_given(tracks, track, change->time, change->item->stream);
		else if (change->fill && !open)
			track_note_named(tracks, track, after->since);
		track_write(tracks, track, after->since, &after->value, open);
	}
}

/* May a later `was` fill what is unknown at the window's end? */
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

/* If only fills are awaited, near.c finds them among few events. */
static void hand_over(struct window_reader *reader, nstime next)
{
	const struct tracks *tracks = reader->tracks;

	if (!reader->again && !tracks->over.open && tracks->over.fillable && may_fill(reader))
		reader->rest = (struct rest){.closure = tracks_rest(tracks),
					     .from = next,
					     .cells = replay_cells(reader->replay)};
}

/* Called before the events at `next`. True: the round is over. */
static bool window_is_over(struct window_reader *reader, nstime next)
{
	struct tracks *tracks = reader->tracks;

	if (!tracks->over.past && next >= tracks->range.end) {
		reader->again = misses_some(reader);
		tracks_pass_end(tracks);
		hand_over(reader, next);
	}
	tracks_settle(tracks);
	return reader->again || reader->rest.closure ||
	       (tracks->over.past && !tracks->over.open &&
		!(tracks->over.fillable && may_fill(reader)));
}

static bool see_moment(void *arg, nstime next)
{
	return !window_is_over(arg, next);
}

/* A deleted cell is kept: its value was known. */
static bool keeps_all(void *arg, uint32_t attr)
{
	(void)arg;
	(void)attr;
	return true;
}

/* Sets the attribute's value at the start of a replay. */
static void put_fact(const struct window_reader *reader, struct replay *replay, uint32_t attr,
		     const struct fact *fact)
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
	cells_set(replay_cells(replay), attr, &cell);
}

/* ---- the begin, by replay from the horizon's floor ---- */

static void miss_below(void *arg, uint32_t attr)
{
	window_note(arg, attr);
}

static void keep_buried(struct cells *cells, uint32_t attr)
{
	struct cell cell;

	if (is_buried(cells, attr, &cell))
		cells_set(cells, attr, &cell);
}

/* bury(): gives a cell to the attribute that was deleted or made unknown, and to names below it. */
static void bury_below(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time)
{
	struct window_reader *reader = arg;
	struct cells *cells = replay_cells(reader->below);
	struct attrs *attrs = reader->tracks->state->attrs;
	const struct closure *closure = reader->closure;

	(void)kind, (void)time;
	if (!pattern->any && !pattern->below)
		keep_buried(cells, pattern->attr);
	for (uint32_t i = 0; !pattern->any && i < closure->nshapes; i++) {
		uint32_t shape = closure->shapes[i];
		struct value step;

		if (shape_parent(attrs, shape) != attr_shape(attrs, pattern->attr) ||
		    shape_is_key(attrs, shape))
			continue;
		step = attr_atom(attrs, shape_attr(attrs, shape));
		keep_buried(cells, attr_child(attrs, pattern->attr, false, &step));
	}
}

static bool no_section(void *arg, uint32_t stream, uint32_t section, struct value *out,
		       bool *written)
{
	(void)arg, (void)stream, (void)section, (void)out, (void)written;
	return false;
}

static bool replay_below(struct window_reader *reader, struct error *err)
{
	const struct state *state = reader->tracks->state;
	struct order from = order_before(state->horizon->floor);
	struct order to = order_before(reader->tracks->range.begin);
	const struct fact beyond = {.since = NSTIME_MIN, .beyond = true};
	uint64_t *heard = bitset_new(program_statements(reader->program));
	const struct replay_options options = {.event_source = state->event_source,
					       .program = reader->program,
					       .missing = miss_below,
					       .missing_section = no_section,
					       .bury = bury_below,
					       .heard = heard,
					       .keeps = keeps_all,
					       .arg = reader};
	bool ok;

	do {
		reader->stale = false;
		replay_free(reader->below);
		reader->below = replay_new(&options);
		for (size_t i = 0; i < reader->nplaces; i++)
			put_fact(reader, reader->below, reader->places[i].attr, &beyond);
		ok = replay_run(reader->below, &from, &to, err);
	} while (ok && reader->stale);
	mem_free(heard);
	return ok;
}

/* ---- rounds ---- */

/* For a window from the trace's begin: initial values, before any line. */
static void put_initial(struct window_reader *reader)
{
	for (size_t i = reader->nfacts; i < reader->nplaces; i++) {
		struct fact *fact = &reader->facts[i];

		*fact = (struct fact){.since = NSTIME_MIN};
		if (!program_initial(reader->program, reader->places[i].attr, &fact->value))
			fact->value.kind = VALUE_UNKNOWN;
	}
	reader->nfacts = reader->nplaces;
}

/* Finds noted values by a backward pass; if that would take long, by a replay from the floor. */
static enum outcome ask_back(struct window_reader *reader, struct error *err)
{
	struct state *state = reader->tracks->state;
	size_t first = reader->nfacts, count = reader->nplaces - first;
	uint32_t *shapes = mem_new_array(count, sizeof *shapes);
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct closure *closure;
	bool may_replay;

	for (size_t i = 0; i < count; i++)
		shapes[i] = attr_shape(state->attrs, reader->places[first + i].attr);
	closure = closure_new(state->catalog, shapes, count);
	mem_free(shapes);
	/* for single CPUs a pass may read below the common floor */
	may_replay = state->horizon->floor > NSTIME_MIN && !closure->by_cpu;
	state->limits.visits = may_replay ? reach_visits(state) : UINT32_MAX;
	if (looks_back(closure))
		outcome = ask_places(state, closure, reader->places + first, count, false,
				     reader->facts + first, err);
	state->limits.visits = UINT32_MAX;
	closure_free(closure);
	for (size_t i = first; i < reader->nplaces && outcome == OUTCOME_DONE; i++)
		if (is_valueless(reader, reader->places[i].attr))
			reader->facts[i] = never_valued;
	if (outcome == OUTCOME_DONE)
		reader->nfacts = reader->nplaces;
	else if (outcome == OUTCOME_GAVE_UP && may_replay)
		outcome = replay_below(reader, err) ? OUTCOME_DONE : OUTCOME_ERROR;
	return outcome;
}

/* Finds the values noted and not known yet. */
static enum outcome ask_noted(struct window_reader *reader, struct error *err)
{
	if (reader->below)
		return !reader->stale || replay_below(reader, err) ? OUTCOME_DONE : OUTCOME_ERROR;
	if (reader->nfacts == reader->nplaces)
		return OUTCOME_DONE;
	reader->facts = mem_resize(reader->facts, reader->nplaces, sizeof *reader->facts);
	if (reader->tracks->range.begin > NSTIME_MIN)
		return ask_back(reader, err);
	put_initial(reader);
	return OUTCOME_DONE;
}

/* Starts the round with the values known at the window's begin. */
static void put_begin(struct window_reader *reader)
{
	const struct attrs *attrs = reader->tracks->state->attrs;
	const struct cell nothing = {.value = {.kind = VALUE_NONE}, .written = true};
	struct fact fact;

	reader->nput = reader->below ? reader->nplaces : reader->nfacts;
	for (size_t i = 0; i < reader->nput; i++) {
		if (i < reader->nfacts)
			fact = reader->facts[i];
		if (i >= reader->nfacts || (reader->below && fact.beyond))
			get_below(reader, reader->places[i].attr, &fact);
		put_fact(reader, reader->replay, reader->places[i].attr, &fact);
	}
	memset(reader->opened, 0, reader->closure->nwords * sizeof *reader->opened);
	for (uint32_t i = 0; reader->below && i < reader->closure->nshapes; i++) {
		uint32_t attr = shape_attr(attrs, reader->closure->shapes[i]);

		if (is_of_all(attrs, attr))
			cells_set(replay_cells(reader->replay), attr, &nothing);
	}
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
	put_begin(reader);
	for (size_t i = 0; i < tracks->names.count && (reader->nfacts || reader->below); i++) {
		const struct attr_from *item = &tracks->names.items[i];
		struct cell cell;

		cells_get(replay_cells(reader->replay), item->attr, &cell);
		add_track(reader, item->attr, item->listed, &cell);
	}
}

/* All was read up to the horizon's end: what is still open there stays so. */
static void end_reading(struct window_reader *reader)
{
	struct tracks *tracks = reader->tracks;
	const struct horizon *horizon = tracks->state->horizon;

	if (tracks->range.end < NSTIME_MAX)
		window_is_over(reader, tracks->range.end);
	else
		reader->again = misses_some(reader);
	if (!reader->again && !reader->rest.closure && horizon->ceil < NSTIME_MAX)
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
		outcome = reader->again ? ask_noted(reader, err) : OUTCOME_DONE;
		if (reader->rest.closure)
			outcome = tracks_read_rest(reader->tracks, &reader->rest, err);
	}
	replay_free(reader->replay);
	return outcome;
}

/* ---- the window ---- */

/* False: the rules cannot be read backward. */
static bool reader_init(struct window_reader *reader, struct tracks *tracks)
{
	bool has_was; /* not used */

	*reader = (struct window_reader){.tracks = tracks, .closure = tracks_closure(tracks)};
	reader->heard = tracks_heard(tracks, &has_was);
	reader->opened = mem_new_array(reader->closure->nwords, sizeof *reader->opened);
	if (looks_back(reader->closure))
		reader->program = closure_program(reader->closure);
	return reader->program != NULL;
}

static void reader_release(struct window_reader *reader)
{
	replay_free(reader->below);
	closure_free(reader->rest.closure);
	program_subset_free(reader->program);
	mem_free(reader->heard);
	mem_free(reader->opened);
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

/* Runs rounds until no value is missing. */
static enum outcome read_rounds(struct window_reader *reader, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	reader->again = true;
	for (int round = 0; outcome == OUTCOME_DONE && reader->again; round++)
		outcome = round < ROUNDS ? read_round(reader, err) : OUTCOME_GAVE_UP;
	if (outcome == OUTCOME_DONE && !reader->tracks->range.within)
		outcome = tracks_find_beginnings(reader->tracks, reader->closure, err);
	return outcome;
}

static void note_names(struct window_reader *reader)
{
	const struct attr_list *names = &reader->tracks->names;

	for (size_t i = 0; i < names->count; i++)
		window_note(reader, names->items[i].attr);
}

static enum outcome read_window(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct window_reader reader;

	if (reader_init(&reader, tracks))
		outcome = tracks_name_known(tracks, err) ? OUTCOME_DONE : OUTCOME_ERROR;
	note_names(&reader);
	if (outcome == OUTCOME_DONE)
		outcome = read_rounds(&reader, err);
	if (outcome == OUTCOME_DONE)
		outcome = tracks_compute_window(tracks, err);
	reader_release(&reader);
	return outcome;
}

enum outcome tracks_replayed(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct window_reader reader;

	if (reader_init(&reader, tracks) && !reader.closure->by_cpu && tracks->all_known) {
		note_names(&reader);
		outcome = ask_noted(&reader, err);
		if (outcome == OUTCOME_DONE)
			outcome = read_rounds(&reader, err);
	}
	if (outcome == OUTCOME_DONE)
		tracks->state->evaluation = "backward";
	reader_release(&reader);
	return outcome;
}

enum outcome tracks_window(struct tracks *tracks, uint64_t packets, struct error *err)
{
	struct state *state = tracks->state;
	enum outcome outcome;
	struct state_reach reach;

	if (state->options.replay_only || state->force != FORCE_NONE)
		return OUTCOME_GAVE_UP;
	if (!reach_begin(state, tracks->range.begin, tracks->range.end, packets, &reach, err))
		return OUTCOME_ERROR;
	outcome = read_window(tracks, err);
	if (outcome == OUTCOME_DONE)
		state->evaluation = "backward";
	reach_end(state, &reach);
	return outcome;
}
