/*
 * window.c - lists over a window: the attributes to which its events give a value
 *
 *     floor ...|.........[==== window ====].........|... ceil
 *                begin <-  who is written?  -> end
 *
 * The window's lines are evaluated in order, without the state at its begin. What a line reads of
 * that is noted, asked for by one backward pass for all, and the window is evaluated again, until
 * every key is known. Then a backward pass tells what the attributes were at the window's begin
 * (near.c), and the lines are evaluated once more, now with what each writes, until all that reaches
 * over the window's end has ended. Nothing is read beyond the horizon.
 *
 * A line that rests on what lies beyond is open: what it may have written is not known from there on,
 * until it is surely written again. Where its target is open that is every attribute of a shape.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/planner.h"
#include "state/intervals/intervals.h"
#include "state/replay/cells_internal.h"
#include "state/replay/walk.h"

enum { ROUNDS = 16 /* of asking for what was read */ };
/* Limits of a backward pass, whose reading the horizon bounds already. */
enum { PASS_ROUNDS = 64 };
#define PASS_BYTES ((size_t)1 << 30)

struct window_reader {
	struct walk walk; /* first: see struct walk_ops */
	struct tracks *tracks;
	struct closure *closure; /* of what may be listed */
	struct program *program; /* what writes what is listed, and what that reads */
	struct cells *writes;    /* of the events so far */
	struct number_map reads; /* attribute → 1 + its place below: it was read at the begin */
	struct ask_place *places;
	struct fact *facts; /* of the first `nfacts` places */
	size_t nplaces, places_capacity, nfacts;
	nstime *clouds; /* by shape: since then a line of an open target may have written it */
	uint32_t nshapes;
	/* once names are known, in the last evaluation */
	nstime *since; /* by track: of its last write; NULL: names are looked for */
	nstime *until; /* by stream: of its last loss */
	struct number_map within; /* attribute → 1 + the first link to tracks at or below it */
	struct within {
		uint32_t track; /* rising */
		uint32_t next;  /* 1 + the place of the next link; 0: none */
	} *within_links;
	size_t nwithin, within_capacity;
	bool unasked;  /* what a track is rests on what was not asked for yet: again */
	bool failed;
	struct error *err;
};

/* ---- reads ---- */

/* It is not decided what the attribute is. */
static const struct value open_value = {.kind = VALUE_UNKNOWN, .u = 1};

static bool is_open(const struct value *value)
{
	return value->kind == VALUE_UNKNOWN && value->u == open_value.u;
}

/* At the window's begin; NULL: it is not known, and was noted. */
static const struct fact *fact_at_begin(struct window_reader *reader, uint32_t attr)
{
	nstime begin = reader->tracks->range.begin;
	uint32_t place = number_map_get(&reader->reads, attr);

	if (!place) {
		*mem_push(reader->places, reader->nplaces, reader->places_capacity) =
			(struct ask_place){{begin, begin > NSTIME_MIN}, attr};
		number_map_set(&reader->reads, attr, (uint32_t)reader->nplaces);
		return NULL;
	}
	const struct fact *fact = place <= reader->nfacts ? &reader->facts[place - 1] : NULL;
	return fact && !fact->beyond ? fact : NULL;
}

/* May a line whose target is open have written it since? */
static bool is_clouded(const struct window_reader *reader, uint32_t attr, const struct cell *cell)
{
	uint32_t shape = attr_shape(reader->tracks->state->attrs, attr);
	nstime since = shape < reader->nshapes ? reader->clouds[shape] : NSTIME_MIN;

	return since > NSTIME_MIN && (!cell->written || cell->since <= since);
}

static enum eval read_value(void *arg, uint32_t attr, struct value *out)
{
	struct window_reader *reader = arg;
	const struct fact *fact;
	struct cell cell;

