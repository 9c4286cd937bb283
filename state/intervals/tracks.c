/*
 * tracks.c - finds, changes, spools and releases tracks
 *
 * A track is a list of adjacent spans; the last one is open. A write at time t starts a new span at
 * t and drops spans that begin at t or later. If the value is the same as before, the last span
 * goes on: adjacent spans differ.
 */
#include "engine/base/bitset.h"
#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "state/intervals/intervals.h"

#include <string.h>

/* So many changes, and their spans, fit into a processor's cache. */
enum { SPOOL_AT = 1 << 16 };

/* ---- names ---- */

void attr_list_add(struct attr_list *names, uint32_t attr, nstime from)
{
	uint32_t place = number_map_get(&names->places, attr);

	if (place) {
		if (from < names->items[place - 1].from)
			names->items[place - 1].from = from;
		return;
	}
	*mem_push(names->items, names->count, names->capacity) =
		(struct attr_from){.attr = attr, .from = from};
	number_map_set(&names->places, attr, (uint32_t)names->count);
}

void attr_list_clear(struct attr_list *names)
{
	for (size_t i = 0; i < names->count; i++)
		number_map_set(&names->places, names->items[i].attr, 0);
	names->count = 0;
}

void attr_list_release(struct attr_list *names)
{
	mem_free(names->items);
	mem_free(names->places.items);
}

/* ---- what it rests on ---- */

struct track_naming {
	const struct tracks *tracks;
	uint64_t *named; /* bit per shape of `names` */
	uint32_t nshapes;
	uint64_t *statements; /* bit per statement that may give a value to a wanted attribute */
	uint32_t *shapes;     /* wanted shapes, with repetition */
	size_t count, capacity;
	bool has_was;
};

static void add_shape(struct track_naming *told, uint32_t shape)
{
	*mem_push(told->shapes, told->count, told->capacity) = shape;
}

/* Is the shape wanted: by name, by a list, as an operand, or as a source of a view's variables? */
static bool is_told(const struct track_naming *told, uint32_t shape)
{
	const struct tracks *tracks = told->tracks;

	return (shape < told->nshapes && bitset_has(told->named, shape)) ||
	       tracks_want_shape(tracks, shape) ||
	       wanted_is_source(tracks->state, tracks->wanted, shape);
}

/* A line that pushes or pops also writes the attributes below the stack. */
static void add_stack_line(void *arg, const struct line *line)
{
	struct track_naming *told = arg;
	struct attrs *attrs = told->tracks->state->attrs;
	uint32_t shape = line->target.shape;
	uint32_t values = verb_stacks(line->verb) ? shape_key(attrs, shape) : shape;
	bool below = values != shape && is_told(told, values);

	if (line->flags & LINE_SECTION || verb_buries(line->verb) ||
	    (!below && !is_told(told, shape)))
		return;
	bitset_add(told->statements, line->id);
	told->has_was = told->has_was || line->verb == VERB_WAS;
	add_shape(told, shape);
	if (below)
		add_shape(told, values);
}

static struct track_naming look_at_lines(const struct tracks *tracks)
{
	const struct state *state = tracks->state;
	struct track_naming told = {
		.tracks = tracks,
		.statements = bitset_new(program_statements(state->program)),
		.named = bitset_new(shape_count(state->attrs)),
		.nshapes = shape_count(state->attrs),
	};

	for (size_t i = 0; i < tracks->names.count; i++)
		bitset_add(told.named, attr_shape(state->attrs, tracks->names.items[i].attr));
	catalog_lines(state->catalog, add_stack_line, &told);
	return told;
}

uint64_t *tracks_heard(const struct tracks *tracks, bool *has_was)
{
	struct track_naming told = look_at_lines(tracks);

	*has_was = told.has_was;
	mem_free(told.named);
	mem_free(told.shapes);
	return told.statements;
}

struct closure *tracks_closure(const struct tracks *tracks)
{
	const struct state *state = tracks->state;
	struct track_naming told = look_at_lines(tracks);
	struct closure *closure;

	for (uint32_t s = 0; s < told.nshapes; s++) /* also shapes that are only deleted */
		if (is_operand_shape(tracks, s) || bitset_has(told.named, s))
			add_shape(&told, s);
	closure = closure_new(state->catalog, told.shapes, told.count);
	mem_free(told.named);
	mem_free(told.statements);
	mem_free(told.shapes);
	return closure;
}

/* ---- tracks ---- */

struct track *tracks_find(const struct tracks *tracks, uint32_t attr)
{
	uint32_t place = number_map_get(&tracks->places, attr);

