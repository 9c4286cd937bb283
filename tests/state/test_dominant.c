/* test_dominant.c - which values held longest: against a look at every change; damaged bytes */
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "state/slices/bits.h"
#include "state/slices/dominant.h"
#include "tests/harness.h"

#include <string.h>

enum { CHANGES = 400, ATTRS = 5, VALUES = 24, TICK_BITS = 10 };

static struct row {
	const char *name;
	uint64_t values; /* numbers below */
	uint64_t stride; /* between ticks, at most */
	unsigned none;   /* one in so many changes is to none; 0: no one */
	uint32_t least;
} rows[] = {
	{"one value all the time", 1, 9, 0, 1},
	{"a few values", 3, 1000, 0, 1},
	{"a few values and none", 3, 1000, 4, 1},
	{"nothing but none", 1, 5, 1, 1},
	{"more values than are listed", VALUES, 1000, 0, 1},
	{"more values and none, far apart", VALUES, UINT64_C(1) << 40, 5, 1},
	{"busy ones alone", 4, 50, 0, 100},
};

struct made {
	uint64_t keys[CHANGES], live_keys[ATTRS];
	int64_t numbers[CHANGES], live_numbers[ATTRS];
	uint8_t kinds[CHANGES], live_kinds[ATTRS];
	nstime ticks[CHANGES];
	struct slice_parts parts;
	struct buf bytes;
};

/* Each tick changes one attribute; attribute a is number 10 a, low ones change more often. */
static void make(const struct row *row, struct made *made)
{
	struct rng rng = {.state = 7};
	size_t count = 0;
	uint8_t owner[CHANGES];

	memset(made, 0, sizeof *made);
	for (size_t i = 0; i < CHANGES; i++) {
		made->ticks[i] = (i ? made->ticks[i - 1] : -500) + 1 +
				 (nstime)(rng_next(&rng) % row->stride);
		owner[i] = (uint8_t)((rng_next(&rng) % ATTRS) * (rng_next(&rng) % ATTRS) / ATTRS);
	}
	for (uint8_t a = 0; a < ATTRS; a++) {
		made->live_keys[a] = a * 10U;
		made->live_kinds[a] = row->none == 1 ? SLICE_NONE : SLICE_INT;
		for (size_t i = 0; i < CHANGES; i++) {
			if (owner[i] != a)
				continue;
			bool none = row->none && rng_next(&rng) % row->none == 0;
			uint64_t value =
				rng_next(&rng) % row->values * rng_next(&rng) % row->values;

			made->keys[count] = (uint64_t)a * 10 << TICK_BITS | i;
			made->kinds[count] = none ? SLICE_NONE : SLICE_INT;
			made->numbers[count++] = none ? 0 : (int64_t)value;
		}
	}
	made->parts = (struct slice_parts){
		.ticks = made->ticks,
		.nticks = CHANGES,
		.begin = made->ticks[0],
		.tick_bits = TICK_BITS,
		.changes = {made->keys, made->numbers, made->kinds, NULL, CHANGES, 0},
		.snapshot = {made->live_keys, made->live_numbers, made->live_kinds, NULL, ATTRS,
			     0}};
}

struct truth {
	uint64_t time[VALUES], none; /* up to the last tick */
	bool held[VALUES], none_held;
	size_t changes;
};

/* Tick by tick. */
static void look(const struct made *made, uint32_t a, struct truth *out)
{
	struct slice_value now = {0, made->live_kinds[a]};
	size_t at = 0;

	*out = (struct truth){0};
	while (at < CHANGES && made->keys[at] >> TICK_BITS < a * 10)
		at++;
	for (size_t i = 0; i < CHANGES; i++) {
		uint64_t time =
			i + 1 < CHANGES ? (uint64_t)(made->ticks[i + 1] - made->ticks[i]) : 0;

		if (at < CHANGES && made->keys[at] == ((uint64_t)a * 10 << TICK_BITS | i)) {
			now = (struct slice_value){made->numbers[at], made->kinds[at]};
			at++;
			out->changes++;
		}
		if (now.kind == SLICE_NONE) {
			out->none += time;
			out->none_held = true;
		} else {
			out->time[now.number] += time;
			out->held[now.number] = true;
		}
	}
}

