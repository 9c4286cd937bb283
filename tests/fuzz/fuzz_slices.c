/*
 * fuzz_slices.c - reads any bytes as a slice or a table stored beside it: refused or read, within
 * bounds
 *
 * The first byte chooses: a slice, names of classes, keys of entities, a pattern, dominant values.
 */
#include "state/slices/dominant.h"
#include "state/slices/names.h"
#include "state/slices/numbers.h"
#include "state/slices/slice.h"

#include "engine/base/mem.h"

#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_run(const struct slice_run *run)
{
	struct slice_value values[SLICE_BLOCK];
	uint64_t keys[SLICE_BLOCK], found;
	struct slice_block block;
	uint32_t at;

	for (uint32_t j = 0; j < run->nblocks; j++) {
		if (!slice_block_open(run, j, &block) || !slice_block_keys(&block, keys))
			continue;
		if (run->values)
			slice_block_values(&block, values);
		for (uint32_t i = 0; i < block.count; i++) {
			slice_block_before(&block, keys[i], &at, &found);
			if (run->values)
				slice_block_value(&block, i);
			slice_block_extra(&block, i);
		}
	}
}

static void read_slice(const uint8_t *data, size_t size)
{
	struct slice_value value;
	struct slice_items items = {0};
	struct slice_fill fill;
	bool damaged = false;
	struct slice slice;
	struct error err;
	uint32_t tick;
	uint64_t age;

	if (!slice_open(data, size, &damaged, &slice, &err))
		return;
	read_run(&slice.changes);
	read_run(&slice.snapshot);
	read_run(&slice.fills);
	for (uint32_t i = 0; i < slice.nticks; i += 1 + slice.nticks / 64) {
		tick = slice_tick_at(&slice, slice_tick_time(&slice, i));
		slice_change(&slice, i, tick, &value, &tick);
		slice_change_from(&slice, i, tick, &value, &tick);
		slice_before(&slice, i, &value, &age);
		slice_fill(&slice, i, tick, &fill);
		slice_row(&slice, i, tick, true, &value, &tick);
		slice_row(&slice, i, tick, false, &value, &tick);
	}
	tick = slice.nticks / 2;
	slice_moment(&slice, &tick, &items);
	mem_free(items.items);
}

static void read_names(uint8_t which, const uint8_t *data, size_t size)
{
	struct attrs *attrs = attrs_new();
	struct numbers *numbers = numbers_new(attrs);
	struct pattern *pattern = mem_new(sizeof *pattern);
	size_t count;

	if (which == 1) {
		numbers_get_classes(numbers, (struct bytes){data, size});
	} else if (which == 2) {
		mem_free(name_get_entities((struct bytes){data, size}, attrs, &count));
	} else {
		name_get_pattern(data, size, attrs, pattern);
	}
	mem_free(pattern);
	numbers_free(numbers);
	attrs_free(attrs);
}

/* Reads them with a correct checksum in front, which random bytes would not have. */
static void read_dominant(uint8_t *data, size_t size)
{
	uint32_t check = size > 4 ? (uint32_t)XXH3_64bits(data + 4, size - 4) : 0;
	struct dominant dominant, all;
	struct top top;

	if (size > 4)
		memcpy(data, &check, sizeof check);
	if (!dominant_open((struct bytes){data, size}, &dominant))
		return;
	for (all = dominant; dominant_next(&all, &top);)
		dominant_find(&dominant, top.number, &top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 1)
		return 0;
	copy = mem_new(size); /* an exact copy: sanitizers find reads past its end */
	if (size > 1)
		memcpy(copy, data + 1, size - 1);
	if (data[0] % 5 == 0)
		read_slice(copy, size - 1);
	else if (data[0] % 5 == 4)
		read_dominant(copy, size - 1);
	else
		read_names(data[0] % 5, copy, size - 1);
	mem_free(copy);
	return 0;
}
