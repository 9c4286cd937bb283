/*
 * builder.c - see builder.h
 *
 * Changes wait in arrays in order of time; at the end of a slice a slicer (slicer.h) makes it of
 * them. What lives is written down when the slice opens, before the first change is applied.
 */
#include "state/slices/builder_internal.h"

#include "engine/base/mem.h"
#include "state/slices/slicer.h"

#include <assert.h>
#include <stdlib.h>

enum { SLICE_LEAST = 64 << 10, SLICE_MOST = 1 << 19, PER_LIVE = 4 };
_Static_assert((int)SLICE_MOST < (int)TICKS, "every change may have a tick of its own");

struct builder *builder_new(struct numbers *numbers, struct store *store, struct helper *helper)
{
	struct builder *builder = mem_new(sizeof *builder);

	builder->numbers = numbers;
	builder->slicer = slicer_new(store, helper);
	builder->now = slicer_first(builder->slicer);
	return builder;
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	slicer_free(builder->slicer);
	mem_free(builder->spots);
	mem_free(builder->live);
	mem_free(builder->started);
	mem_free(builder);
}

/* A bit for each number that there is room for. */
static void touched_room(struct builder *builder)
{
	struct gathered *now = builder->now;
	size_t words = builder->room / 64;

	if (words <= now->words)
		return;
	now->touched = mem_resize_zeroed(now->touched, now->words, words, sizeof *now->touched);
	now->words = words;
}

/* Chunks are whole words of the bitmaps. */
void builder_make_room(struct builder *builder, uint32_t number)
{
	size_t old = builder->room, more = number / (number > SLICE_LEAST ? 8 : 2);
	size_t room = ((size_t)number + more + 4096) & ~(size_t)63;

	builder->spots = mem_resize_zeroed(builder->spots, old, room, sizeof *builder->spots);
	builder->live =
		mem_resize_zeroed(builder->live, old / 64, room / 64, sizeof *builder->live);
	builder->room = room;
	touched_room(builder);
}

void builder_start(struct builder *builder, uint32_t number, struct slice_value value, nstime since)
{
	builder->started = mem_grow(builder->started, builder->nstarted, &builder->started_capacity,
				    sizeof *builder->started);
	builder->started[builder->nstarted++] = (struct started){number, since, value};
	builder->times = true;
	if (number >= builder->room)
		builder_make_room(builder, number);
	if (!numbers_is_tombstone(builder->numbers, number))
		builder_set(builder, number, value);
}

void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last)
{
	if (number >= builder->room)
		builder_make_room(builder, number);
	builder_set(builder, number, value);
	builder->spots[number].stamp = (uint64_t)last << 32;
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
	return builder_full(builder);
}

uint32_t builder_slices(const struct builder *builder)
{
	return builder->slices;
}

uint64_t builder_waiting(const struct builder *builder)
{
	return builder->now->nchanges;
}

uint64_t builder_changes(const struct builder *builder)
{
	return builder->total;
}

uint64_t builder_bytes(const struct builder *builder)
{
	return slicer_bytes(builder->slicer);
}

/* ---- opening ---- */

