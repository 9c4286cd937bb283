/*
 * gathered.c - see gathered.h
 *
 * Counting sort: counts the changes per number, computes each number's first place from the bitmap
 * of touched numbers, and scatters the changes, without comparisons.
 */
#include "state/slices/gathered.h"

#include "engine/base/bitset.h"
#include "state/slices/bits.h"
#include "state/slices/names.h"

#include <stdlib.h>

void gathered_release(struct gathered *gathered)
{
	fresh_names_free(gathered->names);
	column_release(&gathered->live);
	mem_free(gathered->changes);
	mem_free(gathered->ticks);
	mem_free(gathered->fills);
	mem_free(gathered->touched);
	buf_release(&gathered->resume);
	buf_release(&gathered->ties);
	buf_release(&gathered->complete);
	buf_release(&gathered->damage);
}

/* find_places() has cleared `touched` already. */
void gathered_clear(struct gathered *gathered)
{
	fresh_names_free(gathered->names);
	gathered->names = NULL;
	gathered->open = false;
	gathered->nchanges = gathered->nticks = gathered->nfills = gathered->live.count = 0;
	buf_clear(&gathered->resume);
	buf_clear(&gathered->ties);
	buf_clear(&gathered->complete);
	buf_clear(&gathered->damage);
}

void encoding_release(struct encoding *encoding)
{
	buf_release(&encoding->bytes);
	buf_release(&encoding->dominant);
	dominant_work_free(encoding->dominant_work);
	column_release(&encoding->changes);
	column_release(&encoding->fills);
	mem_free(encoding->froms);
	mem_free(encoding->places);
}

void column_room(struct slice_column *column, size_t count)
{
	column->count = 0;
	if (count <= column->room)
		return;
	column->room = count + count / 4;
	column->keys = mem_resize(column->keys, column->room,
				  sizeof *column->keys + sizeof *column->numbers +
					  sizeof *column->extra + 1);
	column->numbers = (int64_t *)(column->keys + column->room);
	column->extra = (uint64_t *)(column->numbers + column->room);
	column->kinds = (uint8_t *)(column->extra + column->room);
}

void column_release(struct slice_column *column)
{
	mem_free(column->keys);
}

/* ---- changes ---- */

/* Uses huge pages, since neighbouring changes go to distant places. */
static void gathered_make_room(const struct gathered *gathered, struct encoding *out)
{
	struct slice_column *changes = &out->changes;

	if (gathered->nchanges > changes->room) {
		changes->room = gathered->nchanges + gathered->nchanges / 4;
		mem_free(changes->keys);
		changes->keys = mem_new_huge(
			changes->room * (sizeof *changes->keys + sizeof *changes->numbers + 1));
		changes->numbers = (int64_t *)(changes->keys + changes->room);
		changes->kinds = (uint8_t *)(changes->numbers + changes->room);
	}
	if (gathered->words * 64 > out->nplaces) {
		out->nplaces = gathered->words * 64;
		out->places = mem_resize(out->places, out->nplaces, sizeof *out->places);
	}
}

/* Computes where each number's changes go, and clears the bitmap. */
static void find_places(struct gathered *gathered, uint32_t *places)
{
	const uint64_t *touched = gathered->touched;
	uint32_t at = 0;

	for (size_t number = 0; bitset_next(touched, gathered->words, &number); number++)
		places[number] = 0;
	for (size_t i = 0; i < gathered->nchanges; i++)
		places[gathered->changes[i].number]++;
	for (size_t number = 0; bitset_next(touched, gathered->words, &number); number++) {
		uint32_t count = places[number];

		places[number] = at;
		at += count;
	}
	if (gathered->words)
		memset(gathered->touched, 0, gathered->words * sizeof *gathered->touched);
}

/* Sorts the changes by number, then time. */
static void scatter(struct gathered *gathered, unsigned tick_bits, struct encoding *out)
{
	gathered_make_room(gathered, out);
	find_places(gathered, out->places);
	for (size_t i = 0; i < gathered->nchanges; i++) {
		const struct change_at *change = &gathered->changes[i];
		uint32_t to = out->places[change->number]++;

		out->changes.keys[to] = (uint64_t)change->number << tick_bits | change->tick;
		out->changes.numbers[to] = change->value;
		out->changes.kinds[to] = change->kind;
	}
	out->changes.count = gathered->nchanges;
}

/* ---- fills ---- */

static int by_key(const void *a, const void *b)
{
	const struct slice_fill *x = a, *y = b;

	if (x->attr != y->attr)
		return x->attr < y->attr ? -1 : 1;
	return (x->tick > y->tick) - (x->tick < y->tick);
}

