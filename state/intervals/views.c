/*
 * views.c - computed attributes over a range
 *
 * At any moment a computed attribute is what its expression is over the spans of its operands, and
 * stays that until the first of these spans ends: the sweep goes from end to end.
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
}

struct sweep {
	const struct tracks *tracks;
	nstime at;
	nstime end; /* until then no operand changes */
};

/* The value before any write, of an operand that the run may not have followed to its end. */
static void initial_at(struct sweep *sweep, uint32_t attr, struct value *out)
{
	struct followed *followed = sweep->tracks->followed;

	if (!program_initial(sweep->tracks->state->program, attr, out)) {
		out->kind = VALUE_UNKNOWN;
		return;
	}
	for (size_t i = 0; i < followed->count; i++)
		if (followed->attrs[i] == attr)
			return;
	followed->attrs = mem_grow(followed->attrs, followed->count, &followed->capacity,
				   sizeof *followed->attrs);
	followed->attrs[followed->count++] = attr;
}

/* NULL: it lies before the first. Sweeps go up: it is the span seen last, or the next, or any. */
static const struct span *span_at(struct track *track, nstime at)
{
	size_t low = 0, high = track->count;

	if (track->seen && track->spans[track->seen - 1].begin <= at) {
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
		return true;
	}
	span = span_at(track, sweep->at);
	if (span) {
		out->value = span->value;
		if (span->end < sweep->end)
			sweep->end = span->end;
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

struct computed {
	struct track *items;
	size_t count, capacity;
};

static void add_computed(struct tracks *tracks, struct computed *computed, uint32_t attr)
{
	for (size_t i = 0; i < computed->count; i++)
		if (computed->items[i].attr == attr)
			return;
	computed->items = mem_grow(computed->items, computed->count, &computed->capacity,
				   sizeof *computed->items);
	computed->items[computed->count] = (struct track){0};
	track_compute(tracks, attr, &computed->items[computed->count++]);
}

static void list_view(struct tracks *tracks, struct computed *computed, const struct view *view,
		      uint32_t variable, struct value *values)
{
	struct attrs *attrs = tracks->state->attrs;
	uint32_t shape, place;

	if (variable == view->nvariables) {
		uint32_t attr = view_attr(attrs, view, values);
		if (wanted_lists(tracks->state, tracks->wanted, attr))
			add_computed(tracks, computed, attr);
		return;
	}
	if (!view_source(view, variable, &shape, &place))
		return;
	for (size_t i = 0; i < tracks->count; i++) {
		uint32_t up = tracks->items[i].attr;

		if (attr_shape(attrs, up) != shape || tracks->items[i].named >= tracks->end)
			continue;
		while (attr_depth(attrs, up) > place + 1)
			up = attr_parent(attrs, up);
		values[variable] = *attr_atom(attrs, up);
		list_view(tracks, computed, view, variable + 1, values);
	}
}

static void take_computed(struct tracks *tracks, struct track *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*tracks_add(tracks, items[i].attr) = items[i];
	mem_free(items);
}

void tracks_compute(struct tracks *tracks)
{
	struct state *state = tracks->state;
	struct computed computed = {tracks->computed, tracks->ncomputed, 0};
	struct value values[ENV_VARIABLES];

	tracks->computed = NULL;
	tracks->ncomputed = 0;
	for (size_t i = 0; i < tracks->wanted->nattrs && !tracks->by_need; i++)
		if (program_view_of(state->program, tracks->wanted->attrs[i], values))
			add_computed(tracks, &computed, tracks->wanted->attrs[i]);
	for (uint32_t i = 0; i < program_views(state->program) && !tracks->by_need; i++) {
		const struct view *view = program_view(state->program, i);
		if (wanted_lists_shape(state, tracks->wanted, view->path.shape))
			list_view(tracks, &computed, view, 0, values);
	}
	take_computed(tracks, computed.items, computed.count);
}