	return place ? &tracks->items[place - 1] : NULL;
}

static void grow_times(const struct tracks *tracks, nstime **times)
{
	if (*times)
		*times = mem_resize(*times, tracks->capacity, sizeof **times);
}

static void grow_members(struct tracks *tracks, size_t before)
{
	grow_times(tracks, &tracks->from);
	grow_times(tracks, &tracks->named);
	grow_times(tracks, &tracks->ends);
	if (tracks->more)
		tracks->more = mem_resize_zeroed(tracks->more, before, tracks->capacity,
						 sizeof *tracks->more);
}

/* The track's element of an array of times, which is allocated if it is NULL. */
static nstime *time_place(const struct tracks *tracks, nstime **times, const struct track *track)
{
	if (!*times)
		*times = mem_resize(NULL, tracks->capacity, sizeof **times);
	return &(*times)[track - tracks->items];
}

static struct track_more **more_place(struct tracks *tracks, const struct track *track)
{
	if (!tracks->more)
		tracks->more = mem_new_array(tracks->capacity, sizeof *tracks->more);
	return &tracks->more[track - tracks->items];
}

struct track_more *track_make_more(struct tracks *tracks, const struct track *track)
{
	struct track_more **more = more_place(tracks, track);

	if (!*more) {
		*more = mem_new(sizeof **more);
		(*more)->dead = NSTIME_MAX;
		(*more)->ended = NSTIME_MIN;
	}
	return *more;
}

void track_set_dead(struct tracks *tracks, const struct track *track, nstime dead)
{
	if (track_dead(tracks, track) != dead)
		track_make_more(tracks, track)->dead = dead;
}

void track_set_from(struct tracks *tracks, const struct track *track, nstime from)
{
	if (!tracks->from && tracks->count == 1)
		tracks->from_all = from;
	if (!tracks->from && tracks->from_all == from)
		return;
	if (!tracks->from)
		for (size_t i = 0; i < tracks->count; i++)
			*time_place(tracks, &tracks->from, &tracks->items[i]) = tracks->from_all;
	tracks->from[track - tracks->items] = from;
}

/* Memory of larger tracks, for the memory budget; most tracks have one or two spans. */
static struct grown grown = {.what = "intervals"};
enum { TOLD_ROOM = 8 };

static long long told_bytes(uint8_t room)
{
	return room < TOLD_ROOM ? 0 : (long long)(sizeof(struct span) << room);
}

/* Sets the capacity to 2^room spans, at least track->count. */
static void set_room(struct track *track, uint8_t room)
{
	struct span one = track->one, *many = track->room ? track->many : NULL;

	if (room) {
		track->many = mem_resize(many, (size_t)1 << room, sizeof *many);
		if (!many)
			track->many[0] = one;
	} else if (many) {
		track->one = many[0];
		mem_free(many);
	}
	if (told_bytes(room) != told_bytes(track->room))
		grown_add(&grown, told_bytes(room) - told_bytes(track->room));
	track->room = room & 63u;
}

void track_push(struct track *track, nstime begin, const struct value *value)
{
	if (track->count == (size_t)1 << track->room)
		set_room(track, track->room + 1);
	track_own_spans(track)[track->count++] = (struct span){begin, *value};
}

/* Frees what the track owns. */
static void release_track(struct tracks *tracks, struct track *track)
{
	struct track_more *more = track_more(tracks, track);

	if (track->room)
		set_room(track, 0);
	if (!more)
		return;
	mem_free(more->sources);
	mem_free(more->sums);
	totals_free(more->totals);
	mem_free(more);
	tracks->more[track - tracks->items] = NULL;
}

nstime track_shown(const struct tracks *tracks, const struct track *track)
{
	bool listed = !track->computed && !wanted_by_name(tracks->wanted, track->attr);

	return listed ? track_named(tracks, track) : NSTIME_MIN;
}

bool track_interval(const struct tracks *tracks, const struct track *track, nstime named,
		    const struct span *span, nstime end, struct interval *out)
{
	const struct intervals_range *range = &tracks->range;

	if (!value_exists(&span->value) || span->begin >= range->end || end <= range->begin ||
	    end <= named)
		return false;
	out->begin = span->begin < named ? named : span->begin;
	out->end = end;
	out->value = span->value;
	if (out->begin >= range->end)
		return false;
	if ((range->within || track->cut) && out->end > range->end) {
		out->end = range->end;
		out->lost = false;
	}
	return true;
}

