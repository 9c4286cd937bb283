/* test_text_part.c - parts of a text: substr() and split() of all languages */
#include "state/model/text_part.h"

#include "engine/base/buf.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <string.h>

static const struct row {
	const char *name, *text, *separator; /* NULL: substr(), else split() */
	int64_t from, count;                 /* of split(): the number, and nothing */
	const char *part;
} rows[] = {
	{"bytes from the middle", "abcdef", NULL, 2, 3, "cde"},
	{"as far as there are", "abcdef", NULL, 4, 10, "ef"},
	{"from the end on", "abcdef", NULL, 6, 1, ""},
	{"from behind the end on", "abcdef", NULL, 7, 1, ""},
	{"no bytes", "abcdef", NULL, 2, 0, ""},
	{"a negative begin is 0", "abcdef", NULL, -2, 3, "abc"},
	{"a negative count is 0", "abcdef", NULL, 2, -1, ""},
	{"the greatest numbers", "abcdef", NULL, INT64_MAX, INT64_MAX, ""},
	{"the greatest count", "abcdef", NULL, 1, INT64_MAX, "bcdef"},
	{"the least numbers", "abcdef", NULL, INT64_MIN, INT64_MIN, ""},
	{"of nothing", "", NULL, 0, 1, ""},
	{"the first part", "a,b,c", ",", 0, 0, "a"},
	{"a part between separators", "a,bc,d", ",", 1, 0, "bc"},
	{"the last part", "a,b,c", ",", 2, 0, "c"},
	{"behind the last part", "a,b,c", ",", 3, 0, ""},
	{"far behind the last part", "a,b,c", ",", INT64_MAX, 0, ""},
	{"before the first part", "a,b,c", ",", -1, 0, ""},
	{"an empty part", "a,,c", ",", 1, 0, ""},
	{"the part behind an empty one", "a,,c", ",", 2, 0, "c"},
	{"no separator in it", "abc", ",", 0, 0, "abc"},
	{"a separator of two bytes", "a::b:c", "::", 1, 0, "b:c"},
	{"separators do not overlap", "a:::b", "::", 1, 0, ":b"},
	{"an empty separator splits nothing", "abc", "", 0, 0, "abc"},
	{"of which there is no second part", "abc", "", 1, 0, ""},
	{"parts of nothing", "", ",", 0, 0, ""},
};

static struct text_part part_of(const char *text)
{
	return (struct text_part){text, strlen(text)};
}

static void part_is(void **state)
{
	const struct row *row = *state;
	struct text_part text = part_of(row->text);
	struct text_part part = row->separator
					? text_split(text, part_of(row->separator), row->from)
					: text_substr(text, row->from, row->count);

	assert_int_equal(part.len, strlen(row->part));
	assert_memory_equal(part.text, row->part, part.len);
}

static void digits_are_numbers(void **state)
{
	uint64_t number;

	(void)state;
	assert_int_equal(text_digits(part_of("042x"), 10, &number), 3);
	assert_int_equal(number, 42);
	assert_int_equal(text_digits(part_of("fFg"), 16, &number), 2);
	assert_int_equal(number, 255);
	assert_int_equal(text_digits(part_of("12a"), 10, &number), 2);
	assert_int_equal(text_digits(part_of(""), 10, &number), 0);
	assert_int_equal(text_digits(part_of("-1"), 10, &number), 0);
	assert_int_equal(text_digits(part_of("18446744073709551615"), 10, &number), 20);
	assert_true(number == UINT64_MAX);
	assert_true(text_digits(part_of("18446744073709551616"), 10, &number) == SIZE_MAX);
	assert_int_equal(text_digits(part_of("ffffffffffffffff"), 16, &number), 16);
	assert_true(text_digits(part_of("10000000000000000"), 16, &number) == SIZE_MAX);
}

static void random_text(struct rng *rng, uint32_t least, uint32_t most, char *out)
{
	uint32_t len = least + rng_below(rng, most - least + 1);

	for (uint32_t i = 0; i < len; i++)
		out[i] = "ab"[rng_below(rng, 2)];
	out[len] = 0;
}

/* One more than there are separators, which are found from the left. */
static int64_t count_parts(const char *text, const char *separator)
{
	int64_t count = 1;

	for (; (text = strstr(text, separator)); text += strlen(separator))
		count++;
	return count;
}

static void parts_joined_are_the_text(void **state)
{
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[32], separator[4];
		struct buf joined = {0};

		random_text(&rng, 0, 30, text);
		random_text(&rng, 1, 3, separator);
		int64_t count = count_parts(text, separator);
		for (int64_t i = 0; i < count; i++) {
			struct text_part part = text_split(part_of(text), part_of(separator), i);

			buf_add_text(&joined, i ? separator : "");
			buf_add(&joined, part.text, part.len);
			assert_null(memmem(part.text, part.len, separator, strlen(separator)));
		}
		assert_string_equal(buf_text(&joined), text);
		assert_int_equal(text_split(part_of(text), part_of(separator), count).len, 0);
		buf_release(&joined);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, part_is);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(parts_joined_are_the_text);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(digits_are_numbers);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
