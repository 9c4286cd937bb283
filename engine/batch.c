/* batch.c - batches, with and without room for values */
#include "engine/batch.h"

#include "engine/base/mem.h"
#include "engine/event.h"

enum { CHUNK = 4 << 20 /* bytes of a store that are allocated at a time */ };

/* A batch, and whose memory its arrays stand in. */
struct owner {
	struct batch batch;
	struct batch_store *store; /* where it has not got its place yet; or NULL */
	void *arrays, *slots;      /* NULL: they stand in a store */
};

struct batch_store {
	uint32_t room;
	size_t arrays, slots, batch; /* bytes; of a batch: of both, and what lies behind them */
	unsigned char **chunks;
	size_t nchunks, capacity;
	size_t used; /* of the last chunk */
};

static struct owner *owner_of(struct batch *batch)
{
	return (struct owner *)batch;
}

static size_t bytes_of_heads(uint32_t room)
{
	const struct batch *batch = NULL;

	return room * (sizeof *batch->time + sizeof *batch->at + sizeof *batch->class_index +
		       sizeof *batch->slot + sizeof *batch->head + sizeof *batch->flags);
}

struct batch *batch_new(uint32_t room, uint32_t slots, const uint64_t *classes)
{
	struct owner *owner = mem_new_lines(1, sizeof *owner);
	struct batch *batch = &owner->batch;

	if (slots) {
		owner->slots = mem_new_lines(slots + 1u, sizeof(struct slot));
		batch->slots = owner->slots;
		batch->values = (struct batch_values){.classes = classes, .capacity = slots};
	}
	batch_room(batch, room);
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	mem_free(owner_of(batch)->slots);
	mem_free(owner_of(batch)->arrays);
	mem_free(batch);
}

/* Room for a batch's arrays, and for its slots behind them; a store is as long as its batches. */
static unsigned char *store_take(struct batch_store *store)
{
	const size_t bytes = store->batch;

	if (!store->nchunks || store->used + bytes > CHUNK) {
		*mem_push(store->chunks, store->nchunks, store->capacity) =
			mem_new_huge(bytes > CHUNK ? bytes : CHUNK);
		store->used = 0;
	}
	store->used += bytes;
	return store->chunks[store->nchunks - 1] + store->used - bytes;
}

static void *move_to_store(struct owner *owner)
{
	struct batch_store *store = owner->store;
	unsigned char *memory = store_take(store);

	owner->store = NULL;
	if (owner->slots) {
		mem_free(owner->slots);
		owner->slots = NULL;
		owner->batch.slots = (struct slot *)(void *)(memory + store->arrays);
	}
	return memory;
}

void batch_room(struct batch *batch, uint32_t room)
{
	struct owner *owner = owner_of(batch);

	if (room <= batch->room)
		return;
	mem_free(owner->arrays);
	owner->arrays = NULL;
	batch->room = room;
	batch->count = 0;
	if (owner->store && owner->store->room == room)
		batch->time = move_to_store(owner);
	else
		batch->time = owner->arrays = mem_new_lines(1, bytes_of_heads(room));
	batch->at = (uint64_t *)(batch->time + room);
	batch->class_index = (uint32_t *)(batch->at + room);
	batch->slot = batch->class_index + room;
	batch->head = (uint16_t *)(batch->slot + room);
	batch->flags = batch->head + room;
}

static size_t whole_lines(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/*
 * Streams of one tracer fill their batches in step, so that the same place of all of them is in use
 * at a time. An odd number of lines apart, these places are spread over all sets of a cache.
 */
static size_t odd_lines(size_t bytes)
{
	return whole_lines(bytes) | 64;
}

struct batch_store *batch_store_new(uint32_t room, uint32_t slots)
{
	struct batch_store *store = mem_new(sizeof *store);

	store->room = room;
	store->arrays = whole_lines(bytes_of_heads(room));
	store->slots = slots ? whole_lines((slots + 1u) * sizeof(struct slot)) : 0;
	store->batch = odd_lines(store->arrays + store->slots);
	return store;
}

void batch_store_free(struct batch_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->nchunks; i++)
		mem_free(store->chunks[i]);
	mem_free(store->chunks);
	mem_free(store);
}

void batch_store_use(struct batch_store *store, struct batch *batch)
{
	owner_of(batch)->store = store;
}

/* A look that many times are given at once: it says yes, too, where signs differ. */
static bool may_fall(const struct batch *batch)
{
	const nstime *time = batch->time;
	uint64_t falls = 0;

	for (uint32_t i = 1; i < batch->count; i++) {
		uint64_t a = (uint64_t)time[i - 1], b = (uint64_t)time[i];
		falls |= (b - a) | (a ^ b);
	}
	return falls >> 63;
}

struct batch_times batch_times(const struct batch *batch)
{
	const nstime *time = batch->time;
	struct batch_times times = {.least = time[0], .greatest = time[batch->count - 1]};

	if (!may_fall(batch))
		return times;
	for (uint32_t i = 0; i < batch->count; i++) {
		times.least = time[i] < times.least ? time[i] : times.least;
		times.greatest = time[i] > times.greatest ? time[i] : times.greatest;
		times.fall |= i && time[i] < time[i - 1];
	}
	return times;
}