	cells_get(reader->writes, attr, &cell);
	if (is_clouded(reader, attr, &cell))
		return EVAL_OPEN;
	if (cell.written) {
		*out = cell.value;
		return is_open(out) ? EVAL_OPEN : EVAL_VALUE;
	}
	fact = fact_at_begin(reader, attr);
	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	return EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct window_reader *reader = arg;
	uint32_t stream = reader->walk.stream->index;
	const struct fact *fact;

	cells_section(reader->writes, stream, section, out, written);
	if (*written)
		return is_open(out) ? EVAL_OPEN : EVAL_VALUE;
	fact = fact_at_begin(reader,
			     catalog_section(reader->tracks->state->catalog, stream, section));
	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	*written = fact->written;
	return EVAL_VALUE;
}

/* ---- writes ---- */

static void put(struct window_reader *reader, uint32_t attr, const struct value *value)
{
	cell_write(cells_make(reader->writes, attr), value, reader->walk.time);
}

static void name(struct window_reader *reader, const struct write *write, uint32_t attr)
{
	struct tracks *tracks = reader->tracks;

	if (verb_gives(write->verb) && reader->walk.stream &&
	    (wanted_lists(tracks->state, tracks->wanted, attr) ||
	     wanted_is_source(tracks->state, tracks->wanted,
			      attr_shape(tracks->state->attrs, attr))))
		attr_list_add(&tracks->names, attr, tracks->range.begin);
}

/* NULL: it has none, or what is written does not matter. */
static struct track *track_of(const struct window_reader *reader, uint32_t attr)
{
	struct track *track = reader->since ? tracks_find(reader->tracks, attr) : NULL;

	return track && !track_is_settled(reader->tracks, track) ? track : NULL;
}

static void tell(struct window_reader *reader, const struct write *write, struct track *track,
		 const struct value *value, bool beyond)
{
	struct tracks *tracks = reader->tracks;

	if (verb_gives(write->verb))
		track_note_given(tracks, track, reader->walk.time, reader->walk.stream);
	track_write(tracks, track, reader->walk.time, value, beyond);
	reader->since[track - tracks->items] = reader->walk.time;
}

static void set(void *arg, const struct write *write, uint32_t attr, struct value *value)
{
	struct window_reader *reader = arg;
	struct track *track = track_of(reader, attr);

	if (!write->interned)
		attrs_keep(reader->tracks->state->attrs, value);
	if (value->kind == VALUE_UNKNOWN)
		value->u = 0;
	put(reader, attr, value);
	if (track)
		tell(reader, write, track, value, false);
	else if (!reader->since)
		name(reader, write, attr);
}

static void set_section(void *arg, const struct line *line, enum eval eval, struct value *value)
{
	struct window_reader *reader = arg;
	struct value own = eval == EVAL_OPEN ? open_value : *value;

	attrs_keep(reader->tracks->state->attrs, &own);
	cells_set_section(reader->writes, reader->walk.stream->index, line->section, &own);
}

static void fill(struct window_reader *reader, struct track *track, const struct value *value)
{
	struct tracks *tracks = reader->tracks;
	const struct event_item *item = walk_item(&reader->walk);
	nstime *since = &reader->since[track - tracks->items], at;

	if (!track_takes_fill(tracks, track, value, false))
		return;
	if (!event_source_fill_begin(tracks->state->event_source, item->stream,
				     item->class ? item->class->index : UINT32_MAX, &item->order,
				     *since, &at, reader->err)) {
		reader->failed = true;
		return;
	}
	track_note_named(tracks, track, at);
	track_write(tracks, track, at, value, false);
	*since = at;
}

static void was(void *arg, const struct write *write)
{
	struct window_reader *reader = arg;
	struct track *track = track_of(reader, write->attr);
	struct value now, value = write->value;

	if (value.kind == VALUE_UNKNOWN)
		return;
	attrs_keep(reader->tracks->state->attrs, &value);
	if (track)
		fill(reader, track, &value);
	if (read_value(reader, write->attr, &now) == EVAL_VALUE && now.kind == VALUE_UNKNOWN)
		put(reader, write->attr, &value);
}