static int gathered_by_time(const void *a, const void *b)
{
	nstime x = *(const nstime *)a, y = *(const nstime *)b;

	return (x > y) - (x < y);
}

/* Collects the distinct times at which fills begin, sorted; returns how many. */
static uint32_t find_froms(const struct gathered *gathered, struct encoding *out)
{
	uint32_t count = 0;

	if (gathered->nfills > out->froms_room) {
		out->froms_room = gathered->nfills * 2;
		out->froms = mem_resize(out->froms, out->froms_room, sizeof *out->froms);
	}
	for (size_t i = 0; i < gathered->nfills; i++)
		out->froms[i] = gathered->fills[i].from;
	if (gathered->nfills)
		qsort(out->froms, gathered->nfills, sizeof *out->froms, gathered_by_time);
	for (size_t i = 0; i < gathered->nfills; i++)
		if (i == 0 || out->froms[i] != out->froms[count - 1])
			out->froms[count++] = out->froms[i];
	return count;
}

static uint32_t put_fills(struct gathered *gathered, unsigned tick_bits, struct encoding *out)
{
	uint32_t nfroms = find_froms(gathered, out);

	column_room(&out->fills, gathered->nfills);
	if (gathered->nfills)
		qsort(gathered->fills, gathered->nfills, sizeof *gathered->fills, by_key);
	for (size_t i = 0; i < gathered->nfills; i++) {
		const struct slice_fill *fill = &gathered->fills[i];
		uint64_t from = nstime_last(out->froms, nfroms, sizeof *out->froms, fill->from);

		column_add(&out->fills, (uint64_t)fill->attr << tick_bits | fill->tick, fill->value,
			   from << 1 | fill->final);
	}
	return nfroms;
}

/* ---- the slice ---- */

/* Encodes the slice, its summaries (dominant.h) and its record. */
static void encode(struct gathered *gathered, struct encoding *out)
{
	unsigned tick_bits = bits_width(gathered->nticks);
	uint32_t nfroms = put_fills(gathered, tick_bits, out);

	scatter(gathered, tick_bits, out);
	struct slice_parts parts = {
		.number = gathered->number,
		.ticks = gathered->ticks,
		.nticks = (uint32_t)gathered->nticks,
		.begin = gathered->begin,
		.tick_bits = tick_bits,
		.changes = out->changes,
		.snapshot = gathered->live,
		.fills = out->fills,
		.froms = out->froms,
		.nfroms = nfroms,
	};
	buf_clear(&out->bytes);
	slice_put(&parts, &out->bytes);
	buf_clear(&out->dominant);
	dominant_put(&parts, gathered->busy, &out->dominant_work, &out->dominant);
	out->record = (struct slice_record){
		.begin = parts.begin,
		.end = parts.nticks ? gathered->ticks[parts.nticks - 1] : parts.begin,
		.least_from = nfroms ? out->froms[0] : NSTIME_MAX,
		.bytes = out->bytes.len,
	};
}

static bool put_meta(struct store_txn *txn, const char *name, const struct buf *value,
		     struct error *err)
{
	struct name_key key;

	return !value->len || store_put(txn, name_key_meta(&key, name), bytes_of(value), err);
}

static bool put_slice(const struct encoding *encoding, struct store_txn *txn, struct error *err)
{
	uint32_t number = encoding->of->number;
	struct bytes record = {(const uint8_t *)&encoding->record, sizeof encoding->record};
	struct name_key key;

	return store_put(txn, name_key_data(&key, number, PART_SLICE), bytes_of(&encoding->bytes),
			 err) &&
	       (!encoding->dominant.len ||
		store_put(txn, name_key_data(&key, number, PART_DOMINANT),
			  bytes_of(&encoding->dominant), err)) &&
	       store_put(txn, name_key_record(&key, number), record, err) &&
	       fresh_names_put(encoding->of->names, number, txn, err);
}

static bool commit_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct encoding *encoding = arg;
	const struct gathered *of = encoding->of;

	return (!of->open || put_slice(encoding, txn, err)) &&
	       put_meta(txn, "resume", &of->resume, err) && put_meta(txn, "ties", &of->ties, err) &&
	       put_meta(txn, "damage", &of->damage, err) &&
	       put_meta(txn, "complete", &of->complete, err);
}

bool gathered_store(struct gathered *gathered, struct store *store, struct encoding *work,
		    struct error *err)
{
	work->of = gathered;
	if (gathered->open)
		encode(gathered, work);
	return store_write(store, commit_work, work, err);
}
