/* test_merge.c - runs that were found ahead are what a look at all heads gives, entry by entry */
#include "tests/harness.h"

#include "engine/batch.h"
#include "engine/event.h"
#include "index/cursor/merge.h"

#include <stdlib.h>

enum { ENTRIES = 12000 /* of all leaves */, LEAVES_MOST = 1000, FIRST_MOST = 4 };

enum pattern { TIES, TURNS, BURSTS, FAR, LATE };

static struct row {
	const char *name;
	uint32_t leaves;
	enum pattern pattern;
	bool backward, values, skips;
} rows[] = {
	{"one leaf", 1, TURNS, false, false, false},
	{"two, equal times", 2, TIES, false, false, false},
	{"three, equal times, backward", 3, TIES, true, false, false},
	{"eight take turns", 8, TURNS, false, true, false},
	{"eight take turns, backward", 8, TURNS, true, true, false},
	{"eight in bursts", 8, BURSTS, false, false, false},
	{"eight in bursts, backward", 8, BURSTS, true, true, false},
	{"seven, centuries apart", 7, FAR, false, false, false},
	{"seven, centuries apart, backward", 7, FAR, true, false, false},
	{"five whose windows begin too early", 5, LATE, false, false, false},
	{"31 take turns", 31, TURNS, false, true, false},
	{"32 take turns", 32, TURNS, false, true, false},
	{"33, equal times, backward", 33, TIES, true, true, false},
	{"100 in bursts", 100, BURSTS, false, true, false},
	{"100 in bursts, backward", 100, BURSTS, true, true, false},
	{"100, centuries apart", 100, FAR, false, true, false},
	{"100, centuries apart, backward", 100, FAR, true, true, false},
	{"100 whose windows begin too early", 100, LATE, false, true, false},
	{"1000 take turns", 1000, TURNS, false, true, false},
	{"1000, equal times, backward", 1000, TIES, true, false, false},
	{"1000, centuries apart", 1000, FAR, false, false, false},
	{"eight take turns, skipped", 8, TURNS, false, true, true},
	{"eight in bursts, skipped", 8, BURSTS, false, false, true},
	{"three, equal times, skipped", 3, TIES, false, false, true},
	{"seven, centuries apart, skipped", 7, FAR, false, false, true},
	{"five whose windows begin too early, skipped", 5, LATE, false, false, true},
	{"100 in bursts, skipped", 100, BURSTS, false, true, true},
	{"1000 take turns, skipped", 1000, TURNS, false, true, true},
};

struct entry { /* in the order in which its leaf gives it */
	nstime time;
	bool loss;
	bool begins; /* a window */
};

struct leaf {
	struct entry *entries;
	uint32_t count, filled, given;
	struct batch *batch;
	uint32_t asked; /* entries that were left when it was last told */
};

struct world {
	const struct row *row;
	struct leaf leaves[LEAVES_MOST];
	struct merge merge;
};

static int64_t less_than(int64_t n)
{
	return (int64_t)(((uint64_t)rand() << 31 ^ (uint64_t)rand()) % (uint64_t)n);
}

/* How much later a leaf's next entry is. */
static int64_t step_of(const struct row *row)
{
	switch (row->pattern) {
	case TIES:
		return less_than(2);
	case BURSTS:
		return less_than(60) ? 1 : less_than(60 * (int64_t)row->leaves + 1);
	case FAR:
		return less_than(9) ? less_than(50) : INT64_MAX / 40 + less_than(INT64_MAX / 40);
	case TURNS:
	case LATE:
		break;
	}
	return less_than(100);
}

static nstime stepped(nstime time, int64_t step)
{
	nstime sum;

	return __builtin_add_overflow(time, step, &sum) || sum >= NSTIME_MAX ? NSTIME_MAX - 1 : sum;
}

static void make_leaf(const struct row *row, struct leaf *leaf)
{
	const uint32_t room = ENTRIES / row->leaves + 1;
	nstime time = row->pattern == FAR ? NSTIME_MIN + 1 : -1000;

	*leaf = (struct leaf){.entries = malloc(room * sizeof *leaf->entries)};
	leaf->count = (uint32_t)less_than(row->leaves > 3 ? room + 1 : 1) + room / 2;
	leaf->count = leaf->count > room ? room : leaf->count;
	for (uint32_t i = 0; i < leaf->count; i++) {
		time = stepped(time, step_of(row));
		leaf->entries[i] = (struct entry){row->backward ? ~time : time, less_than(40) == 0,
						  less_than(30) == 0};
		if (row->pattern == LATE && leaf->entries[i].begins)
			leaf->entries[i].time = time -= less_than(3000);
	}
	leaf->batch = batch_new(BATCH_MIN, row->values ? 50 : 0, NULL);
}

static uint32_t length_of_window(const struct leaf *leaf)
{
	const struct entry *entries = leaf->entries + leaf->filled;
	uint32_t n = 1, most = leaf->count - leaf->filled;

	while (n < most && n < BATCH_MAX && !entries[n].loss && !entries[n].begins)
		n++;
	return n;
}

