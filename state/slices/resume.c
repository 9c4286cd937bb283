/*
 * resume.c - where a build was killed, and going on from there
 *
 * What lives is read from the last slice: its snapshot, then its changes. Tombstones are not in
 * snapshots: all slices are looked through for them. Beside that `resume` holds, as varints:
 *
 *     MEANING
 *     format, time from which on no event was applied (zigzag), events applied, slices, changes
 *     classes, then ordinals given per class
 *     streams, section values, and per stream and section 0, or 1 and a value
 *     per stream until when its last loss lasted (zigzag)
 */
#include "state/slices/build.h"

#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/slices/bits.h"
#include "state/slices/names.h"
#include "state/slices/shard.h"

#include <stdlib.h>
#include <string.h>

static bool damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: what a build left behind is damaged");
}

void building_put_resume(const struct building *building, nstime next, struct buf *out)
{
	const struct cells *cells = replay_cells(building->replay);

	buf_add_varint(out, TIMELINES_FORMAT);
	buf_add_varint(out, zigzag(next));
	buf_add_varint(out, building->events_before + replay_events(building->replay));
	/* the slice that is stored with this is counted */
	bool slice = builder_due(building->builder);
	buf_add_varint(out, builder_slices(building->builder) + slice);
	buf_add_varint(out, building->changes_before + builder_changes(building->builder) +
				    builder_waiting(building->builder));
	numbers_counts(building->numbers, out);
	buf_add_varint(out, cells->nstreams);
	buf_add_varint(out, cells->nsections);
	for (size_t i = 0; i < cells->nstreams * cells->nsections; i++) {
		buf_add_varint(out, cells->sections[i].written);
		if (cells->sections[i].written)
			name_put_value(out, &cells->sections[i].value);
	}
	for (size_t i = 0; i < cells->nstreams; i++)
		buf_add_varint(out, zigzag(cells->until[i]));
}

static const uint8_t *get_sections(struct building *building, const uint8_t *at, const uint8_t *end)
{
	struct cells *cells = replay_cells(building->replay);
	uint64_t nstreams, nsections, written, until;

	at = varint_get(at, end, &nstreams);
	at = at ? varint_get(at, end, &nsections) : NULL;
	if (!at || nstreams != cells->nstreams || nsections != cells->nsections)
		return NULL;
	for (size_t i = 0; i < cells->nstreams * cells->nsections && at; i++) {
		at = varint_get(at, end, &written);
		if (at && written) {
			cells->sections[i].written = true;
			at = name_get_value(at, end, program_attrs(building->part->program),
					    &cells->sections[i].value);
		}
	}
	for (size_t i = 0; i < cells->nstreams && at; i++) {
		at = varint_get(at, end, &until);
		cells->until[i] = unzigzag(until);
	}
	return at;
}

/* ---- dropping what came after ---- */

struct cutting {
	const struct building *building;
	uint32_t slices;
};

static bool cut_work(struct store_txn *txn, void *arg, struct error *err)
{
	static const uint8_t complete[] = "Mcomplete";
	const struct cutting *cutting = arg;
	struct name_key key;
	struct bytes value;

	if (!store_delete(txn, (struct bytes){complete, sizeof complete - 1}, err))
		return false;
	for (uint32_t s = cutting->slices;; s++) {
		name_key_numbers(&key, KEY_SLICE, &s, 1);
		if (!store_get(txn, name_key_bytes(&key), &value))
			break;
		if (!store_delete(txn, name_key_bytes(&key), err))
			return false;
		name_key_numbers(&key, KEY_DATA, &s, 1);
		if (!store_delete_prefix(txn, name_key_bytes(&key), err))
			return false;
	}
	return numbers_cut(cutting->building->numbers, txn, err);
}

/* ---- what lives ---- */

