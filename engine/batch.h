/*
 * batch.h - event heads in arrays: when, what, where; fields are decoded on request
 *
 * A head's position is bits from the start of the packet's bytes. `at` is where the event begins
 * (its header), `at + head` where its contexts and payload begin. Positions rise inside a batch.
 *
 * Arrays have room for as many heads as the batch was asked to hold so far: batches of a thousand
 * streams with few events each stay small enough for the processor's caches.
 *
 * A caller that wants the values of most events has them decoded together with the heads, so that
 * the packet's bytes are read once. The slots of all events then lie in one array.
 */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include "engine/base/bitset.h"
#include "engine/timebase.h"

#include <stdbool.h>
#include <stdint.h>

enum { BATCH_MIN = 32, BATCH_MAX = 1024 };

enum head_flag {
	HEAD_NO_TIME = 1 << 0 /* the event has no time, and gets that of the one before */
};

struct slot;

#define BATCH_NO_VALUES UINT32_MAX

struct batch_values {
	const uint64_t *classes; /* bit per class whose values are wanted, NULL: all; borrowed */
	uint32_t capacity;       /* slots */
	bool ends; /* full slots may end the batch; else further events come without values */
};

/* Members that every event needs come first, in one cache line. */
struct batch {
	nstime *time;
	uint32_t *class_index; /* into trace->classes */
	uint32_t *slot;        /* index of an event's first slot; BATCH_NO_VALUES: not decoded */
	struct slot *slots;    /* NULL: values are not wanted yet */
	uint64_t *at;
	uint16_t *head; /* bits of the header */
	uint16_t *flags;
	uint32_t count;
	uint32_t first;    /* index in its packet of event 0 of the batch */
	uint32_t capacity; /* the most heads that the next fill may add, <= room */
	uint32_t room;     /* length of the arrays, which lie in one block of memory */
	struct batch_values values;
};

/* `slots`: room for values, 0: none. `classes` is borrowed. */
struct batch *batch_new(uint32_t room, uint32_t slots, const uint64_t *classes);
void batch_free(struct batch *batch);
/* Makes `room` at least so large; a batch that has to grow loses its heads. */
void batch_room(struct batch *batch, uint32_t room);
/* Puts entry `from` in the place of entry `to`. */
static inline void batch_move(struct batch *batch, uint32_t to, uint32_t from)
{
	batch->time[to] = batch->time[from];
	batch->at[to] = batch->at[from];
	batch->class_index[to] = batch->class_index[from];
	batch->head[to] = batch->head[from];
	batch->flags[to] = batch->flags[from];
	if (batch->slots)
		batch->slot[to] = batch->slot[from];
}

/* The times of a batch that is not empty. */
struct batch_times {
	nstime least, greatest;
	bool fall; /* they are not sorted */
};
struct batch_times batch_times(const struct batch *batch);

/* Writes the entries of [from, to) whose class is in `classes` (a bit each; NULL: all); how many.
 */
static inline uint32_t batch_of_classes(const struct batch *batch, uint32_t from, uint32_t to,
					const uint64_t *classes, uint16_t *entries)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		uint32_t class_index = batch->class_index[i];
		entries[n] = (uint16_t)i;
		n += !classes || bitset_has(classes, class_index);
	}
	return n;
}

/* After decoder_next() of a reader that decodes no values (not `filled`): marks all as missing. */
static inline void batch_no_values(struct batch *batch, bool filled)
{
	for (uint32_t i = 0; batch->slots && !filled && i < batch->count; i++)
		batch->slot[i] = BATCH_NO_VALUES;
}

#endif
