/*
 * gathered.c - see gathered.h
 *
 * Changes are counted per number, the bitmap of touched numbers gives each its place, and they are
 * scattered there: no comparison is made.
 */
#include "state/slices/gathered.h"

#include "engine/base/mem.h"
#include "state/slices/bits.h"

#include <stdlib.h>
#include <xxhash.h>

struct gathered *gathered_new(void)
{
	return mem_new(sizeof(struct gathered));
}

void gathered_free(struct gathered *gathered)
{
	if (!gathered)
		return;
	fresh_names_free(gathered->names);
	mem_free(gathered->live.keys);
	mem_free(gathered->live.numbers);
	mem_free(gathered->live.kinds);
	mem_free(gathered->live.ages);
	mem_free(gathered->changes);
	mem_free(gathered->ticks);
	mem_free(gathered->fills);
	mem_free(gathered->touched);
	buf_release(&gathered->resume);
	buf_release(&gathered->complete);
	buf_release(&gathered->damage);
	mem_free(gathered);
}

/* Bits of touched numbers were cleared when they were read. */
void gathered_clear(struct gathered *gathered)
{
	fresh_names_free(gathered->names);
	gathered->names = NULL;
	gathered->open = gathered->times = false;
	gathered->nchanges = gathered->nticks = gathered->nfills = gathered->live.count = 0;
	buf_clear(&gathered->resume);
	buf_clear(&gathered->complete);
	buf_clear(&gathered->damage);
}

void encoding_release(struct encoding *encoding)
{
	buf_release(&encoding->bytes);
	buf_release(&encoding->dominant);
	dominant_work_free(encoding->dominant_work);
	buf_release(&encoding->snapshot);
	mem_free(encoding->keys);
	mem_free(encoding->places);
}

/* Touched numbers, one after the other: start with *word 0 and *bits of it. */
static bool next_touched(const struct gathered *gathered, size_t *word, uint64_t *bits,
			 size_t *number)
{
	while (!*bits) {
		if (++*word >= gathered->words)
			return false;
		*bits = gathered->touched[*word];
	}
	*number = *word * 64 + (unsigned)__builtin_ctzll(*bits);
	*bits &= *bits - 1;
	return true;
}

/* Places of neighbours are far from each other: the columns stand in one block of huge pages. */
static void make_room(const struct gathered *gathered, struct encoding *out)
{
	if (gathered->nchanges > out->room) {
		out->room = gathered->nchanges + gathered->nchanges / 4;
		mem_free(out->keys);
		out->keys = mem_new_huge(out->room * (sizeof *out->keys + sizeof *out->numbers +
						      sizeof *out->kinds));
		out->numbers = (int64_t *)(out->keys + out->room);
		out->kinds = (uint8_t *)(out->numbers + out->room);
	}
	if (gathered->words * 64 > out->nplaces) {
		out->nplaces = gathered->words * 64;
		out->places = mem_resize(out->places, out->nplaces, sizeof *out->places);
	}
}

/* Where each number's changes go. */
static void find_places(struct gathered *gathered, uint32_t *places)
{
	uint64_t bits = gathered->words ? gathered->touched[0] : 0;
	size_t word = 0, number;
	uint32_t at = 0;

	while (next_touched(gathered, &word, &bits, &number))
		places[number] = 0;
	for (size_t i = 0; i < gathered->nchanges; i++)
		places[gathered->changes[i].number]++;
	bits = gathered->words ? gathered->touched[0] : 0;
	for (word = 0; next_touched(gathered, &word, &bits, &number);) {
		uint32_t count = places[number];

		places[number] = at;
		at += count;
	}
	if (gathered->words)
		memset(gathered->touched, 0, gathered->words * sizeof *gathered->touched);
}

/* In order of numbers, then of time. */
static void scatter(struct gathered *gathered, unsigned tick_bits, struct encoding *out)
{
	make_room(gathered, out);
	find_places(gathered, out->places);
	for (size_t i = 0; i < gathered->nchanges; i++) {
		const struct change_at *change = &gathered->changes[i];
		uint32_t to = out->places[change->number]++;

		out->keys[to] = (uint64_t)change->number << tick_bits | change->tick;
		out->numbers[to] = change->value;
		out->kinds[to] = change->kind & (uint8_t)~CHANGE_FILLED;
	}
}

/* ---- fills ---- */

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
	return nstime_last(columns->froms, columns->nfroms, sizeof *columns->froms, from);
}

static void fill_columns_make(struct gathered *gathered, unsigned tick_bits,
			      struct fill_columns *out)
{
	size_t count = gathered->nfills;

	*out = (struct fill_columns){
		.keys = mem_new_array(count + 1, sizeof(uint64_t)),
		.extra = mem_new_array(count + 1, sizeof(uint64_t)),
		.numbers = mem_new_array(count + 1, sizeof(int64_t)),
		.kinds = mem_new_array(count + 1, 1),
		.froms = mem_new_array(count + 1, sizeof(nstime)),
	};
	for (size_t i = 0; i < count; i++) {
		gathered->fills[i].final =
			gathered->changes[gathered->fills[i].change].kind & CHANGE_FILLED;
		out->froms[i] = gathered->fills[i].from;
	}
	if (count == 0)
		return;
	qsort(gathered->fills, count, sizeof *gathered->fills, by_key);
	qsort(out->froms, count, sizeof *out->froms, by_time);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || out->froms[i] != out->froms[out->nfroms - 1])
			out->froms[out->nfroms++] = out->froms[i];
	for (size_t i = 0; i < count; i++) {
		const struct fill *fill = &gathered->fills[i];

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

/* ---- the slice ---- */

static struct slice_column live_column(const struct live_before *live)
{
	return (struct slice_column){live->keys, live->numbers, live->kinds, live->ages,
				     live->count};
}

void gathered_encode(struct gathered *gathered, struct encoding *out)
{
	unsigned tick_bits = bits_width(gathered->nticks);
	struct slice_column live = live_column(&gathered->live);
	struct fill_columns fills;

	buf_clear(&out->snapshot);
	slice_column_put(&live, &out->snapshot);
	fill_columns_make(gathered, tick_bits, &fills);
	scatter(gathered, tick_bits, out);
	struct slice_parts parts = {
		.number = gathered->number,
		.times = gathered->times,
		.ticks = gathered->ticks,
		.nticks = (uint32_t)gathered->nticks,
		.begin = gathered->begin,
		.tick_bits = tick_bits,
		.changes = {out->keys, out->numbers, out->kinds, NULL, gathered->nchanges},
		.snapshot = &out->snapshot,
		.nsnapshot = (uint32_t)gathered->live.count,
		.fills = {fills.keys, fills.numbers, fills.kinds, fills.extra, gathered->nfills},
		.froms = fills.froms,
		.nfroms = (uint32_t)fills.nfroms,
	};
	buf_clear(&out->bytes);
	slice_put(&parts, &out->bytes);
	buf_clear(&out->dominant);
	dominant_put(&parts, &live, gathered->busy, &out->dominant_work, &out->dominant);
	out->record = (struct slice_record){
		.begin = parts.begin,
		.end = parts.nticks ? gathered->ticks[parts.nticks - 1] : parts.begin,
		.changes = (uint32_t)parts.changes.count,
		.ticks = parts.nticks,
		.snapshot = parts.nsnapshot,
		.bytes = (uint32_t)out->bytes.len,
		.strings = gathered->strings,
		.numbers = gathered->numbers,
		.events = gathered->events,
		.least_from = fills.nfroms ? fills.froms[0] : NSTIME_MAX,
	};
	fill_columns_free(&fills);
}
