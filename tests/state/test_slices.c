/* test_slices.c - slices: what is put comes back, and damaged bytes are refused */
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "state/slices/bits.h"
#include "state/slices/slice.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

struct made {
	uint64_t keys[MOST], extra[MOST];
	int64_t numbers[MOST];
	uint8_t kinds[MOST];
	nstime ticks[MOST], froms[3];
	uint64_t snapshot_keys[MOST];
	struct buf bytes;
	struct slice_parts parts;
};

static struct row {
	const char *name;
	size_t changes;
	uint32_t attrs;  /* numbers below */
	uint64_t stride; /* between ticks */
	int64_t least;
	uint64_t range; /* of numbers */
	unsigned kinds; /* bit per kind that occurs */
	enum { BY_CHANCE, IN_TURN } how;
} rows[] = {
	{"no change at all", 0, 10, 1, 0, 1, 1 << SLICE_INT, BY_CHANCE},
	{"one change", 1, 10, 1, 5, 1, 1 << SLICE_INT, BY_CHANCE},
	{"exactly one block", 64, 3, 7, -5, 10, 1 << SLICE_INT, BY_CHANCE},
	{"one more than a block", 65, 3, 7, -5, 10, 1 << SLICE_INT, BY_CHANCE},
	{"all values equal", 300, 5, 100, 42, 1, 1 << SLICE_STRING, BY_CHANCE},
	{"none, unknown and deleted among integers", 500, 20, 1000, -100, 200,
	 1 << SLICE_INT | 1 << SLICE_NONE | 1 << SLICE_UNKNOWN | 1 << SLICE_DELETED, BY_CHANCE},
	{"nothing but none", 100, 4, 3, 0, 1, 1 << SLICE_NONE, BY_CHANCE},
	{"kinds mixed", 700, 50, 12345, -9, 1000,
	 1 << SLICE_INT | 1 << SLICE_STRING | 1 << SLICE_BOOL | 1 << SLICE_FLOAT | 1 << SLICE_NONE,
	 BY_CHANCE},
	{"integers beyond 2^63", 400, 9, 3, INT64_MIN, UINT64_MAX, 1 << SLICE_UINT | 1 << SLICE_INT,
	 BY_CHANCE},
	{"the whole range with none", 400, 9, 3, INT64_MIN, UINT64_MAX,
	 1 << SLICE_INT | 1 << SLICE_NONE, BY_CHANCE},
	{"numbers far apart", 900, 4000000, 1, 0, 5, 1 << SLICE_BOOL, BY_CHANCE},
	{"ticks far apart", 900, 7, UINT64_C(1) << 50, 0, 5, 1 << SLICE_INT, BY_CHANCE},
	{"few values far apart", 600, 30, 9, -4000000, 2, 1 << SLICE_INT | 1 << SLICE_UNKNOWN,
	 BY_CHANCE},
	{"none and a value in turn", 700, 3, 40, 7, 20, 1 << SLICE_STRING, IN_TURN},
};

static uint8_t pick_kind(struct rng *rng, unsigned kinds)
{
	uint8_t kind;

	do
		kind = (uint8_t)(rng_next(rng) % 8);
	while (!(kinds >> kind & 1));
	return kind;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t without_repetition(uint64_t *keys, size_t count)
{
	size_t kept = 0;

	qsort(keys, count, sizeof *keys, by_key);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || keys[i] != keys[kept - 1])
			keys[kept++] = keys[i];
	return kept;
}

