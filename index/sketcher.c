/*
 * sketcher.c - events of a packet → its sketch; a sketch → may it hold what is wanted?
 *
 * The filter is Bloom's: 16 bits for each different value and eight places in it, so that one
 * value in two thousand that is not there seems to be.
 */
#include "index/sketch_internal.h"

#include "engine/base/mem.h"

#include <string.h>

enum { VALUES_MAX = 4096, SET = 4 * VALUES_MAX, RECENT = 256, BITS_EACH = 16, PLACES = 8 };

struct sketcher {
	const struct sketch_fields *fields;
	uint64_t *classes; /* bit per class that was met */
	bool opaque;       /* too many values, or some could not be had */
	nstime least, greatest;
	uint64_t *set; /* open addressing, SET places; 0 is free */
	uint64_t found[VALUES_MAX];
	uint32_t nfound;
	uint64_t recent[RECENT]; /* values of recent_role, each at its remainder: added lately */
	uint64_t recent_role;
	uint16_t *entries; /* per keyed class BATCH_MAX of them */
	uint32_t *nentries;
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
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
	sketcher->classes = mem_new_array(fields->nclasses / 64 + 1, sizeof(uint64_t));
	sketcher->set = mem_new_array(SET, sizeof(uint64_t));
	sketcher->entries =
		mem_new_array((size_t)(fields->nkeyed + 1) * BATCH_MAX, sizeof(uint16_t));
	sketcher->nentries = mem_new_array(fields->nkeyed + 1, sizeof(uint32_t));
	return sketcher;
}

void sketcher_free(struct sketcher *sketcher)
{
	mem_free(sketcher->classes);
	mem_free(sketcher->set);
	mem_free(sketcher->entries);
	mem_free(sketcher->nentries);
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
	memset(sketcher->classes, 0, (sketcher->fields->nclasses / 64 + 1) * sizeof(uint64_t));
	memset(sketcher->set, 0, SET * sizeof(uint64_t));
	forget_recent(sketcher, 0);
	sketcher->opaque = false;
	sketcher->least = NSTIME_MAX;
	sketcher->greatest = NSTIME_MIN;
	sketcher->nfound = 0;
}

static void add_hash(struct sketcher *sketcher, uint64_t hash)
{
	size_t i = hash & (SET - 1);

	while (sketcher->set[i] && sketcher->set[i] != hash)
		i = (i + 1) & (SET - 1);
	if (sketcher->set[i])
		return;
	if (sketcher->nfound == VALUES_MAX) {
		sketcher->opaque = true;
		return;
	}
	sketcher->set[i] = sketcher->found[sketcher->nfound++] = hash;
}

static void add_values(struct sketcher *sketcher, uint64_t role, uint32_t n)
{
	if (role != sketcher->recent_role)
		forget_recent(sketcher, role);
	for (uint32_t k = 0; k < n && !sketcher->opaque; k++) {
		uint64_t value = sketcher->values[k];
		uint64_t *recent = &sketcher->recent[value % RECENT];

		if (*recent == value)
			continue;
		*recent = value;
		add_hash(sketcher, sketch_hash(role, value));
	}
}

static void note_class(struct sketcher *sketcher, uint32_t class_index, uint32_t entry)
{
	uint32_t number = sketcher->fields->number[class_index];

	sketcher->classes[class_index / 64] |= UINT64_C(1) << class_index % 64;
	if (number--)
		sketcher->entries[number * BATCH_MAX + sketcher->nentries[number]++] =
			(uint16_t)entry;
}

void sketcher_add(struct sketcher *sketcher, const struct run *run)
{
	const struct sketch_fields *fields = sketcher->fields;
	const struct batch *batch = run->batch;
	nstime least = sketcher->least, greatest = sketcher->greatest;

	memset(sketcher->nentries, 0, fields->nkeyed * sizeof(uint32_t));
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		least = batch->time[i] < least ? batch->time[i] : least;
		greatest = batch->time[i] > greatest ? batch->time[i] : greatest;
		note_class(sketcher, batch->class_index[i], i);
	}
	sketcher->least = least;
	sketcher->greatest = greatest;
	for (uint32_t c = 0; c < fields->nkeyed && !sketcher->opaque; c++) {
		const uint16_t *entries = &sketcher->entries[c * BATCH_MAX];
		uint32_t n = sketcher->nentries[c];

		for (uint32_t f = fields->first[c]; n && f < fields->first[c + 1]; f++) {
			const struct sketch_field *field = &fields->items[f];

			if (run_column(run, &field->of, entries, n, sketcher->values,
				       sketcher->bad))
				sketcher->opaque = true;
			add_values(sketcher, field->role, n);
		}
	}
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
	for (uint32_t v = 0; v < sketcher->nfound; v++)
		for (uint32_t i = 0; i < PLACES; i++) {
			uint32_t at = place_of(sketcher->found[v], i, bits);
			words[at / 64] |= UINT64_C(1) << at % 64;
		}
}

static uint32_t words_met(const struct sketcher *sketcher)
{
	uint32_t words = (uint32_t)(sketcher->fields->nclasses / 64 + 1);

	while (words && !sketcher->classes[words - 1])
		words--;
	return words;
}

void sketcher_end(struct sketcher *sketcher, const struct sketch_of *packet, struct buf *out)
{
	uint32_t filter = (sketcher->nfound * BITS_EACH + 63) / 64;
	struct sketch_head head = {.off = packet->off,
				   .len = packet->len,
				   .least = sketcher->least,
				   .greatest = sketcher->greatest,
				   .classes = words_met(sketcher)};
	uint64_t words[VALUES_MAX * BITS_EACH / 64];

	if (!sketcher->opaque) {
		head.filter = filter ? filter : 1;
		filter_fill(sketcher, words, head.filter * 64);
	}
	buf_add(out, &head, sizeof head);
	buf_add(out, sketcher->classes, head.classes * sizeof(uint64_t));
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
