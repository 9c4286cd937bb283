/* record_map.h - a hash map from record numbers to an array index or a pointer */
#ifndef INDEX_TABLES_RECORD_MAP_H
#define INDEX_TABLES_RECORD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty map is all zeros. */
struct record_map {
	struct record_entry {
		uint64_t record;
		uintptr_t value;
		bool used;
	} * entries;
	size_t count, capacity; /* capacity: a power of two, or 0 */
};

void record_map_put(struct record_map *map, uint64_t record, uintptr_t value);
bool record_map_get(const struct record_map *map, uint64_t record, uintptr_t *value);
void record_map_remove(struct record_map *map, uint64_t record);
void record_map_clear(struct record_map *map);
void record_map_release(struct record_map *map);

#endif