static void make(const struct row *row, struct made *out)
{
	struct rng rng = {row->changes + row->attrs};
	struct slice_column snapshot = {.keys = out->snapshot_keys,
					.numbers = out->numbers,
					.kinds = out->kinds,
					.extra = out->extra};
	uint32_t nticks = (uint32_t)(row->changes + 1) / 2;

	for (uint32_t i = 0; i < nticks; i++)
		out->ticks[i] = -1000 + (nstime)((uint64_t)i * row->stride);
	out->parts.tick_bits = bits_width(nticks);
	for (size_t i = 0; i < row->changes; i++) {
		out->snapshot_keys[i] = rng_next(&rng) % row->attrs;
		out->keys[i] = rng_next(&rng) % row->attrs << out->parts.tick_bits |
			       rng_next(&rng) % nticks;
		out->kinds[i] = pick_kind(&rng, row->kinds);
		if (row->how == IN_TURN && i % 2)
			out->kinds[i] = SLICE_NONE;
		out->numbers[i] = 0;
		if (out->kinds[i] >= SLICE_INT)
			out->numbers[i] =
				(int64_t)((uint64_t)row->least + rng_next(&rng) % row->range);
		out->extra[i] = rng_next(&rng) % 6;
	}
	snapshot.count = without_repetition(out->snapshot_keys, row->changes);
	out->froms[0] = NSTIME_MIN;
	out->froms[1] = -5000;
	out->froms[2] = 7;
	out->parts.number = 3;
	out->parts.ticks = out->ticks;
	out->parts.nticks = nticks;
	out->parts.begin = -1000;
	out->parts.changes = (struct slice_column){out->keys,
						   out->numbers,
						   out->kinds,
						   NULL,
						   without_repetition(out->keys, row->changes),
						   0};
	out->parts.snapshot = snapshot;
	out->parts.fills = out->parts.changes;
	out->parts.fills.extra = out->extra;
	out->parts.froms = out->froms;
	out->parts.nfroms = 3;
	slice_put(&out->parts, &out->bytes);
}

static struct made *made_new(const struct row *row)
{
	struct made *made = mem_new(sizeof *made);

	make(row, made);
	return made;
}

static void made_free(struct made *made)
{
	buf_release(&made->bytes);
	mem_free(made);
}

static void same_column(const struct slice_run *run, const uint64_t *expected,
			const struct made *made, size_t count, bool extra)
{
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	assert_int_equal(run->count, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t j = (uint32_t)(i / SLICE_BLOCK), at = (uint32_t)(i % SLICE_BLOCK), place;
		uint64_t found;

		assert_true(slice_block_open(run, j, &block));
		assert_true(slice_block_keys(&block, keys));
		assert_true(keys[at] == expected[i]);
		assert_true(slice_block_before(&block, expected[i], &place, &found));
		assert_true(found == expected[i] && place == at);
		struct slice_value value = slice_block_value(&block, at), values[SLICE_BLOCK];
		assert_int_equal(value.kind, made->kinds[i]);
		assert_true(value.number == made->numbers[i]);
		slice_block_values(&block, values);
		assert_int_equal(values[at].kind, value.kind);
		assert_true(values[at].number == value.number);
		if (extra)
			assert_true(slice_block_extra(&block, at) == made->extra[i]);
	}
}

/* Changes as one reads them. */
static void changes_come_back(const struct slice *slice, const struct made *made)
{
	size_t count = made->parts.changes.count;
	struct slice_opened open = {.j = 0};

	assert_int_equal(slice->changes.count, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t mask = bits_mask(slice->tick_bits), number = made->keys[i] & ~mask;
		uint32_t attr = (uint32_t)(made->keys[i] >> slice->tick_bits), at;
		uint32_t tick = (uint32_t)(made->keys[i] & mask);
		struct slice_value value;

		assert_true(slice_opened_at(&open, &slice->changes, (uint32_t)(i / SLICE_BLOCK)));
		assert_true(open.keys[i % SLICE_BLOCK] == made->keys[i]);
		assert_true(slice_change(slice, attr, tick, &value, &at));
		assert_true(at == tick && value.number == made->numbers[i]);
		assert_int_equal(value.kind, made->kinds[i]);
		assert_true(slice_change_from(slice, attr, tick, &value, &at));
		assert_true(at == tick && value.number == made->numbers[i]);
		bool last = i + 1 == count || (made->keys[i + 1] & ~mask) != number;
		assert_int_equal(slice_change_from(slice, attr, tick + 1, &value, &at), !last);
		assert_true(last || at == (made->keys[i + 1] & mask));
		if (i == 0 || (made->keys[i - 1] & ~mask) != number)
			assert_true(tick == 0 || !slice_change(slice, attr, tick - 1, &value, &at));
	}
	assert_false(*slice->damaged);
}

