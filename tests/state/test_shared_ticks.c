/*
 * test_shared_ticks.c - attributes that change only when another one does
 *
 * Columns are sets of ticks here, so that the definition is short: a follower's set is within its
 * leader's.
 */
#include "state/slices/shared_ticks.h"

#include "fixtures/rng.h"
#include "state/slices/bits.h"
#include "tests/harness.h"

#include <stdbool.h>

enum { TICKS = 128, COLUMNS = 20, ALONE = -1 };

struct steps {
	unsigned first, step, count;
};

static const struct row {
	const char *name;
	struct steps columns[COLUMNS]; /* up to one without ticks */
	int leaders[COLUMNS];
} rows[] = {
	{"no column at all", {{0}}, {0}},
	{"one column stands alone", {{0, 1, 64}}, {ALONE}},
	{"every second tick of another", {{0, 1, 32}, {1, 2, 16}}, {ALONE, 0}},
	{"a later column may lead", {{1, 2, 16}, {0, 1, 32}}, {1, ALONE}},
	{"of two with the same ticks the first follows", {{5, 3, 20}, {5, 3, 20}}, {1, ALONE}},
	{"8 changes follow", {{0, 1, 32}, {3, 4, 8}}, {ALONE, 0}},
	{"7 changes do not follow", {{0, 1, 32}, {7, 4, 7}}, {ALONE, ALONE}},
	{"a leader has 8 times as many changes", {{0, 1, 64}, {0, 9, 8}}, {ALONE, 0}},
	{"a leader has no more than that", {{0, 1, 65}, {0, 9, 8}}, {ALONE, ALONE}},
	{"the last tick alone is shared", {{0, 2, 16}, {0, 3, 11}}, {ALONE, ALONE}},
	{"the last tick is not shared", {{0, 1, 20}, {5, 1, 16}}, {ALONE, ALONE}},
	{"the one with the fewest changes leads",
	 {{0, 1, 64}, {3, 4, 16}, {1, 2, 32}},
	 {ALONE, 2, ALONE}},
	{"a leader does not follow", {{3, 4, 16}, {1, 2, 32}, {0, 1, 64}}, {1, ALONE, ALONE}},
	{"a follower does not lead", {{0, 1, 64}, {1, 2, 32}, {3, 4, 16}}, {ALONE, 0, 0}},
	{"16 that change at one tick",
	 {{0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8}},
	 {1, ALONE, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{"17 that change at one tick are not compared",
	 {{0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8},
	  {0, 1, 8}},
	 {ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE, ALONE,
	  ALONE, ALONE, ALONE, ALONE}},
};

struct ticks {
	bool has[TICKS];
	unsigned size;
};

/* Column c is of attribute `first_attr` + 3 * c. */
struct columns {
	struct ticks items[COLUMNS];
	size_t count;
	uint64_t first_attr;
	unsigned tick_bits;
	uint32_t nticks;
};

static uint64_t attr_of(const struct columns *columns, size_t c)
{
	return columns->first_attr + 3 * c;
}

static void add_tick(struct ticks *ticks, unsigned tick)
{
	ticks->size += !ticks->has[tick];
	ticks->has[tick] = true;
}

static size_t make_keys(const struct columns *columns, uint64_t *keys)
{
	size_t count = 0;

	for (size_t c = 0; c < columns->count; c++)
		for (unsigned tick = 0; tick < TICKS; tick++)
			if (columns->items[c].has[tick])
				keys[count++] = attr_of(columns, c) << columns->tick_bits | tick;
	return count;
}

/* A follower's keys are places behind its leader's first change; all others stay as they are. */
static void ticks_come_back(const struct columns *columns, const int *leaders)
{
	uint64_t keys[COLUMNS * TICKS], starts[COLUMNS];
	uint64_t mask = bits_mask(columns->tick_bits);
	size_t count = make_keys(columns, keys), at = 0, shared = 0;
	struct shared_ticks found;

	for (size_t c = 0; c < columns->count; at += columns->items[c++].size)
		starts[c] = at;
	shared_ticks_find(keys, count, columns->tick_bits, columns->nticks, &found);
	for (size_t c = 0; c < columns->count; c++) {
		size_t end = starts[c] + columns->items[c].size;
		bool follows = leaders[c] != ALONE;

		if (follows) {
			assert_true(shared < found.followers.count);
			assert_true(found.followers.keys[shared] == attr_of(columns, c));
			assert_true(found.followers.extra[shared++] == starts[leaders[c]]);
		}
		for (size_t i = starts[c]; i < end; i++) {
			uint64_t place = found.keys[i] & mask;

			assert_true(found.keys[i] >> columns->tick_bits == attr_of(columns, c));
			assert_true(!follows || place < columns->items[leaders[c]].size);
			if (follows)
				place = keys[starts[leaders[c]] + place] & mask;
			assert_true(place == (keys[i] & mask));
		}
	}
	assert_int_equal(found.followers.count, shared);
	shared_ticks_release(&found);
}

static void leaders_are(void **state)
{
	const struct row *row = *state;
	struct columns columns = {.tick_bits = 7, .nticks = 127};

	for (; row->columns[columns.count].count; columns.count++) {
		const struct steps *steps = &row->columns[columns.count];

		for (unsigned i = 0; i < steps->count; i++)
			add_tick(&columns.items[columns.count], steps->first + i * steps->step);
	}
	ticks_come_back(&columns, row->leaders);
	columns.first_attr = bits_mask(57) - 3 * COLUMNS; /* keys of 64 bits */
	ticks_come_back(&columns, row->leaders);
}

static bool is_within(const struct ticks *ticks, const struct ticks *others)
{
	for (unsigned tick = 0; tick < TICKS; tick++)
		if (ticks->has[tick] && !others->has[tick])
			return false;
	return true;
}

/* At the column's last tick. */
static unsigned changes_at_end(const struct columns *columns, size_t c)
{
	unsigned last = TICKS - 1, count = 0;

	while (!columns->items[c].has[last])
		last--;
	for (size_t other = 0; other < columns->count; other++)
		count += columns->items[other].has[last];
	return count;
}

/* By definition: the smallest set that holds the column's and does not follow itself. */
static int leader_of(const struct columns *columns, size_t c, const int *leaders)
{
	const struct ticks *ticks = &columns->items[c];
	int best = ALONE;

	for (size_t other = 0; other < c; other++)
		if (leaders[other] == (int)c)
			return ALONE;
	if (ticks->size < 8 || changes_at_end(columns, c) > 16)
		return ALONE;
	for (size_t other = 0; other < columns->count; other++) {
		const struct ticks *others = &columns->items[other];

		if (other != c && is_within(ticks, others) && others->size <= 8 * ticks->size &&
		    (other > c || leaders[other] == ALONE) &&
		    (best == ALONE || others->size < columns->items[best].size))
			best = (int)other;
	}
	return best;
}

/* New ticks by chance, or some of those of a column before it. */
static void random_column(struct columns *columns, struct rng *rng)
{
	struct ticks *ticks = &columns->items[columns->count];
	uint32_t from = rng_below(rng, (uint32_t)columns->count + 1), rare = 1 + rng_below(rng, 9);

	for (unsigned tick = 0; tick < columns->nticks; tick++)
		if ((from == columns->count || columns->items[from].has[tick]) &&
		    rng_once_in(rng, rare))
			add_tick(ticks, tick);
	if (!ticks->size)
		add_tick(ticks, rng_below(rng, columns->nticks));
	columns->count++;
}

static void random_columns_have_the_leaders_of_the_definition(void **state)
{
	struct rng rng = {11};
	size_t followers = 0, alone = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct columns columns = {.first_attr = rng_next(&rng) >> 20};
		uint32_t count = rng_below(&rng, COLUMNS) + 1;
		int leaders[COLUMNS];

		columns.nticks = 1 + rng_below(&rng, TICKS);
		columns.tick_bits = bits_width(columns.nticks);
		while (columns.count < count)
			random_column(&columns, &rng);
		for (size_t c = 0; c < count; c++) {
			leaders[c] = leader_of(&columns, c, leaders);
			followers += leaders[c] != ALONE;
			alone += leaders[c] == ALONE;
		}
		ticks_come_back(&columns, leaders);
	}
	assert_true(followers > 1000 && alone > 1000);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, leaders_are);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(
		random_columns_have_the_leaders_of_the_definition);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
