/*
 * test_partial.c - partial files against joining in memory, and against damage of every byte
 *
 * The oracle of what is read again is groups_join().
 */
#include "aggregate/partial.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "fixtures/rng.h"

#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { NKEYS = 2, ADDED = 600, SETS = 3 };

static const struct aggregate aggregates[] = {
	{.kind = AGGREGATE_COUNT},
	{.kind = AGGREGATE_SUM},
	{.kind = AGGREGATE_MAGNITUDE},
	{.kind = AGGREGATE_MIN},
	{.kind = AGGREGATE_MAX},
	{.kind = AGGREGATE_LOG2, .bits = 2},
	{.kind = AGGREGATE_LINEAR, .low = -50, .high = 1000, .step = 300},
	{.kind = AGGREGATE_VALUE},
};
enum { NAGGREGATES = COUNT(aggregates) };

static struct groups no_groups(void)
{
	return (struct groups){
		.nkeys = NKEYS, .naggregates = NAGGREGATES, .aggregates = aggregates};
}

/* Of few different keys, of all kinds; texts stand in one buffer, which changes. */
static struct value random_key(struct rng *rng, char *text, size_t room)
{
	switch (rng_next(rng) % 7) {
	case 0:
		return (struct value){.kind = VALUE_UNKNOWN};
	case 1:
		return (struct value){.kind = VALUE_NONE};
	case 2:
		return value_s64((int64_t)(rng_next(rng) % 5) - 2);
	case 3:
		return value_u64(UINT64_MAX - rng_next(rng) % 2);
	case 4:
		return value_bool(rng_next(rng) % 2);
	case 5:
		return (struct value){.kind = VALUE_FLOAT, .f = 0.5 * (double)(rng_next(rng) % 3)};
	default:
		snprintf(text, room, "text %d", (int)(rng_next(rng) % 4));
		return value_text(text, rng_next(rng) % 5 ? strlen(text) : 0);
	}
}

static void add_some(struct groups *to, struct rng *rng)
{
	char texts[NKEYS][16];
	struct value keys[NKEYS];

	for (unsigned i = 0; i < ADDED; i++) {
		__int128 number = (int64_t)(rng_next(rng) >> rng_next(rng) % 64);
		for (unsigned k = 0; k < NKEYS; k++)
			keys[k] = random_key(rng, texts[k], sizeof texts[k]);
		number = rng_next(rng) % 3 ? number : -number;
		struct group *group = groups_at(to, keys);
		for (unsigned k = 0; k + 1 < NAGGREGATES; k++)
			accumulate(&aggregates[k], &group->totals[k], number);
		struct accumulator *last = &group->totals[NAGGREGATES - 1];
		last->value = value_wrapped(value_integer(&last->value) + i);
		last->count++;
	}
}

static void assert_same_totals(const struct group *a, const struct group *b)
{
	for (unsigned k = 0; k < NAGGREGATES; k++) {
		const struct accumulator *p = &a->totals[k], *q = &b->totals[k];
		uint32_t buckets = aggregate_buckets(&aggregates[k]);

		assert_int_equal(p->count, q->count);
		if (buckets)
			assert_memory_equal(p->buckets, q->buckets, buckets * sizeof *p->buckets);
		else if (aggregates[k].kind == AGGREGATE_VALUE)
			assert_true(value_equal(&p->value, &q->value));
		else
			assert_true(p->number == q->number);
	}
}

static void assert_same(const struct groups *a, const struct groups *b)
{
	const struct group *group;

	assert_int_equal(a->count, b->count);
	for (size_t i = 0; (group = groups_next(a, &i));) {
		const struct group *other = groups_find(b, group->keys);
		assert_non_null(other);
		assert_same_totals(group, other);
	}
}

static void read_again_they_are_the_same(void **state)
{
	struct groups sets[SETS], joined = no_groups(), read = no_groups();
	struct rng rng = {.state = 7};
	struct buf body = {0};

	(void)state;
	for (unsigned i = 0; i < SETS; i++) {
		sets[i] = no_groups();
		add_some(&sets[i], &rng);
		assert_true(groups_join(&joined, &sets[i]));
		partial_add_groups(&body, &sets[i]);
	}
	struct cursor in = cursor_over(body.data, body.len);
	for (unsigned i = 0; i < SETS; i++)
		assert_int_equal(partial_take_groups(&in, &read), PARTIAL_TAKEN);
	assert_int_equal(in.pos, in.size);
	assert_same(&joined, &read);
	for (unsigned i = 0; i < SETS; i++)
		groups_clear(&sets[i]);
	groups_clear(&joined);
	groups_clear(&read);
	buf_release(&body);
}

/* Every beginning of the bytes, and every byte changed: an error or other groups, never worse. */
static void damaged_groups_are_refused(void **state)
{
	struct groups groups = no_groups();
	struct rng rng = {.state = 9};
	struct buf body = {0};

	(void)state;
	add_some(&groups, &rng);
	partial_add_groups(&body, &groups);
	for (size_t len = 0; len < body.len; len += 1 + len / 64) {
		struct groups read = no_groups();
		struct cursor in = cursor_over(body.data, len);
		assert_int_equal(partial_take_groups(&in, &read), PARTIAL_DAMAGED);
		groups_clear(&read);
	}
	for (size_t at = 0; at < body.len; at += 1 + at / 64) {
		struct groups read = no_groups();
		struct cursor in = cursor_over(body.data, body.len);
		body.data[at] = (char)~body.data[at];
		(void)!partial_take_groups(&in, &read);
		body.data[at] = (char)~body.data[at];
		groups_clear(&read);
	}
	groups_clear(&groups);
	buf_release(&body);
}

