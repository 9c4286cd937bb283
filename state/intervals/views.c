/*
 * views.c - computed attributes over a range
 *
 * At any moment a computed attribute is what its expression is over the spans of its operands, and
 * stays that until the first of these spans ends: the sweep goes from end to end.
 *
 *     ...........[== range ==]...........    operands, as the run over what views may read tells
 * them begin <-           -> end          steps down and up, as long as the value is the same
 *
 * Before the range the run keeps of each operand what some computed attribute may still need to
 * find its begin (tracks_prune()), behind it what the ends need (tracks_end_computed()).
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/intervals/intervals.h"

#include <string.h>

static void add_shape(struct tracks *tracks, uint32_t shape)
{
	struct program *program = tracks->state->program;

	if (shape >= tracks->nshapes || tracks->operand_shapes[shape])
		return;
	tracks->operand_shapes[shape] = 1;
	for (uint32_t i = 0; i < program_views(program); i++) {
		const struct view *view = program_view(program, i);

		if (view->path.shape != shape)
			continue;
		for (uint32_t r = 0; r < view->nreads; r++)
			add_shape(tracks, view->reads[r].shape);
		for (uint32_t s = 0; s < view->nsources; s++)
			add_shape(tracks, view->sources[s].shape);
		tracks->all_known = false; /* operands are not enumerated */
	}
}

static void follow(struct followed *followed, uint32_t attr)
{
	for (size_t i = 0; i < followed->count; i++)
		if (followed->attrs[i] == attr)
			return;
	followed->attrs = mem_grow(followed->attrs, followed->count, &followed->capacity,
				   sizeof *followed->attrs);
	followed->attrs[followed->count++] = attr;
}

static void note_was(void *arg, const struct line *line)
{
	struct tracks *tracks = arg;
	uint32_t shape = line->target.shape;

	if (line->verb == VERB_WAS && is_operand_shape(tracks, shape))
		tracks->operand_shapes[shape] = 2;
}

/* Else a run would find out at its end that it has to begin once more. */
static void follow_initial(void *arg, uint32_t attr)
{
	struct tracks *tracks = arg;
	uint32_t shape = attr_shape(tracks->state->attrs, attr);

	if (is_operand_shape(tracks, shape))
		follow(tracks->followed, attr);
}

void tracks_add_operands(struct tracks *tracks)
{
	struct state *state = tracks->state;
	struct value variables[ENV_VARIABLES];

	tracks->nshapes = shape_count(state->attrs);
	tracks->operand_shapes = mem_new_array(tracks->nshapes, 1);
	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		if (program_view_of(state->program, tracks->wanted->attrs[i], variables))
			add_shape(tracks, attr_shape(state->attrs, tracks->wanted->attrs[i]));
	for (uint32_t i = 0; i < program_views(state->program); i++) {
		uint32_t shape = program_view(state->program, i)->path.shape;

		if (wanted_lists_shape(state, tracks->wanted, shape))
			add_shape(tracks, shape);
	}
	catalog_lines(state->catalog, note_was, tracks);
	program_initial_attrs(state->program, follow_initial, tracks);
}

struct sweep {
	const struct tracks *tracks;
	nstime at;
	nstime begin, end; /* no operand changes in [begin, end) */
	bool hole;         /* some operand was forgotten there */
	bool open;         /* some is unknown there, and a later event may fill it */
	nstime *needed;    /* by track: the first time at which it was read; or NULL */
};

/* The value before any write, of an operand that the run may not have followed to its end. */
static void initial_at(struct sweep *sweep, uint32_t attr, struct value *out)
{
	if (program_initial(sweep->tracks->state->program, attr, out))
		follow(sweep->tracks->followed, attr);
	else
		out->kind = VALUE_UNKNOWN;
}

/* NULL: it lies before the first. Sweeps go up: it is the span seen last, or the next, or any. */
static const struct span *span_at(struct track *track, nstime at)
{
	size_t low = 0, high = track->count;

	if (track->seen && track->seen <= track->count &&
	    track->spans[track->seen - 1].begin <= at) {
		low = track->seen;
		if (low == high || track->spans[low].begin > at)
			high = low;
		else if (low + 1 == high || track->spans[low + 1].begin > at)
			high = ++low;
	}
	low = search_first(i, low, high, track->spans[i].begin <= at);
	track->seen = low;
	return low ? &track->spans[low - 1] : NULL;
}

/* Of an attribute that is unknown, at the end of what was told: may a later `was` say it? */
static bool is_fillable(const struct tracks *tracks, uint32_t attr)
{
	uint32_t shape = attr_shape(tracks->state->attrs, attr);

	return shape < tracks->nshapes && tracks->operand_shapes[shape] == 2;
}

static void read_span(struct sweep *sweep, const struct track *track, const struct span *span)
{
	if (span->begin > sweep->begin)
		sweep->begin = span->begin;
	if (span->end < sweep->end)
		sweep->end = span->end;
	if (span->value.kind == VALUE_UNKNOWN && span->end == NSTIME_MAX)
		sweep->open = sweep->open || is_fillable(sweep->tracks, track->attr);
}

