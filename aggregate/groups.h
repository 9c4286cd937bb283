/*
 * groups.h - groups by their keys, each with its accumulators
 *
 *     keys              number   totals
 *     "bash", 3     ──> 0        count 17, max 120
 *     "make", none  ──> 1        count  4, max  97
 *
 * A key is a tuple of values; two values are the same when value_equal() says so. Groups stay where
 * they are in memory. A set belongs to one thread: workers have one each, which are joined.
 */
#ifndef AGGREGATE_GROUPS_H
#define AGGREGATE_GROUPS_H

#include "aggregate/accumulator.h"
#include "engine/base/budget.h"
#include "engine/base/error.h"
#include "engine/base/hash_index.h"

struct group {
	struct value *keys;  /* nkeys of them */
	char *texts;         /* of the keys, or NULL */
	struct group *spare; /* a deleted one: the next such one */
	uint32_t number;     /* its place in `items`; from 0 on, where none was deleted */
	bool deleted;
	struct accumulator totals[]; /* one for each aggregate */
};

struct groups {
	/* set by the owner while there is no group, all else zero-filled */
	uint32_t nkeys, naggregates;
	const struct aggregate *aggregates; /* borrowed */
	size_t most;                        /* so many groups are enough; 0: any number is fine */
	uint64_t bytes_most; /* of keys and totals, when there is another group; 0: likewise */
	uint64_t *all;       /* the bytes of several sets, which the limit is of; or NULL */
	struct grown *grown; /* that its bytes count for; or NULL */

	struct group **items;           /* in the order in which they came; some may be deleted */
	size_t nitems, capacity, count; /* count: those that are not */
	uint64_t bytes;
	struct hash_index index; /* of items by their keys */
	struct arena *arena;
	struct group *spare;
};

/* Frees what there is; the owner's settings stay. */
void groups_clear(struct groups *groups);
/* NULL: there is none. */
struct group *groups_find(const struct groups *groups, const struct value *keys);
/* Made where there is none, with copies of texts. NULL: a limit is reached. */
struct group *groups_at(struct groups *groups, const struct value *keys);
/* Its memory is for the next new one. */
void groups_delete(struct groups *groups, struct group *group);
/* The first group at *i or behind it, in the order of numbers; *i goes behind it. NULL: none. */
struct group *groups_next(const struct groups *groups, size_t *i);
/* As if the numbers of `from`, a set of the same aggregates, had come here. False: a limit. */
MUST_CHECK bool groups_join(struct groups *groups, const struct groups *from);
/* Counts bytes that an owner keeps with a group; less than 0: it gives them back. */
void groups_grew(struct groups *groups, long long bytes);
/* Are there more bytes than there may be? */
bool groups_are_large(const struct groups *groups);

#endif
