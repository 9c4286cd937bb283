/*
 * numbers.h - attributes as small numbers, such that alike ones are neighbours
 *
 *     thread[42]/state    class thread[*]/state, entity thread[42], the 7th thread: number 512 + 7
 *
 * A class is a shape, or what deletes do to a shape. An entity is a node that ends in a key (or the
 * root); entities of a class have ordinals in order of appearance. 256 consecutive ordinals of one
 * class have 256 consecutive numbers, a chunk; chunks are given out on demand. So names are
 * stored per entity and not per attribute, and a block of a slice holds values of one kind.
 *
 * This is the side of the writer, with everything in memory; reading is in names.h.
 */
#ifndef STATE_SLICES_NUMBERS_H
#define STATE_SLICES_NUMBERS_H

#include "index/store/store.h"
#include "state/program/program.h"
#include "state/slices/slice.h"

enum { CHUNK = 256 };

enum class_kind {
	CLASS_ATTR,            /* attributes of a shape */
	CLASS_TOMBSTONE,       /* `delete P`, `unknown P` of paths of a shape: P and all below */
	CLASS_TOMBSTONE_BELOW, /* the same of all below P and not of P itself */
	CLASS_PATTERN          /* targets with a `*`; entities are these patterns */
};

struct numbers;
struct shard;

struct numbers *numbers_new(struct program *program);
void numbers_free(struct numbers *numbers); /* NULL is fine */

uint32_t numbers_attr(struct numbers *numbers, uint32_t attr);
uint32_t numbers_tombstone(struct numbers *numbers, uint32_t attr, bool below);
uint32_t numbers_pattern(struct numbers *numbers, const struct pattern *pattern);
/* text as attrs_text() gives it */
uint32_t numbers_string(struct numbers *numbers, const char *text, uint32_t len);
struct slice_value numbers_value(struct numbers *numbers, const struct value *value);

uint32_t numbers_next(const struct numbers *numbers);                 /* number not yet given */
uint32_t numbers_strings(const struct numbers *numbers);              /* likewise */
bool numbers_is_tombstone(const struct numbers *numbers, uint32_t number); /* of one path */

/* What is new since the last call, to be put under a slice: by any thread, while numbers are given. */
struct fresh_names;
struct fresh_names *numbers_take(struct numbers *numbers);
void fresh_names_free(struct fresh_names *names); /* NULL is fine */
/* May be called again. */
MUST_CHECK bool fresh_names_put(const struct fresh_names *names, uint32_t slice,
				struct store_txn *txn, struct error *err);

/*
 * Ordinals given so far, per class, for `resume`; and what fresh_names_put() put, back: from the
 * shard that is gone on with, which is being read.
 */
void numbers_counts(const struct numbers *numbers, struct buf *out);
MUST_CHECK bool numbers_load(struct numbers *numbers, struct shard *shard, const uint8_t **counts,
			     const uint8_t *end, struct error *err);

/* Drops what is stored of entities that came after numbers_counts(). */
MUST_CHECK bool numbers_cut(const struct numbers *numbers, struct store_txn *txn,
			    struct error *err);

#endif
