/*
 * sketcher.c - events of a packet → its sketch; a sketch → may it hold what is wanted?
 *
 * The filter is Bloom's: 16 bits for each different value and eight places in it, so that one
 * value in two thousand that is not there seems to be.
 */
#include "index/filters/sketch_internal.h"

#include "engine/base/mem.h"

#include <string.h>

enum { VALUES_MAX = 4096, SET_MIN = 256, RECENT = 256, BITS_EACH = 16, PLACES = 8 };

struct sketcher {
	const struct sketch_fields *fields;
	uint8_t *classes;        /* those that were met */
	bool opaque;             /* too many values, or some could not be had */
	uint64_t *set;           /* open addressing, `size` places; 0 is free */
	uint32_t size, nfound;   /* less than half of it */
	uint64_t recent[RECENT]; /* values of recent_role, each at its remainder: added lately */
	uint64_t recent_role;
};

uint64_t sketch_hash(uint64_t role, uint64_t value)
{
	uint64_t h = value * UINT64_C(0x9e3779b97f4a7c15) ^ role;

	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	h ^= h >> 31;
	return h ? h : 1;
}

struct sketcher *sketcher_new(const struct sketch_fields *fields)
{
	struct sketcher *sketcher = mem_new(sizeof *sketcher);

	sketcher->fields = fields;
	sketcher->classes = mem_new(fields->nclasses + 1);
	sketcher->size = SET_MIN;
	sketcher->set = mem_new_array(SET_MIN, sizeof(uint64_t));
	return sketcher;
}

void sketcher_free(struct sketcher *sketcher)
{
	mem_free(sketcher->classes);
	mem_free(sketcher->set);
	mem_free(sketcher);
}

/* No value's remainder is that of the one put in its place. */
static void forget_recent(struct sketcher *sketcher, uint64_t role)
{
	for (uint32_t i = 0; i < RECENT; i++)
		sketcher->recent[i] = i + 1;
	sketcher->recent_role = role;
}

void sketcher_begin(struct sketcher *sketcher)
{
	memset(sketcher->classes, 0, sketcher->fields->nclasses + 1);
	memset(sketcher->set, 0, sketcher->size * sizeof(uint64_t));
	forget_recent(sketcher, 0);
	sketcher->opaque = false;
	sketcher->nfound = 0;
}

/* False: it was there. */
static bool put_hash(uint64_t *set, uint32_t size, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (size - 1);

	while (set[i] && set[i] != hash)
		i = (i + 1) & (size - 1);
	if (set[i])
		return false;
	set[i] = hash;
	return true;
}

static void double_set(struct sketcher *sketcher)
{
	uint64_t *set = mem_new_array(2 * (size_t)sketcher->size, sizeof(uint64_t));

	for (uint32_t i = 0; i < sketcher->size; i++)
		if (sketcher->set[i])
			put_hash(set, 2 * sketcher->size, sketcher->set[i]);
	mem_free(sketcher->set);
	sketcher->set = set;
	sketcher->size *= 2;
}

static void add_hash(struct sketcher *sketcher, uint64_t hash)
{
	if (!put_hash(sketcher->set, sketcher->size, hash))
		return;
	if (++sketcher->nfound == VALUES_MAX)
		sketcher->opaque = true;
	else if (2 * sketcher->nfound >= sketcher->size)
		double_set(sketcher);
}

static void add_values(struct sketcher *sketcher, const struct sketch_field *field,
		       const uint64_t *values, uint32_t n)
{
	uint64_t role = field->role, skipped = field->skipped;
	bool skips = field->skips;

	if (role != sketcher->recent_role)
		forget_recent(sketcher, role);
	for (uint32_t k = 0; k < n && !sketcher->opaque; k++) {
		uint64_t *recent = &sketcher->recent[values[k] % RECENT];

		if (*recent == values[k] || (skips && values[k] == skipped))
			continue;
		*recent = values[k];
		add_hash(sketcher, sketch_hash(role, values[k]));
	}
}

/* Entries of the run by keyed class; returns how many of these it has. */
static uint32_t sort_entries(struct sketch_room *room, const struct run *run)
{
	const uint32_t *classes = run->batch->class_index;
	uint32_t nkeyed = room->fields->nkeyed, nmet = 0;

	if (!room->entries) {
		room->entries = mem_new_array((size_t)nkeyed * BATCH_MAX, sizeof *room->entries);
		room->nentries = mem_new_array(nkeyed, sizeof *room->nentries);
		room->met = mem_new_array(nkeyed, sizeof *room->met);
	}
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		uint32_t c = room->fields->number[classes[i]];

		if (!c--)
			continue;
		if (!room->nentries[c])
			room->met[nmet++] = c;
		room->entries[c * BATCH_MAX + room->nentries[c]++] = (uint16_t)i;
	}
	return nmet;
}

