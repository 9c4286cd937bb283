/* test_elias_fano.c - rising numbers, each of which is told without those before it */
#include "state/slices/elias_fano.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <string.h>

enum { MOST = 1000, BEHIND = 16 /* bytes that can be loaded */ };

static const struct row {
	const char *name;
	uint32_t count;
	uint64_t first, most_gap, jump; /* jump: between the two in the middle */
} rows[] = {
	{"none behind the first", 1, 5, 1, 0},
	{"one behind the first", 2, 0, 1, 0},
	{"neighbours", 64, UINT64_MAX - 63, 1, 0},
	{"a hundred apart", 64, 1, 100, 0},
	{"a thousand of them", 1000, 0, 5000, 0},
	{"one jump among neighbours", 64, 7, 1, UINT64_C(1) << 40},
	{"one jump of nearly 64 bits", 64, 0, 1, UINT64_MAX - 63},
	{"0 and 2^64 - 1", 2, 0, 1, UINT64_MAX - 1},
	{"the widest low bits", 3, 0, UINT64_C(1) << 63, 0},
	{"spread over 64 bits", 64, 0, UINT64_C(1) << 58, 0},
};

struct encoded {
	uint64_t numbers[MOST];
	uint32_t count;
	uint8_t *bytes;
	struct elias_fano elias_fano;
};

static void encode(struct encoded *out)
{
	uint8_t bytes[MOST * 10 + 64];
	struct bits_out bits = {.at = bytes};
	struct elias_fano *elias_fano = &out->elias_fano;

	*elias_fano = (struct elias_fano){.count = out->count - 1};
	elias_fano->low_width = elias_fano_width(out->numbers, out->count);
	elias_fano->high_at = (uint64_t)elias_fano->count * elias_fano->low_width;
	elias_fano_put(&bits, out->numbers, out->count, elias_fano->low_width);
	elias_fano->end = (uint64_t)(bits.at - bytes) * 8 + bits.used;
	bits_end(&bits);
	out->bytes = mem_new((size_t)(bits.at - bytes) + BEHIND);
	memcpy(out->bytes, bytes, (size_t)(bits.at - bytes));
	elias_fano->bits = out->bytes;
}

static void make(const struct row *row, uint64_t seed, struct encoded *out)
{
	struct rng rng = {seed};

	out->count = row->count;
	out->numbers[0] = row->first;
	for (uint32_t i = 1; i < row->count; i++)
		out->numbers[i] = out->numbers[i - 1] + 1 + rng_next(&rng) % row->most_gap +
				  (i == row->count / 2 ? row->jump : 0);
	encode(out);
}

static void is_told_both_ways(const struct encoded *encoded)
{
	const struct elias_fano *elias_fano = &encoded->elias_fano;
	uint64_t all[MOST], one;

	assert_true(elias_fano_all(elias_fano, all));
	for (uint32_t i = 0; i < elias_fano->count; i++) {
		assert_true(all[i] == encoded->numbers[i + 1] - encoded->numbers[0]);
		assert_true(elias_fano_get(elias_fano, i, &one));
		assert_true(one == all[i]);
	}
	assert_false(elias_fano_get(elias_fano, elias_fano->count + 64, &one));
}

static void each_is_told(void **state)
{
	struct encoded encoded;

	make(*state, 7, &encoded);
	is_told_both_ways(&encoded);
	mem_free(encoded.bytes);
}

static void random_numbers_are_told(void **state)
{
	struct rng rng = {7};

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct encoded encoded = {.numbers = {rng_next(&rng) >> 1},
					  .count = 1 + rng_below(&rng, 64)};
		uint32_t most = rng_below(&rng, 56), jump = rng_below(&rng, 56);

		for (uint32_t i = 1; i < encoded.count; i++)
			encoded.numbers[i] =
				encoded.numbers[i - 1] + 1 +
				(rng_next(&rng) & bits_mask(rng_once_in(&rng, 16) ? jump : most));
		encode(&encoded);
		is_told_both_ways(&encoded);
		mem_free(encoded.bytes);
	}
}

