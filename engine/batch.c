/* batch.c - batches, with and without room for values */
#include "engine/batch.h"

#include "engine/base/mem.h"
#include "engine/event.h"

struct batch *batch_new(uint32_t slots, const uint64_t *classes)
{
	struct batch *batch = mem_new(sizeof *batch);

	if (!slots)
		return batch;
	batch->values = mem_new(sizeof *batch->values);
	batch->values->classes = classes;
	batch->values->slots = mem_new_array(slots + 1u, sizeof(struct slot));
	batch->values->capacity = slots;
	return batch;
}

void batch_free(struct batch *batch)
{
	if (batch && batch->values) {
		mem_free(batch->values->slots);
		mem_free(batch->values);
	}
	mem_free(batch);
}
