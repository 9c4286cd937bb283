/*
 * stored.c - values at moments from timelines
 *
 * The newest change of an attribute gives its value. Without a change, or after a deletion, the
 * newest tombstone that covers it counts, then `initial`. A later event, also of a later shard, may
 * fill an unknown value; shards know how far back their fills reach, so the search is short.
 */
#include "state/timelines/stored.h"

#include "engine/base/mem.h"

/*
 * Iterates over a shard's tombstones that cover an attribute: of its path upwards, then patterns.
 */
struct covering {
	struct numbers *numbers;
	uint32_t attr;
	uint32_t at; /* the attribute or an ancestor; ATTR_ABSENT: past the root */
	bool below;  /* next is the tombstone of all below `at`, without it */
	uint32_t pattern;
};

static struct covering covering(const struct stored *stored, size_t shard, uint32_t attr)
{
	return (struct covering){stored->items[shard].shard->numbers, attr, attr, false, 0};
}

static bool next_covering(struct covering *covering, uint32_t *number)
{
	struct numbers *numbers = covering->numbers;

	while (covering->at != ATTR_ABSENT) {
		*number = numbers_of(numbers,
				     covering->below ? CLASS_TOMBSTONE_BELOW : CLASS_TOMBSTONE,
				     covering->at);
		covering->below = !covering->below && covering->at != covering->attr;
		if (!covering->below)
			covering->at = attr_parent(numbers->attrs, covering->at);
		if (*number != NUMBER_ABSENT)
			return true;
	}
	while (covering->pattern < numbers->npatterns) {
		*number = numbers_in(numbers, PATTERN_CLASS, covering->pattern);
		if (pattern_covers(&numbers->patterns[covering->pattern++], numbers->attrs,
				   covering->attr, true) == COVER_YES)
			return true;
	}
	return false;
}

bool stored_tombstone(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	size_t at = stored_shard_at(stored, t);
	struct covering all = covering(stored, at, attr);
	int64_t order = -1; /* orders tombstones of one timestamp */
	struct slice_value value;
	uint32_t number;
	nstime since;

	*out = (struct fact){.since = NSTIME_MIN, .written = true};
	while (next_covering(&all, &number)) {
		if (!shard_tombstone_at(stored->items[at].shard, number, t, &value, &since) ||
		    since < out->since || (since == out->since && value.number < order))
			continue;
		order = value.number;
		out->since = since;
		out->value.kind = value.number & 1 ? VALUE_UNKNOWN : VALUE_NONE;
	}
	return order >= 0;
}

bool stored_next_tombstone(struct stored *stored, uint32_t attr, nstime after, nstime until,
			   nstime *at)
{
	size_t last = stored_shard_at(stored, until);
	bool any = false;
	uint32_t number;

	for (size_t i = stored_shard_at(stored, after); i <= last && !any; i++) {
		struct covering all = covering(stored, i, attr);

		while (next_covering(&all, &number))
			if (shard_tombstone_next(stored->items[i].shard, number, after, until,
						 at)) {
				until = *at;
				any = true;
			}
	}
	*at = until;
	return any;
}

bool stored_fill(struct stored *stored, uint32_t attr, nstime t, struct stored_change *out)
{
	struct slice_fill fill;

	for (size_t i = stored_shard_at(stored, t); i < stored->count; i++) {
		struct shard *shard = stored->items[i].shard;
		uint32_t number;

		if (!shard_reaches(shard, shard_slice_at(shard, t), t))
			continue;
		number = shard_number(shard, attr);
		if (number == NUMBER_ABSENT || !shard_fill(shard, number, t, &out->at, &fill))
			continue;
		out->from = fill.from;
		return shard_value_of(shard, fill.value, &out->was);
	}
	return false;
}

static void no_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	if (stored_tombstone(stored, attr, t, out))
		return;
	*out = (struct fact){.since = NSTIME_MIN};
	if (!program_initial(stored->state->program, attr, &out->value))
		out->value.kind = VALUE_UNKNOWN;
}

bool stored_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;
	uint32_t number = shard_number(shard, attr);
	struct slice_value value;
	struct stored_change later;

	*out = (struct fact){.since = NSTIME_MIN, .written = true, .named = true};
	if (number == NUMBER_ABSENT || !shard_at(shard, number, t, &value, &out->since) ||
	    !shard_value_of(shard, value, &out->value) || value.kind == SLICE_DELETED)
		no_fact(stored, attr, t, out);
	if (out->value.kind == VALUE_UNKNOWN && stored_fill(stored, attr, t, &later)) {
		out->value = later.was;
		out->since = later.from;
		out->named = true;
	}
	out->writer.line = out->writer.class_index = UINT32_MAX;
	return !shard->damaged;
}

/* ---- lists ---- */