static bool get_at(void *arg, uint32_t attr, struct fact *out)
{
	struct sweep *sweep = arg;
	struct track *track = tracks_find(sweep->tracks, attr);
	const struct span *span;

	*out = (struct fact){.since = NSTIME_MIN};
	if (sweep->tracks->missing && (!track || sweep->at < track->from)) {
		missing_add(sweep->tracks->missing, attr, sweep->at);
		out->value.kind = VALUE_UNKNOWN;
		return true;
	}
	if (!track) {
		initial_at(sweep, attr, &out->value);
		sweep->open = sweep->open || is_fillable(sweep->tracks, attr);
		return true;
	}
	sweep->hole = sweep->hole || sweep->at < track->from;
	if (sweep->needed && sweep->needed[track - sweep->tracks->items] > sweep->at)
		sweep->needed[track - sweep->tracks->items] = sweep->at;
	span = span_at(track, sweep->at);
	if (span) {
		out->value = span->value;
		read_span(sweep, track, span);
		return true;
	}
	initial_at(sweep, attr, &out->value);
	if (track->count && track->spans[0].begin < sweep->end)
		sweep->end = track->spans[0].begin;
	return true;
}

/* Appends a span, or lets the last one go on. */
static void add_span(struct track *track, nstime begin, nstime end, const struct value *value)
{
	struct span *last = track->count ? &track->spans[track->count - 1] : NULL;

	if (last && value_equal(&last->value, value)) {
		last->end = end;
		return;
	}
	track->spans = mem_grow(track->spans, track->count, &track->capacity, sizeof *track->spans);
	track->spans[track->count++] = (struct span){begin, end, *value};
}

void track_compute(struct tracks *operands, uint32_t attr, struct track *out)
{
	struct sweep sweep = {.tracks = operands, .at = operands->begin};

	out->attr = attr;
	out->computed = true;
	out->count = 0;
	while (sweep.at < operands->end) {
		struct fact fact;

		sweep.end = operands->end;
		fact_compute(operands->state, attr, get_at, &sweep, &fact);
		add_span(out, sweep.at, sweep.end, &fact.value);
		sweep.at = sweep.end;
	}
}

/* The value at sweep->at, and where no operand of it changes around. */
static void compute_at(struct sweep *sweep, uint32_t attr, nstime at, struct fact *fact)
{
	sweep->at = at;
	sweep->begin = sweep->tracks->low;
	sweep->end = sweep->tracks->high;
	sweep->hole = sweep->open = false;
	fact_compute(sweep->tracks->state, attr, get_at, sweep, fact);
}

/* ---- beyond the range, as far as operands are told ---- */

static void reach_down(struct tracks *tracks, struct track *track)
{
	struct sweep sweep = {.tracks = tracks};
	struct span *first = &track->spans[0];
	struct fact fact;

	track->down = value_exists(&first->value) && first->begin > NSTIME_MIN;
	while (track->down && first->begin > tracks->low) {
		compute_at(&sweep, track->attr, first->begin - 1, &fact);
		if (sweep.hole)
			return;
		track->down = value_equal(&fact.value, &first->value);
		if (track->down)
			first->begin = sweep.begin;
		track->down = track->down && first->begin > NSTIME_MIN;
	}
}

static void reach_up(struct tracks *tracks, struct track *track)
{
	struct sweep sweep = {.tracks = tracks};
	struct span *last = &track->spans[track->count - 1];
	struct fact fact;

	track->up = value_exists(&last->value) && last->end < NSTIME_MAX;
	while (track->up && last->end < tracks->high) {
		compute_at(&sweep, track->attr, last->end, &fact);
		if (sweep.hole || (sweep.open && tracks->high < NSTIME_MAX))
			return; /* what is read anew, piece by piece, tells */
		track->up = value_equal(&fact.value, &last->value);
		if (!track->up)
			return;
		last->end = sweep.end;
		track->up = last->end < NSTIME_MAX;
	}
}

/* ---- all that are wanted ---- */

struct computed {
	uint32_t *attrs;
	size_t count, capacity;
	struct number_map had; /* by attribute */
};

static void add_computed(struct computed *computed, uint32_t attr)
{
	if (number_map_get(&computed->had, attr))
		return;
	number_map_set(&computed->had, attr, 1);
	computed->attrs = mem_grow(computed->attrs, computed->count, &computed->capacity,
				   sizeof *computed->attrs);
	computed->attrs[computed->count++] = attr;
}

struct listing {
	struct tracks *tracks;
	struct computed *computed;
};

static bool next_named(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr)
{
	const struct tracks *tracks = ((const struct listing *)arg)->tracks;

	while (*at < tracks->count) {
		const struct track *track = &tracks->items[(*at)++];

		*attr = track->attr;
		if (track->named < tracks->end && attr_shape(tracks->state->attrs, *attr) == shape)
			return true;
	}
	return false;
}

static void add_listed(void *arg, uint32_t attr)
{
	add_computed(((const struct listing *)arg)->computed, attr);
}

