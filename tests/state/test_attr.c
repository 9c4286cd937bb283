/* test_attr.c - interned paths: text, order, shapes */
#include "tests/harness.h"

#include "state/model/attr.h"

#include <string.h>

static uint32_t name(struct attrs *attrs, uint32_t parent, const char *text)
{
	return attr_name(attrs, parent, text, strlen(text));
}

static uint32_t number(struct attrs *attrs, uint32_t parent, int64_t n)
{
	struct value key = {.kind = VALUE_INT, .negative = n < 0, .u = (uint64_t)n};

	return attr_key(attrs, parent, &key);
}

static uint32_t word(struct attrs *attrs, uint32_t parent, const char *text)
{
	struct value key = {.kind = VALUE_STRING, .len = (uint32_t)strlen(text), .text = text};

	return attr_key(attrs, parent, &key);
}

static void assert_text(const struct attrs *attrs, uint32_t attr, const char *text)
{
	struct buf buf = {0};

	attr_add_text(attrs, attr, &buf);
	assert_string_equal(buf_text(&buf), text);
	buf_release(&buf);
}

static void equal_paths_are_one(void **state)
{
	struct attrs *attrs = attrs_new();
	uint32_t thread = name(attrs, ATTR_ROOT, "thread");
	uint32_t first[5000];

	(void)state;
	for (int i = 0; i < 5000; i++)
		first[i] = name(attrs, number(attrs, thread, i - 100), "name");
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(name(attrs, number(attrs, thread, i - 100), "name"), first[i]);
		assert_int_equal(attr_shape(attrs, first[i]), attr_shape(attrs, first[0]));
	}
	for (int64_t n = INT32_MAX - INT64_C(2); n < INT32_MAX + INT64_C(3); n++) {
		assert_int_equal(number(attrs, thread, n), number(attrs, thread, n));
		assert_int_equal(attr_atom(attrs, number(attrs, thread, n)).u, n);
		assert_int_not_equal(number(attrs, thread, n), number(attrs, thread, n - 1));
		assert_int_not_equal(number(attrs, thread, n), number(attrs, thread, -n));
	}
	assert_int_not_equal(word(attrs, thread, "5"), number(attrs, thread, 5));
	assert_int_not_equal(word(attrs, thread, "name"), name(attrs, thread, "name"));
	assert_int_equal(attr_up(attrs, first[7], attr_depth(attrs, thread)), thread);
	assert_int_equal(attr_up(attrs, thread, attr_depth(attrs, first[7])), thread);
	attrs_free(attrs);
}

static void text_is_canonical(void **state)
{
	struct attrs *attrs = attrs_new();
	struct value yes = {.kind = VALUE_BOOL, .b = true};
	uint32_t cpu = number(attrs, name(attrs, ATTR_ROOT, "cpu"), 3);

	(void)state;
	assert_text(attrs, ATTR_ROOT, "");
	assert_text(attrs, name(attrs, cpu, "thread"), "cpu[3]/thread");
	assert_text(attrs, number(attrs, cpu, -5), "cpu[3][-5]");
	assert_text(attrs, word(attrs, name(attrs, ATTR_ROOT, "file"), "/etc/\"x\"\n"),
		    "file[\"/etc/\\\"x\\\"\\n\"]");
	assert_text(attrs, attr_key(attrs, name(attrs, ATTR_ROOT, "nr-pages"), &yes),
		    "\"nr-pages\"[true]");
	attrs_free(attrs);
}

static void order_is_natural(void **state)
{
	struct attrs *attrs = attrs_new();
	uint32_t cpu = name(attrs, ATTR_ROOT, "cpu");
	uint32_t rising[] = {cpu,
			     name(attrs, cpu, "x"),
			     number(attrs, cpu, -1),
			     number(attrs, cpu, 9),
			     name(attrs, number(attrs, cpu, 9), "irq"),
			     name(attrs, number(attrs, cpu, 9), "thread"),
			     number(attrs, cpu, 10),
			     number(attrs, cpu, INT32_MAX),
			     number(attrs, cpu, INT32_MAX + INT64_C(1)),
			     number(attrs, cpu, INT64_MAX),
			     word(attrs, cpu, "10"),
			     name(attrs, ATTR_ROOT, "thread")};

	(void)state;
	for (size_t i = 0; i < COUNT(rising); i++)
		for (size_t j = 0; j < COUNT(rising); j++) {
			int order = attr_compare(attrs, rising[i], rising[j]);
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	attrs_free(attrs);
}

static void shapes_have_stars(void **state)
{
	struct attrs *attrs = attrs_new();
	uint32_t cpu = name(attrs, ATTR_ROOT, "cpu");
	uint32_t shape = attr_shape(attrs, name(attrs, number(attrs, cpu, 1), "irq"));
	struct buf text = {0};

	(void)state;
	shape_add_text(attrs, shape, &text);
	assert_string_equal(buf_text(&text), "cpu[*]/irq");
	assert_int_equal(shape_name(attrs, shape_key(attrs, attr_shape(attrs, cpu)), "irq", 3),
			 shape);
	assert_true(shape_is_within(attrs, shape, attr_shape(attrs, cpu)));
	assert_true(shape_is_key(attrs, shape_parent(attrs, shape)));
	buf_release(&text);
	attrs_free(attrs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_paths_are_one), cmocka_unit_test(text_is_canonical),
		cmocka_unit_test(order_is_natural), cmocka_unit_test(shapes_have_stars)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
