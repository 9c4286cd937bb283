/* number_map.c - see number_map.h */
#include "state/model/number_map.h"

#include "engine/base/mem.h"

/* New items are zeroed and so take memory at once: a large map grows in smaller steps. */
enum { MANY = 1 << 16 };

void number_map_set(struct number_map *map, size_t key, uint32_t value)
{
	if (key >= map->count) {
		size_t count = key + key / (key > MANY ? 8 : 2) + 64;

		map->items = mem_resize_zeroed(map->items, map->count, count, sizeof *map->items);
		map->count = count;
	}
	map->items[key] = value;
}
