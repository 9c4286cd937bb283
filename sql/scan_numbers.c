/*
 * scan_numbers.c - see scan_numbers.h
 *
 * What was loaded is known by where the events are: stream, packet, and place in it. So it stays
 * right whatever becomes of the batch. A few streams have a block each, others share.
 */
#include "sql/scan_numbers.h"

#include "engine/base/mem.h"
#include "sql/sources.h"

enum {
	BLOCK = 128,
	BLOCKS = 16, /* a power of two */
	LEAST = 4    /* fewer at a time: decoding the event costs no more */
};

struct number_block {
	const struct stream *stream;
	uint64_t packet; /* offset in its source */
	uint32_t source;
	uint32_t first, count; /* entries of the batch that they were */
	uint64_t at[BLOCK];
	int64_t numbers[BLOCK];
};

struct numbers_of {             /* a field */
	struct source *sources; /* by the shape's row */
	struct number_block blocks[BLOCKS];
};

struct scan_numbers {
	const struct shape *shape;
	const struct trace *trace;
	struct arena *arena;
	struct numbers_of **fields;
};

struct scan_numbers *scan_numbers_new(const struct shape *shape, const struct trace *trace)
{
	struct scan_numbers *numbers = mem_new(sizeof *numbers);

	numbers->shape = shape;
	numbers->trace = trace;
	numbers->arena = arena_new();
	numbers->fields = arena_array(numbers->arena, shape->nfields + 1, sizeof(void *));
	return numbers;
}

void scan_numbers_free(struct scan_numbers *numbers)
{
	if (!numbers)
		return;
	arena_free(numbers->arena);
	mem_free(numbers);
}

static struct numbers_of *field_of(struct scan_numbers *numbers, uint32_t field)
{
	struct numbers_of *of = numbers->fields[field];

	if (of)
		return of;
	of = numbers->fields[field] = arena_array(numbers->arena, 1, sizeof *of);
	of->sources = sources_make(numbers->arena, numbers->shape, numbers->trace, &field, 1);
	return of;
}

/* Entries of the same class from i on, in the direction of the scan. */
static void find_block(struct number_block *block, const struct batch *batch, uint32_t i,
		       bool backward)
{
	const uint32_t *classes = batch->class_index;
	uint32_t n = 1;

	if (backward)
		for (; n < BLOCK && n <= i && classes[i - n] == classes[i]; n++)
			;
	else
		for (; n < BLOCK && i + n < batch->count && classes[i + n] == classes[i]; n++)
			;
	block->first = backward ? i + 1 - n : i;
	block->count = n;
}

static bool load_block(struct number_block *block, const struct source *source,
		       const struct run *run, uint32_t i, bool backward)
{
	uint16_t entries[BLOCK];

	block->stream = NULL;
	find_block(block, run->batch, i, backward);
	for (uint32_t k = 0; k < block->count; k++) {
		entries[k] = (uint16_t)(block->first + k);
		block->at[k] = run->batch->at[entries[k]];
	}
	if (block->count < LEAST ||
	    !source_load(source, run, entries, block->count, block->numbers))
		return false;
	block->stream = run->stream;
	block->packet = run->packet->rec.off;
	block->source = run->packet->rec.source;
	return true;
}

bool scan_number(struct scan_numbers *numbers, const struct run *run, uint32_t i, uint32_t field,
		 bool backward, int64_t *out)
{
	struct numbers_of *of = field_of(numbers, field);
	uint32_t row = shape_row(numbers->shape, run->batch->class_index[i]) - 1;
	struct number_block *block = &of->blocks[run->stream->index & (BLOCKS - 1)];

	if (of->sources[row].kind != SOURCE_LOADED)
		return false;
	if ((block->stream != run->stream || block->packet != run->packet->rec.off ||
	     block->source != run->packet->rec.source || i - block->first >= block->count ||
	     block->at[i - block->first] != run->batch->at[i]) &&
	    !load_block(block, &of->sources[row], run, i, backward))
		return false;
	*out = block->numbers[i - block->first];
	return true;
}
