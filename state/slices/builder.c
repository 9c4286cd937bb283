/*
 * builder.c - see builder.h
 *
 * Changes are collected in arrays in order of time; gathered.c encodes them when the slice ends.
 * The snapshot is taken when the slice opens, before its first change.
 */
#include "state/slices/builder.h"

#include "engine/base/mem.h"

#include <assert.h>

enum { SLICE_LEAST = 64 << 10, SLICE_MOST = 1 << 19, PER_LIVE = 4 };
_Static_assert((int)SLICE_MOST < (int)TICKS, "every change may have a tick of its own");

/* Grows the bitmap of touched numbers to all numbers that there is room for. */
static void touched_room(struct builder *builder)
{
	struct gathered *now = builder->now;
	size_t words = builder->room / 64;

	if (words <= now->words)
		return;
	now->touched = mem_resize_zeroed(now->touched, now->words, words, sizeof *now->touched);
	now->words = words;
}

/* Room is a multiple of 64 numbers: whole words of the bitmaps. */
void builder_make_room(struct builder *builder, uint32_t number)
{
	size_t old = builder->room, more = number / (number > SLICE_LEAST ? 8 : 2);
	size_t room = ((size_t)number + more + 4096) & ~(size_t)63;

	if (number < old)
		return;
	builder->spots = mem_resize_zeroed(builder->spots, old, room, sizeof *builder->spots);
	builder->live =
		mem_resize_zeroed(builder->live, old / 64, room / 64, sizeof *builder->live);
	builder->room = room;
	touched_room(builder);
}

void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last)
{
	builder_make_room(builder, number);
	builder_set(builder, number, value);
	builder->spots[number].stamp = (uint64_t)last << 32;
}

/* ---- opening ---- */

static void snapshot(struct builder *builder)
{
	struct slice_column *live = &builder->now->live;

	column_room(live, builder->nlive);
	for (size_t number = 0; bitset_next(builder->live, builder->room / 64, &number); number++) {
		const struct spot *spot = &builder->spots[number];

		column_add(live, number, (struct slice_value){spot->value, (uint8_t)spot->kind},
			   builder->slices - (uint32_t)(spot->stamp >> 32));
	}
}

static void open_slice(struct builder *builder, nstime t)
{
	size_t target = builder->nlive * PER_LIVE;
	struct gathered *now = builder->now;

	now->begin = t;
	now->open = true;
	now->number = builder->slices;
	now->busy = builder->least ? 1 : DOMINANT_LEAST;
	builder->target = target < SLICE_LEAST  ? SLICE_LEAST
			  : target > SLICE_MOST ? SLICE_MOST
						: target;
	if (builder->least)
		builder->target = builder->least;
	touched_room(builder);
	snapshot(builder);
}

/* ---- changes ---- */

void builder_grow(struct builder *builder)
{
	struct gathered *now = builder->now;

	now->capacity = now->capacity * 2 + SLICE_LEAST + 1024;
	now->changes = mem_resize(now->changes, now->capacity, sizeof *now->changes);
}

void builder_tick(struct builder *builder, nstime t)
{
	struct gathered *now = builder->now;

	assert(!now->nticks || t > now->ticks[now->nticks - 1]); /* guaranteed by walks */
	if (!now->open)
		open_slice(builder, t);
	*mem_push(now->ticks, now->nticks, now->ticks_capacity) = t;
	builder->stamp = (uint64_t)builder->slices << 32 | now->nticks;
}

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t)
{
	builder_at(builder, t);
	builder_write(builder, number, value);
}

void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from)
{
	struct gathered *now = builder->now;

	builder_at(builder, t);
	builder_write(builder, number, value);
	*mem_push(now->fills, now->nfills, now->fills_capacity) =
		(struct slice_fill){.attr = number,
				    .tick = (uint32_t)now->nticks - 1,
				    .from = from,
				    .final = true,
				    .value = value};
}

void builder_overwrites(struct builder *builder, uint32_t number)
{
	struct gathered *now = builder->now;

	for (size_t i = now->nfills; i-- > 0 && now->fills[i].tick == now->nticks - 1;)
		if (now->fills[i].attr == number)
			now->fills[i].final = false;
}

/* ---- storing ---- */

static bool store(struct builder *builder, struct gathered *gathered, struct error *err)
{
	if (!gathered_store(gathered, builder->store, &builder->encoding, err))
		return false;
	if (gathered->open)
		builder->bytes += builder->encoding.bytes.len;
	gathered_clear(gathered);
	return true;
}

static bool builder_is_due(void *arg)
{
	return ((const struct builder *)arg)->given != NULL;
}

static void store_given(void *arg)
{
	struct builder *builder = arg;
	struct error err;
	bool good = true;

	if (!builder->failed) {
		helper_unlock(builder->helper);
		good = store(builder, builder->given, &err);
		helper_lock(builder->helper);
	}
	if (!good) {
		builder->failed = true;
		builder->error = err;
	}
	builder->given = NULL;
}

/* Waits until the helper has stored the previous slice, then gives it the next one (NULL: none). */
static bool hand_over(struct builder *builder, struct gathered *gathered, struct error *err)
{
	bool good;

	helper_lock(builder->helper);
	while (builder->given)
		helper_wait(builder->helper);
	good = !builder->failed;
	if (good)
		builder->given = gathered;
	else
		*err = builder->error;
	helper_changed(builder->helper);
	helper_unlock(builder->helper);
	return good;
}

bool builder_close(struct builder *builder, struct error *err)
{
	struct gathered *now = builder->now;

	if (now->open) {
		now->names = numbers_take(builder->numbers);
		builder->changes += now->nchanges;
		builder->slices++;
	}
	if (!builder->helper)
		return store(builder, now, err);
	builder->now = &builder->all[now == &builder->all[0]];
	return hand_over(builder, now, err);
}

bool builder_settle(struct builder *builder, struct error *err)
{
	return !builder->helper || hand_over(builder, NULL, err);
}

struct builder *builder_new(struct numbers *numbers, struct store *store, struct helper *helper)
{
	struct builder *builder = mem_new(sizeof *builder);

	builder->numbers = numbers;
	builder->store = store;
	builder->now = &builder->all[0];
	builder->helper = helper;
	if (!helper)
		return builder;
	builder->duty = (struct duty){.due = builder_is_due, .work = store_given, .arg = builder};
	helper_give(helper, &builder->duty);
	return builder;
}

void builder_free(struct builder *builder)
{
	struct error ignored;

	if (!builder)
		return;
	if (builder->helper) {
		(void)!hand_over(builder, NULL, &ignored);
		helper_end(builder->helper, &builder->duty);
	}
	gathered_release(&builder->all[0]);
	gathered_release(&builder->all[1]);
	encoding_release(&builder->encoding);
	mem_free(builder->spots);
	mem_free(builder->live);
	mem_free(builder);
}
