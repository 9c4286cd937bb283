/*
 * resume.c - where a build was killed, and going on from there
 *
 * What lives is what the shard of all slices so far says at its end (shard_moment.c), with the
 * shard's names. Tombstones are not in snapshots: all slices are looked through for them. Beside
 * that `resume` holds, as varints:
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
#include "state/slices/shard_internal.h"

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
	cells_write_streams(cells, out);
}

static const uint8_t *get_streams(struct building *building, const uint8_t *at, const uint8_t *end)
{
	struct cells *cells = replay_cells(building->replay);
	uint64_t nstreams, nsections;

	at = varint_get(at, end, &nstreams);
	at = at ? varint_get(at, end, &nsections) : NULL;
	if (!at || nstreams != cells->nstreams || nsections != cells->nsections)
		return NULL;
	return cells_read_streams(cells, at, end);
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

struct tombstone_found {
	uint32_t number;
	const struct pattern *pattern; /* NULL: of one path */
	nstime since;
	int64_t value; /* see on_bury() */
};

struct living {
	struct building *building;
	struct shard *shard;
	struct tombstone_found *tombstones;
	size_t count, capacity;
	struct number_map places; /* number → 1 + place among them; of paths */
};

static void add_tombstone(struct living *living, const struct tombstone_found *found)
{
	living->tombstones = mem_grow(living->tombstones, living->count, &living->capacity,
				      sizeof *living->tombstones);
	living->tombstones[living->count++] = *found;
}

static const struct pattern *pattern_of(const struct shard *shard, uint32_t number)
{
	const struct pattern *pattern;
	uint32_t other;

	for (size_t i = 0; (pattern = shard_pattern(shard, i, &other)); i++)
		if (other == number)
			return pattern;
	return NULL;
}

/* One number that lives, last written in slice `last`, as the builder and the replay have it. */
static bool revive_one(struct living *living, const struct slice_item *item, uint32_t last,
		       nstime since)
{
	struct building *building = living->building;
	struct cell cell = {.since = since, .named = true, .written = true};
	struct slice_value value = {item->value, item->kind};
	uint32_t attr = shard_attr(living->shard, item->number);

	builder_continue(building->builder, item->number, value, last);
	if (attr == ATTR_ABSENT) {
		const struct pattern *pattern = pattern_of(living->shard, item->number);

		if (pattern)
			add_tombstone(living, &(struct tombstone_found){item->number, pattern,
									since, item->value});
		return pattern != NULL;
	}
	if (!shard_value_of(living->shard, value, &cell.value))
		return false;
	cell.run = cell.last_run = cell.named_at = since;
	cell.writer.line = cell.writer.class_index = UINT32_MAX;
	cells_set(replay_cells(building->replay), attr, &cell);
	return true;
}

/* Leaves what lives; tombstones of paths are not among it. */
static bool keep_living(const struct numbers *numbers, struct slice_items *items)
{
	size_t kept = 0;

	for (size_t i = 0; i < items->count; i++) {
		if (items->items[i].number >= numbers_next(numbers))
			return false;
		if (items->items[i].kind != SLICE_DELETED &&
		    !numbers_is_tombstone(numbers, items->items[i].number))
			items->items[kept++] = items->items[i];
	}
	items->count = kept;
	return true;
}

static bool revive(struct living *living)
{
	uint32_t last = shard_slices(living->shard) - 1;
	struct slice_items items = {0};
	struct error ignored;
	const struct slice *slice = shard_slice(living->shard, last, &ignored);
	bool times = slice && slice->times;
	nstime *since = NULL;
	bool ok = slice && shard_moment(living->shard, NSTIME_MAX, &items) &&
		  keep_living(living->building->numbers, &items);

	if (ok) {
		since = mem_new_array(items.count + 1, sizeof *since);
		ok = shard_moment_since(living->shard, NSTIME_MAX, &items, since);
	}
	for (size_t i = 0; i < items.count && ok; i++) {
		const struct slice_item *item = &items.items[i];
		uint32_t age = item->of == ITEM_BEFORE && !times ? (uint32_t)item->at : 0;

		ok = revive_one(living, item, last - age, since[i]);
	}
	mem_free(since);
	mem_free(items.items);
	return ok;
}

