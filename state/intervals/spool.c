/*
 * spool.c - see spool.h
 *
 * A value is a byte of its kind and sign, and what value_bytes.h puts.
 */
#include "state/intervals/spool.h"

#include "engine/base/mem.h"
#include "engine/base/paged.h"
#include "state/model/value_bytes.h"

#include <string.h>

enum { RUN_HEAD_MOST = 28, SPAN_MOST = VARINT_MOST + 1 + VALUE_MOST };
enum { NEGATIVE = 8 }; /* beside the kind */

struct spool {
	struct paged memory;
	size_t used;      /* bytes of `memory` */
	const char *text; /* the first one: those of each run begin with it */
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
	const char *text;
	uint8_t *run, *at;

	if (place_next(spool) > UINT32_MAX)
		return false;
	if (most > spool->memory.size)
		paged_resize(&spool->memory, most + most / 2);
	for (size_t i = 0; i < count && !spool->text; i++)
		spool->text = spans[i].value.kind == VALUE_STRING ? spans[i].value.text : NULL;
	text = spool->text;
	run = (uint8_t *)spool->memory.bytes + spool->used;
	at = varint_put(run, *last ? place - *last : 0);
	memcpy(at, &spans[0].begin, 8);
	at = varint_put(at + 8, count);
	for (size_t i = 0; i < count; i++) {
		at = varint_put(at, (uint64_t)spans[i + 1].begin - (uint64_t)spans[i].begin);
		*at++ = (uint8_t)(spans[i].value.kind | (spans[i].value.negative ? NEGATIVE : 0));
		at = value_put(at, &spans[i].value, &text);
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

/* Reads one run. Returns false if `each` did. */
static bool read_run(const struct spool *spool, uint32_t place,
		     bool (*each)(void *arg, const struct span *span), void *arg)
{
	const uint8_t *at = run_at(spool, place), *end = run_at(spool, place_next(spool));
	const char *text = spool->text;
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
		uint8_t head = *at++;
		at = value_get(at, end, head & (NEGATIVE - 1), head & NEGATIVE, &text, &span.value);
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
