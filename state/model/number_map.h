/*
 * number_map.h - a map from small numbers to numbers above 0: an array up to the greatest key
 *
 * For keys that are small or dense: attributes, shapes, ordinals, chunks, thread numbers.
 */
#ifndef STATE_MODEL_NUMBER_MAP_H
#define STATE_MODEL_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct number_map {
	uint32_t *items; /* to be freed */
	size_t count;
};

/* 0: the key was never set. */
static inline uint32_t number_map_get(const struct number_map *map, size_t key)
{
	return key < map->count ? map->items[key] : 0;
}

void number_map_set(struct number_map *map, size_t key, uint32_t value);

#endif