bool tracks_ask(const struct tracks *tracks, bool first, uint32_t attr)
{
	const struct wanted *wanted = tracks->wanted;
	size_t nfirst = tracks->first ? tracks->first->count : 0;
	size_t i = first ? 0 : nfirst, end = first ? nfirst : wanted->nqueries;

	for (; i < end; i++)
		if (query_matches(wanted->queries[i], tracks->state->attrs, attr))
			return true;
	return false;
}

void track_set_end(struct tracks *tracks, const struct track *track, nstime end)
{
	*time_place(tracks, &tracks->ends, track) = end;
}

void track_set_named(struct tracks *tracks, struct track *track, nstime named)
{
	track->named_ever = named == NSTIME_MIN;
	track->named_at = named > NSTIME_MIN && named < NSTIME_MAX;
	if (track->named_at)
		*time_place(tracks, &tracks->named, track) = named;
}

/*
 * The time is stored only if it matters: if it is after the range, if spans were spooled, or if the
 * track has a value before it, which lists must not show.
 */
void track_note_named(struct tracks *tracks, struct track *track, nstime at)
{
	bool matters = at >= tracks->range.end || track->spooled;

	if (at >= track_named(tracks, track))
		return;
	for (size_t i = 0; i < track->count && track_spans(track)[i].begin < at && !matters; i++)
		matters = value_exists(&track_spans(track)[i].value);
	track_set_named(tracks, track, matters ? at : NSTIME_MIN);
}

struct track *tracks_add_from(struct tracks *tracks, uint32_t attr, nstime from)
{
	size_t before = tracks->capacity;
	struct track *track = mem_push(tracks->items, tracks->count, tracks->capacity);

	if (tracks->capacity > before)
		grow_members(tracks, before);
	number_map_set(&tracks->places, attr, (uint32_t)tracks->count);
	*track = (struct track){.attr = attr,
				.cut = tracks->first && !tracks_ask(tracks, false, attr)};
	track_set_from(tracks, track, from);
	return track;
}

void track_move(struct tracks *to, struct tracks *from, struct track *track)
{
	struct track *own = tracks_find(to, track->attr);
	struct track_more *more = track_more(from, track);

	if (own)
		release_track(to, own);
	else
		own = tracks_add(to, track->attr);
	*own = *track;
	track_set_from(to, own, track_from(from, track));
	track_set_named(to, own, track_named(from, track));
	track->count = track->room = 0;
	if (!more)
		return;
	*more_place(to, own) = more;
	from->more[track - from->items] = NULL;
}

void track_move_computed(struct tracks *to, const struct tracks *from, struct track *track)
{
	struct track *own = tracks_add_from(to, track->attr, to->from_all);

	*own = *track;
	track_set_end(to, own, track_end(from, track));
	track->count = track->room = 0;
}

static bool some_was_tells(const struct tracks *tracks, const struct track *track)
{
	const struct state *state = tracks->state;

	return catalog_was(state->catalog, attr_shape(state->attrs, track->attr));
}

void track_set_unknown(struct tracks *tracks, struct track *track, bool unknown)
{
	struct overhang *over = &tracks->over;

	if (track->unknown == unknown)
		return;
	track->unknown = unknown;
	over->unknown = over->unknown + unknown - !unknown;
	if (some_was_tells(tracks, track))
		over->fillable = over->fillable + unknown - !unknown;
}

bool track_is_fillable(const struct tracks *tracks, const struct track *track)
{
	return track->unknown && some_was_tells(tracks, track);
}

bool track_is_settled(const struct tracks *tracks, const struct track *track)
{
	return tracks->over.past && !track->open && !track_is_fillable(tracks, track);
}

bool tracks_gives(const struct tracks *tracks, const struct writer *writer)
{
	const struct program *program = tracks->state->program;

	return writer->line != UINT32_MAX &&
	       verb_gives(program_statement(program, writer->line)->verb);
}

void track_note_given(struct tracks *tracks, struct track *track, nstime time, bool event)
{
	if (time < tracks->range.begin || time >= tracks->range.end)
		return;
	track->given = track->given || event;
	track_note_named(tracks, track, time);
}

void track_write(struct tracks *tracks, struct track *track, nstime at, const struct value *value,
		 bool beyond)
{
	struct value own =
		value->kind == VALUE_UNKNOWN ? (struct value){.kind = VALUE_UNKNOWN} : *value;

	attrs_keep(tracks->state->attrs, &own);
	track_cut(track, at, &own, NSTIME_MIN);
	if (beyond) /* also where it was unknown before */
		track_own_spans(track)[track->count - 1].value = value_open();
	tracks_changed(tracks, track);
	if (tracks->over.past)
		tracks_touch(tracks, track);
}

