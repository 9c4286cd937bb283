/*
 * loser.c - a tournament whose inner nodes remember who lost
 *
 *              [0] a          winner
 *              [1] c          lost the final
 *          [2] b     [3] d    lost the halves
 *          a   b     c   d    leaves: node i + count, parent i / 2
 *
 * When the winner's key changes, only the games on its way up are played again. The second is among
 * those who lost on that way. A key and its leaf are one 97-bit number, so that a game is one
 * comparison: bit 96 "no key", then the key with its sign turned, then the leaf.
 */
#include "index/loser.h"

#include "engine/base/mem.h"

void loser_init(struct loser *tree, uint32_t count)
{
	tree->count = count ? count : 1;
	tree->node = mem_new_array(tree->count, sizeof *tree->node);
	tree->leaf = mem_new_array(tree->count, sizeof *tree->leaf);
	for (uint32_t i = 0; i < tree->count; i++)
		tree->leaf[i] = loser_value(0, i, false);
	loser_build(tree);
}

void loser_release(struct loser *tree)
{
	mem_free(tree->node);
	mem_free(tree->leaf);
	*tree = (struct loser){0};
}

void loser_set(struct loser *tree, uint32_t leaf, int64_t key, bool live)
{
	tree->leaf[leaf] = loser_value(key, leaf, live);
}

/* Each leaf climbs until it meets an empty node, where it waits, or wins against who waits. */
void loser_build(struct loser *tree)
{
	const unsigned __int128 empty = ~(unsigned __int128)0;

	for (uint32_t i = 0; i < tree->count; i++)
		tree->node[i] = empty;
	for (uint32_t leaf = 0; leaf < tree->count; leaf++) {
		unsigned __int128 climber = tree->leaf[leaf];
		uint32_t n = (leaf + tree->count) / 2;
		for (; n > 0 && tree->node[n] != empty; n /= 2) {
			unsigned __int128 waiting = tree->node[n];
			tree->node[n] = waiting < climber ? climber : waiting;
			climber = waiting < climber ? waiting : climber;
		}
		tree->node[n] = climber;
	}
}