struct slice_listing {
	struct stored *stored;
	nstime t;
	const uint8_t *shapes;
	uint32_t nshapes;
	bool since;
	uint8_t *marks; /* by attribute: it is listed; allocated when fills are read */
	size_t nmarks;
	struct stored_list *out;
};

static bool is_of_shape(const struct slice_listing *listing, const struct shard *shard,
			uint32_t number)
{
	uint32_t shape = shard_shape(shard, number);

	return shape < listing->nshapes && listing->shapes[shape];
}

/* Keeps listed items that are not none; numbers of a chunk have one shape. False: damage. */
static bool keep_listed(const struct slice_listing *listing, const struct shard *shard,
			struct slice_items *items)
{
	uint32_t chunk = UINT32_MAX;
	bool listed = false;
	size_t count = 0;

	for (size_t i = 0; i < items->count; i++) {
		uint32_t number = items->items[i].number;

		if (number >= shard_numbers(shard))
			return false;
		if (number / CHUNK != chunk)
			listed = is_of_shape(listing, shard, number);
		chunk = number / CHUNK;
		items->items[count] = items->items[i];
		count += listed && items->items[i].kind > SLICE_NONE;
	}
	items->count = count;
	return true;
}

/* Lists the items with their values; a fill may give an unknown one. */
static bool list_items(struct slice_listing *listing, struct shard *shard,
		       const struct slice_items *items)
{
	struct stored_list *out = listing->out;

	if (out->capacity < items->count) {
		out->capacity = items->count;
		out->items = mem_resize(out->items, out->capacity, sizeof *out->items);
	}
	for (size_t i = 0; i < items->count; i++) {
		const struct slice_item *item = &items->items[i];
		struct slice_value value = {item->value, item->kind};
		struct stored_item *listed = &out->items[i];

		listed->attr = shard_attr(shard, item->number);
		listed->known = item->kind != SLICE_UNKNOWN;
		listed->since = listing->since ? item->since : NSTIME_MIN;
		if (listed->attr == ATTR_ABSENT || !shard_value_of(shard, value, &listed->value))
			return false;
	}
	out->count = items->count;
	return true;
}

static bool list_alive(struct slice_listing *listing, struct shard *shard)
{
	struct slice_items items = {0};
	bool ok = shard_moment(shard, listing->t, &items) && keep_listed(listing, shard, &items) &&
		  (!listing->since || shard_moment_since(shard, listing->t, &items)) &&
		  list_items(listing, shard, &items);

	mem_free(items.items);
	return ok;
}

static void mark(struct slice_listing *listing, uint32_t attr)
{
	listing->marks = mem_reach(listing->marks, attr, &listing->nmarks, 1);
	listing->marks[attr] = 1;
}

/* Lists an attribute that a fill gives a value, unless it is listed already. */
static void list_filled(struct slice_listing *listing, uint32_t attr)
{
	struct stored_list *out = listing->out;

	for (size_t i = 0; !listing->marks && i < out->count; i++)
		mark(listing, out->items[i].attr);
	if (attr < listing->nmarks && listing->marks[attr])
		return;
	mark(listing, attr);
	*mem_push(out->items, out->count, out->capacity) = (struct stored_item){.attr = attr};
}

/* Lists attributes with a fill in this slice that covers t, by an event behind t. */
static bool list_fills_of(struct slice_listing *listing, struct shard *shard,
			  const struct slice *slice)
{
	uint32_t behind = slice_tick_behind(slice, listing->t), attr;
	struct slice_fills fills = {.open.j = 0};
	struct slice_fill fill;

	while (slice_fills_next(slice, &fills, &fill)) {
		if (fill.attr >= shard_numbers(shard))
			return false;
		if (fill.tick < behind || fill.from > listing->t || fill.value.kind <= SLICE_NONE ||
		    !is_of_shape(listing, shard, fill.attr))
			continue;
		attr = shard_attr(shard, fill.attr);
		if (attr == ATTR_ABSENT)
			return false;
		list_filled(listing, attr);
	}
	return !shard->damaged;
}

static bool list_fills(struct slice_listing *listing, size_t first)
{
	for (size_t i = first; i < listing->stored->count; i++) {
		struct shard *shard = listing->stored->items[i].shard;

		for (uint32_t s = shard_slice_at(shard, listing->t);
		     shard_reaches(shard, s, listing->t); s++) {
			const struct slice *slice;

			if (shard->records[s].least_from > listing->t)
				continue;
			slice = shard_slice(shard, s);
			if (!slice || !list_fills_of(listing, shard, slice))
				return false;
		}
	}
	return true;
}

bool stored_list(struct stored *stored, nstime t, const uint8_t *shapes, uint32_t nshapes,
		 bool since, struct stored_list *out)
{
	struct slice_listing listing = {.stored = stored,
					.t = t,
					.shapes = shapes,
					.nshapes = nshapes,
					.since = since,
					.out = out};
	size_t at = stored_shard_at(stored, t);
	bool ok;

	out->count = 0;
	ok = list_alive(&listing, stored->items[at].shard) && list_fills(&listing, at);

	mem_free(listing.marks);
	return ok;
}

