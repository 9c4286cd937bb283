/*
 * loser.h - the least of many heads, with one comparison per level when it changes
 *
 * Keys are compared as (key, leaf); a leaf without a key comes after all that have one. Who wants
 * the greatest first negates bitwise and numbers its leaves from the end.
 */
#ifndef INDEX_LOSER_H
#define INDEX_LOSER_H

#include <stdbool.h>
#include <stdint.h>

struct loser {
	uint32_t count;          /* leaves, at least 1 */
	unsigned __int128 *node; /* [0] the winner, [1 .. count) who lost there */
	unsigned __int128 *leaf; /* for building only */
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

/* What follows is called once per run, so it is in sight of the compiler, and has no branches to
   guess: which of two heads is earlier cannot be foreseen. */

static inline unsigned __int128 loser_value(int64_t key, uint32_t leaf, bool live)
{
	uint64_t turned = live ? (uint64_t)key ^ UINT64_C(1) << 63 : 0;

	return (unsigned __int128)!live << 96 | (unsigned __int128)turned << 32 | leaf;
}

static inline struct loser_head loser_head_of(unsigned __int128 value)
{
	return (struct loser_head){(int64_t)((uint64_t)(value >> 32) ^ UINT64_C(1) << 63),
				   (uint32_t)value, value >> 96 == 0};
}

/* The winner's new key. */
static inline void loser_replay(struct loser *tree, int64_t key, bool live)
{
	uint32_t leaf = (uint32_t)tree->node[0];
	unsigned __int128 value = loser_value(key, leaf, live);

	for (uint32_t n = (leaf + tree->count) / 2; n > 0; n /= 2) {
		unsigned __int128 other = tree->node[n];
		bool lost = other < value;
		tree->node[n] = lost ? value : other;
		value = lost ? other : value;
	}
	tree->node[0] = value;
}

static inline struct loser_head loser_winner(const struct loser *tree)
{
	return loser_head_of(tree->node[0]);
}

/* The least of the others: how far the winner may go without asking again. */
static inline struct loser_head loser_second(const struct loser *tree)
{
	unsigned __int128 least = (unsigned __int128)1 << 96;

	for (uint32_t n = ((uint32_t)tree->node[0] + tree->count) / 2; n > 0; n /= 2) {
		unsigned __int128 value = tree->node[n];
		least = value < least ? value : least;
	}
	return loser_head_of(least);
}

#endif