bool track_takes_fill(const struct tracks *tracks, struct track *track, const struct value *value,
		      bool beyond)
{
	struct value *last = &track_own_spans(track)[track->count - 1].value;

	if (last->kind != VALUE_UNKNOWN || is_beyond(tracks, last))
		return false;
	if (beyond)
		*last = value_open();
	return value->kind != VALUE_UNKNOWN;
}

void tracks_end_beyond(struct tracks *tracks, bool may_fill)
{
	tracks_settle(tracks);
	for (size_t i = 0; i < tracks->count && may_fill; i++) {
		struct track *track = &tracks->items[i];
		struct span *last = track_own_spans(track) + track->count - 1;

		if (track_is_fillable(tracks, track) && last->value.kind == VALUE_UNKNOWN)
			last->value = value_open();
	}
}

void track_cut(struct track *track, nstime at, const struct value *value, nstime keep)
{
	struct span *last;

	while (track->count && track_spans(track)[track->count - 1].begin >= at)
		track->count--;
	if (track->count == 0) {
		track_push(track, at, value);
		return;
	}
	last = track_own_spans(track) + track->count - 1;
	if (value_equal(&last->value, value))
		return;
	if (track->count > 1 && last->begin <= keep) {
		/* it begins before `keep`: earlier spans are not needed */
		track_own_spans(track)[0] = *last;
		track->count = 1;
	}
	track_push(track, at, value);
}

/* Must the value at the range's end be followed beyond it? */
static bool follows(const struct tracks *tracks, const struct track *track)
{
	return !tracks->range.within && !track->cut;
}

/*
 * Updates `open` and `unknown` of a track past the range. open: the value at the range's end still
 * holds. unknown: it ended when it became unknown, so a fill may extend it. Else it is final.
 */
static void settle_track(struct tracks *tracks, struct track *track)
{
	const struct span *last = track_last(track), *over = last;
	const struct track_more *more = track_more(tracks, track);

	while (over > track_spans(track) && over->begin >= tracks->range.end)
		over--;
	tracks->over.open -= track->open;
	track->open = follows(tracks, track) && over == last && value_exists(&over->value) &&
		      over->begin < tracks->range.end;
	track_set_unknown(tracks, track,
			  over + 1 == last && value_exists(&over->value) &&
				  last->value.kind == VALUE_UNKNOWN &&
				  (!more || more->ended != last->begin));
	if (track->unknown) /* a later change that leaves it unknown ends that */
		track_make_more(tracks, track)->ended = last->begin;
	tracks->over.open += track->open;
	if (track->unknown && last->begin >= tracks->over.fills)
		tracks->over.fills = last->begin + 1;
}

void tracks_settle(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->over.ntouched; i++) {
		struct track *track = &tracks->items[tracks->over.touched[i]];

		track->touched = false;
		settle_track(tracks, track);
	}
	tracks->over.ntouched = 0;
}

void tracks_touch(struct tracks *tracks, struct track *track)
{
	struct overhang *over = &tracks->over;

	if (track->touched || (!track->open && !track->unknown))
		return;
	track->touched = true;
	*mem_push(over->touched, over->ntouched, over->capacity) =
		(uint32_t)(track - tracks->items);
}

void tracks_pass_end(struct tracks *tracks)
{
	tracks->over.past = true;
	tracks->over.fills = tracks->range.end;
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->items[i];
		const struct span *last = track_last(track);

		track->open = follows(tracks, track) && value_exists(&last->value);
		tracks->over.open += track->open;
		track_set_unknown(tracks, track, last->value.kind == VALUE_UNKNOWN);
	}
}

/*
 * Drops the first span of an operand if it is unknown and the second has a value; most have one
 * then.
 */
static bool cut_unknown(struct track *track)
{
	if (track->count != 2 || track_spans(track)[0].begin != NSTIME_MIN ||
	    track_spans(track)[0].value.kind != VALUE_UNKNOWN ||
	    !value_exists(&track_spans(track)[1].value))
		return false;
	track_own_spans(track)[0] = track_spans(track)[1];
	track->count = 1;
	track->unknown_before = true;
	set_room(track, 0);
	return true;
}

void tracks_changed(struct tracks *tracks, struct track *track)
{
	struct spooling *spooling = &tracks->spooling;

	spooling->changes++;
	if (!spooling->at || track->ended || track->count <= spooling->stay)
		return;
	if (is_operand(tracks, track->attr)) { /* spans of operands are not spooled */
		track->ended = !cut_unknown(track);
		return;
	}
	track->ended = true;
	*mem_push(spooling->ended, spooling->nended, spooling->capacity) =
		(uint32_t)(track - tracks->items);
}

