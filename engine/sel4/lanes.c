/*
 * lanes.c - assigns lanes to the entries of a packet, so that entries of a lane do not overlap
 *
 * System calls and switches do not have their core, and entries of several cores overlap. Each
 * entry gets the lowest lane that is free when it begins:
 *
 *     lane 0  |--- VMFault ---|        |-- Switch --|
 *     lane 1        |- Switch -|   |---- Syscall ----|
 *
 * No entry is open where a packet begins, see sel4_decode.c.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/sel4/sel4_internal.h"

#include <stdlib.h>

struct edge {           /* begin or end of an entry; edges of one time are in the log's order */
	uint64_t time;  /* ticks */
	uint32_t order; /* 2 * index of the record, + 1 for its end */
};

static int lanes_by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return three_way(x->time, y->time) ?: three_way(x->order, y->order);
}

struct edges {
	struct edge *items;
	size_t count, capacity;
};

static void add_edges(struct sel4_lanes *lanes, struct edges *edges, size_t at,
		      const struct sel4_record *record)
{
	uint32_t order = (uint32_t)edges->count;
	uint64_t end;

	/* times beyond 64 bits do not fit in nstime: such a record is damage anyway */
	if (__builtin_add_overflow(record->start, (uint64_t)record->duration, &end))
		end = UINT64_MAX;
	*mem_push(edges->items, edges->count, edges->capacity) =
		(struct edge){record->start, order};
	*mem_push(edges->items, edges->count, edges->capacity) = (struct edge){end, order + 1};
	*mem_push(lanes->items, lanes->count, lanes->capacity) = (struct sel4_lane){.at = at};
}

/* Takes the lowest free lane. Lanes below *least are not free. */
static uint32_t take_lowest(bool *taken, uint32_t *least)
{
	uint32_t lane = *least;

	while (taken[lane])
		lane++;
	taken[lane] = true;
	*least = lane + 1;
	return lane;
}

static void allot(struct sel4_lanes *lanes, struct edges *edges)
{
	bool *taken = mem_new_array(lanes->count + 1, sizeof *taken);
	uint32_t least = 0;

	qsort(edges->items, edges->count, sizeof *edges->items, lanes_by_time);
	for (size_t i = 0; i < edges->count; i++) {
		uint32_t order = edges->items[i].order;
		struct sel4_lane *item = &lanes->items[order / 2];
		if (order % 2 == 0) {
			item->lane = take_lowest(taken, &least);
			continue;
		}
		taken[item->lane] = false;
		if (item->lane < least)
			least = item->lane;
	}
	mem_free(taken);
}

void sel4_lanes_find(struct sel4_lanes *lanes, const struct sel4_log *log, const uint8_t *data,
		     size_t size, bool last)
{
	struct edges edges = {0};
	size_t bytes;
	const char *why;

	lanes->count = 0;
	for (size_t at = 0; at < size; at += bytes) {
		struct sel4_record record;
		enum record_step step =
			sel4_record(log, data + at, size - at, last, &record, &bytes, &why);
		if (step != RECORD_GOOD && step != RECORD_EMPTY)
			break;
		if (step == RECORD_GOOD)
			add_edges(lanes, &edges, at, &record);
	}
	if (lanes->count)
		allot(lanes, &edges);
	mem_free(edges.items);
}

uint32_t sel4_lane_at(const struct sel4_lanes *lanes, size_t at)
{
	size_t i = search_first(k, 0, lanes->count, lanes->items[k].at < at);

	return i < lanes->count && lanes->items[i].at == at ? lanes->items[i].lane : 0;
}

void sel4_lanes_release(struct sel4_lanes *lanes)
{
	mem_free(lanes->items);
	*lanes = (struct sel4_lanes){0};
}
