/*
 * loser.c - a tournament whose inner nodes remember the losers
 *
 *              [0] a          winner
 *              [1] c          lost the final
 *          [2] b     [3] d    lost the halves
 *          a   b     c   d    leaves: node i + room, parent i / 2
 *
 * When the winner's key changes, only the games on its way up are played again. The second is among
 * the losers on that way.
 *
 * A game is one comparison of 64 bits: a place is the key's distance from a base, and the leaf
 * below it, all bits turned, so that the greatest wins: of two numbers a processor finds the
 * greater a cycle sooner than the lesser, as gcc has it done, which ten levels feel. Distances that
 * do not fit are all `far`, and one more is a leaf without a key. When a far one wins, or a key
 * comes that is below the base, the base is moved to half of what fits below the least key: with a
 * thousand leaves the next move is a hundred days of nanoseconds away.
 */
#include "index/cursor/loser.h"

#include "engine/base/mem.h"

void loser_init(struct loser *tree, uint32_t count)
{
	*tree = (struct loser){.count = count ? count : 1, .room = 2, .bits = 1};
	for (; tree->room < tree->count; tree->bits++)
		tree->room *= 2;
	tree->far = (UINT64_MAX >> tree->bits) - 2;
	tree->node = mem_new_array(tree->room, sizeof *tree->node);
	tree->leaf = mem_new_array(tree->room, sizeof *tree->leaf);
	tree->key = mem_new_array(tree->room, sizeof *tree->key);
	for (uint32_t i = 0; i < tree->room; i++)
		tree->leaf[i] = loser_far_place(tree, i, false);
	loser_build(tree);
}

void loser_release(struct loser *tree)
{
	mem_free(tree->node);
	mem_free(tree->leaf);
	mem_free(tree->key);
	*tree = (struct loser){0};
}

void loser_set(struct loser *tree, uint32_t leaf, int64_t key, bool live)
{
	tree->key[leaf] = key;
	tree->leaf[leaf] = loser_far_place(tree, leaf, live);
}

static bool is_live(const struct loser *tree, uint64_t place)
{
	return loser_distance(tree, place) <= tree->far;
}

static void move_base(struct loser *tree)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < tree->room; i++)
		if (is_live(tree, tree->leaf[i]) && tree->key[i] < least)
			least = tree->key[i];
	if (__builtin_sub_overflow(least, (int64_t)(tree->far / 2), &tree->base))
		tree->base = INT64_MIN;
}

/* Each leaf climbs until it meets an empty node, where it waits, or wins against the one that
 * waits. */
void loser_build(struct loser *tree)
{
	const uint64_t empty = 0;

	move_base(tree);
	for (uint32_t i = 0; i < tree->room; i++)
		tree->node[i] = empty;
	for (uint32_t leaf = 0; leaf < tree->room; leaf++) {
		uint64_t climber = tree->leaf[leaf];
		if (is_live(tree, climber) && loser_fits(tree, tree->key[leaf]))
			climber = loser_place(tree, tree->key[leaf], leaf);
		uint32_t n = (leaf + tree->room) / 2;
		for (; n > 0 && tree->node[n] != empty; n /= 2) {
			uint64_t waiting = tree->node[n];
			tree->node[n] = waiting < climber ? waiting : climber;
			climber = waiting < climber ? climber : waiting;
		}
		tree->node[n] = climber;
	}
}

void loser_move(struct loser *tree)
{
	for (uint32_t i = 0; i < tree->room; i++) {
		uint32_t leaf = loser_leaf(tree, tree->node[i]);
		tree->leaf[leaf] = loser_far_place(tree, leaf, is_live(tree, tree->node[i]));
	}
	loser_build(tree);
}
