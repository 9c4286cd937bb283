/*
 * resume.c - resuming a build that was killed
 *
 * The state is read from the slices so far, as a shard, at its end (shard_moment.c). Snapshots have
 * no tombstones, so all slices are searched for them. The rest is in the value `resume`, as
 * varints:
 *
 *     MEANING
 *     time from which on no event was applied (zigzag), events applied, slices, changes
 *     classes, then ordinals given per class
 *     streams, section values, and per stream and section 0, or 1 and a value
 *     per stream until when its last loss lasted (zigzag)
 */
#include "state/slices/build.h"

#include "engine/base/mem.h"
#include "state/model/value_bytes.h"
#include "state/replay/cells_internal.h"
#include "state/slices/names.h"
#include "state/slices/shard.h"

#include <stdlib.h>
#include <string.h>

static bool resume_damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: what a build left behind is damaged");
}

/* ---- as bytes ---- */

void building_put_resume(const struct building *building, nstime next, struct buf *out)
{
	const struct cells *cells = replay_cells(building->replay);
	const struct builder *builder = building->builder;
	struct io io = {.out = out};

	io_signed(&io, next);
	io_number(&io, building->events_before + replay_events(building->replay));
	io_number(&io, builder->slices + builder->now->open);
	io_number(&io, builder->changes + builder->now->nchanges);
	numbers_counts(building->numbers, out);
	io_number(&io, cells->nstreams);
	io_number(&io, cells->nsections);
	io_streams(&io, cells);
}

static bool load_text(struct numbers *numbers, struct shard *shard, uint32_t ordinal)
{
	const struct value *text = shard_text(shard, ordinal);

	if (text)
		hash_index_add(&numbers->by_text, hash_number((uintptr_t)text->text), ordinal);
	return text != NULL;
}

/* Loads entities [0, count) of a class. */
static bool load_entities(struct numbers *numbers, struct shard *shard, uint32_t i, uint32_t count)
{
	struct number_class *class = &numbers->classes[i];

	if (i == PATTERN_CLASS) {
		if (count > numbers->npatterns)
			return false;
		/* later ones are of a slice that is dropped */
		numbers->npatterns = class->given = count;
	}
	for (; class->given < count; class->given++)
		if (!(i == TEXT_CLASS ? load_text(numbers, shard, class->given)
				      : numbers_entity_at(numbers, i, class->given) != ATTR_ABSENT))
			return false;
	class->stored = class->given;
	return true;
}

static bool get_entities(struct numbers *numbers, struct shard *shard, struct io *io)
{
	uint64_t nclasses = io_number(io, 0), count;

	if (nclasses > numbers->nclasses)
		return false;
	for (uint32_t i = 0; i < nclasses; i++) {
		count = io_number(io, 0);
		if (count > UINT32_MAX || !load_entities(numbers, shard, i, (uint32_t)count))
			return false;
	}
	return true;
}

static bool get_streams(struct building *building, struct io *io)
{
	struct cells *cells = replay_cells(building->replay);

	if (io_number(io, 0) != cells->nstreams || io_number(io, 0) != cells->nsections)
		return false;
	io_streams(io, cells);
	return io_ended(io);
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

	(void)err;
	store_delete(txn, name_key_meta(&key, "complete"));
	for (uint32_t s = cutting->slices; store_get(txn, name_key_record(&key, s), &value); s++) {
		store_delete(txn, name_key_bytes(&key));
		store_delete_prefix(txn, name_key_numbers(&key, KEY_DATA, &s, 1));
	}
	numbers_cut(cutting->numbers, txn);
	return true;
}

/* ---- what lives ---- */

struct tombstones_known {
	struct side_item *items; /* values: see on_bury() */
	size_t count, capacity;
	struct number_map places; /* number → 1 + place among them */
	uint32_t slices;          /* that were searched */
};

struct living {
	struct building *building;
	struct shard *shard;
	struct tombstones_known *known;
};

static void forget_known(struct tombstones_known *known)
{
	mem_free(known->items);
	mem_free(known->places.items);
	*known = (struct tombstones_known){0};
}

struct tombstones_known *tombstones_known_new(void)
{
	return mem_new(sizeof(struct tombstones_known));
}

void tombstones_known_free(struct tombstones_known *known)
{
	if (known)
		forget_known(known);
	mem_free(known);
}