/* Entry k of a window stands where the merge looks for it; its class says which it is. */
static void fill_batch(const struct row *row, struct leaf *leaf, struct run *run)
{
	struct batch *batch = leaf->batch;
	uint32_t count = length_of_window(leaf), first = (uint32_t)less_than(FIRST_MOST);

	batch_room(batch, first + count);
	batch->count = first + count;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t at = row->backward ? first + count - 1 - k : first + k;
		batch->time[at] = leaf->entries[leaf->filled + k].time;
		batch->class_index[at] = leaf->filled + k;
		if (batch->slots)
			batch->slot[at] = k < 50 ? k : BATCH_NO_VALUES;
	}
	run->batch = batch;
	run->first = first;
	run->count = count;
	leaf->filled += count;
}

static void fill(struct world *world, uint32_t i)
{
	struct leaf *leaf = &world->leaves[i];
	bool some = leaf->filled < leaf->count;

	if (some) {
		struct run *run = merge_window(&world->merge);
		*run = (struct run){.cpu = (int32_t)i};
		if (!leaf->entries[leaf->filled].loss)
			fill_batch(world->row, leaf, run);
		else
			run->loss = (struct event){.time = leaf->entries[leaf->filled++].time};
	}
	leaf->asked = MERGE_SOON + 1;
	merge_refilled(&world->merge, i, some);
}

static void is_told(void *arg, uint32_t i, uint32_t left)
{
	struct world *world = arg;

	assert_in_range(left, 1, MERGE_SOON);
	assert_true(left < world->leaves[i].asked);
	world->leaves[i].asked = left;
}

/* What comes next, by a look at the heads of all. */
static uint32_t least_of(const struct world *world)
{
	uint32_t least = UINT32_MAX;
	int64_t least_key = 0;

	for (uint32_t i = 0; i < world->row->leaves; i++) {
		const struct leaf *leaf = &world->leaves[i];
		if (leaf->given == leaf->count)
			continue;
		nstime time = leaf->entries[leaf->given].time;
		int64_t key = world->row->backward ? ~time : time;
		if (least == UINT32_MAX || key < least_key) {
			least = i;
			least_key = key;
		}
	}
	return least;
}

static void check_run(struct world *world, const struct run *run)
{
	for (uint32_t k = 0; k < run->count || !k; k++) {
		uint32_t i = least_of(world);
		assert_int_equal(run->cpu, i);
		struct leaf *leaf = &world->leaves[i];
		const struct entry *entry = &leaf->entries[leaf->given];
		assert_int_equal(entry->loss, run->count == 0);
		uint32_t at = run->first + (world->row->backward ? run->count - 1 - k : k);
		if (entry->loss)
			assert_true(run->loss.time == entry->time);
		else
			assert_int_equal(run->batch->class_index[at], leaf->given);
		leaf->given++;
	}
}

/* Returns the last entries of the run to the merge; the run has the others, if there are any. */
static bool put_back(struct world *world, struct run *run)
{
	uint32_t count = run->count ? run->count : 1, back = 1 + (uint32_t)less_than(count);

	merge_put_back(&world->merge, back);
	run->count -= run->count ? back : 0;
	return back < count;
}

/* The least head goes, while it is before a time near the present one. */
static void skip_some(struct world *world)
{
	const uint32_t least = least_of(world);
	nstime want = NSTIME_MIN, last = NSTIME_MIN, to;

	if (least == UINT32_MAX)
		return;
	to = world->leaves[least].entries[world->leaves[least].given].time;
	for (int64_t steps = less_than(3) ? less_than(100) : 0; steps > 0; steps--)
		to = stepped(to, step_of(world->row));
	while (!merge_skip(&world->merge, to, &last))
		fill(world, world->merge.empty);
	for (uint32_t i; (i = least_of(world)) != UINT32_MAX;) {
		struct leaf *leaf = &world->leaves[i];
		nstime time = leaf->entries[leaf->given].time;
		if (time >= to)
			break;
		want = time > want ? time : want;
		leaf->given++;
	}
	assert_true(last == want);
}

static void check_next(struct world *world, struct run *run)
{
	bool back = world->row->skips && !less_than(3);

	if (!back || put_back(world, run))
		check_run(world, run);
	if (world->row->skips && !less_than(9))
		skip_some(world);
}

static void merges(void **state)
{
	struct world *world = calloc(1, sizeof *world);
	const struct row *row = world->row = *state;
	struct run run;

	srand(row->leaves);
	merge_init(&world->merge, row->leaves, row->backward);
	world->merge.soon = is_told;
	world->merge.soon_arg = world;
	for (uint32_t i = 0; i < row->leaves; i++) {
		make_leaf(row, &world->leaves[i]);
		fill(world, i);
	}
	merge_build(&world->merge);
	for (;;) {
		if (merge_next(&world->merge, &run))
			check_next(world, &run);
		else if (world->merge.empty != MERGE_NONE)
			fill(world, world->merge.empty);
		else
			break;
	}
	assert_int_equal(least_of(world), UINT32_MAX);
	for (uint32_t i = 0; i < row->leaves; i++) {
		batch_free(world->leaves[i].batch);
		free(world->leaves[i].entries);
	}
	merge_release(&world->merge);
	free(world);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, merges, NULL, NULL, &rows[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
