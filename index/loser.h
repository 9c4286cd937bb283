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
	uint32_t count;           /* leaves, at least 1 */
	uint32_t *node;           /* [0] the winner, [1 .. count) who lost there */
	unsigned __int128 *value; /* per leaf: key and leaf as one number */
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
/* The winner's new key. */
void loser_replay(struct loser *tree, int64_t key, bool live);

struct loser_head loser_winner(const struct loser *tree);
/* The least of the others: how far the winner may go without asking again. */
struct loser_head loser_second(const struct loser *tree);

#endif