/* Keeps the last tombstone of each number. */
static bool take_tombstone(void *arg, const struct side_item *tombstone)
{
	struct tombstones_known *known = arg;
	uint32_t place = number_map_get(&known->places, tombstone->fill.attr);

	if (place) {
		known->items[place - 1] = *tombstone;
		return true;
	}
	*mem_push(known->items, known->count, known->capacity) = *tombstone;
	number_map_set(&known->places, tombstone->fill.attr, (uint32_t)known->count);
	return true;
}

static struct slice_value resume_value_of(const struct slice_item *item)
{
	return (struct slice_value){item->value, item->kind};
}

/* Sets the replay's cell of one number. */
static bool revive_one(struct living *living, const struct slice_item *item)
{
	struct building *building = living->building;
	struct cell cell = {.since = item->since, .named = true, .written = true};
	uint32_t attr;

	attr = shard_attr(living->shard, item->number);
	if (attr == ATTR_ABSENT ||
	    !shard_value_of(living->shard, resume_value_of(item), &cell.value))
		return false;
	cell.run = cell.last_run = cell.named_at = item->since;
	cell.writer.line = cell.writer.class_index = UINT32_MAX;
	cells_set(replay_cells(building->replay), attr, &cell);
	return true;
}

/* Keeps items that are neither deleted nor tombstones, and sets their values in the builder. */
static bool keep_living(const struct living *living, struct slice_items *items)
{
	const struct numbers *numbers = living->building->numbers;
	uint32_t last = living->shard->nslices - 1;
	size_t kept = 0;

	for (size_t i = 0; i < items->count; i++) {
		const struct slice_item *item = &items->items[i];
		uint32_t age = item->of == ITEM_BEFORE ? (uint32_t)item->at : 0;

		if (item->number >= numbers_next(numbers))
			return false;
		if (item->kind == SLICE_DELETED || numbers_is_tombstone(numbers, item->number))
			continue;
		builder_continue(living->building->builder, item->number, resume_value_of(item),
				 last - age);
		items->items[kept++] = *item;
	}
	items->count = kept;
	return true;
}

static bool revive(struct living *living)
{
	struct slice_items items = {0};
	bool ok = shard_moment(living->shard, NSTIME_MAX, &items) && keep_living(living, &items) &&
		  shard_moment_since(living->shard, NSTIME_MAX, &items);

	for (size_t i = 0; i < items.count && ok; i++)
		ok = revive_one(living, &items.items[i]);
	mem_free(items.items);
	return ok;
}

static int by_order(const void *a, const void *b)
{
	const struct side_item *x = a, *y = b;
	int64_t i = x->fill.value.number, j = y->fill.value.number;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (i > j) - (i < j);
}

static bool place_tombstone(struct living *living, const struct numbers *numbers,
			    struct cells *cells, const struct side_item *found)
{
	uint32_t number = found->fill.attr;
	const struct pattern *pattern;
	struct tombstone *tombstone;
	struct pattern exact = {0};

	if (number >= numbers_next(numbers))
		return false;
	enum class_kind kind = numbers_class(numbers, number)->kind;
	if (kind == CLASS_PATTERN) {
		uint32_t ordinal = numbers_ordinal(numbers, number);

		if (ordinal >= numbers->npatterns)
			return false;
		pattern = &numbers->patterns[ordinal];
	} else {
		exact.below = kind == CLASS_TOMBSTONE_BELOW;
		exact.attr = shard_path(living->shard, number);
		if (exact.attr == ATTR_ABSENT)
			return false;
		pattern = &exact;
	}
	tombstone = cells_tombstone(cells, pattern);
	tombstone->now = (struct placing){found->fill.value.number & 1 ? VALUE_UNKNOWN : VALUE_NONE,
					  found->at, ++cells->seq};
	tombstone->writer.line = tombstone->writer.class_index = UINT32_MAX;
	return true;
}

/* Adds the tombstones to the replay's state, in their order. */
static bool place_tombstones(struct living *living)
{
	const struct numbers *numbers = living->building->numbers;
	struct cells *cells = replay_cells(living->building->replay);
	size_t count = living->known->count;
	struct side_item *sorted = mem_new_array(count + 1, sizeof *sorted);
	bool ok = true;

	if (count) {
		memcpy(sorted, living->known->items, count * sizeof *sorted);
		qsort(sorted, count, sizeof *sorted, by_order);
	}
	for (size_t i = 0; i < count && ok; i++)
		ok = place_tombstone(living, numbers, cells, &sorted[i]);
	mem_free(sorted);
	return ok;
}

