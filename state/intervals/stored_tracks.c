/*
 * stored_tracks.c - values over a range from timelines
 *
 *     slices       | s0          | ...   | s1         | further
 *     range              [ begin ............ end )
 *     fed          <-------- all changes ------------>
 *
 * All changes of the slices that the range touches are fed to the tracks, column by column. A span
 * that was there before the first of them gets its true beginning by walking back, one that
 * reaches over the end its true end by walking on: in both directions from change to change of
 * that attribute alone, past slices that lack it.
 *
 * An attribute with an `initial` value has its whole history fed: when lists began to name it
 * counts.
 */
#include "state/intervals/stored_tracks.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/slices/bits.h"

#include <string.h>

static struct track *track_of(struct feeding *feeding, uint32_t attr)
{
	struct track *track = tracks_find(feeding->tracks, attr);

	return track ? track : tracks_add(feeding->tracks, attr);
}

void feed_value(struct feeding *feeding, struct track *track, nstime at, const struct value *value,
		bool deleted)
{
	if (track->count == 0 && at > BEFORE_ALL) {
		struct value unknown = {.kind = VALUE_UNKNOWN};
		track_push(track, BEFORE_ALL, &unknown);
	}
	track_cut(track, at, value, feeding->tracks->begin);
	feeding->tracks->changes++;
	if (!deleted && at < track->named)
		track->named = at == BEFORE_ALL ? NSTIME_MIN : at;
}

void feed_stored(struct feeding *feeding, struct track *track, nstime at, struct slice_value stored)
{
	struct value value;

	if (!shard_value_of(feeding->shard, stored, &value))
		feeding->failed = true;
	else
		feed_value(feeding, track, at, &value, stored.kind == SLICE_DELETED);
}

/* ---- what is wanted ---- */

static bool is_wanted(struct feeding *feeding, uint32_t attr)
{
	struct tracks *tracks = feeding->tracks;
	uint32_t shape = attr_shape(feeding->state->attrs, attr);

	return wanted_lists(feeding->state, tracks->wanted, attr) ||
	       is_operand_shape(tracks, shape);
}

static void add_whole(struct feeding *feeding, uint32_t attr)
{
	for (size_t i = 0; i < feeding->nwhole; i++)
		if (feeding->whole[i] == attr)
			return;
	feeding->whole = mem_grow(feeding->whole, feeding->nwhole, &feeding->whole_capacity,
				  sizeof *feeding->whole);
	feeding->whole[feeding->nwhole++] = attr;
}

/* May attributes of the number's chunk be wanted, but for those that are named? */
static bool is_wanted_shape(struct feeding *feeding, uint32_t number)
{
	const struct tracks *tracks = feeding->tracks;
	uint32_t shape = shard_shape(feeding->shard, number);

	return shape != ATTR_ABSENT && (wanted_lists_shape(feeding->state, tracks->wanted, shape) ||
					is_operand_shape(tracks, shape));
}

static bool choose(struct feeding *feeding, uint32_t number)
{
	struct value initial;
	uint32_t attr;

	if (!is_wanted_shape(feeding, number))
		return false;
	attr = shard_attr(feeding->shard, number);
	if (attr == ATTR_ABSENT) {
		feeding->failed = true;
		return false;
	}
	if (!is_wanted(feeding, attr))
		return false;
	if (!program_initial(feeding->state->program, attr, &initial))
		return true;
	add_whole(feeding, attr);
	return false;
}

bool feed_takes(struct feeding *feeding, uint64_t number)
{
	if (number >= shard_numbers(feeding->shard)) {
		feeding->failed = true;
		return false;
	}
	if (!feeding->choices[number])
		feeding->choices[number] = 1 + choose(feeding, (uint32_t)number);
	return feeding->choices[number] == 2;
}

/* ---- one slice ---- */

static void load_fills(struct feeding *feeding)
{
	const struct slice *slice = feeding->slice;
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	feeding->nfills = 0;
	if (slice->fills.count > feeding->fills_room) {
		feeding->fills_room = slice->fills.count + slice->fills.count / 4;
		feeding->fills =
			mem_resize(feeding->fills, feeding->fills_room, sizeof *feeding->fills);
		feeding->fill_keys = mem_resize(feeding->fill_keys, feeding->fills_room,
						sizeof *feeding->fill_keys);
	}
	for (uint32_t j = 0; j < slice->fills.nblocks; j++) {
		if (!slice_block_open(&slice->fills, j, &block) ||
		    !slice_block_keys(&block, keys)) {
			feeding->failed = true;
			return;
		}
		for (uint32_t i = 0; i < block.count; i++) {
			uint64_t extra = slice_block_extra(&block, i);

			if (extra >> 1 >= slice->nfroms) {
				feeding->failed = true;
				return;
			}
			feeding->fill_keys[feeding->nfills] = keys[i];
			feeding->fills[feeding->nfills++] = (struct slice_fill){
				.from = slice_from(slice, (uint32_t)(extra >> 1)),
				.final = extra & 1,
				.value = slice_block_value(&block, i)};
		}
	}
}

