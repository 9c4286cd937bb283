/* test_exp_golomb.c - gaps as exponential Golomb codes: each bit, and back by both ways there are
 */
#include "state/slices/exp_golomb.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

enum { GAPS = 64, BEHIND = 16 /* bytes that can be loaded */ };

/* Codes by hand, from the picture in exp_golomb.h: the first bit is the least significant one. */
static const struct row {
	const char *name;
	uint64_t gap;
	unsigned k;
	uint64_t code;
	unsigned width;
} rows[] = {
	{"0 is a one alone", 0, 0, 1, 1},
	{"1", 1, 0, 2, 3},
	{"2", 2, 0, 6, 3},
	{"3", 3, 0, 4, 5},
	{"6", 6, 0, 28, 5},
	{"0 of order 2 has two bits behind the one", 0, 2, 1, 3},
	{"3 of order 2", 3, 2, 7, 3},
	{"5 of order 2", 5, 2, 6, 5},
	{"2^62 of order 62", UINT64_C(1) << 62, 62, 2, 65},
	{"27 zeros", (UINT64_C(1) << 27) - 1, 0, UINT64_C(1) << 27, 55},
	{"28 zeros do not go into one step", (UINT64_C(1) << 28) - 1, 0, UINT64_C(1) << 28, 57},
	{"32 zeros, the most", UINT64_C(0xffffffff), 0, UINT64_C(1) << 32, 65},
};

struct written {
	uint8_t bytes[GAPS * 16 + BEHIND + 8];
	uint64_t end;
};

static void put(const uint64_t *gaps, size_t count, unsigned k, unsigned start, struct written *out)
{
	struct bits_out bits = {.at = out->bytes};

	memset(out->bytes, 0, sizeof out->bytes);
	bits_put(&bits, 0, start);
	for (size_t i = 0; i < count; i++)
		exp_golomb_put(&bits, gaps[i], k);
	out->end = (uint64_t)(bits.at - out->bytes) * 8 + bits.used;
	bits_end(&bits);
}

static struct exp_golomb reader(const struct written *written, unsigned k, unsigned start)
{
	return (struct exp_golomb){
		.bits = written->bytes, .at = start, .end = written->end, .k = k};
}

static void is_this_code(void **state)
{
	const struct row *row = *state;
	struct written written;
	uint64_t gap;

	put(&row->gap, 1, row->k, 0, &written);
	assert_int_equal(written.end, row->width);
	assert_true(bits_word(written.bytes, 0) == row->code);
	struct exp_golomb gaps = reader(&written, row->k, 0);
	assert_true(exp_golomb_get(&gaps, &gap));
	assert_true(gap == row->gap);
	assert_true(gaps.at == row->width);
}

/* One by one. */
static void come_back(const uint64_t *gaps, const struct written *written, unsigned k,
		      unsigned start)
{
	struct exp_golomb reading = reader(written, k, start);
	uint64_t gap;

	for (size_t i = 0; i < GAPS; i++) {
		assert_true(exp_golomb_get(&reading, &gap));
		assert_true(gap == gaps[i]);
		assert_true(exp_golomb_is_whole(&reading));
	}
	assert_true(reading.at == written->end);
}

/* Many from one load, and where there is none as a whole, one. */
static size_t come_back_at_once(const uint64_t *gaps, const struct written *written, unsigned k,
				unsigned start)
{
	struct exp_golomb reading = reader(written, k, start);
	uint64_t some[8];
	size_t many = 0;

	for (size_t i = 0; i < GAPS;) {
		unsigned most = GAPS - i < 8 ? (unsigned)(GAPS - i) : 8;
		unsigned count = exp_golomb_get_many(&reading, most, some);

		assert_true(count <= most);
		many += count;
		reading.have = 0;
		reading.word = 0;
		if (!count) {
			assert_true(exp_golomb_get(&reading, some));
			count = 1;
		}
		for (unsigned n = 0; n < count; n++)
			assert_true(some[n] == gaps[i++]);
	}
	assert_true(reading.at == written->end);
	return many;
}

/* Mostly near 2^k, some with up to 31 zeros. */
static uint64_t random_gap(struct rng *rng, unsigned k)
{
	unsigned more = rng_below(rng, rng_once_in(rng, 8) ? 32 : 3);
	unsigned width = k + more > 64 ? 64 : k + more;
	uint64_t gap = rng_next(rng) & bits_mask(width);

	return gap - (gap == UINT64_MAX);
}