/* Which tracks stand at each attribute, or below it. */
static void link_tracks(struct window_reader *reader)
{
	const struct tracks *tracks = reader->tracks;
	const struct attrs *attrs = tracks->state->attrs;

	mem_free(reader->within.items);
	reader->within = (struct number_map){0};
	reader->nwithin = 0;
	for (size_t i = tracks->count; i-- > 0;) {
		for (uint32_t a = tracks->items[i].attr; a != ATTR_ROOT;
		     a = attr_parent(attrs, a)) {
			uint32_t next = number_map_get(&reader->within, a);

			*mem_push(reader->within_links, reader->nwithin,
				  reader->within_capacity) = (struct within){(uint32_t)i, next};
			number_map_set(&reader->within, a, (uint32_t)reader->nwithin);
		}
	}
}

/* pattern NULL: the target is open. */
static enum cover covers(const struct attrs *attrs, const struct write *write,
			 const struct pattern *pattern, uint32_t attr)
{
	if (!pattern)
		return shape_is_within(attrs, attr_shape(attrs, attr), write->line->target.shape)
			       ? COVER_MAYBE
			       : COVER_NO;
	return pattern_covers(pattern, attrs, attr, true);
}

/* Each track at the path of the pattern, or (its `below`) below it alone. */
static void bury_path(struct window_reader *reader, const struct write *write,
		      const struct pattern *pattern, const struct value *value)
{
	struct tracks *tracks = reader->tracks;
	uint32_t next;

	for (uint32_t at = number_map_get(&reader->within, pattern->attr); at; at = next) {
		const struct within *link = &reader->within_links[at - 1];
		struct track *track = &tracks->items[link->track];

		next = link->next;
		if (!(pattern->below && track->attr == pattern->attr) &&
		    !track_is_settled(tracks, track))
			tell(reader, write, track, value, false);
	}
}

/* Each track that the line covers, or may cover. */
static void bury_tracks(struct window_reader *reader, const struct write *write,
			const struct pattern *pattern, enum value_kind kind)
{
	struct tracks *tracks = reader->tracks;
	const struct value value = {.kind = kind};

	if (pattern && pattern->attr != ATTR_ABSENT) {
		bury_path(reader, write, pattern, &value);
		return;
	}
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->items[i];
		enum cover cover = covers(tracks->state->attrs, write, pattern, track->attr);

		if (cover != COVER_NO && !track_is_settled(tracks, track))
			tell(reader, write, track, &value, cover == COVER_MAYBE);
	}
}

static void bury(void *arg, const struct write *write, const struct pattern *pattern,
		 enum value_kind kind)
{
	struct window_reader *reader = arg;

	cells_bury(reader->writes, pattern, kind, reader->walk.time,
		   walk_writer(&reader->walk, write->line), NULL, NULL);
	if (reader->since)
		bury_tracks(reader, write, pattern, kind);
}

static void cover(struct window_reader *reader, uint32_t shape, bool below)
{
	const struct attrs *attrs = reader->tracks->state->attrs;

	for (uint32_t s = 0; s < reader->nshapes; s++)
		if (s == shape || (below && shape_is_within(attrs, s, shape)))
			reader->clouds[s] = reader->walk.time;
}

/* A line of an open target that sets: all attributes of its shape may be written. */
static void tell_shape(struct window_reader *reader, const struct write *write)
{
	struct tracks *tracks = reader->tracks;
	const struct value unknown = {.kind = VALUE_UNKNOWN};

	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->items[i];

		if (attr_shape(tracks->state->attrs, track->attr) != write->line->target.shape ||
		    !track_of(reader, track->attr))
			continue;
		if (write->verb == VERB_WAS)
			(void)track_takes_fill(tracks, track, &unknown, true);
		else
			tell(reader, write, track, &unknown, true);
	}
}

