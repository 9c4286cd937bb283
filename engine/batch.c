/* batch.c - batches, with and without room for values */
#include "engine/batch.h"

#include "engine/base/mem.h"
#include "engine/event.h"

/* A batch, and what it has to free. */
struct owner {
	struct batch batch;
	void *arrays, *slots;
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

void batch_room(struct batch *batch, uint32_t room)
{
	struct owner *owner = owner_of(batch);

	if (room <= batch->room)
		return;
	mem_free(owner->arrays);
	batch->room = room;
	batch->count = 0;
	batch->time = owner->arrays = mem_new_lines(1, bytes_of_heads(room));
	batch->at = (uint64_t *)(batch->time + room);
	batch->class_index = (uint32_t *)(batch->at + room);
	batch->slot = batch->class_index + room;
	batch->head = (uint16_t *)(batch->slot + room);
	batch->flags = batch->head + room;
}

/* A quick test, which the compiler vectorizes: also true where the signs of two times differ. */
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
