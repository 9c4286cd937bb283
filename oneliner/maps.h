/*
 * maps.h - maps @name[key, key] of a program: values or aggregations by keys, of limited size
 *
 * A map without keys has one entry. Only one thread uses a map; map_join() merges those of several.
 */
#ifndef ONELINER_MAPS_H
#define ONELINER_MAPS_H

#include "aggregate/groups.h"
#include "oneliner/tree.h"

enum { MAP_KEYS_MAX = 1000000, MAP_BYTES_MAX = 512 << 20 };

struct map {
	const struct map_use *use;
	struct groups groups; /* its entries, each with one accumulator */
};

/* `all`: counts the bytes of all maps of a program, for MAP_BYTES_MAX; NULL: of this map alone. */
void map_init(struct map *map, const struct map_use *use, uint64_t *all);
void map_clear(struct map *map);
void maps_free(struct map *maps, size_t count); /* a heap array; NULL is fine */
/* Finds or adds the entry with these keys. NULL: the map is full, *err. */
MUST_CHECK struct group *map_at(struct map *map, const struct value *keys, struct error *err);
void map_delete(struct map *map, const struct value *keys);
void map_zero(struct map *map);
/* Merges `from` into `map`, as if `map` had seen its events, too. Aggregations and sums only. */
MUST_CHECK bool map_join(struct map *map, const struct map *from, struct error *err);

/* Sets the value of an entry of a plain map; copies a text. False: the map is full, *err. */
MUST_CHECK bool entry_set(struct map *map, struct group *entry, const struct value *value,
			  struct error *err);
/* The plain value, or the aggregation's if it is one number. VALUE_UNKNOWN: there is none yet. */
struct value entry_value(const struct map *map, const struct group *entry);

/* All entries, by rising value, then key; the caller frees the list. */
struct group **map_sorted(const struct map *map, size_t *count);

/* The kind of a map's values: histograms, stats(), sums, else one number or text. */
static inline bool map_is_hist(const struct map_use *use)
{
	return use->of.kind == AGGREGATE_LOG2 || use->of.kind == AGGREGATE_LINEAR;
}

static inline bool map_is(const struct map_use *use, enum function aggregate)
{
	return !use->is_plain && use->aggregate == aggregate;
}

#endif
