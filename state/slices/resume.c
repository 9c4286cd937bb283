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
#include "engine/base/varint.h"
#include "state/replay/cells_internal.h"
#include "state/slices/names.h"
#include "state/slices/shard_internal.h"

#include <stdlib.h>

static bool damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: what a build left behind is damaged");
}

/* ---- as bytes ---- */

void building_put_resume(const struct building *building, nstime next, struct buf *out)
{
	const struct cells *cells = replay_cells(building->replay);
	const struct builder *builder = building->builder;

	buf_add_varint(out, TIMELINES_FORMAT);
	buf_add_varint(out, zigzag(next));
	buf_add_varint(out, building->events_before + replay_events(building->replay));
	buf_add_varint(out, builder->slices + builder->now->open);
	buf_add_varint(out, building->changes_before + builder->changes + builder->now->nchanges);
	numbers_counts(building->numbers, out);
	buf_add_varint(out, cells->nstreams);
	buf_add_varint(out, cells->nsections);
	cells_write_streams(cells, out);
}

/* Behind its head; NULL: damage. Without any a build begins. */
static const uint8_t *get_head(struct building *building, const struct buf *resume,
			       uint32_t *slices)
{
	const uint8_t *at = (const uint8_t *)resume->data, *end = buf_end(resume);
	uint64_t head[5] = {TIMELINES_FORMAT, zigzag(building->part->begin)};

	for (int i = 0; i < 5 && at; i++)
		at = varint_get(at, end, &head[i]);
	*slices = (uint32_t)head[3];
	building->from = unzigzag(head[1]);
	building->events_before = head[2];
	building->changes_before = head[4];
	return head[0] == TIMELINES_FORMAT && head[3] <= UINT32_MAX ? at : NULL;
}

/* Entities [0, count) of a class were given. */
static bool load_entities(struct numbers *numbers, struct shard *shard, uint32_t i, uint32_t count)
{
	struct number_class *class = &numbers->classes[i];

	if (class->kind == CLASS_PATTERN) {
		if (count > numbers->npatterns)
			return false;
		while (numbers->npatterns > count) /* of a slice that is dropped */
			mem_free(numbers->patterns[--numbers->npatterns]);
		class->given = count;
	}
	for (; class->given < count; class->given++) {
		uint32_t entity = shard_entity(shard, i, class->given);

		if (entity == ATTR_ABSENT)
			return false;
		number_map_set(&numbers->ordinals, entity, class->given + 1);
	}
	class->stored = class->given;
	return true;
}

static const uint8_t *get_entities(struct numbers *numbers, struct shard *shard, const uint8_t *at,
				   const uint8_t *end)
{
	uint64_t nclasses, count;

	at = varint_get(at, end, &nclasses);
	if (at && nclasses > numbers->nclasses)
		return NULL;
	for (uint32_t i = 0; at && i < nclasses; i++) {
		at = varint_get(at, end, &count);
		if (at &&
		    (count > UINT32_MAX || !load_entities(numbers, shard, i, (uint32_t)count)))
			return NULL;
	}
	return at;
}

static bool get_strings(struct numbers *numbers, struct shard *shard)
{
	uint32_t count = 0;

	for (uint32_t s = 0; s < shard->nslices; s++)
		if (shard->records[s].strings != count || !shard_read_strings(shard, s, &count))
			return false;
	for (uint32_t i = 0; i < count; i++)
		hash_index_add(&numbers->by_text, hash_number((uintptr_t)numbers->strings[i].text),
			       i);
	numbers->nstrings = numbers->strings_stored = count;
	return true;
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
	const struct numbers *numbers;
	uint32_t slices;
};

static bool cut_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct cutting *cutting = arg;
	struct name_key key;
	struct bytes value;

	name_key_meta(&key, "complete");
	if (!store_delete(txn, name_key_bytes(&key), err))
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
	return numbers_cut(cutting->numbers, txn, err);
}

/* ---- what lives ---- */

struct living {
	struct building *building;
	struct shard *shard;
	struct dated *tombstones; /* values: see on_bury() */
	size_t count, capacity;
	struct number_map places; /* number → 1 + place among them */
};

/* The last of each number counts. */
static bool take_tombstone(void *arg, const struct dated *tombstone)
{
	struct living *living = arg;
	uint32_t place = number_map_get(&living->places, tombstone->number);

	if (place) {
		living->tombstones[place - 1] = *tombstone;
		return true;
	}
	*mem_push(living->tombstones, living->count, living->capacity) = *tombstone;
	number_map_set(&living->places, tombstone->number, (uint32_t)living->count);
	return true;
}

/* One number that lives, last written in slice `last`, as the builder and the replay have it. */
static bool revive_one(struct living *living, const struct slice_item *item, uint32_t last,
		       nstime since)
{
	struct building *building = living->building;
	struct cell cell = {.since = since, .named = true, .written = true};
	struct slice_value value = {item->value, item->kind};
	uint32_t attr;

	builder_continue(building->builder, item->number, value, last);
	if (numbers_class(building->numbers, item->number)->kind == CLASS_PATTERN)
		return take_tombstone(living, &(struct dated){item->number, since, value});
	attr = shard_attr(living->shard, item->number);
	if (attr == ATTR_ABSENT || !shard_value_of(living->shard, value, &cell.value))
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
	uint32_t last = living->shard->nslices - 1;
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

static int by_order(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->value.number > y->value.number) - (x->value.number < y->value.number);
}

