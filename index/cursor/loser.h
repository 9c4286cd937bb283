/*
 * loser.h - a loser tree: the least of many keys, with one comparison per level when it changes
 *
 * Keys are compared as (key, leaf); a leaf without a key comes after all others. To get the
 * greatest first, negate keys bitwise and number the leaves from the end.
 */
#ifndef INDEX_CURSOR_LOSER_H
#define INDEX_CURSOR_LOSER_H

#include <stdbool.h>
#include <stdint.h>

struct loser {
	uint32_t count; /* leaves, at least 1 */
	uint32_t room;  /* count, rounded up to a power of two: all paths to the root are equally
			   long */
	unsigned bits; /* of the leaf number in a place (a key and its leaf in 64 bits, see loser.c)
			*/
	uint64_t far;  /* a place can hold keys from `base` on, up to below base + far */
	int64_t base;
	uint64_t *node; /* places; the greater wins: [0] the winner, [1 .. room) the losers */
	uint64_t *leaf; /* places, for building only */
	int64_t *key;   /* per leaf, its last key */
};

struct loser_head {
	int64_t key;
	uint32_t leaf;
	bool live; /* false: no leaf has a key */
};

void loser_init(struct loser *tree, uint32_t count); /* no leaf has a key */
void loser_release(struct loser *tree);

/* Gives a leaf its first key; then loser_build() once. */
void loser_set(struct loser *tree, uint32_t leaf, int64_t key, bool live);
void loser_build(struct loser *tree);

/* Moves `base` and makes all places anew, when the winner's key does not fit a place. */
void loser_move(struct loser *tree);

/* The functions below are called once per run, so they are inline, and without branches on which of
   two heads is earlier, since that cannot be predicted. */

static inline uint32_t loser_leaf(const struct loser *tree, uint64_t place)
{
	return (uint32_t)(~place & (tree->room - 1));
}

/* The key's distance from `base`; `far`: it does not fit; far + 1: the leaf has no key. */
static inline uint64_t loser_distance(const struct loser *tree, uint64_t place)
{
	return ~place >> tree->bits;
}

static inline bool loser_fits(const struct loser *tree, int64_t key)
{
	return key >= tree->base && (uint64_t)key - (uint64_t)tree->base < tree->far;
}

/* The place of a key that fits. */
static inline uint64_t loser_place(const struct loser *tree, int64_t key, uint32_t leaf)
{
	return ~(((uint64_t)key - (uint64_t)tree->base) << tree->bits | leaf);
}

static inline uint64_t loser_far_place(const struct loser *tree, uint32_t leaf, bool live)
{
	return ~((tree->far + !live) << tree->bits | leaf);
}

static inline struct loser_head loser_head_of(const struct loser *tree, uint64_t place)
{
	uint32_t leaf = loser_leaf(tree, place);

	return (struct loser_head){tree->key[leaf], leaf, loser_distance(tree, place) <= tree->far};
}

/* Gives the winner a new key (`live` false: none) and finds the new winner. */
static inline void loser_replay(struct loser *tree, int64_t key, bool live)
{
	uint32_t leaf = loser_leaf(tree, tree->node[0]);
	uint64_t place = loser_place(tree, key, leaf);

	tree->key[leaf] = key;
	if (__builtin_expect(!live || !loser_fits(tree, key), 0)) {
		place = loser_far_place(tree, leaf, live);
		if (live && key < tree->base) {
			tree->node[0] = place;
			loser_move(tree);
			return;
		}
	}
	for (uint32_t n = (leaf + tree->room) / 2; n > 0; n /= 2) {
		uint64_t other = tree->node[n], both = other ^ place;
		place = place < other ? other : place;
		tree->node[n] = both ^ place;
	}
	tree->node[0] = place;
	if (__builtin_expect(loser_distance(tree, place) == tree->far, 0))
		loser_move(tree);
}

static inline struct loser_head loser_winner(const struct loser *tree)
{
	return loser_head_of(tree, tree->node[0]);
}

/* The greatest key with which the winner would still win; it may be lower if others do not fit. */
static inline int64_t loser_last(const struct loser *tree)
{
	uint32_t leaf = loser_leaf(tree, tree->node[0]);
	uint64_t second = 0;

	for (uint32_t n = (leaf + tree->room) / 2; n > 0; n /= 2)
		second = second < tree->node[n] ? tree->node[n] : second;
	uint64_t distance = loser_distance(tree, second);
	if (distance > tree->far)
		return INT64_MAX;
	distance -= distance == tree->far || loser_leaf(tree, second) < leaf;
	return (int64_t)((uint64_t)tree->base + distance);
}

#endif