static const struct slice_fill *fill_of(const struct feeding *feeding, uint64_t key)
{
	size_t low = search_first(i, 0, feeding->nfills, feeding->fill_keys[i] < key);

	return low < feeding->nfills && feeding->fill_keys[low] == key ? &feeding->fills[low]
								       : NULL;
}

static void feed_change(struct feeding *feeding, struct track *track, uint64_t key,
			struct slice_value value)
{
	const struct slice_fill *fill = feeding->nfills ? fill_of(feeding, key) : NULL;
	nstime time = 0;

	if (!slice_tick_time(feeding->slice, key & bits_mask(feeding->slice->tick_bits), &time))
		feeding->failed = true;
	if (fill)
		feed_stored(feeding, track, fill->from, fill->value);
	if (!fill || !fill->final)
		feed_stored(feeding, track, time, value);
}

/* Changes [from, to) of the open block, all of one attribute. */
static void feed_run(struct feeding *feeding, struct track *track, uint32_t from, uint32_t to)
{
	const struct slice_opened *open = &feeding->walk.changes;
	uint64_t mask = bits_mask(feeding->slice->tick_bits);
	struct slice_value last = {0}, values[SLICE_BLOCK];
	bool many = to - from > open->block.count / 3;

	feeding->state->changes_read += to - from;
	for (uint32_t i = from; i < to; i++)
		slice_run_soon(&feeding->slice->ticks, open->keys[i] & mask);
	if (many)
		slice_block_values(&open->block, values);
	for (uint32_t i = from; i < to && !feeding->failed; i++) {
		struct slice_value value = many ? values[i] : slice_block_value(&open->block, i);

		/* written again: the span goes on, unless a fill came between */
		if (i > from && value.kind == last.kind && value.number == last.number &&
		    !feeding->nfills)
			continue;
		last = value;
		feed_change(feeding, track, open->keys[i], value);
	}
}

struct track *feed_track(struct feeding *feeding, uint64_t number)
{
	uint32_t attr = shard_attr(feeding->shard, (uint32_t)number);

	feeding->failed = feeding->failed || attr == ATTR_ABSENT;
	return feeding->failed ? NULL : track_of(feeding, attr);
}

static bool slice_load(struct feeding *feeding, uint32_t s)
{
	struct error ignored;

	feeding->slice = shard_slice(feeding->shard, s, &ignored);
	if (!feeding->slice)
		return !(feeding->failed = true);
	slice_walk_begin(&feeding->walk, feeding->slice);
	load_fills(feeding);
	return !feeding->failed;
}

/* Where the changes of the attribute at `from` end in the open block. */
static uint32_t same_end(const struct feeding *feeding, uint32_t from)
{
	const struct slice_opened *open = &feeding->walk.changes;
	uint64_t number = open->keys[from] >> feeding->slice->tick_bits;

	while (++from < open->block.count &&
	       open->keys[from] >> feeding->slice->tick_bits == number)
		;
	return from;
}

static bool is_fed(struct feeding *feeding, uint64_t number)
{
	return feed_takes(feeding, number) && !summing_has(feeding, number, feeding->slice->number);
}

/*
 * Is nothing of block j fed? Where it is of one attribute, that tells; where it is of one chunk,
 * its shape may.
 */
static bool is_passed(struct feeding *feeding, uint32_t j)
{
	const struct slice *slice = feeding->slice;
	uint64_t first, last;

	if (j + 1 >= slice->changes.nblocks)
		return false;
	first = slice_run_first(&slice->changes, j) >> slice->tick_bits;
	last = slice_run_first(&slice->changes, j + 1) >> slice->tick_bits;
	if (first == last)
		return !is_fed(feeding, first);
	return first / CHUNK == last / CHUNK && !feeding->nnamed &&
	       first < shard_numbers(feeding->shard) && !is_wanted_shape(feeding, (uint32_t)first);
}

