/*
 * builder.c - see builder.h
 *
 * Changes wait in arrays in order of time. At the end of a slice they are counted per number, the
 * bitmap of touched numbers gives each its place, and they are scattered there: no comparison is
 * made. The snapshot is encoded when the slice opens, before the first change is applied.
 */
#include "state/slices/builder.h"

#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/names.h"
#include "state/slices/summary.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SLICE_LEAST = 64 << 10, SLICE_MOST = 1 << 20, PER_LIVE = 4, FILLED = 0x80 };

struct change_at {
	int64_t value;
	uint32_t number, tick;
};

struct spot { /* what a number is */
	int64_t value;
	uint32_t last;  /* slice of the last change */
	uint32_t tick;  /* 1 + its tick in that slice; 0: none of this builder's */
	uint32_t place; /* of that change */
	uint8_t kind;
};

struct fill {
	uint64_t key; /* number << 32 | tick until the slice ends */
	nstime from;
	struct slice_value value;
	uint32_t change;
	bool final;
};

struct started {
	uint64_t number;
	nstime since;
	struct slice_value value;
};

struct builder {
	struct numbers *numbers;
	struct store *store;
	/* by number */
	struct spot *spots;
	uint32_t *places; /* while a slice ends: where its changes go */
	uint64_t *live, *touched;
	size_t room, nlive;
	/* of the slice */
	bool open;
	struct change_at *changes;
	uint8_t *change_kinds; /* FILLED: it is what a fill says */
	size_t nchanges, capacity;
	nstime *ticks;
	size_t nticks, ticks_capacity, target;
	nstime begin;
	struct fill *fills;
	size_t nfills, fills_capacity;
	struct buf snapshot;
	uint32_t nsnapshot, strings, next_number;
	/* sorted */
	uint64_t *keys;
	int64_t *sorted;
	uint8_t *sorted_kinds;
	size_t sorted_room;
	struct buf bytes, summary;
	/* before everything */
	struct started *started;
	size_t nstarted, started_capacity;
	bool times; /* the first slice of what began with a state */
	uint32_t slices, least;
	uint64_t total, stored_bytes;
};

struct builder *builder_new(struct numbers *numbers, struct store *store)
{
	struct builder *builder = mem_new(sizeof *builder);

	builder->numbers = numbers;
	builder->store = store;
	return builder;
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	mem_free(builder->spots);
	mem_free(builder->places);
	mem_free(builder->live);
	mem_free(builder->touched);
	mem_free(builder->changes);
	mem_free(builder->change_kinds);
	mem_free(builder->ticks);
	mem_free(builder->fills);
	mem_free(builder->keys);
	mem_free(builder->sorted);
	mem_free(builder->sorted_kinds);
	mem_free(builder->started);
	buf_release(&builder->snapshot);
	buf_release(&builder->bytes);
	buf_release(&builder->summary);
	mem_free(builder);
}

static void *grow_cleared(void *array, size_t old, size_t count, size_t size)
{
	uint8_t *grown = mem_resize(array, count, size);

	memset(grown + old * size, 0, (count - old) * size);
	return grown;
}

/* Chunks are whole words of the bitmaps. */
static void make_room(struct builder *builder, uint32_t number)
{
	size_t old = builder->room, room = ((size_t)number + number / 2 + 4096) & ~(size_t)63;

	builder->spots = grow_cleared(builder->spots, old, room, sizeof *builder->spots);
	builder->places = grow_cleared(builder->places, old, room, sizeof *builder->places);
	builder->live = grow_cleared(builder->live, old / 64, room / 64, sizeof *builder->live);
	builder->touched =
		grow_cleared(builder->touched, old / 64, room / 64, sizeof *builder->touched);
	builder->room = room;
}

static inline void set_value(struct builder *builder, uint32_t number, struct slice_value value)
{
	struct spot *spot = &builder->spots[number];
	bool lives = value.kind != SLICE_DELETED;

	if (lives != (spot->kind != SLICE_DELETED)) {
		builder->live[number / 64] ^= UINT64_C(1) << (number & 63);
		builder->nlive += lives ? 1 : (size_t)-1;
	}
	spot->value = value.number;
	spot->kind = value.kind;
}

void builder_start(struct builder *builder, uint32_t number, struct slice_value value, nstime since)
{
	builder->started = mem_grow(builder->started, builder->nstarted, &builder->started_capacity,
				    sizeof *builder->started);
	builder->started[builder->nstarted++] = (struct started){number, since, value};
	builder->times = true;
	if (number >= builder->room)
		make_room(builder, number);
	if (!numbers_is_tomb(builder->numbers, number))
		set_value(builder, number, value);
}

