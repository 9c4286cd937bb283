/*
 * groups.h - a hash table of groups: keys to accumulators
 *
 *     keys              number   totals
 *     "bash", 3     ──> 0        count 17, max 120
 *     "make", none  ──> 1        count  4, max  97
 *
 * A key is a tuple of values, compared by value_equal(). A group does not move in memory. A set
 * belongs to one thread; groups_join() adds up the sets of several workers.
 */
#ifndef AGGREGATE_GROUPS_H
#define AGGREGATE_GROUPS_H

#include "aggregate/accumulator.h"
#include "engine/base/budget.h"
#include "engine/base/error.h"
#include "engine/base/hash_index.h"

struct group {
	struct value *keys;  /* nkeys of them */
	char *texts;         /* the bytes that text keys point to, or NULL */
	struct group *spare; /* of a deleted group: the next one in the free list */
	uint32_t number;     /* its index in `items` */
	bool deleted;
	struct accumulator totals[]; /* one for each aggregate */
};

struct groups {
	/* the owner sets these before the first group is made, and zero-fills the rest */
	uint32_t nkeys, naggregates;
	const struct aggregate *aggregates; /* borrowed */
	size_t most;                        /* limit on the number of groups; 0: none */
	uint64_t bytes_most;                /* above it no group is added; 0: no limit */
	uint64_t *all;       /* a sum over several sets that bytes_most limits; NULL: this set's */
	struct grown *grown; /* memory statistics that `bytes` is added to; or NULL */

	struct group **items;           /* in order of creation; some may be deleted */
	size_t nitems, capacity, count; /* count: without the deleted ones */
	uint64_t bytes;
	struct hash_index index; /* of items by their keys */
	struct arena *arena;
	struct group *spare;
};

/* Frees all groups; the owner's settings stay. */
void groups_clear(struct groups *groups);
/* The group with these nkeys keys; NULL: there is none. */
struct group *groups_find(const struct groups *groups, const struct value *keys);
/* Finds the group or adds it, copying the keys' texts. NULL: `most` or `bytes_most` is reached. */
struct group *groups_at(struct groups *groups, const struct value *keys);
/* Deletes the group; the next new group reuses its memory. */
void groups_delete(struct groups *groups, struct group *group);
/* The first group from items[*i] on that is not deleted; moves *i behind it. NULL: no more. */
struct group *groups_next(const struct groups *groups, size_t *i);
/* Adds the groups of `from`, a set with the same aggregates. False: a limit is reached. */
MUST_CHECK bool groups_join(struct groups *groups, const struct groups *from);
/* Adds bytes that the owner allocated for a group to `bytes`; negative when it freed them. */
void groups_grew(struct groups *groups, long long bytes);
/* Is `bytes` (or *all) above bytes_most? */
bool groups_are_large(const struct groups *groups);

#endif
