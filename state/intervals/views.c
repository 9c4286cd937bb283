/*
 * views.c - evaluates computed attributes over the spans of their operands
 *
 * The value of a computed attribute holds until the first of its operands' spans ends: evaluation
 * steps from end to end.
 *
 *     ...........[== range ==]...........    operands, as far as they are known
 *       begin <-           -> end            steps down and up while the value is the same
 *
 * Before the range, a run keeps only those spans of operands that some computed attribute may need
 * to find its begin (views_prune()); after it, those that the ends need (views_go_on()).
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/intervals/intervals.h"

#include <string.h>

/* Changes of operands between two calls of views_prune(): at least, and per computed attribute. */
enum { PRUNE_LEAST = 1 << 16, PRUNE_EACH = 16 };

/* ---- which ---- */

struct track *computed_add(struct tracks *computed, uint32_t attr)
{
	struct track *track = tracks_find(computed, attr);

	if (!track) {
		track = tracks_add(computed, attr);
		*track = (struct track){.attr = attr, .computed = true};
	}
	return track;
}

void computed_add_source(const struct tracks *tracks, struct tracks *computed, uint32_t attr,
			 uint32_t source, uint32_t variables)
{
	struct track *track = computed_add(computed, attr);
	struct value initial;
	struct track_more *more;
	size_t i = 0;

	if (wanted_by_name(tracks->wanted, attr))
		return;
	more = track_make_more(computed, track);
	while (i < more->nsources && more->sources[i].attr != source)
		i++;
	if (i == more->nsources)
		*mem_push(more->sources, more->nsources,
			  more->sources_capacity) = (struct track_source){
			source, 0, program_initial(tracks->state->program, source, &initial)};
	more->sources[i].variables |= variables;
}

struct view_listing {
	struct tracks *tracks;
	struct tracks *computed;
};

static bool next_named(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr)
{
	const struct tracks *tracks = ((const struct view_listing *)arg)->tracks;

	while (*at < tracks->count) {
		const struct track *track = &tracks->items[(*at)++];

		*attr = track->attr;
		if (track_named(tracks, track) < tracks->range.end &&
		    (track->given || !tracks->range.window) &&
		    attr_shape(tracks->state->attrs, *attr) == shape)
			return true;
	}
	return false;
}

/* Does its view copy an attribute that no line gives a value in this trace? */
static bool has_no_value(const struct state *state, uint32_t attr)
{
	struct value values[ENV_VARIABLES];
	const struct view *view = program_view_of(state->program, attr, values);
	uint32_t shape = view ? program_view_copies(state->program, view) : ATTR_ABSENT;

	return shape != ATTR_ABSENT && !catalog_given(state->catalog, shape);
}

static void add_listed(void *arg, uint32_t attr, const uint32_t *sources, uint32_t count)
{
	const struct view_listing *listing = arg;

	if (has_no_value(listing->tracks->state, attr))
		return;

	computed_add(listing->computed, attr);
	for (uint32_t v = 0; v < count; v++)
		computed_add_source(listing->tracks, listing->computed, attr, sources[v],
				    UINT32_C(1) << v);
}

void computed_add_named(const struct tracks *tracks, struct tracks *computed)
{
	const struct wanted *wanted = tracks->wanted;
	struct value values[ENV_VARIABLES];

	for (size_t i = 0; i < wanted->nattrs; i++)
		if (program_view_of(tracks->state->program, wanted->attrs[i], values))
			computed_add(computed, wanted->attrs[i]);
}

void computed_list(struct tracks *tracks, struct tracks *computed)
{
	struct view_listing listing = {tracks, computed};
	const struct named_attrs named = {next_named, add_listed, &listing};

	if (!tracks->range.window)
		computed_add_named(tracks, computed);
	wanted_views(tracks->state, tracks->wanted, &named);
}

/* ---- what they read ---- */

