/* hash_index.c - see hash_index.h */
#include "engine/base/hash_index.h"

#include "engine/base/mem.h"

#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

uint64_t hash_bytes(const void *bytes, size_t len)
{
	return XXH3_64bits(bytes, len);
}

static void put(struct hash_index *index, struct hash_slot slot)
{
	size_t at = slot.bits & (index->size - 1);

	while (index->slots[at].item)
		at = (at + 1) & (index->size - 1);
	index->slots[at] = slot;
}

static void grow(struct hash_index *index)
{
	struct hash_slot *old = index->slots;
	size_t size = index->size;

	index->size = size ? 2 * size : FIRST_SLOTS;
	index->slots = mem_new_array(index->size, sizeof *index->slots);
	for (size_t i = 0; i < size; i++)
		if (old[i].item)
			put(index, old[i]);
	mem_free(old);
}

uint32_t hash_index_add(struct hash_index *index, uint64_t hash, size_t number)
{
	if (2 * (index->count + 1) > index->size)
		grow(index);
	put(index, (struct hash_slot){hash_index_fold(hash), (uint32_t)number + 1});
	index->count++;
	return (uint32_t)number;
}

void hash_index_clear(struct hash_index *index)
{
	if (index->count)
		memset(index->slots, 0, index->size * sizeof *index->slots);
	index->count = 0;
}

void hash_index_release(struct hash_index *index)
{
	mem_free(index->slots);
	*index = (struct hash_index){0};
}