static void check_top(const struct top *top, const struct truth *truth)
{
	bool listed[VALUES] = {false}, others = false;

	assert_int_equal(top->none, truth->none_held);
	for (uint32_t i = 0; i < top->count; i++) {
		int64_t number = top->values[i].value.number;

		assert_int_equal(top->values[i].value.kind, SLICE_INT);
		assert_true(number >= 0 && number < VALUES && !listed[number]);
		assert_true(truth->held[number]);
		assert_true(top->values[i].time <= truth->time[number]);
		assert_true(truth->time[number] - top->values[i].time < top->unit);
		listed[number] = true;
	}
	for (size_t v = 0; v < VALUES; v++) {
		if (!truth->held[v] || listed[v])
			continue;
		others = true;
		assert_true(truth->time[v] <= top->most);
	}
	assert_int_equal(top->others, others);
}

static void longest_are_listed(void **state)
{
	const struct row *row = *state;
	struct made *made = mem_new(sizeof *made);
	struct dominant_work *work = NULL;
	struct dominant dominant, all;
	struct truth truth;
	struct top top;

	make(row, made);
	for (int again = 0; again < 2; again++) {
		buf_clear(&made->bytes);
		dominant_put(&made->parts, row->least, &work, &made->bytes);
	}
	struct bytes bytes = {(const uint8_t *)made->bytes.data, made->bytes.len};
	assert_true(dominant_open(bytes, &dominant));
	all = dominant;
	for (uint32_t a = 0; a < ATTRS; a++) {
		look(made, a, &truth);
		bool found = dominant_find(&dominant, a * 10, &top);
		assert_int_equal(found, truth.changes >= row->least);
		assert_false(dominant_find(&dominant, a * 10 + 5, &top));
		if (!found)
			continue;
		assert_true(dominant_next(&all, &top));
		assert_int_equal(top.number, a * 10);
		check_top(&top, &truth);
	}
	assert_true(!dominant_next(&all, &top) && all.rest.at == all.rest.end);
	dominant_work_free(work);
	buf_release(&made->bytes);
	mem_free(made);
}

static void what_is_not_known_has_none(void **state)
{
	struct made *made = mem_new(sizeof *made);
	struct dominant_work *work = NULL;
	struct dominant dominant;
	struct top top;

	(void)state;
	make(&rows[1], made);
	made->kinds[3] = SLICE_UNKNOWN; /* of attribute 0 */
	made->live_kinds[1] = SLICE_DELETED;
	made->parts.snapshot.count = 3; /* of the next one nothing is known at first */
	dominant_put(&made->parts, 1, &work, &made->bytes);
	assert_true(dominant_open(
		(struct bytes){(const uint8_t *)made->bytes.data, made->bytes.len}, &dominant));
	assert_true(dominant_next(&dominant, &top));
	assert_int_equal(top.number, 20);
	assert_true(!dominant_next(&dominant, &top) && dominant.rest.at == dominant.rest.end);
	dominant_work_free(work);
	buf_release(&made->bytes);
	mem_free(made);
}

/* Every bit turned, and cut anywhere. */
static void damage_is_seen(void **state)
{
	const struct row *row = *state;
	struct made *made = mem_new(sizeof *made);
	struct dominant_work *work = NULL;
	struct dominant dominant;

	make(row, made);
	dominant_put(&made->parts, row->least, &work, &made->bytes);
	for (size_t i = 0; i < made->bytes.len; i++) {
		uint8_t *copy = mem_new(made->bytes.len);

		memcpy(copy, made->bytes.data, made->bytes.len);
		copy[i] ^= (uint8_t)(1 << i % 8);
		assert_false(dominant_open((struct bytes){copy, made->bytes.len}, &dominant));
		copy[i] ^= (uint8_t)(1 << i % 8);
		assert_false(dominant_open((struct bytes){copy, i}, &dominant));
		mem_free(copy);
	}
	dominant_work_free(work);
	buf_release(&made->bytes);
	mem_free(made);
}

int main(void)
{
	struct CMUnitTest tests[2 * COUNT(rows) + 1];

	for (size_t i = 0; i < COUNT(rows); i++) {
		tests[2 * i] =
			(struct CMUnitTest){rows[i].name, longest_are_listed, NULL, NULL, &rows[i]};
		tests[2 * i + 1] =
			(struct CMUnitTest){rows[i].name, damage_is_seen, NULL, NULL, &rows[i]};
	}
	tests[2 * COUNT(rows)] = (struct CMUnitTest)cmocka_unit_test(what_is_not_known_has_none);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
