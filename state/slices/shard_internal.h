/* shard_internal.h - the insides of a shard: for shard.c and shard_names.c */
#ifndef STATE_SLICES_SHARD_INTERNAL_H
#define STATE_SLICES_SHARD_INTERNAL_H

#include "state/slices/shard.h"

struct reader_class {
	uint32_t shape;        /* ATTR_ABSENT: of patterns */
	uint32_t entity_class; /* whose ordinals it counts */
	uint32_t *chunks;      /* ordinal / CHUNK → 1 + chunk */
	size_t nchunks;
	uint32_t *entities; /* ordinal → 1 + attribute, 0 not looked at */
	size_t nentities;
};

struct cache { /* 0: not looked at; else 1 + what it is, ABSENT as it is */
	uint32_t *items;
	size_t count;
};

struct side_item { /* a tomb, or a fill of an event at `at` */
	uint32_t number;
	bool final;
	nstime at, from;
	struct slice_value value;
};

struct side { /* by number, then time */
	struct side_item *items;
	size_t count, capacity;
};

enum side_state { SIDE_NONE, SIDE_GATHERED, SIDE_REFUSED };

struct shard {
	struct store *store;
	struct store_txn *txn;
	struct attrs *attrs;
	struct slice_record *records;
	nstime *reach; /* least `from` of fills in this slice and all behind it */
	uint32_t nslices;
	struct name_table names;
	struct reader_class *classes;
	struct cache of_shape[CLASS_PATTERN]; /* shape → class */
	struct cache numbers[3];              /* attribute → number: itself, tomb, tomb below */
	struct cache attrs_of;                /* number → attribute */
	struct pattern **patterns;
	uint32_t *pattern_numbers;
	size_t npatterns;
	struct value *strings; /* kind UNKNOWN: not looked at */
	uint32_t nstrings;
	struct side tombs, fills;
	enum side_state side;
	uint64_t steps;     /* from slice to slice, looking for one */
	struct slice slice; /* the one opened last */
	uint32_t slice_number;
};

uint32_t cache_get(const struct cache *cache, uint32_t key);
void cache_set(struct cache *cache, uint32_t key, uint32_t value);
/* Are tombs and fills gathered? After so many steps more they may be. */
bool shard_side(struct shard *shard, uint32_t steps);
void shard_side_release(struct shard *shard);
/* The first of a number behind t, or whatever comes there; may be one behind the last. */
const struct side_item *side_behind(const struct side *side, uint32_t number, nstime t);
bool shard_names_load(struct shard *shard, struct error *err);
void shard_names_release(struct shard *shard);

#endif