static void search_is_as_looking_at_each(const struct encoded *encoded, uint64_t most)
{
	uint64_t last = 0, found;
	uint32_t n = 0, before;

	for (; n < encoded->elias_fano.count; n++) {
		if (encoded->numbers[n + 1] - encoded->numbers[0] > most)
			break;
		last = encoded->numbers[n + 1] - encoded->numbers[0];
	}
	assert_true(elias_fano_before(&encoded->elias_fano, most, &before, &found));
	assert_int_equal(before, n);
	assert_true(found == last);
}

static void search_finds_the_last(void **state)
{
	struct encoded encoded;

	make(*state, 8, &encoded);
	for (uint32_t i = 0; i < encoded.count; i++) {
		uint64_t number = encoded.numbers[i] - encoded.numbers[0];

		search_is_as_looking_at_each(&encoded, number);
		search_is_as_looking_at_each(&encoded, number - (number > 0));
		search_is_as_looking_at_each(&encoded, number + (number < UINT64_MAX));
	}
	search_is_as_looking_at_each(&encoded, UINT64_MAX);
	mem_free(encoded.bytes);
}

/* The low bits of all, then a one for each among the zeros of the high parts. */
static unsigned __int128 bits_with(const struct encoded *encoded, unsigned width)
{
	uint64_t span = encoded->numbers[encoded->count - 1] - encoded->numbers[0];
	uint32_t count = encoded->elias_fano.count;

	return (unsigned __int128)count * width + (span >> width) + count;
}

static void width_takes_the_fewest_bits(void **state)
{
	struct encoded encoded;

	make(*state, 9, &encoded);
	assert_true(bits_with(&encoded, encoded.elias_fano.low_width) == encoded.elias_fano.end);
	for (unsigned width = 0; width < 64; width++)
		assert_true(bits_with(&encoded, width) >= encoded.elias_fano.end);
	mem_free(encoded.bytes);
}

/* The high bits are cleared from some place on: what stood behind it is not there any more. */
static void missing_ones_are_damage(void **state)
{
	struct encoded encoded;
	const struct elias_fano *elias_fano = &encoded.elias_fano;
	uint64_t all[MOST], one;
	uint32_t n;

	make(*state, 10, &encoded);
	for (uint32_t i = elias_fano->count; i-- > 0;) {
		uint64_t high =
			(encoded.numbers[i + 1] - encoded.numbers[0]) >> elias_fano->low_width;
		uint64_t at = elias_fano->high_at + high + i;

		encoded.bytes[at / 8] &= (uint8_t) ~(1u << at % 8);
		assert_false(elias_fano_get(elias_fano, i, &one));
		assert_false(elias_fano_all(elias_fano, all));
		assert_false(elias_fano_before(elias_fano, UINT64_MAX, &n, &one));
		assert_true(i == 0 || elias_fano_get(elias_fano, i - 1, &one));
	}
	mem_free(encoded.bytes);
}

/* Nothing outside of the bytes is read: sanitizers see that. */
static void damaged_bytes_say_anything(void **state)
{
	struct rng rng = {12};
	struct encoded encoded;
	uint64_t all[MOST], one;
	uint32_t n;

	make(*state, 11, &encoded);
	for (int round = 0; round < 200; round++) {
		for (uint64_t i = 0; i * 8 < encoded.elias_fano.end; i++)
			encoded.bytes[i] = (uint8_t)(rng_next(&rng) & rng_next(&rng));
		for (uint32_t i = 0; i < encoded.count; i++)
			elias_fano_get(&encoded.elias_fano, i, &one);
		elias_fano_all(&encoded.elias_fano, all);
		if (elias_fano_before(&encoded.elias_fano, rng_next(&rng), &n, &one))
			assert_true(n <= encoded.elias_fano.count);
	}
	mem_free(encoded.bytes);
}

int main(void)
{
	struct CMUnitTest tests[5 * COUNT(rows) + 1];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, each_is_told);
	ADD_ROWS(tests, n, rows, search_finds_the_last);
	ADD_ROWS(tests, n, rows, width_takes_the_fewest_bits);
	ADD_ROWS(tests, n, rows, missing_ones_are_damage);
	ADD_ROWS(tests, n, rows, damaged_bytes_say_anything);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_numbers_are_told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