void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last)
{
	if (number >= builder->room)
		make_room(builder, number);
	set_value(builder, number, value);
	builder->spots[number].last = last;
}

void builder_continue_at(struct builder *builder, uint32_t slices)
{
	builder->slices = slices;
	builder->strings = numbers_strings(builder->numbers);
	builder->next_number = numbers_next(builder->numbers);
}

void builder_least(struct builder *builder, uint32_t changes)
{
	builder->least = changes;
}

bool builder_due(const struct builder *builder)
{
	return builder->nchanges >= builder->target && builder->open;
}

uint32_t builder_slices(const struct builder *builder)
{
	return builder->slices;
}

uint64_t builder_waiting(const struct builder *builder)
{
	return builder->nchanges;
}

uint64_t builder_changes(const struct builder *builder)
{
	return builder->total;
}

uint64_t builder_bytes(const struct builder *builder)
{
	return builder->stored_bytes;
}

/* ---- opening ---- */

static int by_number(const void *a, const void *b)
{
	const struct started *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void sorted_grow(struct builder *builder, size_t count)
{
	if (count <= builder->sorted_room)
		return;
	builder->sorted_room = count + count / 4;
	builder->keys = mem_resize(builder->keys, builder->sorted_room, sizeof *builder->keys);
	builder->sorted =
		mem_resize(builder->sorted, builder->sorted_room, sizeof *builder->sorted);
	builder->sorted_kinds = mem_resize(builder->sorted_kinds, builder->sorted_room, 1);
}

static void put_snapshot(struct builder *builder, const uint64_t *extra, size_t count)
{
	struct slice_column column = {builder->keys, builder->sorted, builder->sorted_kinds, extra,
				      count};

	buf_clear(&builder->snapshot);
	slice_column_put(&column, &builder->snapshot);
	builder->nsnapshot = (uint32_t)count;
}

/* What holds at the start, tombs and all, with times. */
static void snapshot_times(struct builder *builder)
{
	uint64_t *extra = mem_new_array(builder->nstarted + 1, sizeof *extra);
	size_t count = builder->nstarted;

	if (count)
		qsort(builder->started, count, sizeof *builder->started, by_number);
	sorted_grow(builder, count);
	for (size_t i = 0; i < count; i++) {
		builder->keys[i] = builder->started[i].number;
		builder->sorted[i] = builder->started[i].value.number;
		builder->sorted_kinds[i] = builder->started[i].value.kind;
		extra[i] = (uint64_t)builder->begin - (uint64_t)builder->started[i].since;
	}
	put_snapshot(builder, extra, count);
	mem_free(extra);
	mem_free(builder->started);
	builder->started = NULL;
	builder->nstarted = 0;
}

static void snapshot_ages(struct builder *builder)
{
	uint64_t *extra = mem_new_array(builder->nlive + 1, sizeof *extra);
	size_t count = 0;

	sorted_grow(builder, builder->nlive);
	for (size_t w = 0; w < builder->room / 64; w++)
		for (uint64_t bits = builder->live[w]; bits; bits &= bits - 1) {
			size_t number = w * 64 + (unsigned)__builtin_ctzll(bits);
			const struct spot *spot = &builder->spots[number];

			builder->keys[count] = number;
			builder->sorted[count] = spot->value;
			builder->sorted_kinds[count] = spot->kind;
			extra[count++] = builder->slices - spot->last;
		}
	put_snapshot(builder, extra, count);
	mem_free(extra);
}

static void slice_begin(struct builder *builder, nstime t)
{
	size_t target = builder->nlive * PER_LIVE;

	builder->begin = t;
	builder->open = true;
	builder->target = target < SLICE_LEAST  ? SLICE_LEAST
			  : target > SLICE_MOST ? SLICE_MOST
						: target;
	if (builder->least)
		builder->target = builder->least;
	if (builder->times && builder->slices == 0)
		snapshot_times(builder);
	else
		snapshot_ages(builder);
}

/* ---- changes ---- */

static void changes_grow(struct builder *builder)
{
	builder->capacity = builder->capacity * 2 + SLICE_LEAST + 1024;
	builder->changes =
		mem_resize(builder->changes, builder->capacity, sizeof *builder->changes);
	builder->change_kinds = mem_resize(builder->change_kinds, builder->capacity, 1);
}

static void tick_add(struct builder *builder, nstime t)
{
	if (!builder->open)
		slice_begin(builder, t);
	builder->ticks = mem_grow(builder->ticks, builder->nticks, &builder->ticks_capacity,
				  sizeof *builder->ticks);
	builder->ticks[builder->nticks++] = t;
}

/* Its place among the changes. */
static inline uint32_t change_add(struct builder *builder, uint32_t number,
				  struct slice_value value, uint8_t flags, nstime t)
{
	struct spot *spot;

	if (builder->nticks == 0 || builder->ticks[builder->nticks - 1] != t)
		tick_add(builder, t);
	if (number >= builder->room)
		make_room(builder, number);
	spot = &builder->spots[number];
	if (spot->last != builder->slices || spot->tick != builder->nticks) {
		if (builder->nchanges == builder->capacity)
			changes_grow(builder);
		if (spot->last != builder->slices || !spot->tick)
			builder->touched[number / 64] |= UINT64_C(1) << (number & 63);
		spot->last = builder->slices;
		spot->tick = (uint32_t)builder->nticks;
		spot->place = (uint32_t)builder->nchanges++;
	}
	builder->changes[spot->place] =
		(struct change_at){value.number, number, (uint32_t)builder->nticks - 1};
	builder->change_kinds[spot->place] = value.kind | flags;
	return spot->place;
}

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t)
{
	change_add(builder, number, value, 0, t);
	set_value(builder, number, value);
}