/* ---- tombstones ---- */

static int by_order(const void *a, const void *b)
{
	const struct tombstone_found *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* The last of each path counts. */
static bool take_tombstone(void *arg, const struct side_item *item)
{
	struct living *living = arg;
	struct tombstone_found found = {item->number, NULL, item->at, item->value.number};
	uint32_t place = number_map_get(&living->places, item->number);

	if (place) {
		living->tombstones[place - 1] = found;
		return true;
	}
	add_tombstone(living, &found);
	number_map_set(&living->places, item->number, (uint32_t)living->count);
	return true;
}

/* In the order in which they were placed. */
static bool place_tombstones(struct living *living)
{
	struct cells *cells = replay_cells(living->building->replay);

	if (living->count)
		qsort(living->tombstones, living->count, sizeof *living->tombstones, by_order);
	for (size_t i = 0; i < living->count; i++) {
		const struct tombstone_found *found = &living->tombstones[i];
		struct pattern exact = {0};
		struct tombstone *tombstone;
		enum class_kind kind;

		if (!found->pattern) {
			if (!shard_number_kind(living->shard, found->number, &kind))
				return false;
			exact.below = kind == CLASS_TOMBSTONE_BELOW;
			exact.attr = shard_path(living->shard, found->number);
			if (exact.attr == ATTR_ABSENT)
				return false;
		}
		tombstone = cells_tombstone(cells, found->pattern ? found->pattern : &exact);
		tombstone->kind = found->value & 1 ? VALUE_UNKNOWN : VALUE_NONE;
		tombstone->since = found->since;
		tombstone->seq = ++cells->seq;
		tombstone->writer.line = tombstone->writer.class_index = UINT32_MAX;
	}
	return true;
}

static bool revive_all(struct building *building, struct shard *shard)
{
	struct living living = {.building = building, .shard = shard};
	bool ok;

	for (uint32_t s = 0; s < shard_slices(shard); s++)
		building->bytes_before += shard_record(shard, s)->bytes;
	ok = !shard_slices(shard) ||
	     (revive(&living) && shard_each_tombstone(shard, take_tombstone, &living) &&
	      place_tombstones(&living));
	mem_free(living.tombstones);
	mem_free(living.places.items);
	return ok;
}

/* ---- the whole ---- */

/* From what the shard holds; *at: behind the head of `resume`. */
static bool load(struct building *building, struct shard *shard, const uint8_t *at,
		 const uint8_t *end, struct error *err)
{
	bool ok;

	if (!shard_begin(shard, err))
		return false;
	ok = numbers_load(building->numbers, shard, &at, end, err);
	if (ok) {
		at = get_streams(building, at, end);
		builder_continue_at(building->builder, shard_slices(shard));
		ok = (at == end && revive_all(building, shard)) || damaged(err);
	}
	return shard_end(shard) ? ok : damaged(err);
}

bool building_resume(struct building *building, struct bytes resume, struct error *err)
{
	const uint8_t *at = resume.data, *end = at + resume.size;
	struct shard *shard;
	uint64_t head[5];
	bool ok;

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
	if (!shard_open(building->store, cutting.slices, program_attrs(building->part->program),
			&shard, err))
		return false;
	ok = load(building, shard, at, end, err);
	shard_close(shard);
	return ok && store_write(building->store, cut_work, &cutting, err);
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
				NULL, cells->tombstones[t].since,
				(int64_t)(cells->tombstones[t].seq << 1 |
					  (cells->tombstones[t].kind == VALUE_UNKNOWN))};
	for (uint32_t t = cells->started ? cells->patterns : NOWHERE; t != NOWHERE;
	     t = cells->tombstones[t].next)
		found[count++] = (struct tombstone_found){
			numbers_pattern(building->numbers, cells->tombstones[t].pattern), NULL,
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