struct living {
	struct building *building;
	struct shard *shard;
	struct slice_value *values; /* by number */
	uint32_t *last;             /* slice + 1; 0: not there */
	nstime *since;              /* of tombstones */
	uint32_t count;
};

static bool each_block(const struct slice_run *run, struct living *living,
		       bool (*each)(struct living *living, const struct slice_block *block,
				    const uint64_t *keys))
{
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	for (uint32_t j = 0; j < run->nblocks; j++)
		if (!slice_block_open(run, j, &block) || !slice_block_keys(&block, keys) ||
		    !each(living, &block, keys))
			return false;
	return true;
}

static bool take_snapshot(struct living *living, const struct slice_block *block,
			  const uint64_t *keys)
{
	uint32_t last = shard_slices(living->shard) - 1;
	struct error ignored;
	bool times = shard_slice(living->shard, last, &ignored)->times;

	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t age = times ? 0 : slice_block_extra(block, i);

		if (keys[i] >= living->count || age > last)
			return false;
		living->values[keys[i]] = slice_block_value(block, i);
		living->last[keys[i]] = last - (uint32_t)age + 1;
	}
	return true;
}

static bool take_changes(struct living *living, const struct slice_block *block,
			 const uint64_t *keys)
{
	uint32_t last = shard_slices(living->shard) - 1;
	struct error ignored;
	unsigned bits = shard_slice(living->shard, last, &ignored)->tick_bits;

	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t number = keys[i] >> bits;

		if (number >= living->count)
			return false;
		living->values[number] = slice_block_value(block, i);
		living->last[number] = last + 1;
	}
	return true;
}

static bool set_cell(struct living *living, uint32_t number)
{
	struct cell cell = {.named = true, .written = true};
	const struct pattern *pattern;
	struct slice_value value;
	uint32_t attr;

	if (!numbers_what(living->building->numbers, number, &attr, &pattern) ||
	    shard_at(living->shard, number, NSTIME_MAX, &value, &cell.since) != SLICE_FOUND ||
	    !shard_value_of(living->shard, value, &cell.value))
		return false;
	cell.run = cell.last_run = cell.named_at = cell.since;
	cell.writer.line = cell.writer.class_index = UINT32_MAX;
	cells_set(replay_cells(living->building->replay), attr, &cell);
	return true;
}

/* All that lives, as the builder and the replay have it. */
static bool revive(struct living *living)
{
	struct building *building = living->building;
	struct error ignored;
	uint32_t slices = shard_slices(living->shard);
	const struct slice *slice = shard_slice(living->shard, slices - 1, &ignored);

	if (!slice || !each_block(&slice->snapshot, living, take_snapshot) ||
	    !each_block(&slice->changes, living, take_changes))
		return false;
	for (uint32_t n = 0; n < living->count; n++) {
		if (!living->last[n] || living->values[n].kind == SLICE_DELETED ||
		    numbers_is_tombstone(building->numbers, n))
			continue;
		builder_continue(building->builder, n, living->values[n], living->last[n] - 1);
		if (numbers_kind(building->numbers, n) == CLASS_ATTR && !set_cell(living, n))
			return false;
	}
	return true;
}

/* ---- tombstones ---- */

struct tombstone_found {
	uint32_t number;
	nstime since;
	int64_t value; /* see on_bury() */
};