static void add_shape(struct tracks *tracks, uint32_t shape)
{
	struct program *program = tracks->state->program;

	if (!tracks->shapes) {
		tracks->nshapes = shape_count(tracks->state->attrs);
		tracks->shapes = mem_new_array(tracks->nshapes, sizeof *tracks->shapes);
	}
	if (shape >= tracks->nshapes || tracks->shapes[shape])
		return;
	tracks->shapes[shape] = true;
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

/* Without this they would be found missing at the end of reading. */
static void name_initial(void *arg, uint32_t attr)
{
	struct tracks *tracks = arg;

	if (is_operand(tracks, attr))
		attr_list_add(&tracks->names, attr, tracks->range.begin);
}

void views_add_operands(struct tracks *tracks)
{
	struct state *state = tracks->state;
	const struct wanted *wanted = tracks->wanted;
	struct value values[ENV_VARIABLES];

	for (size_t i = 0; i < wanted->nattrs; i++)
		if (program_view_of(state->program, wanted->attrs[i], values))
			add_shape(tracks, attr_shape(state->attrs, wanted->attrs[i]));
	for (uint32_t i = 0; i < program_views(state->program); i++) {
		const struct view *view = program_view(state->program, i);

		if (wanted_lists_view(state, wanted, view))
			add_shape(tracks, view->path.shape);
	}
	program_initial_attrs(state->program, name_initial, tracks);
}

/* ---- at a moment ---- */

struct view_sweep {
	struct tracks *tracks;
	const struct tracks *computed; /* the tracks computed */
	nstime at;
	nstime begin, end; /* no operand changes in [begin, end) */
	bool hole;         /* some operand is not known there */
	bool open;         /* some operand is unknown there, and a later event may fill it */
	nstime *needed;    /* by track: the least time at which it was read; may be NULL */
};

/*
 * The span at a time; NULL: before the first. Sweeps go up, so tries the span seen last, then the
 * next.
 */
static const struct span *span_at(struct track *track, nstime at)
{
	size_t low = 0, high = track->count;

	if (track->seen && track->seen <= track->count &&
	    track_spans(track)[track->seen - 1].begin <= at) {
		low = track->seen;
		if (low == high || track_spans(track)[low].begin > at)
			high = low;
		else if (low + 1 == high || track_spans(track)[low + 1].begin > at)
			high = ++low;
	}
	low = search_first(i, low, high, track_spans(track)[i].begin <= at);
	track->seen = low < UINT32_MAX ? (uint32_t)low : 0;
	return low ? track_spans(track) + low - 1 : NULL;
}

/* Reads an attribute without a span: it was never written, or must be read first. */
static void read_untold(struct view_sweep *sweep, uint32_t attr, struct value *out)
{
	struct tracks *tracks = sweep->tracks;
	bool initial = !tracks->by_need && program_initial(tracks->state->program, attr, out);

	if (!initial)
		out->kind = VALUE_UNKNOWN;
	if (initial || tracks->by_need || buried_covers(tracks, attr)) {
		attr_list_add(&tracks->names, attr, sweep->at);
		sweep->hole = true; /* the next round has it */
	}
}

/* May a later `was` fill the attribute, which is unknown at the end of what was read? */
static bool is_fillable(const struct tracks *tracks, uint32_t attr)
{
	const struct state *state = tracks->state;

	return is_operand(tracks, attr) &&
	       catalog_was(state->catalog, attr_shape(state->attrs, attr));
}

static void read_span(struct view_sweep *sweep, const struct track *track, const struct span *span)
{
	if (span->begin > sweep->begin)
		sweep->begin = span->begin;
	nstime end = span_end(sweep->tracks, track, span);
	if (end < sweep->end)
		sweep->end = end;
	if (span->value.kind == VALUE_UNKNOWN && end == NSTIME_MAX)
		sweep->open = sweep->open || is_fillable(sweep->tracks, track->attr);
}

static bool get_at(void *arg, uint32_t attr, struct fact *out)
{
	struct view_sweep *sweep = arg;
	struct tracks *tracks = sweep->tracks;
	struct track *track = tracks_find(tracks, attr);
	const struct span *span = NULL;

	*out = (struct fact){.since = NSTIME_MIN};
	if (!track) {
		sweep->open = sweep->open || is_fillable(tracks, attr);
	} else {
		bool told = sweep->at >= track_from(tracks, track);

		sweep->hole = sweep->hole || !told;
		if (sweep->needed && sweep->needed[track - tracks->items] > sweep->at)
			sweep->needed[track - tracks->items] = sweep->at;
		if (told || !tracks->by_need) {
			span = span_at(track, sweep->at);
			if (!span && track->count && track_spans(track)[0].begin < sweep->end)
				sweep->end = track_spans(track)[0].begin;
		}
	}
	if (span) {
		out->value = span->value;
		read_span(sweep, track, span);
		return !is_beyond(tracks, &span->value);
	}
	if (track && track->unknown_before)
		out->value.kind = VALUE_UNKNOWN;
	else
		read_untold(sweep, attr, &out->value);
	return true;
}

/* Did lists have the source at `at`? An initial value does not put it there. */
static bool was_named(struct view_sweep *sweep, const struct track_source *source)
{
	const struct track *track =
		source->initial ? tracks_find(sweep->tracks, source->attr) : NULL;

	if (!track)
		return !source->initial;
	nstime named = track_named(sweep->tracks, track);
	if (named > sweep->at && named < sweep->end)
		sweep->end = named;
	if (named <= sweep->at && named > sweep->begin)
		sweep->begin = named;
	return named <= sweep->at;
}

/* Do lists have it at `at`? If not, sets *out to VALUE_NONE, or VALUE_UNKNOWN if they may. */
static bool views_is_listed(struct view_sweep *sweep, const struct track *computed,
			    struct value *out)
{
	const struct track_more *more = track_more(sweep->computed, computed);
	uint32_t all = 0, found = 0;
	struct fact fact;

	*out = (struct value){.kind = VALUE_NONE};
	for (size_t i = 0; more && i < more->nsources; i++) {
		const struct track_source *source = &more->sources[i];

		all |= source->variables;
		if (!(source->variables & ~found) || !was_named(sweep, source))
			continue;
		get_at(sweep, source->attr, &fact);
		found |= value_exists(&fact.value) ? source->variables : 0;
		if (fact.value.kind == VALUE_UNKNOWN)
			*out = fact.value;
	}
	return found == all;
}

/* Sets the value at `at` (VALUE_NONE if not in lists), and [begin, end) in which it holds. */
static void compute_at(struct view_sweep *sweep, const struct track *computed, nstime at,
		       struct fact *fact)
{
	sweep->at = at;
	sweep->begin = sweep->tracks->low;
	sweep->end = sweep->tracks->high;
	sweep->hole = sweep->open = false;
	if (views_is_listed(sweep, computed, &fact->value) &&
	    fact_compute(sweep->tracks->state, computed->attr, get_at, sweep, fact).open)
		fact->value = value_open();
}

/* ---- over a range, and beyond it ---- */

/* Appends a span, or extends the last one if its value is the same. */
static void add_span(struct tracks *computed, struct track *track, nstime begin, nstime end,
		     const struct value *value)
{
	if (!track->count || !value_equal(&track_spans(track)[track->count - 1].value, value))
		track_push(track, begin, value);
	track_set_end(computed, track, end);
}

static void compute(struct tracks *operands, struct tracks *computed, struct track *track,
		    nstime begin, nstime end)
{
	struct view_sweep sweep = {.tracks = operands, .computed = computed};
	struct fact fact;

	track->count = 0;
	while (begin < end) {
		nstime to;

		compute_at(&sweep, track, begin, &fact);
		to = sweep.end < end ? sweep.end : end;
		add_span(computed, track, begin, to, &fact.value);
		begin = to;
	}
}

void views_compute(struct tracks *operands, struct tracks *computed, nstime begin, nstime end)
{
	for (size_t i = 0; i < computed->count; i++)
		compute(operands, computed, &computed->items[i], begin, end);
}

void views_follow(struct tracks *operands, struct tracks *computed, struct track *track, bool down)
{
	struct span *span = track_own_spans(track) + (down ? 0 : track->count - 1);
	struct view_sweep sweep = {.tracks = operands, .computed = computed};
	struct fact fact;

	bool more = value_exists(&span->value);
	for (;;) {
		nstime end = track_end(computed, track);

		more = more && (down ? span->begin > NSTIME_MIN : end < NSTIME_MAX);
		if (!more || (down ? span->begin <= operands->low : end >= operands->high))
			break;
		compute_at(&sweep, track, down ? span->begin - 1 : end, &fact);
		if (sweep.hole || (!down && sweep.open && operands->high < NSTIME_MAX))
			break; /* reading piece by piece will show it */
		more = value_equal(&fact.value, &span->value);
		if (more && down)
			span->begin = sweep.begin;
		else if (more)
			track_set_end(computed, track, sweep.end);
	}
	if (down)
		track->down = more;
	else
		track->up = more;
}

/* ---- what is not needed any more ---- */

size_t views_due(const struct state *state, size_t ncomputed)
{
	return state->prune ? state->prune : PRUNE_LEAST + PRUNE_EACH * ncomputed;
}

/* Does its value at the range's end still hold at `now`, or may a fill make it so? */
static bool views_goes_on(struct tracks *tracks, const struct tracks *of,
			  const struct track *computed, nstime now)
{
	struct view_sweep sweep = {.tracks = tracks, .computed = of};
	struct fact fact;
	struct value value;

	compute_at(&sweep, computed, tracks->range.end - 1, &fact);
	if (sweep.open || !value_exists(&fact.value))
		return sweep.open;
	value = fact.value;
	while (sweep.end < now) {
		compute_at(&sweep, computed, sweep.end, &fact);
		if (sweep.open || !value_equal(&fact.value, &value))
			return sweep.open;
	}
	return true;
}

size_t views_go_on(struct tracks *tracks, nstime now)
{
	struct tracks computed = {.state = tracks->state};
	bool some = false;

	computed_list(tracks, &computed);
	for (size_t i = 0; i < computed.count && !some; i++)
		some = views_goes_on(tracks, &computed, &computed.items[i], now);
	size_t due = views_due(tracks->state, computed.count) / 16 + 1;
	tracks_release(&computed);
	return some ? due : 0;
}

/*
 * Notes the operands' spans that decide where the value at `now` begins: back to where the value
 * was certainly another one. An open value may turn out to be the same by a later fill.
 */
static void note_needed(struct tracks *tracks, const struct tracks *of,
			const struct track *computed, nstime now, nstime *needed)
{
	struct view_sweep sweep = {.tracks = tracks, .computed = of, .needed = needed};
	struct value value = {.kind = VALUE_UNKNOWN};
	bool certain = false;
	struct fact fact;

	for (; now > NSTIME_MIN; now = sweep.begin) {
		compute_at(&sweep, computed, now - 1, &fact);
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
static size_t views_forget(struct tracks *tracks, struct track *track, nstime needed)
{
	size_t most = track->count > 2 ? track->count - 2 : 0, gone;

	gone = search_first(i, 0, most, track_spans(track)[i + 1].begin <= needed);
	if (gone) {
		track->count -= (uint32_t)gone;
		struct span *spans = track_own_spans(track);
		memmove(spans, spans + gone, track->count * sizeof *spans);
		track_set_from(tracks, track, track_spans(track)[0].begin);
		track->seen = 0;
	}
	return track->count;
}

size_t views_prune(struct tracks *tracks, nstime now)
{
	nstime *needed = mem_new_array(tracks->count + 1, sizeof *needed);
	struct tracks computed = {.state = tracks->state};
	size_t spans = 0;

	for (size_t i = 0; i < tracks->count; i++)
		needed[i] = NSTIME_MAX;
	computed_list(tracks, &computed);
	for (size_t i = 0; i < computed.count; i++)
		note_needed(tracks, &computed, &computed.items[i], now, needed);
	for (size_t i = 0; i < tracks->count; i++)
		if (tracks->items[i].operand)
			spans += views_forget(tracks, &tracks->items[i], needed[i]);
	spans += views_due(tracks->state, computed.count);
	tracks_release(&computed);
	mem_free(needed);
	return spans;
}