static void tell_open(struct window_reader *reader, const struct write *write)
{
	struct track *track =
		write->attr == ATTR_ABSENT ? NULL : track_of(reader, write->attr);
	const struct value unknown = {.kind = VALUE_UNKNOWN};

	if (verb_buries(write->verb))
		bury_tracks(reader, write, NULL, VALUE_UNKNOWN);
	else if (write->attr == ATTR_ABSENT)
		tell_shape(reader, write);
	else if (track && write->verb == VERB_WAS)
		(void)track_takes_fill(reader->tracks, track, &unknown, true);
	else if (track)
		tell(reader, write, track, &unknown, true);
}

/* Does what the line may write matter to some track? */
static bool matters(const struct window_reader *reader, const struct write *write)
{
	const struct tracks *tracks = reader->tracks;
	const struct attrs *attrs = tracks->state->attrs;
	uint32_t shape = write->line->target.shape;

	if (write->attr != ATTR_ABSENT)
		return track_of(reader, write->attr);
	for (size_t i = 0; i < tracks->count; i++)
		if (shape_is_within(attrs, attr_shape(attrs, tracks->items[i].attr), shape) &&
		    track_of(reader, tracks->items[i].attr))
			return true;
	return false;
}

/* Its target, value or condition is not decided: it may write. */
static void defer(void *arg, const struct write *write)
{
	struct window_reader *reader = arg;

	if (reader->since && reader->nplaces > reader->nfacts)
		reader->unasked = reader->unasked || matters(reader, write);
	else if (reader->since)
		tell_open(reader, write);
	if (write->attr == ATTR_ABSENT || verb_buries(write->verb)) {
		cover(reader, write->line->target.shape, verb_buries(write->verb));
		return;
	}
	put(reader, write->attr, &open_value);
	if (!reader->since)
		name(reader, write, write->attr);
}

static void loss(void *arg, const struct event *event)
{
	struct window_reader *reader = arg;

	if (reader->until && event->loss_kind != LOSS_INFERRED)
		reader->until[event->stream->index] = event->until;
}

/* May a `was` that is still to come begin before t? */
static bool may_fill(const struct window_reader *reader, nstime t)
{
	bool may = reader->closure->end;

	for (size_t i = 0; i < reader->tracks->state->event_source->trace->nstreams && !may; i++)
		may = reader->until[i] < t;
	return may;
}

static bool awaits_fills(const struct window_reader *reader)
{
	const struct overhang *over = &reader->tracks->over;

	return over->fillable && may_fill(reader, over->fills);
}

/* Before the first event of a later time; true: nothing more can matter. */
static bool is_over(struct window_reader *reader, nstime next)
{
	struct tracks *tracks = reader->tracks;

	if (!tracks->over.past && next >= tracks->range.end)
		tracks_pass_end(tracks);
	tracks_settle(tracks);
	return tracks->over.past && !tracks->over.open && !awaits_fills(reader);
}

static bool moment(void *arg, nstime next)
{
	struct window_reader *reader = arg;

	cells_settle(reader->writes, NULL, NULL);
	return !reader->since ||
	       (!reader->unasked && !reader->failed && !is_over(reader, next));
}

static const struct walk_ops ops = {.read = read_value,
				    .section = read_section,
				    .set_section = set_section,
				    .set = set,
				    .was = was,
				    .bury = bury,
				    .defer = defer,
				    .loss = loss,
				    .moment = moment};

/* ---- what is evaluated ---- */

struct shapes {
	const struct window_reader *reader;
	uint32_t *items;
	size_t count, capacity;
};

static bool is_wanted(const struct window_reader *reader, uint32_t shape)
{
	const struct tracks *tracks = reader->tracks;

	return wanted_is_source(tracks->state, tracks->wanted, shape) ||
	       wanted_lists_shape(tracks->state, tracks->wanted, shape);
}

