/*
 * test_gathered.c - changes in order of time become a slice in order of numbers, and its record
 *
 * Oracle: changes and fills sorted by comparing them.
 */
#include "state/slices/gathered.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "state/slices/bits.h"
#include "state/slices/names.h"
#include "tests/harness.h"
#include "tests/state/temp_store.h"

#include <stdlib.h>

enum { MOST = 2000 };

static const struct row {
	const char *name;
	uint32_t numbers, ticks, one_in; /* a number changes at one of so many ticks */
	uint32_t fills_one_in;           /* of the changes; 0: none */
	size_t live;
} rows[] = {
	{"nothing changes", 10, 0, 1, 0, 0},
	{"nothing changes and all live", 64, 0, 1, 0, 64},
	{"one number at one tick", 1, 1, 1, 0, 0},
	{"64 numbers at each tick", 64, 10, 1, 0, 5},
	{"one number more than a word has", 65, 10, 1, 0, 5},
	{"each change is a fill", 20, 30, 2, 1, 10},
	{"few numbers, many ticks", 3, 600, 2, 5, 3},
	{"numbers far apart", 30000, 40, 1000, 3, 100},
};

struct expected {
	uint64_t key; /* number << 32 | tick */
	struct slice_value value;
	bool filled, final;
	nstime from;
};

struct made {
	struct gathered *gathered;
	struct expected changes[MOST];
	size_t count, nfills;
	nstime least_from;
};