static int by_number(const void *a, const void *b)
{
	const struct started *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void live_room(struct live_before *live, size_t count)
{
	live->count = 0;
	if (count <= live->room)
		return;
	live->room = count + count / 4;
	live->keys = mem_resize(live->keys, live->room, sizeof *live->keys);
	live->numbers = mem_resize(live->numbers, live->room, sizeof *live->numbers);
	live->kinds = mem_resize(live->kinds, live->room, 1);
	live->ages = mem_resize(live->ages, live->room, sizeof *live->ages);
}

static void live_add(struct live_before *live, uint64_t number, struct slice_value value,
		     uint64_t age)
{
	live->keys[live->count] = number;
	live->numbers[live->count] = value.number;
	live->kinds[live->count] = value.kind;
	live->ages[live->count++] = age;
}

/* What holds at the start, tombstones and all, with times. */
static void snapshot_times(struct builder *builder)
{
	struct live_before *live = &builder->now->live;

	if (builder->nstarted)
		qsort(builder->started, builder->nstarted, sizeof *builder->started, by_number);
	live_room(live, builder->nstarted);
	for (size_t i = 0; i < builder->nstarted; i++) {
		const struct started *started = &builder->started[i];

		live_add(live, started->number, started->value,
			 (uint64_t)builder->now->begin - (uint64_t)started->since);
	}
	mem_free(builder->started);
	builder->started = NULL;
	builder->nstarted = 0;
}

static void snapshot_ages(struct builder *builder)
{
	struct live_before *live = &builder->now->live;

	live_room(live, builder->nlive);
	for (size_t w = 0; w < builder->room / 64; w++)
		for (uint64_t bits = builder->live[w]; bits; bits &= bits - 1) {
			size_t number = w * 64 + (unsigned)__builtin_ctzll(bits);
			const struct spot *spot = &builder->spots[number];

			live_add(live, number,
				 (struct slice_value){spot->value, (uint8_t)spot->kind},
				 builder->slices - spot_slice(spot));
		}
}

static void slice_begin(struct builder *builder, nstime t)
{
	size_t target = builder->nlive * PER_LIVE;
	struct gathered *now = builder->now;

	now->begin = t;
	now->open = true;
	now->number = builder->slices;
	now->times = builder->times && builder->slices == 0;
	now->strings = builder->strings;
	now->numbers = builder->next_number;
	now->busy = builder->least ? 1 : DOMINANT_LEAST;
	builder->target = target < SLICE_LEAST  ? SLICE_LEAST
			  : target > SLICE_MOST ? SLICE_MOST
						: target;
	if (builder->least)
		builder->target = builder->least;
	touched_room(builder);
	if (now->times)
		snapshot_times(builder);
	else
		snapshot_ages(builder);
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

	assert(!now->nticks || t > now->ticks[now->nticks - 1]); /* walks see to it */
	if (!now->open)
		slice_begin(builder, t);
	now->ticks = mem_grow(now->ticks, now->nticks, &now->ticks_capacity, sizeof *now->ticks);
	now->ticks[now->nticks++] = t;
	builder->stamp = (uint64_t)builder->slices << 32 | now->nticks;
}

/* Its place among the changes. */
static uint32_t change_add(struct builder *builder, uint32_t number, struct slice_value value,
			   uint8_t flags, nstime t)
{
	builder_at(builder, t);
	return builder_change(builder, number, value, flags);
}

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t)
{
	change_add(builder, number, value, 0, t);
	builder_set(builder, number, value);
}

void builder_put_tombstone(struct builder *builder, uint32_t number, struct slice_value value,
			   nstime t)
{
	change_add(builder, number, value, 0, t);
}

void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from)
{
	uint32_t place = change_add(builder, number, value, CHANGE_FILLED, t);
	struct gathered *now = builder->now;

	builder_set(builder, number, value);
	now->fills = mem_grow(now->fills, now->nfills, &now->fills_capacity, sizeof *now->fills);
	now->fills[now->nfills++] = (struct fill){(uint64_t)number << 32 | (now->nticks - 1), from,
						  value, place, false};
}

/* ---- ending ---- */

static void keep(struct buf *to, const struct buf *from)
{
	if (from)
		buf_add(to, from->data, from->len);
}

static void next_slice(struct builder *builder)
{
	builder->total += builder->now->nchanges;
	builder->slices++;
	builder->strings = numbers_strings(builder->numbers);
	builder->next_number = numbers_next(builder->numbers);
}

bool builder_close(struct builder *builder, const struct builder_end *end, struct error *err)
{
	struct gathered *now = builder->now;

	if (!now->open && end->empty > NSTIME_MIN)
		slice_begin(builder, end->empty);
	if (now->open) {
		now->events = end->events;
		now->names = numbers_take(builder->numbers);
		next_slice(builder);
	}
	keep(&now->resume, end->resume);
	keep(&now->complete, end->complete);
	keep(&now->damage, end->damage);
	now = slicer_give(builder->slicer, now, err);
	if (now)
		builder->now = now;
	return now != NULL;
}

bool builder_settle(struct builder *builder, struct error *err)
{
	return slicer_settle(builder->slicer, err);
}