static int by_order(const void *a, const void *b)
{
	const struct tombstone_found *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static bool is_any_tombstone(const struct numbers *numbers, uint32_t number)
{
	return numbers_kind(numbers, number) != CLASS_ATTR;
}

static bool take_tombstones(struct living *living, const struct slice *slice)
{
	const struct slice_run *run = &slice->changes;
	struct slice_walk walk;
	nstime time;

	slice_walk_begin(&walk, slice);
	for (uint32_t j = 0; j < run->nblocks; j++) {
		uint64_t first = slice_run_first(run, j) >> slice->tick_bits;
		uint64_t next = j + 1 < run->nblocks
					? slice_run_first(run, j + 1) >> slice->tick_bits
					: living->count - 1;
		bool any = false;

		if (first >= living->count || next >= living->count)
			return false;
		for (uint64_t n = first; n <= next && !any; n = (n / CHUNK + 1) * CHUNK)
			any = is_any_tombstone(living->building->numbers, (uint32_t)n);
		if (!any)
			continue;
		if (!slice_walk_open(&walk, j))
			return false;
		for (uint32_t i = 0; i < walk.changes.block.count; i++) {
			uint64_t key = walk.changes.keys[i], number = key >> slice->tick_bits;

			if (number >= living->count ||
			    !slice_tick_time(slice, key & bits_mask(slice->tick_bits), &time))
				return false;
			if (!is_any_tombstone(living->building->numbers, (uint32_t)number))
				continue;
			living->values[number] = slice_block_value(&walk.changes.block, i);
			living->since[number] = time;
			living->last[number] = slice->number + 1;
		}
	}
	return true;
}

static void take_first_tombstones(struct living *living, const struct slice *slice)
{
	struct slice_value value;
	uint64_t age;

	for (uint32_t n = 0; n < living->count && slice->times; n++) {
		if (!is_any_tombstone(living->building->numbers, n) ||
		    slice_before(slice, n, &value, &age) != SLICE_FOUND)
			continue;
		living->values[n] = value;
		living->since[n] = (nstime)((uint64_t)slice->begin - age);
		living->last[n] = 1;
	}
}

/* In the order in which they were placed. */
static bool place_tombstones(struct living *living)
{
	struct cells *cells = replay_cells(living->building->replay);
	struct tombstone_found *found = mem_new_array((size_t)living->count + 1, sizeof *found);
	size_t count = 0;
	bool ok = true;

	for (uint32_t n = 0; n < living->count; n++)
		if (is_any_tombstone(living->building->numbers, n) && living->last[n])
			found[count++] = (struct tombstone_found){n, living->since[n],
								  living->values[n].number};
	qsort(found, count, sizeof *found, by_order);
	for (size_t i = 0; i < count && ok; i++) {
		struct pattern exact = {0};
		const struct pattern *pattern = &exact;
		struct tombstone *tombstone;

		exact.below = numbers_kind(living->building->numbers, found[i].number) ==
			      CLASS_TOMBSTONE_BELOW;
		ok = numbers_what(living->building->numbers, found[i].number, &exact.attr,
				  &pattern);
		if (!ok)
			break;
		tombstone = cells_tombstone(cells, pattern);
		tombstone->kind = found[i].value & 1 ? VALUE_UNKNOWN : VALUE_NONE;
		tombstone->since = found[i].since;
		tombstone->seq = ++cells->seq;
		tombstone->writer.line = tombstone->writer.class_index = UINT32_MAX;
	}
	mem_free(found);
	return ok;
}

static bool revive_tombstones(struct living *living)
{
	struct error ignored;

	memset(living->last, 0, living->count * sizeof *living->last);
	for (uint32_t s = 0; s < shard_slices(living->shard); s++) {
		const struct slice *slice = shard_slice(living->shard, s, &ignored);

		if (!slice)
			return false;
		if (s == 0)
			take_first_tombstones(living, slice);
		if (!take_tombstones(living, slice))
			return false;
	}
	return place_tombstones(living);
}

static bool revive_all(struct building *building, uint32_t slices, struct error *err)
{
	struct living living = {.building = building, .count = numbers_next(building->numbers)};
	bool ok;

	if (!shard_open(building->store, slices, program_attrs(building->part->program),
			&living.shard, err))
		return false;
	living.values = mem_new_array((size_t)living.count + 1, sizeof *living.values);
	living.last = mem_new_array((size_t)living.count + 1, sizeof *living.last);
	living.since = mem_new_array((size_t)living.count + 1, sizeof *living.since);
	for (uint32_t s = 0; s < slices; s++)
		building->bytes_before += shard_record(living.shard, s)->bytes;
	ok = shard_begin(living.shard, err);
	if (ok) {
		ok = (revive(&living) && revive_tombstones(&living)) || damaged(err);
		shard_end(living.shard);
	}
	mem_free(living.values);
	mem_free(living.last);
	mem_free(living.since);
	shard_close(living.shard);
	return ok;
}

static bool load_numbers(struct building *building, uint32_t slices, const uint8_t **at,
			 const uint8_t *end, struct error *err)
{
	struct store_txn *txn;
	bool ok;

	if (!store_read(building->store, &txn, err))
		return false;
	ok = numbers_load(building->numbers, slices, at, end, txn, err);
	store_read_end(txn);
	return ok;
}

bool building_resume(struct building *building, struct bytes resume, struct error *err)
{
	const uint8_t *at = resume.data, *end = at + resume.size;
	uint64_t head[5];

	for (int i = 0; i < 5; i++) {
		at = at ? varint_get(at, end, &head[i]) : NULL;
		if (!at)
			return damaged(err);
	}
	if (head[0] != TIMELINES_FORMAT || head[3] > UINT32_MAX)
		return damaged(err);
	struct cutting cutting = {building, (uint32_t)head[3]};
	building->from = unzigzag(head[1]);
	building->events_before = head[2];
	building->changes_before = head[4];
	if (!load_numbers(building, cutting.slices, &at, end, err))
		return false;
	at = get_sections(building, at, end);
	if (!at || at != end)
		return damaged(err);
	if (!store_write(building->store, cut_work, &cutting, err))
		return false;
	builder_continue_at(building->builder, cutting.slices);
	return cutting.slices == 0 || revive_all(building, cutting.slices, err);
}

/* ---- a start that was given ---- */

static void start_tombstones(struct building *building, const struct cells *cells)
{
	struct tombstone_found *found = mem_new_array(cells->ntombstones + 1, sizeof *found);
	size_t count = 0;

	for (uint32_t a = 0; a < cells->nslots; a++)
		for (uint32_t t = cells->slots[a].tombstone; t != NOWHERE;
		     t = cells->tombstones[t].next)
			found[count++] = (struct tombstone_found){
				numbers_tombstone(building->numbers, a, cells->tombstones[t].below),
				cells->tombstones[t].since,
				(int64_t)(cells->tombstones[t].seq << 1 |
					  (cells->tombstones[t].kind == VALUE_UNKNOWN))};
	for (uint32_t t = cells->started ? cells->patterns : NOWHERE; t != NOWHERE;
	     t = cells->tombstones[t].next)
		found[count++] = (struct tombstone_found){
			numbers_pattern(building->numbers, cells->tombstones[t].pattern),
			cells->tombstones[t].since,
			(int64_t)(cells->tombstones[t].seq << 1 |
				  (cells->tombstones[t].kind == VALUE_UNKNOWN))};
	qsort(found, count, sizeof *found, by_order);
	for (size_t i = 0; i < count; i++) {
		int64_t place = 0;

		while ((size_t)place < i && found[i - (size_t)place - 1].since == found[i].since)
			place++;
		builder_start(building->builder, found[i].number,
			      (struct slice_value){place << 1 | (found[i].value & 1), SLICE_INT},
			      found[i].since);
	}
	mem_free(found);
}

bool building_start(struct building *building, struct error *err)
{
	struct cells *cells = replay_cells(building->replay);
	struct cell cell;

	if (!building->part->start)
		return true;
	if (!cells_read(cells, building->part->start, building->part->nstart))
		return error_set(err, ERR_FORMAT, "timelines: the state to begin with is damaged");
	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		if (cell.named)
			builder_start(building->builder, numbers_attr(building->numbers, a),
				      numbers_value(building->numbers, &cell.value), cell.since);
	}
	start_tombstones(building, cells);
	return true;
}