static void random_gaps_come_back(void **state)
{
	struct rng rng = {3};
	size_t many = 0;

	(void)state;
	for (unsigned k = 0; k < 63; k++)
		for (int round = 0; round < 50; round++) {
			unsigned start = rng_below(&rng, 8);
			struct written written;
			uint64_t gaps[GAPS];

			for (size_t i = 0; i < GAPS; i++)
				gaps[i] = random_gap(&rng, k);
			put(gaps, GAPS, k, start, &written);
			come_back(gaps, &written, k, start);
			many += come_back_at_once(gaps, &written, k, start);
		}
	assert_true(many > 50000);
}

static void zeros_are_those_of_the_code(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 63; k++)
		for (unsigned zeros = 0; zeros + k < 64; zeros++) {
			uint64_t least = bits_mask(zeros) << k;

			assert_int_equal(exp_golomb_zeros(least, k), zeros);
			assert_true(!zeros || exp_golomb_zeros(least - 1, k) == zeros - 1);
		}
}

static void a_cut_is_told(void **state)
{
	uint64_t gaps[GAPS], gap;
	struct rng rng = {4};
	struct written written;

	(void)state;
	for (size_t i = 0; i < GAPS; i++)
		gaps[i] = random_gap(&rng, 5);
	put(gaps, GAPS, 5, 0, &written);
	for (uint64_t whole = written.end; written.end-- > 0;) {
		struct exp_golomb reading = reader(&written, 5, 0);
		size_t i = 0;

		while (i < GAPS && exp_golomb_get(&reading, &gap))
			i++;
		assert_true(i < GAPS || !exp_golomb_is_whole(&reading));
		assert_true(reading.at <= whole);
	}
}

static void more_zeros_than_a_code_has_are_damage(void **state)
{
	struct written written = {.end = 128};
	uint64_t gap, some[8];

	(void)state;
	for (unsigned zeros = 33; zeros < 128; zeros++) {
		struct exp_golomb reading = reader(&written, 0, 0);

		written.bytes[zeros / 8] = (uint8_t)(1u << zeros % 8);
		assert_false(exp_golomb_get(&reading, &gap));
		assert_int_equal(exp_golomb_get_many(&reading, 8, some), 0);
		written.bytes[zeros / 8] = 0;
	}
}

static void a_width_above_64_bits_is_damage(void **state)
{
	struct written written = {.bytes = {4}, .end = 128}; /* two zeros */
	uint64_t gap;

	(void)state;
	for (unsigned k = 55; k < 64; k++) {
		struct exp_golomb reading = reader(&written, k, 0);

		assert_int_equal(exp_golomb_get(&reading, &gap), k <= 62);
	}
}

static void behind_the_end_there_is_none(void **state)
{
	struct written written = {.bytes = {255, 255}, .end = 5};
	struct exp_golomb reading = reader(&written, 0, 5);
	uint64_t gap, some[8];

	(void)state;
	assert_false(exp_golomb_get(&reading, &gap));
	assert_int_equal(exp_golomb_get_many(&reading, 8, some), 0);
}

/* Nothing but the 16 bytes behind the end is read: sanitizers see that. */
static void damaged_bytes_say_anything(void **state)
{
	enum { SIZE = 40 };
	struct rng rng = {5};

	(void)state;
	for (int round = 0; round < 5000; round++) {
		uint8_t *bytes = mem_new(SIZE + BEHIND);
		struct exp_golomb reading = {
			.bits = bytes, .end = SIZE * 8, .k = rng_below(&rng, 64)};
		uint64_t gap, some[8];

		for (size_t i = 0; i < SIZE; i++)
			bytes[i] = (uint8_t)(rng_next(&rng) & rng_next(&rng) & rng_next(&rng));
		while (exp_golomb_get(&reading, &gap) && exp_golomb_is_whole(&reading))
			;
		reading.at = reading.have = 0;
		while (exp_golomb_get_many(&reading, 8, some))
			assert_true(reading.at < SIZE * 8 + 64);
		mem_free(bytes);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 7];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, is_this_code);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_gaps_come_back);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(zeros_are_those_of_the_code);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_cut_is_told);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(more_zeros_than_a_code_has_are_damage);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_width_above_64_bits_is_damage);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(behind_the_end_there_is_none);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(damaged_bytes_say_anything);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
