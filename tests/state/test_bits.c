/* test_bits.c - numbers of any width, one after the other: what is put is got */
#include "state/slices/bits.h"

#include "fixtures/rng.h"
#include "tests/harness.h"

enum { NUMBERS = 200, BEHIND = 16 /* bytes that can be loaded */ };

static const struct row {
	const char *name;
	uint64_t number;
	unsigned width;
} rows[] = {
	{"0 has no bits", 0, 0},
	{"1 has one bit", 1, 1},
	{"255 has 8 bits", 255, 8},
	{"256 has 9 bits", 256, 9},
	{"2^63 - 1 has 63 bits", INT64_MAX, 63},
	{"2^63 has 64 bits", UINT64_C(1) << 63, 64},
	{"2^64 - 1 has 64 bits", UINT64_MAX, 64},
};

static void has_width(void **state)
{
	const struct row *row = *state;

	assert_int_equal(bits_width(row->number), row->width);
	assert_true((row->number & bits_mask(row->width)) == row->number);
	assert_true(!row->width || (row->number & bits_mask(row->width - 1)) != row->number);
}

static void the_first_bit_is_the_least_significant(void **state)
{
	uint8_t bytes[3 * sizeof(uint64_t)] = {0};
	struct bits_out out = {.at = bytes};

	(void)state;
	bits_put(&out, 1, 1);
	bits_put(&out, 2, 3);
	bits_put(&out, 0xabc, 12);
	assert_ptr_equal(out.at, bytes + 2);
	bits_end(&out);
	assert_ptr_equal(out.at, bytes + 2);
	assert_memory_equal(bytes, "\xc5\xab", 3); /* abc 010 1, and zeros */
}

static void the_end_is_rounded_up_to_a_byte(void **state)
{
	(void)state;
	for (unsigned width = 0; width <= 64; width++) {
		uint8_t bytes[3 * sizeof(uint64_t)] = {0};
		struct bits_out out = {.at = bytes};

		bits_put(&out, bits_mask(width), width);
		bits_end(&out);
		assert_int_equal(out.at - bytes, (width + 7) / 8);
		assert_int_equal(out.used, 0);
	}
}

static void random_widths_come_back(void **state)
{
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t bytes[NUMBERS * 8 + BEHIND];
		uint64_t numbers[NUMBERS], at = 0;
		struct bits_out out = {.at = bytes};
		unsigned widths[NUMBERS];

		for (int i = 0; i < NUMBERS; i++) {
			widths[i] = rng_below(&rng, 65);
			numbers[i] = rng_next(&rng) & bits_mask(widths[i]);
			if (widths[i] <= BITS_AT_ONCE && rng_once_in(&rng, 2))
				bits_add(&out, numbers[i], widths[i]);
			else
				bits_put(&out, numbers[i], widths[i]);
		}
		bits_end(&out);
		for (int i = 0; i < NUMBERS; at += widths[i++]) {
			assert_true(bits_get(bytes, at, widths[i]) == numbers[i]);
		}
		assert_int_equal(out.at - bytes, (at + 7) / 8);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 3];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, has_width);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_first_bit_is_the_least_significant);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_end_is_rounded_up_to_a_byte);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_widths_come_back);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
