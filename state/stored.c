/*
 * stored.c - values at moments from timelines
 *
 * An attribute is what its newest change says. Where it has none, or was deleted since, the newest
 * tomb above it counts, then `initial`. What is unknown may be filled by an event further on, in
 * this shard or one of the next: fills say how far back they reach, so that the search ends soon.
 */
#include "state/stored.h"

#include "engine/base/mem.h"
#include "state/slices/bits.h"

#include <string.h>

static void newer(struct shard *shard, uint32_t number, nstime t, bool pattern, int64_t *order,
		  struct fact *out, bool *any)
{
	struct slice_value value;
	nstime since;
	enum slice_found found = pattern ? shard_at(shard, number, t, &value, &since)
					 : shard_tomb_at(shard, number, t, &value, &since);

	if (found != SLICE_FOUND ||
	    (*any && (since < out->since || (since == out->since && value.number < *order))))
		return;
	*any = true;
	*order = value.number;
	out->since = since;
	out->value = (struct value){.kind = value.number & 1 ? VALUE_UNKNOWN : VALUE_NONE};
}

bool stored_tomb(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;
	const struct attrs *attrs = stored->state->attrs;
	const struct pattern *pattern;
	int64_t order = 0;
	bool any = false;
	uint32_t number;

	*out = (struct fact){.since = NSTIME_MIN, .written = true};
	for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(attrs, a))
		for (int below = 0; below < 2; below++) {
			number = a == attr && below ? NUMBER_ABSENT
						    : shard_tomb(shard, a, below != 0);
			if (number != NUMBER_ABSENT)
				newer(shard, number, t, false, &order, out, &any);
		}
	for (size_t i = 0; (pattern = shard_pattern(shard, i, &number)); i++)
		if (pattern_covers(pattern, attrs, attr, true) == COVER_YES)
			newer(shard, number, t, true, &order, out, &any);
	return any;
}

bool stored_fill(struct stored *stored, uint32_t attr, nstime t, struct stored_fill *out)
{
	struct slice_fill fill;

	for (size_t i = stored_shard_at(stored, t); i < stored->count; i++) {
		struct shard *shard = stored->items[i].shard;
		uint32_t number;

		if (!shard_reaches(shard, shard_slice_at(shard, t), t))
			continue;
		number = shard_number(shard, attr);
		if (number == NUMBER_ABSENT ||
		    shard_fill(shard, number, t, &out->until, &fill) != SLICE_FOUND)
			continue;
		out->from = fill.from;
		out->final = fill.final;
		return shard_value_of(shard, fill.value, &out->value);
	}
	return false;
}

static void no_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	if (stored_tomb(stored, attr, t, out))
		return;
	*out = (struct fact){.since = NSTIME_MIN};
	if (!program_initial(stored->state->program, attr, &out->value))
		out->value.kind = VALUE_UNKNOWN;
}

bool stored_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out)
{
	struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;
	uint32_t number = shard_number(shard, attr);
	enum slice_found found = SLICE_ABSENT;
	struct slice_value value;
	struct stored_fill fill;

	*out = (struct fact){.since = NSTIME_MIN, .written = true, .named = true};
	if (number != NUMBER_ABSENT)
		found = shard_at(shard, number, t, &value, &out->since);
	if (found == SLICE_DAMAGED ||
	    (found == SLICE_FOUND && !shard_value_of(shard, value, &out->value)))
		return false;
	if (found == SLICE_ABSENT || value.kind == SLICE_DELETED)
		no_fact(stored, attr, t, out);
	if (out->value.kind == VALUE_UNKNOWN && stored_fill(stored, attr, t, &fill)) {
		out->value = fill.value;
		out->since = fill.from;
		out->named = true;
	}
	out->writer.line = out->writer.class_index = UINT32_MAX;
	return true;
}

/* ---- lists ---- */

struct listing {
	struct stored *stored;
	nstime t;
	const uint8_t *shapes;
	uint32_t nshapes;
	uint8_t *marks; /* by attribute: listed */
	size_t nmarks;
	struct stored_list *out;
};

static bool has_mark(const struct listing *listing, uint32_t attr)
{
	return attr < listing->nmarks && listing->marks[attr];
}

static void list_attr(struct listing *listing, uint32_t attr)
{
	struct stored_list *out = listing->out;

	if (has_mark(listing, attr))
		return;
	if (attr >= listing->nmarks) {
		size_t count = (size_t)attr + attr / 2 + 64;

		listing->marks = mem_resize(listing->marks, count, 1);
		memset(listing->marks + listing->nmarks, 0, count - listing->nmarks);
		listing->nmarks = count;
	}
	listing->marks[attr] = 1;
	out->attrs = mem_grow(out->attrs, out->count, &out->capacity, sizeof *out->attrs);
	out->attrs[out->count++] = attr;
}

static bool is_of_shape(const struct listing *listing, const struct shard *shard, uint32_t number)
{
	uint32_t shape = shard_shape(shard, number);

	return shape < listing->nshapes && listing->shapes[shape];
}

