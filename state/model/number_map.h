/*
 * number_map.h - from a number to another from 1 on; it grows with the greatest key that was set
 *
 * For keys that are small or given from 0 on: attributes, shapes, ordinals, chunks, thread numbers.
 */
#ifndef STATE_MODEL_NUMBER_MAP_H
#define STATE_MODEL_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct number_map {
	uint32_t *items; /* to be freed */
	size_t count;
};

/* 0: it was never set. */
static inline uint32_t number_map_get(const struct number_map *map, size_t key)
{
	return key < map->count ? map->items[key] : 0;
}

void number_map_set(struct number_map *map, size_t key, uint32_t value);

#endif
