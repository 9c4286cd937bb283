/*
 * maps.h - @name[key, key]: values and sums by keys, with limits
 *
 * Keys are one run of bytes, made by key_add(). A map of a program without keys has one entry of no
 * bytes. A map belongs to one thread; maps_join() adds what others have.
 */
#ifndef ONELINER_MAPS_H
#define ONELINER_MAPS_H

#include "oneliner/tree.h"

enum { MAP_KEYS_MAX = 1000000, MAP_BYTES_MAX = 512 << 20 };

void key_add(struct buf *key, const struct value *value);
/* The key at *at, whose text is in the key; *at moves behind it. */
struct value key_next(const uint8_t *key, size_t *at);

struct map_entry;
struct map {
	const struct map_use *use;
	struct map_entry *entries; /* a hash of uthash */
	struct map_entry *spare;   /* deleted ones, for new ones */
	size_t nspare;
	uint64_t bytes; /* of entries that are there */
	uint64_t *all;  /* of all maps of a program, which the limit is of; NULL: this is the only
			   one */
};

void map_clear(struct map *map);
void maps_free(struct map *maps, size_t count); /* a heap array; NULL is fine */
/* NULL: there is none. */
struct map_entry *map_find(const struct map *map, const struct buf *key);
/* Made where there is none. NULL: the map is full, *err. */
MUST_CHECK struct map_entry *map_at(struct map *map, const struct buf *key, struct error *err);
void map_delete(struct map *map, const struct buf *key);
void map_zero(struct map *map);
size_t map_count(const struct map *map);
/* As if the events of `from` had come to `map`: aggregations and sums alone. */
MUST_CHECK bool map_join(struct map *map, const struct map *from, struct error *err);

/* A plain value; its text is copied. False: the map is full. */
MUST_CHECK bool entry_set(struct map *map, struct map_entry *entry, const struct value *value,
			  struct error *err);
/* So many more events of count(). */
void entry_count(struct map_entry *entry, uint64_t events);
/* One more value of another aggregation. */
MUST_CHECK bool entry_add(struct map *map, struct map_entry *entry, const struct value *value,
			  struct error *err);
/* The value, of aggregations that are one number; VALUE_UNKNOWN: there is none yet. */
struct value entry_value(const struct map *map, const struct map_entry *entry);

struct map_sums { /* what stats() and histograms show */
	__int128 total;
	uint64_t count;
	const uint64_t *buckets;
	uint32_t nbuckets, first, end; /* buckets [first, end) are from the first to the last that
					  has something */
};
struct map_sums entry_sums(const struct map *map, const struct map_entry *entry);

/* All entries, by rising value, then key; the caller frees the list. */
struct map_entry **map_sorted(const struct map *map, size_t *count);
const uint8_t *entry_key(const struct map_entry *entry, size_t *len);

/* The kind of a map's values: histograms, stats(), else one number or text. */
bool map_is_hist(const struct map_use *use);
bool map_is_stats(const struct map_use *use);

struct map_bucket { /* [low, high) */
	bool has_low, has_high;
	__int128 low, high;
	uint64_t count;
};
struct map_bucket map_bucket_at(const struct map_use *use, const struct map_sums *sums, uint32_t i);

/* Of hist(): the least value of bucket i > 0, whose last is below that of bucket i + 1. */
uint64_t hist_label(uint32_t i, unsigned bits);

#endif
