/*
 * intervals_views.c - computed attributes over a range
 *
 * At any moment a computed attribute is what its expression is over the spans of its operands, and
 * stays that until the first of these spans ends: the sweep goes from end to end.
 */
#include "engine/base/mem.h"
#include "state/intervals.h"

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
	nstime begin, end; /* in which no operand changes */
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
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->spans[middle].begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	track->seen = low;
	return low ? &track->spans[low - 1] : NULL;
}

static bool get_at(void *arg, uint32_t attr, struct fact *out)
{
	struct sweep *sweep = arg;
	struct track *track = tracks_find(sweep->tracks, attr);
	const struct span *span;

	*out = (struct fact){.since = NSTIME_MIN};
	if (!track) {
		initial_at(sweep, attr, &out->value);
		return true;
	}
	span = span_at(track, sweep->at);
	if (span) {
		out->value = span->value;
		if (span->begin > sweep->begin)
			sweep->begin = span->begin;
		if (span->end < sweep->end)
			sweep->end = span->end;
		return true;
	}
	initial_at(sweep, attr, &out->value);
	if (track->count && track->spans[0].begin < sweep->end)
		sweep->end = track->spans[0].begin;
	return true;
}

static void compute(struct tracks *tracks, uint32_t attr, struct track *out)
{
	struct sweep sweep = {.tracks = tracks, .at = tracks->begin};

	*out = (struct track){.attr = attr, .computed = true};
	while (sweep.at < tracks->end) {
		struct span *last = out->count ? &out->spans[out->count - 1] : NULL;
		struct fact fact;

		sweep.begin = NSTIME_MIN;
		sweep.end = NSTIME_MAX;
		fact_compute(tracks->state, attr, get_at, &sweep, &fact);
		if (last && value_equal(&last->value, &fact.value)) {
			last->end = sweep.end;
		} else {
			out->spans = mem_grow(out->spans, out->count, &out->capacity,
					      sizeof *out->spans);
			out->spans[out->count++] =
				(struct span){sweep.begin, sweep.end, fact.value};
		}
		if (sweep.end == NSTIME_MAX)
			break;
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
	compute(tracks, attr, &computed->items[computed->count++]);
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

void tracks_compute(struct tracks *tracks)
{
	struct state *state = tracks->state;
	struct computed computed = {0};
	struct value values[ENV_VARIABLES];

	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		if (program_view_of(state->program, tracks->wanted->attrs[i], values))
			add_computed(tracks, &computed, tracks->wanted->attrs[i]);
	for (uint32_t i = 0; i < program_views(state->program); i++) {
		const struct view *view = program_view(state->program, i);
		if (wanted_lists_shape(state, tracks->wanted, view->path.shape))
			list_view(tracks, &computed, view, 0, values);
	}
	for (size_t i = 0; i < computed.count; i++) {
		tracks->items = mem_grow(tracks->items, tracks->count, &tracks->capacity,
					 sizeof *tracks->items);
		tracks->items[tracks->count++] = computed.items[i];
	}
	mem_free(computed.items);
}

static bool is_loose(const struct tracks *tracks, const struct track *track, nstime begin,
		     nstime end)
{
	for (size_t i = 0; i < track->count; i++) {
		const struct span *span = &track->spans[i];

		if (span->value.kind <= VALUE_NONE || span->begin >= end || span->end <= begin)
			continue;
		if (i == 0 && tracks->begin > NSTIME_MIN && span->begin > NSTIME_MIN)
			return true;
		if (i + 1 == track->count && tracks->end < NSTIME_MAX && span->end < NSTIME_MAX)
			return true;
	}
	return false;
}

bool tracks_loose(const struct tracks *tracks, nstime begin, nstime end)
{
	for (size_t i = 0; i < tracks->count; i++)
		if (tracks->items[i].computed && is_loose(tracks, &tracks->items[i], begin, end))
			return true;
	return false;
}