static void feed_all(struct feeding *feeding)
{
	const struct slice_opened *open = &feeding->walk.changes;
	const struct slice *slice = feeding->slice;
	uint64_t last = UINT64_MAX;
	struct track *track = NULL;

	for (uint32_t j = 0; j < slice->changes.nblocks && !feeding->failed; j++) {
		if (is_passed(feeding, j))
			continue;
		if (!slice_walk_open(&feeding->walk, j)) {
			feeding->failed = true;
			return;
		}
		for (uint32_t i = 0, end; i < open->block.count && !feeding->failed; i = end) {
			uint64_t number = open->keys[i] >> slice->tick_bits;

			end = same_end(feeding, i);
			if (number != last)
				track = is_fed(feeding, number) ? feed_track(feeding, number)
								: NULL;
			last = number;
			if (track)
				feed_run(feeding, track, i, end);
		}
	}
}

static void feed_number(struct feeding *feeding, uint32_t number)
{
	const struct slice_opened *open = &feeding->walk.changes;
	const struct slice *slice = feeding->slice;
	uint64_t first = (uint64_t)number << slice->tick_bits;
	struct track *track = NULL;
	uint32_t j, i, end;

	if (!slice_run_find(&slice->changes, first, &j))
		j = 0;
	for (; j < slice->changes.nblocks && !feeding->failed; j++) {
		if (slice_run_first(&slice->changes, j) >> slice->tick_bits > number)
			return;
		if (!slice_walk_open(&feeding->walk, j)) {
			feeding->failed = true;
			return;
		}
		for (i = 0; i < open->block.count && open->keys[i] < first;)
			i++;
		if (i == open->block.count || open->keys[i] >> slice->tick_bits != number)
			continue;
		end = same_end(feeding, i);
		track = track ? track : feed_track(feeding, number);
		if (track)
			feed_run(feeding, track, i, end);
	}
}

static void feed_snapshot(struct feeding *feeding)
{
	const struct slice *slice = feeding->slice;
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	for (uint32_t j = 0; j < slice->snapshot.nblocks && !feeding->failed; j++) {
		if (!slice_block_open(&slice->snapshot, j, &block) ||
		    !slice_block_keys(&block, keys)) {
			feeding->failed = true;
			return;
		}
		for (uint32_t i = 0; i < block.count && !feeding->failed; i++) {
			if (!feed_takes(feeding, keys[i]))
				continue;
			uint32_t attr = shard_attr(feeding->shard, (uint32_t)keys[i]);
			if (attr == ATTR_ABSENT)
				feeding->failed = true;
			else
				feed_stored(feeding, track_of(feeding, attr), BEFORE_ALL,
					    slice_block_value(&block, i));
		}
	}
}

static void feed_snapshot_named(struct feeding *feeding)
{
	struct slice_value value;
	uint64_t age;

	for (size_t i = 0; i < feeding->nnamed; i++) {
		enum slice_found found =
			slice_before(feeding->slice, feeding->named[i], &value, &age);

		if (found == SLICE_FOUND)
			feed_stored(
				feeding,
				track_of(feeding, shard_attr(feeding->shard, feeding->named[i])),
				BEFORE_ALL, value);
		feeding->failed = feeding->failed || found == SLICE_DAMAGED;
	}
}

/*
 * Only where nothing is looked for beyond the range, so that the first span is told by now. The
 * last two stay: walk_on() looks at them.
 */
static void spool(struct feeding *feeding)
{
	struct tracks *tracks = feeding->tracks;

	if (!tracks_spool_due(tracks))
		return;
	for (size_t i = 0; i < tracks->count && !feeding->failed; i++)
		if (tracks->items[i].count > 2)
			walk_back(feeding, &tracks->items[i]);
	tracks_spool(tracks);
}

static void feed_slice(struct feeding *feeding, uint32_t s, bool first, bool last)
{
	if (feeding->tracks->nedges && !first && !last && summing_slice(feeding, s))
		return;
	if (feeding->failed || !slice_load(feeding, s))
		return;
	summing_resume(feeding, s);
	if (first && feeding->all)
		feed_snapshot(feeding);
	else if (first)
		feed_snapshot_named(feeding);
	if (feeding->all)
		feed_all(feeding);
	for (size_t i = 0; i < feeding->nnamed && !feeding->all; i++)
		if (!summing_has(feeding, feeding->named[i], s))
			feed_number(feeding, feeding->named[i]);
}

/* ---- one shard ---- */

static void name_number(struct feeding *feeding, uint32_t attr)
{
	uint32_t number = shard_number(feeding->shard, attr);
	struct value initial;

	if (program_initial(feeding->state->program, attr, &initial)) {
		add_whole(feeding, attr);
		return;
	}
	if (number == NUMBER_ABSENT || number >= shard_numbers(feeding->shard) ||
	    feeding->choices[number] == 2)
		return;
	feeding->choices[number] = 2;
	feeding->named[feeding->nnamed++] = number;
}