static void add_fields(struct sketcher *sketcher, struct sketch_room *room, const struct run *run,
		       uint32_t c)
{
	const struct sketch_fields *fields = room->fields;
	uint32_t n = room->nentries[c];

	for (uint32_t f = fields->first[c]; f < fields->first[c + 1] && !sketcher->opaque; f++) {
		const struct sketch_field *field = &fields->items[f];

		if (run_column(run, &field->of, &room->entries[c * BATCH_MAX], n, room->values,
			       room->bad))
			sketcher->opaque = true;
		add_values(sketcher, field, room->values, n);
	}
	room->nentries[c] = 0;
}

void sketcher_add(struct sketcher *sketcher, struct sketch_room *room, const struct run *run)
{
	const uint32_t *classes = run->batch->class_index;
	uint32_t nmet;

	for (uint32_t i = run->first; i < run->first + run->count; i++)
		sketcher->classes[classes[i]] = 1;
	if (sketcher->opaque || !room->fields->nkeyed)
		return;
	nmet = sort_entries(room, run);
	for (uint32_t m = 0; m < nmet; m++)
		add_fields(sketcher, room, run, room->met[m]);
}

/* Place i of a value in a filter of so many bits. */
static uint32_t place_of(uint64_t hash, uint32_t i, uint32_t bits)
{
	uint32_t h = (uint32_t)hash + i * ((uint32_t)(hash >> 32) | 1);

	return (uint32_t)((uint64_t)h * bits >> 32);
}

static void filter_fill(const struct sketcher *sketcher, uint64_t *words, uint32_t bits)
{
	memset(words, 0, bits / 8);
	for (uint32_t v = 0; v < sketcher->size; v++)
		for (uint32_t i = 0; i < PLACES && sketcher->set[v]; i++) {
			uint32_t at = place_of(sketcher->set[v], i, bits);
			words[at / 64] |= UINT64_C(1) << at % 64;
		}
}

/* Up to the last word that has a bit; returns how many. */
static uint32_t add_classes(const struct sketcher *sketcher, struct buf *out)
{
	uint64_t word = 0;
	uint32_t count = 0;

	for (size_t c = 0; c < sketcher->fields->nclasses; c++) {
		if (!sketcher->classes[c])
			continue;
		for (; count < c / 64; count++, word = 0)
			buf_add(out, &word, sizeof word);
		word |= UINT64_C(1) << c % 64;
	}
	buf_add(out, &word, sizeof word);
	return count + 1;
}

void sketcher_end(struct sketcher *sketcher, const struct sketch_of *packet,
		  const struct packet_range *range, struct buf *out)
{
	uint32_t filter = (sketcher->nfound * BITS_EACH + 63) / 64;
	struct sketch_head head = {.off = packet->off,
				   .len = packet->len,
				   .least = range->least,
				   .greatest = range->greatest};
	uint64_t words[VALUES_MAX * BITS_EACH / 64];
	size_t at = out->len;

	if (!sketcher->opaque && sketcher->fields->nkeyed) {
		head.filter = filter ? filter : 1;
		filter_fill(sketcher, words, head.filter * 64);
	}
	buf_add(out, &head, sizeof head);
	head.classes = add_classes(sketcher, out);
	memcpy(out->data + at, &head, sizeof head);
	buf_add(out, words, head.filter * sizeof(uint64_t));
}

static bool filter_has(const uint64_t *words, uint32_t count, uint64_t hash)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		uint32_t at = place_of(hash, i, count * 64);

		if (!(words[at / 64] >> at % 64 & 1))
			return false;
	}
	return true;
}

bool sketch_may(const struct sketch_head *head, const uint64_t *words,
		const struct sketch_wanted *wanted, size_t nclasses)
{
	bool keyed = false;

	for (uint32_t i = 0; i < head->classes && i <= nclasses / 64; i++) {
		if (words[i] & wanted->always[i])
			return true;
		keyed = keyed || words[i] & wanted->keyed[i];
	}
	if (!keyed)
		return false;
	for (size_t i = 0; i < wanted->nhashes && head->filter; i++)
		if (filter_has(words + head->classes, head->filter, wanted->hashes[i]))
			return true;
	return head->filter == 0;
}
