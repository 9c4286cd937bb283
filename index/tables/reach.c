/* reach.c - see reach.h */
#include "index/tables/reach.h"

#include "engine/base/mem.h"

#include <string.h>

void reach_release(struct reach *reach)
{
	mem_free(reach->wide);
	*reach = (struct reach){0};
}

void reach_copy(struct reach *out, const struct reach *from)
{
	*out = *from;
	out->capacity = from->nwide;
	out->wide = NULL;
	if (!from->nwide)
		return;
	out->wide = mem_new_array(from->nwide, sizeof *out->wide);
	memcpy(out->wide, from->wide, from->nwide * sizeof *out->wide);
}

void reach_add(struct reach *reach, uint64_t i)
{
	size_t at = reach->nwide;

	while (at && reach->wide[at - 1] >= i)
		at--;
	if (at < reach->nwide && reach->wide[at] == i)
		return;
	reach->wide = mem_grow(reach->wide, reach->nwide, &reach->capacity, sizeof *reach->wide);
	memmove(reach->wide + at + 1, reach->wide + at, (reach->nwide - at) * sizeof *reach->wide);
	reach->wide[at] = i;
	reach->nwide++;
}

enum { PLAIN, WIDE, SUSPECT };

static bool reach_judge(const struct reach *reach, uint64_t i, const struct reach_from *table,
			int *out, struct error *err)
{
	struct packet rec, later;

	*out = PLAIN;
	if (!table->at(table->arg, i, &rec, err))
		return false;
	if (rec.flags & PACKET_EMPTY)
		return true;
	if (rec.flags & PACKET_SUSPECT) {
		*out = SUSPECT;
		return true;
	}
	if (table->count - i <= reach->d)
		return true;
	if (!table->at(table->arg, i + reach->d, &later, err))
		return false;
	*out = rec.max > later.min ? WIDE : PLAIN;
	return true;
}

/* Keeps what is still wide; counts the suspects apart, which no d can make plain. */
static bool filter(struct reach *reach, const struct reach_from *table, size_t *suspects,
		   struct error *err)
{
	size_t kept = 0;

	*suspects = 0;
	for (size_t k = 0; k < reach->nwide; k++) {
		int kind;
		if (!reach_judge(reach, reach->wide[k], table, &kind, err))
			return false;
		if (kind != PLAIN)
			reach->wide[kept++] = reach->wide[k];
		*suspects += kind == SUSPECT;
	}
	reach->nwide = kept;
	return true;
}

static bool widen(struct reach *reach, const struct reach_from *table, size_t *suspects,
		  struct error *err)
{
	while (reach->nwide - *suspects > REACH_WIDE || *suspects > REACH_SUSPECT) {
		if (reach->d >= REACH_LAST || *suspects > REACH_SUSPECT) {
			reach->damaged = true;
			reach->nwide = 0;
			return true;
		}
		reach->d *= 2;
		if (!filter(reach, table, suspects, err))
			return false;
	}
	return true;
}

bool reach_update(struct reach *reach, uint64_t from, const struct reach_from *table,
		  struct error *err)
{
	size_t suspects = 0;

	if (reach->damaged)
		return true;
	if (!reach->d)
		reach->d = REACH_FIRST;
	from = from > reach->d ? from - reach->d : 0;
	while (reach->nwide && reach->wide[reach->nwide - 1] >= from)
		reach->nwide--;
	if (!filter(reach, table, &suspects, err))
		return false;
	for (uint64_t i = from; i < table->count && !reach->damaged; i++) {
		int kind;
		if (!reach_judge(reach, i, table, &kind, err))
			return false;
		if (kind == PLAIN)
			continue;
		reach_add(reach, i);
		suspects += kind == SUSPECT;
		if (!widen(reach, table, &suspects, err))
			return false;
	}
	return true;
}
