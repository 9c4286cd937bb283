/* batch.c - batches, with and without room for values */
#include "engine/batch.h"

#include "engine/base/mem.h"
#include "engine/event.h"

/* What who takes an event looks at: two lines of a cache. */
struct lines {
	struct batch batch;
	struct batch_values values;
};

struct batch *batch_new(uint32_t room, uint32_t slots, const uint64_t *classes)
{
	struct lines *lines = mem_new_lines(1, sizeof *lines);
	struct batch *batch = &lines->batch;

	if (slots) {
		batch->values = &lines->values;
		batch->values->classes = classes;
		batch->values->slots = mem_new_lines(slots + 1u, sizeof(struct slot));
		batch->values->capacity = slots;
	}
	batch_room(batch, room);
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	if (batch->values)
		mem_free(batch->values->slots);
	mem_free(batch->time);
	mem_free(batch);
}

void batch_room(struct batch *batch, uint32_t room)
{
	const size_t each = sizeof *batch->time + sizeof *batch->at + sizeof *batch->class_index +
			    sizeof *batch->values->first + sizeof *batch->head +
			    sizeof *batch->flags;

	if (room <= batch->room)
		return;
	mem_free(batch->time);
	batch->room = room;
	batch->count = 0;
	batch->time = mem_new_lines(room, each);
	batch->at = (uint64_t *)(batch->time + room);
	batch->class_index = (uint32_t *)(batch->at + room);
	uint32_t *first = batch->class_index + room;
	batch->head = (uint16_t *)(first + room);
	batch->flags = batch->head + room;
	if (batch->values)
		batch->values->first = first;
}