static void a_limit_is_told(void **state)
{
	struct groups groups = no_groups(), few = no_groups();
	struct rng rng = {.state = 11};
	struct buf body = {0};

	(void)state;
	add_some(&groups, &rng);
	partial_add_groups(&body, &groups);
	few.most = groups.count - 1;
	struct cursor in = cursor_over(body.data, body.len);
	assert_int_equal(partial_take_groups(&in, &few), PARTIAL_FULL);
	groups_clear(&groups);
	groups_clear(&few);
	buf_release(&body);
}

static const struct partial example = {.kind = PARTIAL_DO,
				       .i = 2,
				       .n = 5,
				       .trace = UINT64_C(0x123456789abcdef0),
				       .bytes = 1000,
				       .records = 10,
				       .taken = 3,
				       .damaged = 1};

static void write_example(const char *path, struct buf *bytes)
{
	struct partial partial = example;
	struct error err;

	buf_add_text(&partial.question, "yore\n@ = count();");
	buf_add_text(&partial.body, "the body");
	partial_encode(&partial, bytes);
	assert_true(file_write(path, bytes, &err));
	partial_release(&partial);
}

static void a_file_is_read_as_it_was_written(void **state)
{
	char path[64];
	struct buf bytes = {0};
	struct partial read;
	struct error err;

	(void)state;
	snprintf(path, sizeof path, "test_partial.%d", (int)getpid());
	write_example(path, &bytes);
	assert_int_equal(bytes.len, 88 + 17 + 8 + 8);
	assert_memory_equal(bytes.data,
			    "yorepart\1\0\0\0\3\0\0\0\x79\0\0\0\0\0\0\0\2\0\0\0\5\0\0\0", 32);
	assert_true(partial_read(path, &read, &err));
	assert_int_equal(read.kind, PARTIAL_DO);
	assert_int_equal(read.i, 2);
	assert_int_equal(read.n, 5);
	assert_int_equal(read.trace, example.trace);
	assert_int_equal(read.bytes, 1000);
	assert_int_equal(read.records, 10);
	assert_int_equal(read.taken, 3);
	assert_int_equal(read.damaged, 1);
	assert_string_equal(buf_text(&read.question), "yore\n@ = count();");
	assert_string_equal(buf_text(&read.body), "the body");
	partial_release(&read);
	unlink(path);
	assert_false(partial_read(path, &read, &err));
	assert_non_null(strstr(err.text, path));
	buf_release(&bytes);
}

/* Each bit flipped, and each beginning of the file. */
static void a_damaged_file_is_refused(void **state)
{
	char path[64];
	struct buf bytes = {0};
	struct partial read;
	struct error err;

	(void)state;
	snprintf(path, sizeof path, "test_partial.%d", (int)getpid());
	write_example(path, &bytes);
	unlink(path);
	for (size_t i = 0; i < bytes.len * 8; i++) {
		bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
		assert_false(partial_parse("NAME", bytes.data, bytes.len, &read, &err));
		assert_int_equal(strncmp(err.text, "NAME: ", 6), 0);
		bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
	}
	for (size_t len = 0; len < bytes.len; len++)
		assert_false(partial_parse("NAME", bytes.data, len, &read, &err));
	assert_true(partial_parse("NAME", bytes.data, bytes.len, &read, &err));
	partial_release(&read);
	buf_release(&bytes);
}

/* A checksum that was made anew does not hide a head that contradicts itself. */
static void a_wrong_head_is_refused(void **state)
{
	static const struct {
		unsigned at, bytes;
		uint64_t number;
	} wrong[] = {{12, 4, 0}, {12, 4, 5},          {24, 4, 5},          {28, 4, 0},
		     {72, 8, 0}, {72, 8, UINT64_MAX}, {80, 8, UINT64_MAX}, {80, 8, 9}};
	char path[64];
	struct buf bytes = {0};
	struct partial read;
	struct error err;

	(void)state;
	snprintf(path, sizeof path, "test_partial.%d", (int)getpid());
	for (size_t i = 0; i < COUNT(wrong); i++) {
		buf_clear(&bytes);
		write_example(path, &bytes);
		memcpy(bytes.data + wrong[i].at, &wrong[i].number, wrong[i].bytes);
		uint64_t sum = XXH3_64bits(bytes.data, bytes.len - 8);
		memcpy(bytes.data + bytes.len - 8, &sum, 8);
		assert_false(partial_parse("NAME", bytes.data, bytes.len, &read, &err));
		assert_non_null(strstr(err.text, "contradicts"));
	}
	unlink(path);
	buf_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_again_they_are_the_same),
		cmocka_unit_test(damaged_groups_are_refused),
		cmocka_unit_test(a_limit_is_told),
		cmocka_unit_test(a_file_is_read_as_it_was_written),
		cmocka_unit_test(a_damaged_file_is_refused),
		cmocka_unit_test(a_wrong_head_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
