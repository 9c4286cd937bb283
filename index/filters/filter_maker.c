/*
 * filter_maker.c - makes packet filters of packets' events, and tests them
 *
 * The Bloom filter has 16 bits for each different value and eight hash functions: one in two
 * thousand lookups of absent values is a false positive.
 */
#include "index/filters/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <string.h>

enum { VALUES_MAX = 4096, RECENT = 256, BITS_EACH = 16, PLACES = 8 };

struct filter_maker {
	const struct packet_filter_fields *fields;
	uint8_t *classes;        /* those that were met */
	bool opaque; /* too many values, or some could not be decoded: no Bloom filter */
	uint64_t found[VALUES_MAX]; /* hashes of values, each once */
	uint32_t nfound;
	struct hash_index index; /* of these */
	uint64_t recent[RECENT]; /* values of recent_role, each at its remainder: added lately */
	uint64_t recent_role;
};

uint64_t packet_filter_hash(uint64_t role, uint64_t value)
{
	uint64_t h = value * UINT64_C(0x9e3779b97f4a7c15) ^ role;

	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	h ^= h >> 31;
	return h ? h : 1;
}

struct filter_maker *filter_maker_new(const struct packet_filter_fields *fields)
{
	struct filter_maker *filter_maker = mem_new(sizeof *filter_maker);

	filter_maker->fields = fields;
	filter_maker->classes = mem_new(fields->nclasses + 1);
	return filter_maker;
}

void filter_maker_free(struct filter_maker *filter_maker)
{
	mem_free(filter_maker->classes);
	hash_index_release(&filter_maker->index);
	mem_free(filter_maker);
}

/* No value's remainder is that of the one put in its place. */
static void forget_recent(struct filter_maker *filter_maker, uint64_t role)
{
	for (uint32_t i = 0; i < RECENT; i++)
		filter_maker->recent[i] = i + 1;
	filter_maker->recent_role = role;
}

void filter_maker_begin(struct filter_maker *filter_maker)
{
	memset(filter_maker->classes, 0, filter_maker->fields->nclasses + 1);
	hash_index_clear(&filter_maker->index);
	forget_recent(filter_maker, 0);
	filter_maker->opaque = false;
	filter_maker->nfound = 0;
}

static void add_hash(struct filter_maker *filter_maker, uint64_t hash)
{
	const uint64_t *found = filter_maker->found;

	if (hash_index_find(&filter_maker->index, hash, i, found[i] == hash) != HASH_INDEX_NONE)
		return;
	filter_maker->found[filter_maker->nfound] = hash;
	hash_index_add(&filter_maker->index, hash, filter_maker->nfound++);
	filter_maker->opaque = filter_maker->opaque || filter_maker->nfound == VALUES_MAX;
}

static void add_values(struct filter_maker *filter_maker, const struct packet_filter_field *field,
		       const uint64_t *values, uint32_t n)
{
	uint64_t role = field->role, skipped = field->skipped;
	bool skips = field->skips;

	if (role != filter_maker->recent_role)
		forget_recent(filter_maker, role);
	for (uint32_t k = 0; k < n && !filter_maker->opaque; k++) {
		uint64_t *recent = &filter_maker->recent[values[k] % RECENT];

		if (*recent == values[k] || (skips && values[k] == skipped))
			continue;
		*recent = values[k];
		add_hash(filter_maker, packet_filter_hash(role, values[k]));
	}
}

/* Entries of the run by keyed class; returns how many of these it has. */
static uint32_t sort_entries(struct filter_room *room, const struct run *run)
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

static void add_fields(struct filter_maker *filter_maker, struct filter_room *room,
		       const struct run *run, uint32_t c)
{
	const struct packet_filter_fields *fields = room->fields;
	uint32_t n = room->nentries[c];

	for (uint32_t f = fields->first[c]; f < fields->first[c + 1] && !filter_maker->opaque;
	     f++) {
		const struct packet_filter_field *field = &fields->items[f];

		if (run_column(run, &field->of, &room->entries[c * BATCH_MAX], n, room->values,
			       room->bad))
			filter_maker->opaque = true;
		add_values(filter_maker, field, room->values, n);
	}
	room->nentries[c] = 0;
}

void filter_maker_add(struct filter_maker *filter_maker, struct filter_room *room,
		      const struct run *run)
{
	const uint32_t *classes = run->batch->class_index;
	uint32_t nmet;

	for (uint32_t i = run->first; i < run->first + run->count; i++)
		filter_maker->classes[classes[i]] = 1;
	if (filter_maker->opaque || !room->fields->nkeyed)
		return;
	nmet = sort_entries(room, run);
	for (uint32_t m = 0; m < nmet; m++)
		add_fields(filter_maker, room, run, room->met[m]);
}

/* Place i of a value in a filter of so many bits. */
static uint32_t place_of(uint64_t hash, uint32_t i, uint32_t bits)
{
	uint32_t h = (uint32_t)hash + i * ((uint32_t)(hash >> 32) | 1);

	return (uint32_t)((uint64_t)h * bits >> 32);
}

static void filter_fill(const struct filter_maker *filter_maker, uint64_t *words, uint32_t bits)
{
	memset(words, 0, bits / 8);
	for (uint32_t v = 0; v < filter_maker->nfound; v++)
		for (uint32_t i = 0; i < PLACES; i++) {
			uint32_t at = place_of(filter_maker->found[v], i, bits);
			bitset_add(words, at);
		}
}

/* Up to the last word that has a bit; returns how many. */
static uint32_t add_classes(const struct filter_maker *filter_maker, struct buf *out)
{
	uint64_t word = 0;
	uint32_t count = 0;

	for (size_t c = 0; c < filter_maker->fields->nclasses; c++) {
		if (!filter_maker->classes[c])
			continue;
		for (; count < c / 64; count++, word = 0)
			buf_add(out, &word, sizeof word);
		word |= UINT64_C(1) << c % 64;
	}
	buf_add(out, &word, sizeof word);
	return count + 1;
}

void filter_maker_end(struct filter_maker *filter_maker, const struct packet_filter_of *packet,
		      const struct packet_range *range, struct buf *out)
{
	uint32_t filter = (filter_maker->nfound * BITS_EACH + 63) / 64;
	struct packet_filter_head head = {.off = packet->off,
					  .len = packet->len,
					  .least = range->least,
					  .greatest = range->greatest};
	uint64_t words[VALUES_MAX * BITS_EACH / 64];
	size_t at = out->len;

	if (!filter_maker->opaque && filter_maker->fields->nkeyed) {
		head.filter = filter ? filter : 1;
		filter_fill(filter_maker, words, head.filter * 64);
	}
	buf_add(out, &head, sizeof head);
	head.classes = add_classes(filter_maker, out);
	memcpy(out->data + at, &head, sizeof head);
	buf_add(out, words, head.filter * sizeof(uint64_t));
}

static bool filter_has(const uint64_t *words, uint32_t count, uint64_t hash)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		uint32_t at = place_of(hash, i, count * 64);

		if (!bitset_has(words, at))
			return false;
	}
	return true;
}

bool packet_filter_may(const struct packet_filter_head *head, const uint64_t *words,
		       const struct packet_filter_wanted *wanted, size_t nclasses)
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
