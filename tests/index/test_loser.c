/* test_loser.c - the tree's winner, and how far it may go, are those of a look at all leaves */
#include "tests/harness.h"

#include "index/cursor/loser.h"

#include <stdlib.h>

struct leaf {
	int64_t key;
	bool live;
};

static bool before(const struct leaf *leaves, uint32_t a, uint32_t b)
{
	if (leaves[a].live != leaves[b].live)
		return leaves[a].live;
	if (leaves[a].live && leaves[a].key != leaves[b].key)
		return leaves[a].key < leaves[b].key;
	return a < b;
}

static uint32_t least_but(const struct leaf *leaves, uint32_t n, uint32_t but)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (i != but && (least == UINT32_MAX || before(leaves, i, least)))
			least = i;
	return least;
}

/* What the winner's key may be so that it stays the winner; `least` is not there: INT64_MAX. */
static int64_t last_of(const struct loser *tree, const struct leaf *leaves, uint32_t winner,
		       uint32_t least)
{
	const int64_t beyond = (int64_t)((uint64_t)tree->base + tree->far);

	if (least == UINT32_MAX || !leaves[least].live)
		return INT64_MAX;
	if (beyond > tree->base && leaves[least].key >= beyond)
		return beyond - 1;
	return leaves[least].key - (least < winner);
}

static void check(const struct loser *tree, const struct leaf *leaves, uint32_t n)
{
	uint32_t first = least_but(leaves, n, UINT32_MAX), second = least_but(leaves, n, first);
	struct loser_head winner = loser_winner(tree);

	assert_int_equal(winner.leaf, first);
	assert_int_equal(winner.live, leaves[first].live);
	if (!winner.live)
		return;
	assert_true(winner.key == leaves[first].key);
	assert_true(loser_last(tree) == last_of(tree, leaves, first, second));
}

static int64_t random_key(void)
{
	switch (rand() % 14) {
	case 0:
		return INT64_MIN;
	case 1:
		return INT64_MAX;
	case 2:
		return (int64_t)((uint64_t)rand() << 33 ^ (uint64_t)rand() << 13);
	case 3:
		return -(int64_t)((uint64_t)rand() << 31);
	default:
		return rand() % 20 - 10;
	}
}

static void plays(void **state)
{
	uint32_t n = *(const uint32_t *)*state;
	struct leaf leaves[300] = {0};
	struct loser tree;

	srand(n);
	loser_init(&tree, n);
	for (uint32_t i = 0; i < n; i++) {
		leaves[i] = (struct leaf){random_key(), rand() % 8 != 0};
		loser_set(&tree, i, leaves[i].key, leaves[i].live);
	}
	loser_build(&tree);
	check(&tree, leaves, n);
	for (uint32_t turn = 0; turn < 4 * n + 20; turn++) {
		uint32_t winner = loser_winner(&tree).leaf;
		leaves[winner] = (struct leaf){random_key(), rand() % 8 != 0};
		loser_replay(&tree, leaves[winner].key, leaves[winner].live);
		check(&tree, leaves, n);
	}
	loser_release(&tree);
}

static void without_keys(void **state)
{
	struct loser tree;

	(void)state;
	loser_init(&tree, 5);
	assert_false(loser_winner(&tree).live);
	loser_release(&tree);
}

int main(void)
{
	static uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 257, 300};
	struct CMUnitTest tests[COUNT(sizes) + 1];

	for (size_t i = 0; i < COUNT(sizes); i++)
		tests[i] = (struct CMUnitTest){"a tournament of random keys", plays, NULL, NULL,
					       &sizes[i]};
	tests[COUNT(sizes)] =
		(struct CMUnitTest){"no leaf has a key", without_keys, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