static void name_numbers(struct feeding *feeding)
{
	const struct tracks *tracks = feeding->tracks;

	feeding->nnamed = 0;
	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		name_number(feeding, tracks->wanted->attrs[i]);
	for (size_t i = 0; i < tracks->followed->count; i++)
		name_number(feeding, tracks->followed->attrs[i]);
	for (size_t i = 0; i < tracks->nlisted; i++)
		if (tracks->listed[i].source == ATTR_ABSENT)
			name_number(feeding, tracks->listed[i].attr);
}

/* At most so many. */
static uint32_t *new_named(const struct tracks *tracks)
{
	return mem_new_array(tracks->wanted->nattrs + tracks->followed->count + tracks->nlisted + 1,
			     sizeof(uint32_t));
}

static void feed_shard(struct feeding *feeding, size_t i, bool first)
{
	const struct tracks *tracks = feeding->tracks;
	uint32_t s = 0, last;

	feeding->shard = feeding->stored->items[i].shard;
	feeding->choices = mem_new((size_t)shard_numbers(feeding->shard) + 1);
	feeding->named = new_named(tracks);
	name_numbers(feeding);
	summing_begin(feeding);
	if (shard_slices(feeding->shard)) {
		if (first)
			s = shard_slice_at(feeding->shard, tracks->begin);
		last = shard_slice_at(feeding->shard, tracks->end - 1);
		if (first && i > 0 && s == 0) /* its snapshot holds from the cut on */
			feeding->low = feeding->stored->items[i].begin;
		else if (first && (s || tracks->begin >= shard_record(feeding->shard, 0)->begin))
			feeding->low = shard_record(feeding->shard, s)->begin;
		feeding->high = shard_record(feeding->shard, last)->end;
		for (bool begins = first; s <= last && !feeding->failed; s++, begins = false) {
			feed_slice(feeding, s, begins, s == last);
			spool(feeding);
		}
	}
	mem_free(feeding->choices);
	mem_free(feeding->named);
}

void feed_next_change(struct feeding *feeding, struct track *track, const struct next_change *next)
{
	if (next->filled)
		feed_value(feeding, track, next->from, &next->fill, false);
	if (!next->filled || !next->final)
		feed_value(feeding, track, next->at, &next->value, next->deleted);
}

/* ---- attributes that the slices of the range do not have ---- */

/* Fills of later events that reach into the range. */
static void feed_later_fills(struct feeding *feeding, size_t first)
{
	nstime t = feeding->tracks->end - 1;
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;
	struct error ignored;

	for (size_t i = first; i < feeding->stored->count && !feeding->failed; i++) {
		struct shard *shard = feeding->stored->items[i].shard;

		feeding->shard = shard;
		feeding->choices = mem_new((size_t)shard_numbers(shard) + 1);
		feeding->named = new_named(feeding->tracks);
		name_numbers(feeding);
		for (uint32_t s = shard_slice_at(shard, t); shard_reaches(shard, s, t); s++) {
			const struct slice *slice = shard_slice(shard, s, &ignored);

			for (uint32_t j = 0; slice && j < slice->fills.nblocks; j++) {
				if (!slice_block_open(&slice->fills, j, &block) ||
				    !slice_block_keys(&block, keys)) {
					feeding->failed = true;
					break;
				}
				for (uint32_t n = 0; n < block.count; n++)
					if (feed_takes(feeding, keys[n] >> slice->tick_bits))
						track_of(feeding,
							 shard_attr(shard,
								    (uint32_t)(keys[n] >>
									       slice->tick_bits)));
			}
			if (!slice || feeding->failed)
				break;
		}
		mem_free(feeding->choices);
		mem_free(feeding->named);
	}
}

/* When a tombstone of the number was first placed. */
static void first_tombstone(struct feeding *feeding, struct shard *shard, uint32_t number,
			    nstime *first)
{
	struct next_change next;
	struct slice_value value;
	enum slice_found found;
	nstime since;

	if (number == NUMBER_ABSENT)
		return;
	found = shard_tombstone_at(shard, number, NSTIME_MIN, &value, &since);
	if (found == SLICE_FOUND) {
		*first = since < *first ? since : *first;
		return;
	}
	found = walk_next_in(shard, number, NSTIME_MIN, &next);
	feeding->failed = feeding->failed || found == SLICE_DAMAGED;
	if (found == SLICE_FOUND && next.at < *first)
		*first = next.at;
}