static int by_key(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static nstime time_of(uint32_t tick)
{
	return -500 + (nstime)tick * 7;
}

static void add_fill(struct made *made, struct expected *change, struct rng *rng)
{
	struct gathered *gathered = made->gathered;

	change->filled = true;
	change->final = rng_once_in(rng, 2);
	change->from = time_of(rng_below(rng, 20)) - 1000;
	if (made->nfills++ == 0 || change->from < made->least_from)
		made->least_from = change->from;
	*mem_push(gathered->fills, gathered->nfills, gathered->fills_capacity) =
		(struct slice_fill){.attr = (uint32_t)(change->key >> 32),
				    .tick = (uint32_t)change->key,
				    .from = change->from,
				    .final = change->final,
				    .value = change->value};
}

static void add_change(const struct row *row, struct made *made, uint32_t number, uint32_t tick,
		       struct rng *rng)
{
	struct gathered *gathered = made->gathered;
	struct expected *change = &made->changes[made->count++];

	assert_true(made->count <= MOST);
	*change = (struct expected){.key = (uint64_t)number << 32 | tick,
				    .value = {(int64_t)rng_next(rng), SLICE_INT}};
	*mem_push(gathered->changes, gathered->nchanges, gathered->capacity) =
		(struct change_at){change->value.number, number, tick & TICKS, SLICE_INT};
	gathered->touched[number / 64] |= UINT64_C(1) << number % 64;
	if (row->fills_one_in && rng_once_in(rng, row->fills_one_in))
		add_fill(made, change, rng);
}

static void gather(const struct row *row, struct numbers *numbers, struct made *out)
{
	struct gathered *gathered = out->gathered = mem_new(sizeof *gathered);
	struct rng rng = {row->numbers};

	gathered->open = true;
	gathered->number = 4;
	gathered->begin = time_of(0);
	gathered->busy = UINT32_MAX;
	gathered->names = numbers_take(numbers);
	gathered->words = row->numbers / 64 + 1;
	gathered->touched = mem_new_array(gathered->words, sizeof *gathered->touched);
	column_room(&gathered->live, row->live);
	for (size_t i = 0; i < row->live; i++)
		column_add(&gathered->live, i * 3, (struct slice_value){(int64_t)i, SLICE_BOOL}, i);
	for (uint32_t tick = 0; tick < row->ticks; tick++) {
		*mem_push(gathered->ticks, gathered->nticks, gathered->ticks_capacity) =
			time_of(tick);
		for (uint32_t number = rng_below(&rng, row->one_in); number < row->numbers;
		     number += 1 + rng_below(&rng, 2 * row->one_in - 1))
			add_change(row, out, number, tick, &rng);
	}
	out->least_from = out->nfills ? out->least_from : NSTIME_MAX;
	qsort(out->changes, out->count, sizeof *out->changes, by_key);
}

static void changes_are(const struct slice *slice, const struct made *made)
{
	struct slice_opened open = {.j = 0};

	assert_int_equal(slice->changes.count, made->count);
	for (size_t i = 0; i < made->count; i++) {
		const struct expected *change = &made->changes[i];
		uint64_t key = change->key >> 32 << slice->tick_bits | (change->key & UINT32_MAX);
		uint32_t at = (uint32_t)(i % SLICE_BLOCK);

		assert_true(slice_opened_at(&open, &slice->changes, (uint32_t)(i / SLICE_BLOCK)));
		assert_true(open.keys[at] == key);
		struct slice_value value = slice_block_value(&open.block, at);
		assert_true(value.number == change->value.number);
		assert_int_equal(value.kind, SLICE_INT);
	}
}

static void fills_are(const struct slice *slice, const struct made *made)
{
	struct slice_fills fills = {0};
	struct slice_fill fill;

	for (size_t i = 0; i < made->count; i++) {
		const struct expected *change = &made->changes[i];

		if (!change->filled)
			continue;
		assert_true(slice_fills_next(slice, &fills, &fill));
		assert_true(((uint64_t)fill.attr << 32 | fill.tick) == change->key);
		assert_true(fill.from == change->from);
		assert_true(fill.value.number == change->value.number);
		assert_int_equal(fill.final, change->final);
	}
	assert_false(slice_fills_next(slice, &fills, &fill) || *slice->damaged);
}

static void record_is(struct bytes bytes, const struct row *row, const struct made *made,
		      size_t size)
{
	struct slice_record record;

	assert_int_equal(bytes.size, sizeof record);
	memcpy(&record, bytes.data, sizeof record);
	assert_true(record.begin == time_of(0));
	assert_true(record.end == (row->ticks ? time_of(row->ticks - 1) : time_of(0)));
	assert_int_equal(record.bytes, size);
	assert_true(record.least_from == made->least_from);
}

static struct bytes get(struct store_txn *txn, const struct name_key *key)
{
	struct bytes bytes;

	assert_true(store_get(txn, name_key_bytes(key), &bytes));
	return bytes;
}

static void store_it(const struct temp_store *temp, struct gathered *gathered,
		     struct encoding *work)
{
	struct error err;

	if (!gathered_store(gathered, temp->store, work, &err))
		fail_msg("%s", err.text);
}

static void slice_is(const struct temp_store *temp, const struct row *row, const struct made *made)
{
	struct store_txn *txn = temp_store_read(temp);
	struct name_key key;
	bool damaged = false;
	struct slice slice;
	struct error err;
	uint64_t age;

	name_key_data(&key, 4, PART_SLICE);
	struct bytes bytes = get(txn, &key);
	if (!slice_open(bytes.data, bytes.size, &damaged, &slice, &err))
		fail_msg("%s", err.text);
	changes_are(&slice, made);
	fills_are(&slice, made);
	for (uint32_t i = 0; i < row->live; i++) {
		struct slice_value value;

		assert_true(slice_before(&slice, i * 3, &value, &age));
		assert_true(value.number == i && age == i);
	}
	name_key_numbers(&key, KEY_SLICE, &(uint32_t){4}, 1);
	record_is(get(txn, &key), row, made, bytes.size);
	store_read_end(txn);
}

static void changes_come_back(void **state)
{
	const struct row *in_turn[] = {&rows[2], *state};
	struct attrs *attrs = attrs_new();
	struct numbers *numbers = numbers_new(attrs);
	struct encoding work = {0};
	struct temp_store temp;

	temp_store_open(&temp);
	for (size_t i = 0; i < COUNT(in_turn); i++) { /* the encoding's memory grows */
		struct made *made = mem_new(sizeof *made);

		gather(in_turn[i], numbers, made);
		store_it(&temp, made->gathered, &work);
		slice_is(&temp, in_turn[i], made);
		for (size_t word = 0; word < made->gathered->words; word++)
			assert_true(made->gathered->touched[word] == 0);
		gathered_release(made->gathered);
		mem_free(made->gathered);
		mem_free(made);
	}
	temp_store_close(&temp);
	encoding_release(&work);
	numbers_free(numbers);
	attrs_free(attrs);
}

static void without_a_slice_the_rest_is_stored(void **state)
{
	struct gathered *gathered = mem_new(sizeof *gathered);
	struct encoding work = {0};
	struct temp_store temp;
	struct name_key key;
	struct bytes bytes;

	(void)state;
	temp_store_open(&temp);
	buf_add_text(&gathered->resume, "here");
	buf_add_text(&gathered->damage, "that");
	store_it(&temp, gathered, &work);
	gathered_clear(gathered);
	buf_add_text(&gathered->complete, "all");
	store_it(&temp, gathered, &work); /* what is empty stays */
	struct store_txn *txn = temp_store_read(&temp);
	name_key_meta(&key, "resume");
	assert_memory_equal(get(txn, &key).data, "here", 4);
	name_key_meta(&key, "damage");
	assert_memory_equal(get(txn, &key).data, "that", 4);
	name_key_meta(&key, "complete");
	assert_memory_equal(get(txn, &key).data, "all", 3);
	name_key_numbers(&key, KEY_SLICE, &(uint32_t){0}, 1);
	assert_false(store_get(txn, name_key_bytes(&key), &bytes));
	store_read_end(txn);
	temp_store_close(&temp);
	gathered_release(gathered);
	mem_free(gathered);
	encoding_release(&work);
}

static void columns_grow_and_are_empty_then(void **state)
{
	struct slice_column column = {0};

	(void)state;
	for (size_t count = 0; count < 5000; count = count * 2 + 1) {
		column_room(&column, count);
		assert_int_equal(column.count, 0);
		assert_true(column.room >= count);
		for (size_t i = 0; i < count; i++)
			column_add(&column, i, (struct slice_value){-(int64_t)i, SLICE_INT}, i + 1);
		for (size_t i = 0; i < count; i++)
			assert_true(column.keys[i] == i && column.extra[i] == i + 1 &&
				    column.numbers[i] == -(int64_t)i &&
				    column.kinds[i] == SLICE_INT);
	}
	column_release(&column);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, changes_come_back);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(without_a_slice_the_rest_is_stored);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(columns_grow_and_are_empty_then);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