static bool revive_all(struct building *building, struct shard *shard)
{
	struct tombstones_known *known = building->part->known, own = {0};
	struct living living = {building, shard, known ? known : &own};
	bool ok;

	known = living.known;
	if (known->slices > shard->nslices) /* another store */
		forget_known(known);
	for (uint32_t s = 0; s < shard->nslices; s++)
		building->builder->bytes += shard->records[s].bytes;
	ok = !shard->nslices ||
	     (revive(&living) &&
	      shard_each_tombstone(shard, known->slices, take_tombstone, known) &&
	      place_tombstones(&living));
	known->slices = shard->nslices;
	if (!ok)
		forget_known(known);
	forget_known(&own);
	return ok;
}

/* ---- the whole ---- */

/* The first numbers of `resume`. */
struct resume_head {
	nstime next;
	uint64_t events, slices, changes;
};

static bool get_head(struct io *io, struct resume_head *out)
{
	out->next = io_signed(io, 0);
	out->events = io_number(io, 0);
	out->slices = io_number(io, 0);
	out->changes = io_number(io, 0);
	return !io->failed && out->slices <= UINT32_MAX;
}

static struct io io_over(const struct buf *resume, struct attrs *attrs)
{
	return (struct io){
		.at = (const uint8_t *)resume->data, .end = buf_end(resume), .attrs = attrs};
}

bool building_resume_head(const struct buf *resume, uint32_t *slices, nstime *next)
{
	struct io io = io_over(resume, NULL);
	struct resume_head head;
	bool ok = get_head(&io, &head);

	*slices = (uint32_t)head.slices;
	*next = head.next;
	return ok;
}

/* Loads numbers, builder and state from the shard; `resume`: its rest behind the head, or NULL. */
static bool resume_load(struct building *building, struct shard *shard, struct io *resume,
			uint64_t changes, struct error *err)
{
	bool ok;

	if (!shard_begin(shard, err))
		return false;
	ok = !resume ||
	     (get_entities(building->numbers, shard, resume) && get_streams(building, resume));
	building->builder = builder_new(building->numbers, building->store, building->helper);
	building->builder->slices = shard->nslices;
	building->builder->changes = changes;
	building->builder->least = building->part->least;
	ok = ok && revive_all(building, shard);
	return (shard_end(shard) && ok) || resume_damaged(err);
}

bool building_begin(struct building *building, const struct buf *resume, struct error *err)
{
	struct io io = io_over(resume, program_attrs(building->part->program));
	struct resume_head head = {0};
	struct cutting cutting = {0};
	struct shard *shard;
	bool ok;

	if (resume->len) {
		if (!get_head(&io, &head))
			return resume_damaged(err);
		building->from = head.next;
		building->events_before = head.events;
		cutting.slices = (uint32_t)head.slices;
	}
	if (!shard_open(building->store, cutting.slices, io.attrs, &shard, err))
		return false;
	cutting.numbers = building->numbers = shard->numbers;
	ok = resume_load(building, shard, resume->len ? &io : NULL, head.changes, err);
	shard->numbers = NULL;
	shard_close(shard);
	return ok && store_write(building->store, cut_work, &cutting, err);
}

bool building_left(const struct timelines_part *part, struct store *store, struct store_txn *txn,
		   const struct buf *resume, struct buf *cells, struct error *err)
{
	struct io io = io_over(resume, program_attrs(part->program));
	struct replay_options options = {
		.event_source = part->event_source, .program = part->program, .brief = true};
	struct building building = {.part = part, .store = store};
	struct resume_head head;
	struct shard *shard;
	bool ok;

	if (!get_head(&io, &head))
		return resume_damaged(err);
	if (!shard_open_held(store, txn, (uint32_t)head.slices, io.attrs, &shard, err))
		return false;
	building.numbers = shard->numbers;
	building.replay = replay_new(&options);
	ok = resume_load(&building, shard, &io, head.changes, err);
	if (ok)
		cells_write(replay_cells(building.replay), cells);
	replay_free(building.replay);
	builder_free(building.builder);
	shard_close(shard);
	return ok;
}
