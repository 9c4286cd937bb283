/*
 * spool.c - see spool.h
 *
 * A value is stored as a tag (kind and flags) and a payload. Texts are interned, so the address of
 * a text identifies it: a small hash table maps addresses to slots, and a text in the table is
 * stored as its slot number. A slot is never reused for another text.
 */
#include "state/intervals/spool.h"

#include "engine/base/mem.h"
#include "engine/base/paged.h"
#include "state/slices/bits.h"

#include <string.h>

enum { RUN_HEAD_MOST = 28, SLOTS = 256 };
enum { TAG_NEGATIVE = 8, TAG_SLOT = 16 }; /* besides the kind */

struct spool {
	struct paged memory;
	size_t used;               /* bytes of `memory` */
	struct value slots[SLOTS]; /* by slot: its text */
};

struct spool *spool_new(void)
{
	return mem_new(sizeof(struct spool));
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	paged_free(&spool->memory);
	mem_free(spool);
}

/* ---- writing ---- */

/* Returns the slot of the text; SLOTS: its slot is taken by another text. */
static unsigned slot_of(struct spool *spool, const struct value *text)
{
	unsigned slot =
		(unsigned)((uintptr_t)text->text >> 3 ^ (uintptr_t)text->text >> 11) % SLOTS;
	struct value *kept = &spool->slots[slot];

	if (kept->kind == VALUE_UNKNOWN)
		*kept = *text;
	return kept->text == text->text && kept->len == text->len ? slot : SLOTS;
}

static uint8_t *put_value(struct spool *spool, const struct value *value, uint8_t *at)
{
	unsigned slot;

	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		*at++ = value->kind;
		return at;
	case VALUE_INT:
		*at++ = (uint8_t)(value->kind | (value->negative ? TAG_NEGATIVE : 0));
		return varint_put(at, value->negative ? ~value->u : value->u);
	case VALUE_STRING:
		slot = slot_of(spool, value);
		if (slot < SLOTS) {
			*at++ = (uint8_t)(value->kind | TAG_SLOT);
			*at++ = (uint8_t)slot;
			return at;
		}
		break;
	case VALUE_FLOAT:
	case VALUE_BOOL:
		break;
	}
	*at++ = value->kind;
	memcpy(at, value, sizeof *value);
	return at + sizeof *value;
}

enum { SPAN_MOST = 10 + 1 + sizeof(struct value) };

/* The place of a run is 1 + its offset / ALIGN: 32 bits address 32 GB. */
enum { ALIGN = 8 };

static size_t place_next(const struct spool *spool)
{
	return spool->used / ALIGN + 1;
}

bool spool_add(struct spool *spool, const struct span *spans, size_t count, uint32_t *last)
{
	uint32_t place = (uint32_t)place_next(spool);
	size_t most = spool->used + RUN_HEAD_MOST + count * SPAN_MOST;
	uint8_t *run, *at;

	if (place_next(spool) > UINT32_MAX)
		return false;
	if (most > spool->memory.size)
		paged_resize(&spool->memory, most + most / 2);
	run = (uint8_t *)spool->memory.bytes + spool->used;
	at = varint_put(run, *last ? place - *last : 0);
	memcpy(at, &spans[0].begin, 8);
	at = varint_put(at + 8, count);
	for (size_t i = 0; i < count; i++) {
		at = varint_put(at, (uint64_t)spans[i + 1].begin - (uint64_t)spans[i].begin);
		at = put_value(spool, &spans[i].value, at);
	}
	*last = place;
	spool->used += ((size_t)(at - run) + ALIGN - 1) / ALIGN * ALIGN;
	return true;
}

/* ---- reading ---- */

static const uint8_t *run_at(const struct spool *spool, size_t place)
{
	return (const uint8_t *)spool->memory.bytes + (place - 1) * ALIGN;
}

static const uint8_t *get_value(const struct spool *spool, const uint8_t *at, const uint8_t *end,
				struct value *out)
{
	uint8_t tag = *at++;

	*out = (struct value){.kind = tag & 7};
	if (tag & TAG_SLOT) {
		*out = spool->slots[*at++];
	} else if (out->kind == VALUE_INT) {
		at = varint_get(at, end, &out->u);
		out->negative = tag & TAG_NEGATIVE;
		if (out->negative)
			out->u = ~out->u;
	} else if (value_exists(out)) {
		memcpy(out, at, sizeof *out);
		at += sizeof *out;
	}
	return at;
}

/* Reads one run. Returns false if `each` did. */
static bool read_run(const struct spool *spool, uint32_t place,
		     bool (*each)(void *arg, const struct span *span), void *arg)
{
	const uint8_t *at = run_at(spool, place), *end = run_at(spool, place_next(spool));
	struct span span;
	uint64_t count, length;
	nstime next;

	at = varint_get(at, end, &length);
	memcpy(&next, at, 8);
	at = varint_get(at + 8, end, &count);
	for (; count; count--) {
		at = varint_get(at, end, &length);
		span.begin = next;
		next = (nstime)((uint64_t)span.begin + length);
		at = get_value(spool, at, end, &span.value);
		if (!each(arg, &span))
			return false;
	}
	return true;
}

void spool_read(const struct spool *spool, uint32_t last,
		bool (*each)(void *arg, const struct span *span), void *arg)
{
	uint32_t *places = NULL;
	size_t count = 0, capacity = 0;

	for (uint64_t back = last; back; last -= (uint32_t)back) {
		*mem_push(places, count, capacity) = last;
		varint_get(run_at(spool, last), run_at(spool, place_next(spool)), &back);
	}
	while (count && read_run(spool, places[count - 1], each, arg))
		count--;
	mem_free(places);
}