/* Spools spans [first, end). False: the spool is full. */
static bool spool(struct tracks *tracks, struct track *track, size_t first, size_t end)
{
	uint32_t run = track->spooled ? track->run : 0;

	if (!spool_add(tracks->spooling.spool, track_spans(track) + first, end - first, &run))
		return false;
	track->spooled = true;
	track->run = run;
	return true;
}

/*
 * A `was` may fill the last span, if it is unknown, and join it to the one before: these two stay.
 * An unknown span before the first value is dropped: it makes no interval.
 */
static void spool_track(struct tracks *tracks, struct track *track)
{
	bool unknown = track_spans(track)[track->count - 1].value.kind == VALUE_UNKNOWN;
	struct span *spans;
	uint8_t stay = unknown ? 2 : tracks->spooling.stay;
	size_t first = !track->spooled && track_spans(track)[0].value.kind == VALUE_UNKNOWN;

	if (track->count <= stay)
		return;
	size_t ended = track->count - stay;
	if (totals_wanted(tracks, track))
		totals_add(tracks, track, ended);
	else if (ended > first && !spool(tracks, track, first, ended))
		return;
	spans = track_own_spans(track);
	memmove(spans, spans + ended, stay * sizeof *spans);
	track->count = stay;
	if (track->room >= stay)
		set_room(track, stay - 1);
}

bool tracks_are_whole(const struct tracks *tracks)
{
	const struct event_source *event_source = tracks->state->event_source;
	nstime first, last;
	struct error ignored;

	/* Cells that are written in place cannot undo what a late event shows to be wrong. */
	return tracks->wanted->nqueries && !trace_disorder(event_source->trace) &&
	       event_source->ops->span(tracks->state->event_source, &first, &last, &ignored) &&
	       tracks->range.begin <= first && tracks->range.end > last;
}

/*
 * Spools only tracks of the answer itself. Not if the first span is needed again to find its true
 * begin, nor if a late event may make what was spooled wrong.
 */
void tracks_spool_begin(struct tracks *tracks)
{
	const struct state *state = tracks->state;
	bool may = tracks->sink && !tracks->range.window && !state->handover &&
		   (tracks->range.within || tracks_are_whole(tracks)) &&
		   !trace_disorder(state->event_source->trace);

	tracks->spooling.changes = 0;
	tracks->spooling.at = !may ? 0 : state->spool_changes ? state->spool_changes : SPOOL_AT;
	tracks->spooling.stay = 2;
}

bool tracks_spool_due(const struct tracks *tracks)
{
	return tracks->spooling.at && tracks->spooling.changes >= tracks->spooling.at;
}

void tracks_spool(struct tracks *tracks)
{
	struct spooling *spooling = &tracks->spooling;

	if (!tracks_spool_due(tracks) || tracks->over.past)
		return;
	if (!spooling->spool)
		spooling->spool = spool_new();
	for (size_t i = 0; i < spooling->nended; i++) {
		struct track *track = &tracks->items[spooling->ended[i]];

		track->ended = false;
		spool_track(tracks, track);
	}
	spooling->changes = spooling->nended = 0;
	tracks->state->spooled++;
}

/* Frees what all tracks own, and the spool. */
static void empty(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->count; i++)
		release_track(tracks, &tracks->items[i]);
	mem_free(tracks->from);
	mem_free(tracks->named);
	mem_free(tracks->ends);
	mem_free(tracks->more);
	tracks->from = tracks->named = tracks->ends = NULL;
	tracks->more = NULL;
	spool_free(tracks->spooling.spool);
	mem_free(tracks->spooling.ended);
	tracks->spooling = (struct spooling){.at = tracks->spooling.at};
}

void tracks_forget(struct tracks *tracks)
{
	empty(tracks);
	for (size_t i = 0; i < tracks->count; i++)
		number_map_set(&tracks->places, tracks->items[i].attr, 0);
	tracks->count = 0;
	tracks->low = tracks->range.begin;
	tracks->high = tracks->range.end;
	mem_free(tracks->over.touched);
	tracks->over = (struct overhang){0};
	buried_release(&tracks->buried);
}

void tracks_release(struct tracks *tracks)
{
	empty(tracks);
	mem_free(tracks->items);
	mem_free(tracks->places.items);
	mem_free(tracks->shapes);
	mem_free(tracks->over.touched);
	buried_release(&tracks->buried);
	attr_list_release(&tracks->names);
}