/* By name, and those that lists name by now. */
static void add_all(struct tracks *tracks, struct computed *computed)
{
	struct state *state = tracks->state;
	struct listing listing = {tracks, computed};
	const struct named named = {next_named, add_listed, &listing};
	struct value values[ENV_VARIABLES];

	*computed = (struct computed){0};
	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		if (program_view_of(state->program, tracks->wanted->attrs[i], values))
			add_computed(computed, tracks->wanted->attrs[i]);
	wanted_views(state, tracks->wanted, &named);
}

static void computed_release(struct computed *computed)
{
	mem_free(computed->attrs);
	mem_free(computed->had.items);
}

static void compute_all(struct tracks *tracks)
{
	struct computed computed;

	add_all(tracks, &computed);
	tracks->computed = mem_new_array(computed.count + 1, sizeof *tracks->computed);
	tracks->ncomputed = computed.count;
	for (size_t i = 0; i < computed.count; i++)
		track_compute(tracks, computed.attrs[i], &tracks->computed[i]);
	computed_release(&computed);
}

void tracks_compute(struct tracks *tracks)
{
	if (tracks->by_need) { /* operands were told in the range alone */
		tracks->low = tracks->begin;
		tracks->high = tracks->end;
	} else {
		compute_all(tracks);
	}
	for (size_t i = 0; i < tracks->ncomputed && !tracks->within; i++) {
		reach_down(tracks, &tracks->computed[i]);
		reach_up(tracks, &tracks->computed[i]);
	}
	for (size_t i = 0; i < tracks->ncomputed; i++)
		*tracks_add(tracks, tracks->computed[i].attr) = tracks->computed[i];
	mem_free(tracks->computed);
	tracks->computed = NULL;
	tracks->ncomputed = 0;
}

/* ---- what is not needed any more ---- */

size_t tracks_due(const struct tracks *tracks, size_t ncomputed)
{
	uint32_t least = tracks->state->prune;

	return least ? least : PRUNE_LEAST + PRUNE_EACH * ncomputed;
}

/* Does its value at the range's end go on at `now`, or may it turn out to? */
static bool goes_on(struct tracks *tracks, uint32_t attr, nstime now)
{
	struct sweep sweep = {.tracks = tracks};
	struct fact fact;
	struct value value;

	compute_at(&sweep, attr, tracks->end - 1, &fact);
	if (sweep.open || !value_exists(&fact.value))
		return sweep.open;
	value = fact.value;
	while (sweep.end < now) {
		compute_at(&sweep, attr, sweep.end, &fact);
		if (sweep.open || !value_equal(&fact.value, &value))
			return sweep.open;
	}
	return true;
}

void tracks_end_computed(struct tracks *tracks, nstime now)
{
	struct computed computed;
	bool some = false;

	add_all(tracks, &computed);
	for (size_t i = 0; i < computed.count && !some; i++)
		some = goes_on(tracks, computed.attrs[i], now);
	tracks->due = tracks->cuts * 2 + tracks_due(tracks, computed.count) / 16 + 1;
	computed_release(&computed);
	if (some)
		return;
	tracks->follows = false;
	tracks->high = now;
	for (size_t i = 0; i < tracks->count; i++)
		tracks->items[i].operand = false;
}

/*
 * Notes what tells where the value at `now` begins: down to where it was another one for certain.
 * What an event that is still to come may fill can turn out to be that value.
 */
static void note_needed(struct tracks *tracks, uint32_t attr, nstime now, nstime *needed)
{
	struct sweep sweep = {.tracks = tracks, .needed = needed};
	struct value value = {.kind = VALUE_UNKNOWN};
	bool certain = false;
	struct fact fact;

	for (; now > NSTIME_MIN; now = sweep.begin) {
		compute_at(&sweep, attr, now - 1, &fact);
		if (sweep.hole)
			return;
		if (sweep.open)
			continue;
		if (certain ? !value_equal(&fact.value, &value) : !value_exists(&fact.value))
			return;
		value = fact.value;
		certain = true;
	}
}

/* Keeps the last two spans, as track_cut() does. */
static size_t forget(struct track *track, nstime needed)
{
	size_t most = track->count > 2 ? track->count - 2 : 0, gone;

	gone = search_first(i, 0, most, track->spans[i].end <= needed);
	if (gone) {
		track->count -= gone;
		memmove(track->spans, track->spans + gone, track->count * sizeof *track->spans);
		track->from = track->spans[0].begin;
		track->seen = 0;
	}
	return track->count;
}

void tracks_prune(struct tracks *tracks, nstime now)
{
	nstime *needed = mem_new_array(tracks->count + 1, sizeof *needed);
	struct computed computed;
	size_t spans = 0;

	for (size_t i = 0; i < tracks->count; i++)
		needed[i] = NSTIME_MAX;
	add_all(tracks, &computed);
	for (size_t i = 0; i < computed.count; i++)
		note_needed(tracks, computed.attrs[i], now, needed);
	for (size_t i = 0; i < tracks->count; i++)
		if (tracks->items[i].operand)
			spans += forget(&tracks->items[i], needed[i]);
	tracks->due = tracks->cuts + spans + tracks_due(tracks, computed.count);
	computed_release(&computed);
	mem_free(needed);
}