static void add_target(void *arg, const struct line *line)
{
	struct shapes *shapes = arg;
	const struct window_reader *reader = shapes->reader;
	uint32_t shape = line->target.shape, values = shape;

	if (line->flags & LINE_SECTION || verb_buries(line->verb))
		return;
	if (verb_stacks(line->verb))
		values = shape_key(reader->tracks->state->attrs, shape);
	if (is_wanted(reader, shape) || is_wanted(reader, values))
		*mem_push(shapes->items, shapes->count, shapes->capacity) = shape;
}

/* The closure of what may be listed; NULL: it cannot be read backward. */
static struct closure *closure_of_lists(const struct window_reader *reader)
{
	const struct state *state = reader->tracks->state;
	struct shapes shapes = {.reader = reader};
	struct closure *closure;

	catalog_lines(state->catalog, add_target, &shapes);
	closure = closure_new(state->catalog, shapes.items, shapes.count);
	mem_free(shapes.items);
	if (looks_back(closure))
		return closure;
	closure_free(closure);
	return NULL;
}

/* ---- rounds ---- */

static bool evaluate(struct window_reader *reader, struct order to, struct error *err)
{
	struct order from = order_before(reader->tracks->range.begin);
	bool ok;

	cells_clear(reader->writes);
	for (uint32_t s = 0; s < reader->nshapes; s++)
		reader->clouds[s] = NSTIME_MIN;
	walk_init(&reader->walk, reader->tracks->state->event_source, reader->program, &ops);
	ok = walk_run(&reader->walk, &from, &to, err);
	walk_release(&reader->walk);
	return ok;
}

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

/* What was read and not asked for yet. */
static enum outcome ask(struct window_reader *reader, struct error *err)
{
	struct state *state = reader->tracks->state;
	size_t first = reader->nfacts, count = reader->nplaces - first;
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct closure *closure;
	uint32_t *shapes;

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
	for (size_t i = first; i < reader->nplaces && outcome == OUTCOME_DONE; i++)
		if (reader->facts[i].value.kind == VALUE_UNKNOWN)
			reader->facts[i].value.u = 0;
	reader->nfacts = reader->nplaces;
	return outcome;
}

static enum outcome find_names(struct window_reader *reader, struct error *err)
{
	const struct range *range = &reader->tracks->range;
	struct order to = range->end == NSTIME_MAX ? order_after(NSTIME_MAX)
						   : order_before(range->end);
	enum outcome outcome = OUTCOME_DONE;
	size_t asked;
	int round = 0;

	do {
		asked = reader->nfacts;
		attr_list_clear(&reader->tracks->names);
		if (!evaluate(reader, to, err))
			return OUTCOME_ERROR;
		if (reader->nplaces > asked)
			outcome = ask(reader, err);
	} while (outcome == OUTCOME_DONE && reader->nfacts > asked && ++round < ROUNDS);
	return round == ROUNDS ? OUTCOME_GAVE_UP : outcome;
}

/* False: it cannot be read backward. */
static bool reader_init(struct window_reader *reader, struct tracks *tracks)
{
	struct state *state = tracks->state;
	uint64_t *statements;

	*reader = (struct window_reader){.tracks = tracks};
	reader->closure = closure_of_lists(reader);
	if (!reader->closure)
		return false;
	statements = closure_statements(reader->closure);
	reader->program = program_subset(state->program, statements);
	mem_free(statements);
	reader->writes =
		cells_new(reader->program, state->event_source->trace->nstreams, false);
	reader->nshapes = shape_count(state->attrs);
	reader->clouds = mem_new_array(reader->nshapes + 1, sizeof *reader->clouds);
	return true;
}

