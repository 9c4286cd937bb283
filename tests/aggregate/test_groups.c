/* test_groups.c - groups against lists that are walked: what was added to each, number by number */
#include "aggregate/groups.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"

#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

enum { NKEYS = 2, ADDED = 4000 };

static const struct aggregate aggregates[] = {
	{.kind = AGGREGATE_COUNT},
	{.kind = AGGREGATE_SUM},
	{.kind = AGGREGATE_MAGNITUDE},
	{.kind = AGGREGATE_MIN},
	{.kind = AGGREGATE_MAX},
	{.kind = AGGREGATE_LOG2, .bits = 1},
	{.kind = AGGREGATE_LINEAR, .low = -50, .high = 1000, .step = 300},
};
enum { NAGGREGATES = COUNT(aggregates) };

struct added {
	struct value keys[NKEYS];
	__int128 number;
	bool gone; /* its group was deleted */
};

/* Of few different keys; texts stand in one buffer, which changes. */
static struct value random_key(struct rng *rng, char *text, size_t room)
{
	switch (rng_next(rng) % 5) {
	case 0:
		return (struct value){.kind = VALUE_UNKNOWN};
	case 1:
		return value_s64((int64_t)(rng_next(rng) % 5) - 2);
	case 2:
		return value_u64(UINT64_MAX - rng_next(rng) % 2); /* the bits of -1 and -2 */
	case 3:
		return value_text("", 0);
	default:
		snprintf(text, room, "text %d", (int)(rng_next(rng) % 4));
		return value_text(text, strlen(text));
	}
}

static bool same(const struct value *a, const struct value *b)
{
	return value_equal(&a[0], &b[0]) && value_equal(&a[1], &b[1]);
}

/* What the numbers of the group are, by the list. */
static void assert_totals(const struct group *group, const struct added *added, size_t count)
{
	__int128 sum = 0, magnitude = 0, least = 0, most = 0;
	uint64_t n = 0, low = 0;

	for (size_t i = 0; i < count; i++) {
		__int128 number = added[i].number;
		if (added[i].gone || !same(added[i].keys, group->keys))
			continue;
		sum += number;
		magnitude += number < 0 ? -number : number;
		least = !n || number < least ? number : least;
		most = !n || number > most ? number : most;
		low += number < -50;
		n++;
	}
	for (size_t k = 0; k < NAGGREGATES; k++)
		assert_int_equal(group->totals[k].count, n);
	assert_true(group->totals[1].number == sum);
	assert_true(group->totals[2].number == magnitude);
	assert_true(!n || group->totals[3].number == least);
	assert_true(!n || group->totals[4].number == most);
	assert_int_equal(group->totals[6].buckets[0], low);
	for (size_t k = 5; k < NAGGREGATES; k++) {
		uint32_t end, first = accumulator_buckets(&aggregates[k], &group->totals[k], &end);
		uint64_t held = 0;
		for (uint32_t i = first; i < end; i++) {
			struct bucket bucket =
				accumulator_bucket(&aggregates[k], &group->totals[k], i);
			uint64_t walked = 0;
			for (size_t a = 0; a < count; a++)
				walked += !added[a].gone && same(added[a].keys, group->keys) &&
					  (!bucket.has_low || added[a].number >= bucket.low) &&
					  (!bucket.has_high || added[a].number < bucket.high);
			assert_int_equal(bucket.count, walked);
			held += bucket.count;
		}
		assert_int_equal(held, n);
	}
}

static void assert_groups(const struct groups *groups, const struct added *added, size_t count)
{
	const struct group *group;
	size_t seen = 0;

	for (size_t i = 0; (group = groups_next(groups, &i)); seen++)
		assert_totals(group, added, count);
	assert_int_equal(seen, groups->count);
	for (size_t i = 0; i < count; i++)
		assert_true((groups_find(groups, added[i].keys) != NULL) >= !added[i].gone);
}

/* Adds numbers to random groups, and deletes some: what it did is in `added`. */
static void fill(struct groups *groups, struct rng *rng, struct added *added, struct arena *arena)
{
	for (size_t i = 0; i < ADDED; i++) {
		char texts[NKEYS][16];
		struct value keys[NKEYS];
		for (size_t k = 0; k < NKEYS; k++)
			keys[k] = random_key(rng, texts[k], sizeof texts[k]);
		added[i].number = (__int128)(int64_t)rng_next(rng) >> rng_next(rng) % 64;
		for (size_t k = 0; k < NKEYS; k++)
			added[i].keys[k] = value_copy(arena, &keys[k]);
		struct group *group = groups_at(groups, keys);
		for (size_t k = 0; k < NAGGREGATES; k++)
			accumulate(&aggregates[k], &group->totals[k], added[i].number);
		if (rng_next(rng) % 50)
			continue;
		groups_delete(groups, groups_find(groups, keys));
		assert_null(groups_find(groups, keys));
		for (size_t a = 0; a <= i; a++)
			added[a].gone |= same(added[a].keys, keys);
	}
}

static void groups_hold_what_a_walk_finds(void **state)
{
	struct groups sets[2];
	struct added *added = mem_new_array(2 * ADDED, sizeof *added);
	struct arena *arena = arena_new();
	uint64_t bytes = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct rng rng = {seed};
		memset(added, 0, 2 * ADDED * sizeof *added);
		for (size_t s = 0; s < 2; s++) {
			sets[s] = (struct groups){.nkeys = NKEYS,
						  .naggregates = NAGGREGATES,
						  .aggregates = aggregates,
						  .all = &bytes};
			fill(&sets[s], &rng, added + s * ADDED, arena);
			assert_groups(&sets[s], added + s * ADDED, ADDED);
		}
		assert_true(groups_join(&sets[0], &sets[1]));
		assert_groups(&sets[0], added, 2 * ADDED);
		assert_int_equal(bytes, sets[0].bytes + sets[1].bytes);
		groups_clear(&sets[0]);
		groups_clear(&sets[1]);
		assert_int_equal(bytes, 0);
	}
	arena_free(arena);
	mem_free(added);
}

static void limits_hold(void **state)
{
	struct groups groups = {.nkeys = 1, .most = 3}, others = {.nkeys = 1};
	struct value key;

	(void)state;
	for (int64_t i = 0; i < 3; i++) {
		key = value_s64(i);
		assert_non_null(groups_at(&groups, &key));
	}
	key = value_s64(3);
	assert_null(groups_at(&groups, &key));
	assert_non_null(groups_at(&others, &key));
	assert_false(groups_join(&groups, &others));
	key = value_s64(1);
	groups_delete(&groups, groups_at(&groups, &key));
	assert_true(groups_join(&groups, &others)); /* there is room */
	groups.most = 0;
	groups.bytes_most = groups.bytes - 1;
	assert_true(groups_are_large(&groups));
	assert_null(groups_at(&groups, &key));
	groups_clear(&groups);
	groups_clear(&others);
}

static void empty_texts_are_a_key(void **state)
{
	struct groups groups = {.nkeys = 2};
	const struct value keys[] = {value_text("", 0), value_text("", 0)};

	(void)state;
	struct group *group = groups_at(&groups, keys);
	assert_string_equal(group->keys[1].text, "");
	assert_ptr_equal(groups_find(&groups, keys), group);
	groups_clear(&groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_hold_what_a_walk_finds),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(empty_texts_are_a_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