/* ---- answers ---- */

struct stored_lookup {
	struct stored *stored;
	struct state *state;
	struct wanted *wanted;
	struct records *out;
	uint32_t moment; /* index of the moment */
	nstime t;
	struct stored_list list;
	bool failed;
};

static bool timelines_stored_get(void *arg, uint32_t attr, struct fact *out)
{
	struct stored_lookup *asking = arg;

	if (!stored_fact(asking->stored, attr, asking->t, out))
		asking->failed = true;
	return !asking->failed;
}

static bool get_item(struct stored_lookup *asking, const struct stored_item *item, struct fact *out)
{
	if (!item->known)
		return timelines_stored_get(asking, item->attr, out);
	*out = (struct fact){
		.value = item->value, .since = item->since, .written = true, .named = true};
	out->writer.line = out->writer.class_index = UINT32_MAX;
	return true;
}

static void record(struct stored_lookup *asking, uint32_t attr, bool always)
{
	struct fact fact;

	fact_compute(asking->state, attr, timelines_stored_get, asking, &fact);
	if (!asking->failed && (always || value_exists(&fact.value)))
		records_add(asking->out, asking->moment, attr, &fact);
}

static void record_view(void *arg, uint32_t attr, const uint32_t *sources, uint32_t count)
{
	(void)sources;
	(void)count;
	record(arg, attr, false);
}

static bool next_listed(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr)
{
	struct stored_lookup *asking = arg;
	struct fact fact;

	while (*at < asking->list.count && !asking->failed) {
		const struct stored_item *item = &asking->list.items[(*at)++];

		*attr = item->attr;
		if (attr_shape(asking->state->attrs, *attr) == shape &&
		    get_item(asking, item, &fact) && value_exists(&fact.value))
			return true;
	}
	return false;
}

/* Marks the shapes of lists, and those that give the variables of listed views their values. */
static uint8_t *listed_shapes(struct stored_lookup *asking, uint32_t *count)
{
	struct state *state = asking->state;
	uint8_t *shapes;

	*count = shape_count(state->attrs);
	shapes = mem_new((size_t)*count + 1);
	for (uint32_t s = 0; s < *count; s++)
		shapes[s] = wanted_lists_shape(state, asking->wanted, s);
	for (uint32_t i = 0; i < program_views(state->program); i++) {
		const struct view *view = program_view(state->program, i);

		if (!wanted_lists_shape(state, asking->wanted, view->path.shape))
			continue;
		for (uint32_t s = 0; s < view->nsources; s++)
			if (view->sources[s].shape < *count)
				shapes[view->sources[s].shape] = 1;
	}
	return shapes;
}

static void record_lists(struct stored_lookup *asking)
{
	struct state *state = asking->state;
	const struct named_attrs named = {next_listed, record_view, asking};
	uint32_t nshapes;
	uint8_t *shapes = listed_shapes(asking, &nshapes);

	asking->failed =
		!stored_list(asking->stored, asking->t, shapes, nshapes, true, &asking->list);
	mem_free(shapes);
	for (size_t i = 0; i < asking->list.count && !asking->failed; i++) {
		const struct stored_item *item = &asking->list.items[i];
		struct fact fact;

		/* lists have stored attributes even where a view computes them */
		if (!wanted_lists(state, asking->wanted, item->attr) ||
		    !get_item(asking, item, &fact))
			continue;
		if (fact.value.kind != VALUE_NONE)
			records_add(asking->out, asking->moment, item->attr, &fact);
	}
	wanted_views(state, asking->wanted, &named);
}

bool stored_takes(const struct moment *moments, size_t nmoments)
{
	for (size_t i = 0; i < nmoments; i++)
		if (moments[i].before && moments[i].t == NSTIME_MIN)
			return false;
	return true;
}

bool stored_at(struct stored *stored, const struct moment *moments, size_t nmoments,
	       struct wanted *wanted, struct records *out, struct error *err)
{
	struct stored_lookup asking = {
		.stored = stored, .state = stored->state, .wanted = wanted, .out = out};

	if (!stored_begin(stored, err))
		return false;
	for (size_t m = 0; m < nmoments && !asking.failed; m++) {
		asking.moment = (uint32_t)m;
		asking.t = moments[m].t - moments[m].before;
		const struct wanted_attrs attrs = wanted_at(wanted, m);
		for (size_t i = 0; i < attrs.count && !asking.failed; i++)
			record(&asking, attrs.items[i], true);
		if (wanted->lists && !asking.failed)
			record_lists(&asking);
	}
	stored_end(stored);
	mem_free(asking.list.items);
	stored->state->evaluation = "slices";
	stored->damaged |= asking.failed;
	return !stored->damaged || error_set(err, ERR_FORMAT, "the timelines are damaged");
}
