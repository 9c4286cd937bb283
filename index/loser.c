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

static unsigned __int128 value_of(int64_t key, uint32_t leaf, bool live)
{
	uint64_t turned = (uint64_t)key ^ UINT64_C(1) << 63;

	if (!live)
		return (unsigned __int128)1 << 96 | leaf;
	return (unsigned __int128)turned << 32 | leaf;
}

static struct loser_head head_of(unsigned __int128 value)
{
	return (struct loser_head){(int64_t)((uint64_t)(value >> 32) ^ UINT64_C(1) << 63),
				   (uint32_t)value, value >> 96 == 0};
}

void loser_init(struct loser *tree, uint32_t count)
{
	tree->count = count ? count : 1;
	tree->node = mem_new_array(tree->count, sizeof *tree->node);
	tree->value = mem_new_array(tree->count, sizeof *tree->value);
	for (uint32_t i = 0; i < tree->count; i++)
		tree->value[i] = value_of(0, i, false);
	loser_build(tree);
}

void loser_release(struct loser *tree)
{
	mem_free(tree->node);
	mem_free(tree->value);
	*tree = (struct loser){0};
}

void loser_set(struct loser *tree, uint32_t leaf, int64_t key, bool live)
{
	tree->value[leaf] = value_of(key, leaf, live);
}

/* Each leaf climbs until it meets an empty node, where it waits, or wins against who waits. */
void loser_build(struct loser *tree)
{
	for (uint32_t i = 0; i < tree->count; i++)
		tree->node[i] = UINT32_MAX;
	for (uint32_t leaf = 0; leaf < tree->count; leaf++) {
		uint32_t climber = leaf, n = (leaf + tree->count) / 2;
		for (; n > 0 && tree->node[n] != UINT32_MAX; n /= 2) {
			uint32_t waiting = tree->node[n];
			if (tree->value[waiting] < tree->value[climber]) {
				tree->node[n] = climber;
				climber = waiting;
			}
		}
		tree->node[n] = climber;
	}
}

void loser_replay(struct loser *tree, int64_t key, bool live)
{
	uint32_t winner = tree->node[0], leaf = winner;
	unsigned __int128 value = value_of(key, leaf, live);

	tree->value[leaf] = value;
	for (uint32_t n = (leaf + tree->count) / 2; n > 0; n /= 2) {
		uint32_t other = tree->node[n];
		if (tree->value[other] < value) {
			tree->node[n] = winner;
			winner = other;
			value = tree->value[other];
		}
	}
	tree->node[0] = winner;
}

struct loser_head loser_winner(const struct loser *tree)
{
	return head_of(tree->value[tree->node[0]]);
}

struct loser_head loser_second(const struct loser *tree)
{
	unsigned __int128 least = value_of(0, 0, false);

	for (uint32_t n = (tree->node[0] + tree->count) / 2; n > 0; n /= 2)
		if (tree->value[tree->node[n]] < least)
			least = tree->value[tree->node[n]];
	return head_of(least);
}