static void reader_release(struct window_reader *reader)
{
	if (reader->program) {
		cells_free(reader->writes);
		program_subset_free(reader->program);
	}
	closure_free(reader->closure);
	mem_free(reader->clouds);
	mem_free(reader->reads.items);
	mem_free(reader->within.items);
	mem_free(reader->within_links);
	mem_free(reader->places);
	mem_free(reader->facts);
}

/* ---- values ---- */

struct seed { /* of a track */
	struct span span;
	nstime since, named;
	bool given;
};

static struct seed *keep_seeds(const struct tracks *tracks, const nstime *since)
{
	struct seed *seeds = mem_new_array(tracks->count + 1, sizeof *seeds);

	for (size_t i = 0; i < tracks->count; i++) {
		const struct track *track = &tracks->items[i];

		seeds[i] = (struct seed){track_spans(track)[0], since[i],
					 track_named(tracks, track), track->given};
	}
	return seeds;
}

static void put_seeds(struct tracks *tracks, const struct seed *seeds, nstime *since)
{
	mem_free(tracks->over.touched);
	tracks->over = (struct overhang){0};
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->items[i];

		track->count = 0;
		track_push(tracks->state, track, seeds[i].span.begin, &seeds[i].span.value);
		track_set_named(tracks, track, seeds[i].named);
		track->given = seeds[i].given;
		track->open = track->unknown = track->touched = false;
		if (track_more(tracks, track))
			track_more(tracks, track)->ended = NSTIME_MIN;
		since[i] = seeds[i].since;
	}
}

static bool begin_until(struct window_reader *reader, struct error *err)
{
	struct event_source *event_source = reader->tracks->state->event_source;
	const nstime *begins;

	if (!event_source_begins(event_source, &begins, err))
		return false;
	for (size_t i = 0; i < event_source->trace->nstreams; i++)
		reader->until[i] = begins[i];
	return true;
}

/* What reached over the window's end, or was unknown there, goes on at the horizon's end. */
static void end_reading(struct window_reader *reader)
{
	struct tracks *tracks = reader->tracks;
	const struct horizon *horizon = tracks->state->horizon;

	if (tracks->range.end < NSTIME_MAX && !tracks->over.past)
		is_over(reader, tracks->range.end);
	if (horizon->ceil < NSTIME_MAX)
		tracks_end_beyond(tracks, may_fill(reader, tracks->over.fills));
}

enum outcome window_read(struct window_reader *reader, nstime *since, struct error *err)
{
	struct tracks *tracks = reader->tracks;
	struct seed *seeds = keep_seeds(tracks, since);
	enum outcome outcome = OUTCOME_DONE;
	int round = 0;

	link_tracks(reader);
	reader->since = since;
	reader->err = err;
	reader->until = mem_new_array(tracks->state->event_source->trace->nstreams + 1,
				      sizeof *reader->until);
	do {
		put_seeds(tracks, seeds, since);
		reader->unasked = reader->failed = false;
		if (!begin_until(reader, err) ||
		    !evaluate(reader, horizon_end(tracks->state->horizon), err) || reader->failed)
			outcome = OUTCOME_ERROR;
		else if (reader->unasked)
			outcome = ++round < ROUNDS ? ask(reader, err) : OUTCOME_GAVE_UP;
	} while (outcome == OUTCOME_DONE && reader->unasked);
	if (outcome == OUTCOME_DONE)
		end_reading(reader);
	mem_free(reader->until);
	mem_free(seeds);
	reader->until = reader->since = NULL;
	return outcome;
}

/* ---- the window ---- */

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
		outcome = find_names(&reader, err);
	if (outcome == OUTCOME_DONE && !tracks_name_known(tracks, err))
		outcome = OUTCOME_ERROR;
	tracks->reader = &reader;
	if (outcome == OUTCOME_DONE)
		outcome = tracks_compute_window(tracks, err);
	tracks->reader = NULL;
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
		state->limits = limits;
		state->horizon = NULL;
		state->event_source->fills_from = NULL;
	}
	horizon_release(&horizon);
	return outcome;
}