/* What the moment must say of an attribute: its last change up to the tick, or the snapshot. */
static bool expect(const struct slice_item *item, const struct slice *slice,
		   const struct made *made, size_t change, size_t before)
{
	size_t i = change == SIZE_MAX ? before : change;

	if (change == SIZE_MAX)
		assert_true(item->at == made->extra[i]);
	else
		assert_true(item->at == (made->keys[i] & bits_mask(slice->tick_bits)));
	assert_int_equal(item->kind, made->kinds[i]);
	return item->value == made->numbers[i];
}

static void moment_is(const struct slice *slice, const struct made *made, const uint32_t *tick)
{
	unsigned bits = slice->tick_bits;
	struct slice_items items = {0};
	size_t n = 0, before = 0, i = 0;

	assert_true(slice_moment(slice, tick, &items));
	while (i < made->parts.changes.count || before < made->parts.snapshot.count) {
		uint64_t attr = UINT64_MAX;
		size_t last = SIZE_MAX;
		bool snapshot;

		if (i < made->parts.changes.count)
			attr = made->keys[i] >> bits;
		snapshot =
			before < made->parts.snapshot.count && made->snapshot_keys[before] <= attr;
		if (snapshot)
			attr = made->snapshot_keys[before];
		for (; i < made->parts.changes.count && made->keys[i] >> bits == attr; i++)
			if (tick && (made->keys[i] & bits_mask(bits)) <= *tick)
				last = i;
		if (last != SIZE_MAX || snapshot) {
			assert_true(n < items.count && items.items[n].number == attr);
			assert_int_equal(items.items[n].of == ITEM_BEFORE, last == SIZE_MAX);
			assert_true(expect(&items.items[n++], slice, made, last, before));
		}
		before += snapshot;
	}
	assert_int_equal(items.count, n);
	mem_free(items.items);
}

/* Of each change: the first and the last of those around it that say the same in a row. */
static void rows_come_back(const struct slice *slice, const struct made *made)
{
	size_t count = made->parts.changes.count;
	unsigned bits = slice->tick_bits;

	for (size_t i = 0; i < count; i++)
		for (int back = 0; back < 2; back++) {
			uint32_t tick = (uint32_t)(made->keys[i] & bits_mask(bits)), at;
			struct slice_value value;
			size_t end = i, next;

			while ((next = back ? end - 1 : end + 1) < count &&
			       made->keys[next] >> bits == made->keys[i] >> bits &&
			       made->kinds[next] == made->kinds[i] &&
			       made->numbers[next] == made->numbers[i])
				end = next;
			assert_true(slice_row(slice, (uint32_t)(made->keys[i] >> bits), tick, back,
					      &value, &at));
			assert_int_equal(at, made->keys[end] & bits_mask(bits));
			assert_true(value.number == made->numbers[i]);
			assert_int_equal(value.kind, made->kinds[i]);
		}
}

static void moments_come_back(void **state)
{
	struct made *made = made_new(*state);
	bool damaged = false;
	struct slice slice;
	struct error err;

	assert_true(slice_open(made->bytes.data, made->bytes.len, &damaged, &slice, &err));
	rows_come_back(&slice, made);
	moment_is(&slice, made, NULL);
	for (uint32_t tick = 0; tick < slice.nticks; tick++)
		moment_is(&slice, made, &tick);
	assert_false(damaged);
	made_free(made);
}