static void sort_tombstones(struct dated *tombstones, size_t count)
{
	if (count)
		qsort(tombstones, count, sizeof *tombstones, by_order);
}

/* In the order in which they were placed. */
static bool place_tombstones(struct living *living)
{
	const struct numbers *numbers = living->building->numbers;
	struct cells *cells = replay_cells(living->building->replay);

	sort_tombstones(living->tombstones, living->count);
	for (size_t i = 0; i < living->count; i++) {
		const struct dated *found = &living->tombstones[i];
		enum class_kind kind = numbers_class(numbers, found->number)->kind;
		const struct pattern *pattern;
		struct tombstone *tombstone;
		struct pattern exact = {0};

		if (kind == CLASS_PATTERN) {
			uint32_t ordinal = numbers_ordinal(numbers, found->number);

			if (ordinal >= numbers->npatterns)
				return false;
			pattern = numbers->patterns[ordinal];
		} else {
			exact.below = kind == CLASS_TOMBSTONE_BELOW;
			exact.attr = shard_path(living->shard, found->number);
			if (exact.attr == ATTR_ABSENT)
				return false;
			pattern = &exact;
		}
		tombstone = cells_tombstone(cells, pattern);
		tombstone->now =
			(struct placing){found->value.number & 1 ? VALUE_UNKNOWN : VALUE_NONE,
					 found->since, ++cells->seq};
		tombstone->writer.line = tombstone->writer.class_index = UINT32_MAX;
	}
	return true;
}

static bool revive_all(struct building *building, struct shard *shard)
{
	struct living living = {.building = building, .shard = shard};
	bool ok;

	for (uint32_t s = 0; s < shard->nslices; s++)
		building->bytes_before += shard->records[s].bytes;
	ok = !shard->nslices ||
	     (revive(&living) && shard_each_tombstone(shard, take_tombstone, &living) &&
	      place_tombstones(&living));
	mem_free(living.tombstones);
	mem_free(living.places.items);
	return ok;
}

/* ---- a start that was given ---- */

/* Their values have places in their time, as on_bury() gives them. */
static void start_tombstones(struct building *building, const struct cells *cells)
{
	struct dated *found = mem_new_array(cells->ntombstones + 1, sizeof *found);
	const struct tombstone *tombstone = NULL;
	struct pattern exact;
	size_t count = 0;

	while ((tombstone = cells_next_tombstone(cells, tombstone)))
		found[count++] = (struct dated){
			numbers_tombstone(building->numbers, tombstone_pattern(tombstone, &exact)),
			tombstone->now.since,
			{(int64_t)(tombstone->now.seq << 1 |
				   (tombstone->now.kind == VALUE_UNKNOWN)),
			 SLICE_INT}};
	sort_tombstones(found, count);
	for (size_t i = 0, first = 0; i < count; i++) {
		first = found[first].since == found[i].since ? first : i;
		found[i].value.number = (int64_t)(i - first) << 1 | (found[i].value.number & 1);
		builder_start(building->builder, &found[i]);
	}
	mem_free(found);
}

static bool start(struct building *building, struct error *err)
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
			builder_start(
				building->builder,
				&(struct dated){numbers_attr(building->numbers, a), cell.since,
						numbers_value(building->numbers, &cell.value)});
	}
	start_tombstones(building, cells);
	return true;
}

/* ---- the whole ---- */

/* From what the shard holds; `at`: behind the head of `resume`, NULL: there is none. */
static bool load(struct building *building, struct shard *shard, const uint8_t *at,
		 const uint8_t *end, struct error *err)
{
	bool ok;

	if (!shard_begin(shard, err))
		return false;
	ok = get_strings(building->numbers, shard);
	if (at) {
		at = get_entities(building->numbers, shard, at, end);
		at = at ? get_streams(building, at, end) : NULL;
		ok = ok && at && at == end;
	}
	building->builder = builder_new(building->numbers, building->store, building->helper);
	building->builder->slices = shard->nslices;
	building->builder->least = building->part->least;
	ok = ok && revive_all(building, shard);
	return (shard_end(shard) && ok) || damaged(err);
}

bool building_begin(struct building *building, const struct buf *resume, struct error *err)
{
	const uint8_t *at, *end = buf_end(resume);
	struct cutting cutting;
	struct shard *shard;
	bool ok;

	at = get_head(building, resume, &cutting.slices);
	if (resume->len && !at)
		return damaged(err);
	if (!shard_open(building->store, cutting.slices, program_attrs(building->part->program),
			&shard, err))
		return false;
	cutting.numbers = building->numbers = shard->numbers;
	ok = load(building, shard, at, end, err);
	shard->numbers = NULL;
	shard_close(shard);
	return ok && store_write(building->store, cut_work, &cutting, err) &&
	       (resume->len || start(building, err));
}
