/* corrections.c - see corrections.h */
#include "index/tables/corrections.h"

#include "engine/base/mem.h"

void corrections_release(struct corrections *all)
{
	mem_free(all->slots);
	*all = (struct corrections){0};
}

static struct correction *place(struct correction *slots, size_t capacity, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);

	while (slots[at].key && slots[at].key != key)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

const struct correction *corrections_find(const struct corrections *all, uint64_t i)
{
	if (!all->count)
		return NULL;
	const struct correction *found = place(all->slots, all->capacity, i + 1);
	return found->key ? found : NULL;
}

static void grow(struct corrections *all)
{
	size_t capacity = all->capacity ? all->capacity * 2 : 16;
	struct correction *slots = mem_new_array(capacity, sizeof *slots);

	for (size_t i = 0; i < all->capacity; i++)
		if (all->slots[i].key)
			*place(slots, capacity, all->slots[i].key) = all->slots[i];
	mem_free(all->slots);
	all->slots = slots;
	all->capacity = capacity;
}

void corrections_put(struct corrections *all, uint64_t i, nstime min, nstime max)
{
	if (all->count >= all->capacity / 4 * 3)
		grow(all);
	struct correction *slot = place(all->slots, all->capacity, i + 1);
	all->count += slot->key == 0;
	*slot = (struct correction){i + 1, min, max};
}