static void comes_back(void **state)
{
	struct made *made = made_new(*state);
	bool damaged = false;
	struct slice slice;
	struct error err;

	if (!slice_open(made->bytes.data, made->bytes.len, &damaged, &slice, &err))
		fail_msg("%s", err.text);
	assert_int_equal(slice.number, 3);
	assert_int_equal(slice.nticks, made->parts.nticks);
	changes_come_back(&slice, made);
	same_column(&slice.changes, made->keys, made, made->parts.changes.count, false);
	same_column(&slice.snapshot, made->snapshot_keys, made, made->parts.snapshot.count, true);
	same_column(&slice.fills, made->keys, made, made->parts.changes.count, true);
	for (uint32_t i = 0; i < slice.nticks; i++) {
		assert_true(slice_tick_time(&slice, i) == made->ticks[i]);
		assert_int_equal(slice_tick_at(&slice, made->ticks[i]), i);
	}
	assert_false(damaged);
	made_free(made);
}

/* Reads everything: a damaged slice may say anything, but nothing outside of it is looked at. */
static void read_all(const uint8_t *bytes, size_t size)
{
	uint64_t keys[SLICE_BLOCK], age;
	struct slice_value value, values[SLICE_BLOCK];
	struct slice_block block;
	struct slice_fill fill;
	struct slice_items items = {0};
	bool damaged = false;
	struct slice slice;
	struct error err;
	uint32_t tick;

	if (!slice_open(bytes, size, &damaged, &slice, &err))
		return;
	const struct slice_run *runs[] = {&slice.changes, &slice.snapshot, &slice.fills};
	for (size_t r = 0; r < COUNT(runs); r++)
		for (uint32_t j = 0; j < runs[r]->nblocks; j++) {
			if (!slice_block_open(runs[r], j, &block) ||
			    !slice_block_keys(&block, keys))
				continue;
			slice_block_values(&block, values);
			for (uint32_t i = 0; i < block.count; i++) {
				slice_block_value(&block, i);
				slice_block_extra(&block, i);
			}
		}
	for (uint32_t i = 0; i < slice.nticks && i < MOST; i++)
		slice_tick_time(&slice, i);
	for (tick = 0; tick < 400; tick += 133)
		slice_moment(&slice, &tick, &items);
	mem_free(items.items);
	tick = slice_tick_at(&slice, 0);
	slice_change(&slice, 2, tick, &value, &tick);
	slice_change_from(&slice, 2, tick, &value, &tick);
	slice_row(&slice, 2, tick, true, &value, &tick);
	slice_row(&slice, 2, tick, false, &value, &tick);
	slice_before(&slice, 2, &value, &age);
	slice_fill(&slice, 2, 0, &fill);
}

static void damage_is_harmless(void **state)
{
	struct made *made = made_new(*state);
	struct rng rng = {made->bytes.len};
	uint8_t *copy = mem_new(made->bytes.len);

	for (int i = 0; i < 2000; i++) {
		memcpy(copy, made->bytes.data, made->bytes.len);
		for (uint64_t n = 1 + rng_next(&rng) % 4; n-- > 0;)
			copy[rng_next(&rng) % (i % 2 ? 72 : made->bytes.len)] =
				(uint8_t)rng_next(&rng);
		read_all(copy, made->bytes.len);
	}
	mem_free(copy);
	for (size_t size = 0; size < made->bytes.len; size++) {
		bool damaged = false;
		struct slice slice;
		struct error err;

		copy = mem_new(size + 1);
		memcpy(copy, made->bytes.data, size);
		assert_false(slice_open(copy, size, &damaged, &slice, &err));
		mem_free(copy);
	}
	made_free(made);
}

int main(void)
{
	struct CMUnitTest tests[3 * COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++) {
		tests[3 * i] = (struct CMUnitTest){rows[i].name, comes_back, NULL, NULL, &rows[i]};
		tests[3 * i + 1] =
			(struct CMUnitTest){rows[i].name, moments_come_back, NULL, NULL, &rows[i]};
		tests[3 * i + 2] =
			(struct CMUnitTest){rows[i].name, damage_is_harmless, NULL, NULL, &rows[i]};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
