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

static void hash_index_put(struct hash_index *index, struct hash_slot slot)
{
	size_t at = slot.bits & (index->size - 1);

	while (index->slots[at].item)
		at = (at + 1) & (index->size - 1);
	index->slots[at] = slot;
}

static void free_slots(struct hash_index *index)
{
	if (index->paged)
		paged_free(&index->memory);
	else
		mem_free(index->slots);
}

static void grow(struct hash_index *index)
{
	struct hash_index old = *index;

	index->size = old.size ? 2 * old.size : FIRST_SLOTS;
	if (index->paged) {
		index->memory = (struct paged){0};
		index->slots = paged_resize(&index->memory, index->size * sizeof *index->slots);
		memset(index->slots, 0, index->size * sizeof *index->slots);
	} else {
		index->slots = mem_new_array(index->size, sizeof *index->slots);
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].item)
			hash_index_put(index, old.slots[i]);
	free_slots(&old);
}

uint32_t hash_index_add(struct hash_index *index, uint64_t hash, size_t number)
{
	if (2 * (index->count + 1) > index->size)
		grow(index);
	hash_index_put(index, (struct hash_slot){hash_index_fold(hash), (uint32_t)number + 1});
	index->count++;
	return (uint32_t)number;
}

void hash_index_remove(struct hash_index *index, uint64_t hash, size_t number)
{
	size_t mask = index->size - 1, at = hash_index_fold(hash) & mask;

	while (index->slots[at].item != (uint32_t)number + 1)
		at = (at + 1) & mask;
	/* move items behind the free slot, up to the next gap, whose search would now stop at it */
	for (size_t i = (at + 1) & mask; index->slots[i].item; i = (i + 1) & mask) {
		if (((i - index->slots[i].bits) & mask) < ((i - at) & mask))
			continue;
		index->slots[at] = index->slots[i];
		at = i;
	}
	index->slots[at] = (struct hash_slot){0};
	index->count--;
}

void hash_index_clear(struct hash_index *index)
{
	if (index->count)
		memset(index->slots, 0, index->size * sizeof *index->slots);
	index->count = 0;
}

void hash_index_release(struct hash_index *index)
{
	free_slots(index);
	*index = (struct hash_index){0};
}