/* The first delete or unknown that covers the attribute: then its initial value ends. */
static nstime first_tombstone_over(struct feeding *feeding, uint32_t attr)
{
	const struct attrs *attrs = feeding->state->attrs;
	const struct pattern *pattern;
	nstime first = NSTIME_MAX;
	uint32_t number;

	for (size_t i = 0; i < feeding->stored->count && first == NSTIME_MAX; i++) {
		struct shard *shard = feeding->stored->items[i].shard;

		for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(attrs, a)) {
			first_tombstone(feeding, shard, shard_tombstone(shard, a, false), &first);
			if (a != attr)
				first_tombstone(feeding, shard, shard_tombstone(shard, a, true),
						&first);
		}
		for (size_t p = 0; (pattern = shard_pattern(shard, p, &number)); p++)
			if (pattern_covers(pattern, attrs, attr, true) == COVER_YES)
				first_tombstone(feeding, shard, number, &first);
	}
	return first;
}

static void feed_whole(struct feeding *feeding, uint32_t attr)
{
	struct track *track = tracks_find(feeding->tracks, attr);
	nstime tombstone = first_tombstone_over(feeding, attr), after = NSTIME_MIN;
	struct value value = {.kind = VALUE_NONE};
	struct next_change next = {0};
	struct fact fact;
	bool any;

	if (!track)
		track = tracks_add(feeding->tracks, attr);
	track->count = 0;
	track->named = NSTIME_MAX;
	program_initial(feeding->state->program, attr, &value);
	track_push(track, NSTIME_MIN, &value);
	if (stored_fact(feeding->stored, attr, NSTIME_MIN, &fact) &&
	    !value_equal(&fact.value, &value))
		feed_value(feeding, track, NSTIME_MIN, &fact.value, false);
	any = walk_next(feeding, attr, after, &next);
	if (tombstone < NSTIME_MAX && (!any || tombstone < next.at)) {
		value.kind = VALUE_UNKNOWN;
		if (stored_tombstone(feeding->stored, attr, tombstone, &fact))
			value = fact.value;
		feed_value(feeding, track, tombstone, &value, true);
	}
	while (any && !feeding->failed) {
		feed_next_change(feeding, track, &next);
		any = walk_next(feeding, attr, next.at, &next);
	}
}

/* A track of its own for what was asked by name and has none yet. */
static void add_named(struct feeding *feeding, const uint32_t *attrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		track_of(feeding, attrs[i]);
}

static void event_source_range(struct feeding *feeding)
{
	const struct tracks *tracks = feeding->tracks;
	size_t first = stored_shard_at(feeding->stored, tracks->begin);
	size_t last = stored_shard_at(feeding->stored, tracks->end - 1);

	for (size_t i = first; i <= last && !feeding->failed; i++)
		feed_shard(feeding, i, i == first);
	feed_later_fills(feeding, last);
	add_named(feeding, tracks->wanted->attrs, tracks->wanted->nattrs);
	add_named(feeding, tracks->followed->attrs, tracks->followed->count);
}

static void finish_tracks(struct feeding *feeding)
{
	struct tracks *tracks = feeding->tracks;
	struct value unknown = {.kind = VALUE_UNKNOWN};

	for (size_t i = 0; i < tracks->count && !feeding->failed; i++) {
		struct track *track = &tracks->items[i];

		if (track->count == 0)
			track_push(track, BEFORE_ALL, &unknown);
		walk_on(feeding, track);
		walk_back(feeding, track);
	}
	for (size_t i = 0; i < feeding->nwhole && !feeding->failed; i++)
		feed_whole(feeding, feeding->whole[i]);
}

bool tracks_stored(struct tracks *tracks, struct stored *stored, struct error *err)
{
	struct feeding feeding = {.tracks = tracks,
				  .stored = stored,
				  .state = stored->state,
				  .low = NSTIME_MIN,
				  .high = NSTIME_MIN};

	feeding.all = tracks->wanted->lists && !tracks->all_known;
	for (uint32_t s = 0; s < tracks->nshapes && !feeding.all; s++)
		feeding.all = tracks->operand_shapes[s] != 0;
	if (!stored_begin(stored, err))
		return false;
	event_source_range(&feeding);
	finish_tracks(&feeding);
	stored_end(stored);
	mem_free(feeding.whole);
	mem_free(feeding.fills);
	mem_free(feeding.fill_keys);
	summing_release(&feeding.summing);
	stored->state->evaluation = "slices";
	stored->damaged |= feeding.failed;
	return !feeding.failed || error_set(err, ERR_FORMAT, "the timelines are damaged");
}
