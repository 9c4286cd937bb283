/*
 * maps.h - @name[key, key]: values and sums by keys, with limits
 *
 * A map of a program without keys has one entry. A map belongs to one thread; map_join() adds what
 * others have.
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

/* `all`: the bytes of all maps of a program, which the limit is of; NULL: this is the only one. */
void map_init(struct map *map, const struct map_use *use, uint64_t *all);
void map_clear(struct map *map);
void maps_free(struct map *maps, size_t count); /* a heap array; NULL is fine */
/* Made where there is none. NULL: the map is full, *err. */
MUST_CHECK struct group *map_at(struct map *map, const struct value *keys, struct error *err);
void map_delete(struct map *map, const struct value *keys);
void map_zero(struct map *map);
/* As if the events of `from` had come to `map`: aggregations and sums alone. */
MUST_CHECK bool map_join(struct map *map, const struct map *from, struct error *err);

/* A plain value; its text is copied. False: the map is full. */
MUST_CHECK bool entry_set(struct map *map, struct group *entry, const struct value *value,
			  struct error *err);
/* The value, of aggregations that are one number; VALUE_UNKNOWN: there is none yet. */
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