/* What lives when a slice begins, by number, then what its changes up to t make of it. */
struct alive {
	uint8_t *kinds; /* 1 + kind; 0: it was never there */
	uint32_t count;
};

static bool snapshot_alive(const struct slice *slice, struct alive *alive)
{
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	for (uint32_t j = 0; j < slice->snapshot.nblocks; j++) {
		if (!slice_block_open(&slice->snapshot, j, &block) ||
		    !slice_block_keys(&block, keys) || keys[block.count - 1] >= alive->count)
			return false;
		for (uint32_t i = 0; i < block.count; i++)
			alive->kinds[keys[i]] = 1 + slice_block_value(&block, i).kind;
	}
	return true;
}

/* Can a block of one attribute's changes be passed over: none of it is the last up to `tick`? */
static bool skips(struct slice_walk *walk, uint32_t j, uint32_t tick)
{
	const struct slice *slice = walk->slice;
	uint64_t mask = bits_mask(slice->tick_bits), first, next, start;

	if (j + 1 >= slice->changes.nblocks)
		return false;
	first = slice_run_first(&slice->changes, j);
	next = slice_run_first(&slice->changes, j + 1);
	return first >> slice->tick_bits == next >> slice->tick_bits &&
	       ((first & mask) > tick || (next & mask) <= tick) &&
	       slice_walk_leader(walk, first >> slice->tick_bits, &start) == SLICE_ABSENT;
}

static bool changes_alive(const struct slice *slice, uint32_t tick, struct alive *alive)
{
	uint64_t mask = bits_mask(slice->tick_bits);
	struct slice_walk walk;

	slice_walk_begin(&walk, slice);
	for (uint32_t j = 0; j < slice->changes.nblocks; j++) {
		const struct slice_block *block = &walk.changes.block;
		const uint64_t *keys = walk.changes.keys;

		if (skips(&walk, j, tick))
			continue;
		if (!slice_walk_open(&walk, j) ||
		    keys[block->count - 1] >> slice->tick_bits >= alive->count)
			return false;
		for (uint32_t i = 0; i < block->count; i++)
			if ((keys[i] & mask) <= tick)
				alive->kinds[keys[i] >> slice->tick_bits] =
					1 + slice_block_value(block, i).kind;
	}
	return true;
}

static bool list_alive(struct listing *listing, struct shard *shard)
{
	uint32_t at = shard_slice_at(shard, listing->t), tick;
	struct alive alive = {.count = shard_numbers(shard)};
	const struct slice *slice;
	struct error ignored;
	bool ok;

	if (shard_slices(shard) == 0)
		return true;
	slice = shard_slice(shard, at, &ignored);
	if (!slice)
		return false;
	alive.kinds = mem_new((size_t)alive.count + 1);
	ok = snapshot_alive(slice, &alive);
	if (ok && slice->nticks && listing->t >= slice->begin)
		ok = slice_tick_at(slice, listing->t, &tick) && changes_alive(slice, tick, &alive);
	for (uint32_t n = 0; n < alive.count && ok; n++) {
		if (n % CHUNK == 0 && !is_of_shape(listing, shard, n)) {
			n += CHUNK - 1;
			continue;
		}
		if (alive.kinds[n] <= 1 + SLICE_NONE)
			continue;
		uint32_t attr = shard_attr(shard, n);
		ok = attr != ATTR_ABSENT;
		if (ok)
			list_attr(listing, attr);
	}
	mem_free(alive.kinds);
	return ok;
}

/* Fills of events behind t in one slice that reach over t. */
static bool list_fills_of(struct listing *listing, struct shard *shard, const struct slice *slice)
{
	uint64_t keys[SLICE_BLOCK], mask = bits_mask(slice->tick_bits);
	uint32_t tick = 0;
	struct slice_block block;
	bool all = listing->t < slice->begin;

	if (!all && !slice_tick_at(slice, listing->t, &tick))
		return false;
	for (uint32_t j = 0; j < slice->fills.nblocks; j++) {
		if (!slice_block_open(&slice->fills, j, &block) || !slice_block_keys(&block, keys))
			return false;
		for (uint32_t i = 0; i < block.count; i++) {
			uint64_t number = keys[i] >> slice->tick_bits;
			uint64_t from = slice_block_extra(&block, i) >> 1;
			uint32_t attr;

			if (from >= slice->nfroms || number >= shard_numbers(shard))
				return false;
			if ((!all && (keys[i] & mask) <= tick) ||
			    slice_from(slice, (uint32_t)from) > listing->t ||
			    slice_block_value(&block, i).kind <= SLICE_NONE ||
			    !is_of_shape(listing, shard, (uint32_t)number))
				continue;
			attr = shard_attr(shard, (uint32_t)number);
			if (attr == ATTR_ABSENT)
				return false;
			list_attr(listing, attr);
		}
	}
	return true;
}