void builder_put_tomb(struct builder *builder, uint32_t number, struct slice_value value, nstime t)
{
	change_add(builder, number, value, 0, t);
}

void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from)
{
	uint32_t place = change_add(builder, number, value, FILLED, t);

	set_value(builder, number, value);
	builder->fills = mem_grow(builder->fills, builder->nfills, &builder->fills_capacity,
				  sizeof *builder->fills);
	builder->fills[builder->nfills++] = (struct fill){
		(uint64_t)number << 32 | (builder->nticks - 1), from, value, place, false};
}

/* ---- ending ---- */

/* Places of columns, in order of numbers, then the changes there, in order of time. */
static void scatter(struct builder *builder, unsigned tick_bits)
{
	uint32_t *places = builder->places, at = 0;

	for (size_t w = 0; w < builder->room / 64; w++)
		for (uint64_t bits = builder->touched[w]; bits; bits &= bits - 1)
			places[w * 64 + (unsigned)__builtin_ctzll(bits)] = 0;
	for (size_t i = 0; i < builder->nchanges; i++)
		places[builder->changes[i].number]++;
	for (size_t w = 0; w < builder->room / 64; w++) {
		for (uint64_t bits = builder->touched[w]; bits; bits &= bits - 1) {
			size_t number = w * 64 + (unsigned)__builtin_ctzll(bits);
			uint32_t count = places[number];

			places[number] = at;
			at += count;
		}
		builder->touched[w] = 0;
	}
	sorted_grow(builder, builder->nchanges);
	for (size_t i = 0; i < builder->nchanges; i++) {
		const struct change_at *change = &builder->changes[i];
		uint32_t to = places[change->number]++;

		builder->keys[to] = (uint64_t)change->number << tick_bits | change->tick;
		builder->sorted[to] = change->value;
		builder->sorted_kinds[to] = builder->change_kinds[i] & (uint8_t)~FILLED;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct fill *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int by_time(const void *a, const void *b)
{
	nstime x = *(const nstime *)a, y = *(const nstime *)b;

	return (x > y) - (x < y);
}

struct fill_columns {
	uint64_t *keys, *extra;
	int64_t *numbers;
	uint8_t *kinds;
	nstime *froms;
	size_t nfroms;
};

static size_t from_place(const struct fill_columns *columns, nstime from)
{
	size_t low = 0, high = columns->nfroms;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (columns->froms[middle] <= from)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void fill_columns_make(struct builder *builder, unsigned tick_bits, struct fill_columns *out)
{
	size_t count = builder->nfills;

	*out = (struct fill_columns){
		.keys = mem_new_array(count + 1, sizeof(uint64_t)),
		.extra = mem_new_array(count + 1, sizeof(uint64_t)),
		.numbers = mem_new_array(count + 1, sizeof(int64_t)),
		.kinds = mem_new_array(count + 1, 1),
		.froms = mem_new_array(count + 1, sizeof(nstime)),
	};
	for (size_t i = 0; i < count; i++) {
		builder->fills[i].final = builder->change_kinds[builder->fills[i].change] & FILLED;
		out->froms[i] = builder->fills[i].from;
	}
	if (count == 0)
		return;
	qsort(builder->fills, count, sizeof *builder->fills, by_key);
	qsort(out->froms, count, sizeof *out->froms, by_time);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || out->froms[i] != out->froms[out->nfroms - 1])
			out->froms[out->nfroms++] = out->froms[i];
	for (size_t i = 0; i < count; i++) {
		const struct fill *fill = &builder->fills[i];

		out->keys[i] = fill->key >> 32 << tick_bits | (fill->key & UINT32_MAX);
		out->extra[i] = from_place(out, fill->from) << 1 | fill->final;
		out->numbers[i] = fill->value.number;
		out->kinds[i] = fill->value.kind;
	}
}

static void fill_columns_free(struct fill_columns *columns)
{
	mem_free(columns->keys);
	mem_free(columns->extra);
	mem_free(columns->numbers);
	mem_free(columns->kinds);
	mem_free(columns->froms);
}

static void encode(struct builder *builder, struct slice_record *record)
{
	unsigned tick_bits = bits_width(builder->nticks);
	struct fill_columns fills;

	fill_columns_make(builder, tick_bits, &fills);
	scatter(builder, tick_bits);
	struct slice_parts parts = {
		.number = builder->slices,
		.times = builder->times && builder->slices == 0,
		.ticks = builder->ticks,
		.nticks = (uint32_t)builder->nticks,
		.begin = builder->begin,
		.tick_bits = tick_bits,
		.changes = {builder->keys, builder->sorted, builder->sorted_kinds, NULL,
			    builder->nchanges},
		.snapshot = &builder->snapshot,
		.nsnapshot = builder->nsnapshot,
		.fills = {fills.keys, fills.numbers, fills.kinds, fills.extra, builder->nfills},
		.froms = fills.froms,
		.nfroms = (uint32_t)fills.nfroms,
	};
	buf_clear(&builder->bytes);
	slice_put(&parts, &builder->bytes);
	buf_clear(&builder->summary);
	summary_put(&parts, &builder->summary);
	*record = (struct slice_record){
		.begin = parts.begin,
		.end = parts.nticks ? builder->ticks[parts.nticks - 1] : parts.begin,
		.changes = (uint32_t)parts.changes.count,
		.ticks = parts.nticks,
		.snapshot = parts.nsnapshot,
		.bytes = (uint32_t)builder->bytes.len,
		.strings = builder->strings,
		.numbers = builder->next_number,
		.checksum = XXH3_64bits(builder->bytes.data, builder->bytes.len),
		.least_from = fills.nfroms ? fills.froms[0] : NSTIME_MAX,
	};
	fill_columns_free(&fills);
}

struct commit {
	struct builder *builder;
	const struct builder_end *end;
	const struct slice_record *record; /* NULL: no slice */
};

static bool put_meta(struct store_txn *txn, const char *name, const struct buf *value,
		     struct error *err)
{
	struct name_key key = {.bytes = {KEY_META}, .size = 1 + strlen(name)};

	memcpy(key.bytes + 1, name, strlen(name));
	return store_put(txn, name_key_bytes(&key),
			 (struct bytes){(const uint8_t *)value->data, value->len}, err);
}

static bool put_slice(const struct commit *commit, struct store_txn *txn, struct error *err)
{
	struct builder *builder = commit->builder;
	struct name_key key;

	name_key_data(&key, builder->slices, PART_SLICE);
	if (!store_put(txn, name_key_bytes(&key),
		       (struct bytes){(const uint8_t *)builder->bytes.data, builder->bytes.len},
		       err))
		return false;
	name_key_data(&key, builder->slices, PART_SUMMARY);
	if (builder->summary.len &&
	    !store_put(txn, name_key_bytes(&key),
		       (struct bytes){(const uint8_t *)builder->summary.data, builder->summary.len},
		       err))
		return false;
	name_key_numbers(&key, KEY_SLICE, &builder->slices, 1);
	return store_put(txn, name_key_bytes(&key),
			 (struct bytes){(const uint8_t *)commit->record, sizeof *commit->record},
			 err) &&
	       numbers_put(builder->numbers, builder->slices, txn, err);
}

static bool commit_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct commit *commit = arg;

	return (!commit->record || put_slice(commit, txn, err)) &&
	       (!commit->end->resume || put_meta(txn, "resume", commit->end->resume, err)) &&
	       (!commit->end->complete || put_meta(txn, "complete", commit->end->complete, err));
}

static void next_slice(struct builder *builder)
{
	numbers_stored(builder->numbers);
	builder->total += builder->nchanges;
	builder->stored_bytes += builder->bytes.len;
	builder->nchanges = builder->nticks = builder->nfills = 0;
	builder->open = false;
	builder->slices++;
	builder->strings = numbers_strings(builder->numbers);
	builder->next_number = numbers_next(builder->numbers);
}

bool builder_close(struct builder *builder, const struct builder_end *end, struct error *err)
{
	struct commit commit = {builder, end, NULL};
	struct slice_record record;

	if (!builder->open && end->empty > NSTIME_MIN)
		slice_begin(builder, end->empty);
	if (builder->open) {
		encode(builder, &record);
		record.events = end->events;
		commit.record = &record;
	}
	if (!store_write(builder->store, commit_work, &commit, err))
		return false;
	if (commit.record)
		next_slice(builder);
	return true;
}
