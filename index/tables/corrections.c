/* corrections.c - see corrections.h */
#include "index/tables/corrections.h"

#include "engine/base/mem.h"

void corrections_release(struct corrections *all)
{
	mem_free(all->items);
	hash_index_release(&all->by_record);
	*all = (struct corrections){0};
}

static uint32_t correction_place(const struct corrections *all, uint64_t record)
{
	return hash_index_find(&all->by_record, hash_number(record), i,
			       all->items[i].record == record);
}

const struct correction *corrections_find(const struct corrections *all, uint64_t record)
{
	uint32_t place = correction_place(all, record);

	return place == HASH_INDEX_NONE ? NULL : &all->items[place];
}

void corrections_put(struct corrections *all, uint64_t record, nstime min, nstime max)
{
	const struct correction correction = {record, min, max};
	uint32_t place = correction_place(all, record);

	if (place != HASH_INDEX_NONE) {
		all->items[place] = correction;
		return;
	}
	*mem_push(all->items, all->count, all->capacity) = correction;
	hash_index_add(&all->by_record, hash_number(record), all->count - 1);
}