static bool list_fills(struct listing *listing, size_t first)
{
	for (size_t i = first; i < listing->stored->count; i++) {
		struct shard *shard = listing->stored->items[i].shard;
		struct error ignored;

		for (uint32_t s = shard_slice_at(shard, listing->t);
		     shard_reaches(shard, s, listing->t); s++) {
			const struct slice *slice;

			if (shard_record(shard, s)->least_from > listing->t)
				continue;
			slice = shard_slice(shard, s, &ignored);
			if (!slice || !list_fills_of(listing, shard, slice))
				return false;
		}
	}
	return true;
}

bool stored_list(struct stored *stored, nstime t, const uint8_t *shapes, uint32_t nshapes,
		 struct stored_list *out)
{
	struct listing listing = {
		.stored = stored, .t = t, .shapes = shapes, .nshapes = nshapes, .out = out};
	size_t at = stored_shard_at(stored, t);
	bool ok = list_alive(&listing, stored->items[at].shard) && list_fills(&listing, at);

	mem_free(listing.marks);
	return ok;
}

/* ---- answers ---- */

struct asking {
	struct stored *stored;
	struct state *state;
	struct wanted *wanted;
	struct records *out;
	uint32_t moment; /* as asked */
	nstime t;
	struct stored_list list;
	bool failed;
};

static bool get(void *arg, uint32_t attr, struct fact *out)
{
	struct asking *asking = arg;

	if (!stored_fact(asking->stored, attr, asking->t, out))
		asking->failed = true;
	return !asking->failed;
}

static void record(struct asking *asking, uint32_t attr)
{
	struct fact fact;

	fact_compute(asking->state, attr, get, asking, &fact);
	if (!asking->failed)
		records_add(asking->out, asking->moment, attr, &fact);
}

static void record_view(struct asking *asking, const struct view *view, const struct value *values)
{
	uint32_t attr = view_attr(asking->state->attrs, view, values);
	struct fact fact;

	if (!wanted_lists(asking->state, asking->wanted, attr))
		return;
	fact_compute(asking->state, attr, get, asking, &fact);
	if (!asking->failed && fact.value.kind > VALUE_NONE)
		records_add(asking->out, asking->moment, attr, &fact);
}

static void list_view(struct asking *asking, const struct view *view, uint32_t variable,
		      struct value *values)
{
	struct attrs *attrs = asking->state->attrs;
	uint32_t shape, atom;

	if (variable == view->nvariables) {
		record_view(asking, view, values);
		return;
	}
	if (!view_source(view, variable, &shape, &atom))
		return;
	for (size_t i = 0; i < asking->list.count && !asking->failed; i++) {
		uint32_t up = asking->list.attrs[i];

		if (attr_shape(attrs, up) != shape)
			continue;
		while (attr_depth(attrs, up) > atom + 1)
			up = attr_parent(attrs, up);
		values[variable] = *attr_atom(attrs, up);
		list_view(asking, view, variable + 1, values);
	}
}

/* Shapes that lists name, and those in which the variables of listed views are found. */
static uint8_t *listed_shapes(struct asking *asking, uint32_t *count)
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

static void record_lists(struct asking *asking)
{
	struct state *state = asking->state;
	struct value values[ENV_VARIABLES];
	uint32_t nshapes;
	uint8_t *shapes = listed_shapes(asking, &nshapes);

	asking->list.count = 0;
	asking->failed = !stored_list(asking->stored, asking->t, shapes, nshapes, &asking->list);
	mem_free(shapes);
	for (size_t i = 0; i < asking->list.count && !asking->failed; i++) {
		uint32_t attr = asking->list.attrs[i];
		struct fact fact;

		/* lists name what is stored, even where a view computes it */
		if (!wanted_lists(state, asking->wanted, attr) || !get(asking, attr, &fact))
			continue;
		if (fact.value.kind != VALUE_NONE)
			records_add(asking->out, asking->moment, attr, &fact);
	}
	for (uint32_t i = 0; i < program_views(state->program) && !asking->failed; i++) {
		const struct view *view = program_view(state->program, i);

		if (wanted_lists_shape(state, asking->wanted, view->path.shape))
			list_view(asking, view, 0, values);
	}
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
	struct asking asking = {
		.stored = stored, .state = stored->state, .wanted = wanted, .out = out};

	if (!stored_begin(stored, err))
		return false;
	for (size_t m = 0; m < nmoments && !asking.failed; m++) {
		asking.moment = (uint32_t)m;
		asking.t = moments[m].t - moments[m].before;
		for (size_t i = 0; i < wanted->nattrs && !asking.failed; i++)
			record(&asking, wanted->attrs[i]);
		if (wanted->lists && !asking.failed)
			record_lists(&asking);
	}
	stored_end(stored);
	mem_free(asking.list.attrs);
	stored->state->evaluation = "slices";
	return !asking.failed || error_set(err, ERR_FORMAT, "the timelines are damaged");
}
