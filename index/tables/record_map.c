/* record_map.c - see record_map.h; open addressing without tombstones, at most half full */
#include "index/tables/record_map.h"

#include "engine/base/mem.h"

#include <string.h>

enum { FIRST = 16 };

static size_t home_of(const struct record_map *map, uint64_t record)
{
	uint64_t hash = record * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash ^ hash >> 32) & (map->capacity - 1);
}

/* Where the record is, or would be. */
static size_t at_of(const struct record_map *map, uint64_t record)
{
	size_t at = home_of(map, record);

	while (map->entries[at].used && map->entries[at].record != record)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

static void grow(struct record_map *map)
{
	struct record_map old = *map;

	map->capacity = old.capacity ? old.capacity * 2 : FIRST;
	map->entries = mem_new_array(map->capacity, sizeof *map->entries);
	for (size_t i = 0; i < old.capacity; i++)
		if (old.entries[i].used)
			map->entries[at_of(map, old.entries[i].record)] = old.entries[i];
	mem_free(old.entries);
}

void record_map_put(struct record_map *map, uint64_t record, uintptr_t value)
{
	if (map->count * 2 >= map->capacity)
		grow(map);
	struct record_entry *entry = &map->entries[at_of(map, record)];
	map->count += !entry->used;
	*entry = (struct record_entry){record, value, true};
}

bool record_map_get(const struct record_map *map, uint64_t record, uintptr_t *value)
{
	if (!map->count)
		return false;
	const struct record_entry *entry = &map->entries[at_of(map, record)];
	if (entry->used)
		*value = entry->value;
	return entry->used;
}

/* What stood behind it, and could not stand nearer to its home, moves up. */
void record_map_remove(struct record_map *map, uint64_t record)
{
	size_t mask = map->capacity - 1, hole;

	if (!map->count || !map->entries[hole = at_of(map, record)].used)
		return;
	map->count--;
	for (size_t at = (hole + 1) & mask; map->entries[at].used; at = (at + 1) & mask) {
		size_t home = home_of(map, map->entries[at].record);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->entries[hole] = map->entries[at];
		hole = at;
	}
	map->entries[hole].used = false;
}

void record_map_clear(struct record_map *map)
{
	if (map->count)
		memset(map->entries, 0, map->capacity * sizeof *map->entries);
	map->count = 0;
}

void record_map_release(struct record_map *map)
{
	mem_free(map->entries);
	*map = (struct record_map){0};
}
