/* test_query.c - PATH of the command line */
#include "tests/harness.h"

#include "state/rules/rules.h"

#include <string.h>

static const struct row {
	const char *name, *text, *canonical; /* NULL: refused */
	const char *matches, *differs;       /* paths without wildcards */
} rows[] = {
	{"plain", "cpu[3]/thread", "cpu[3]/thread", "cpu[0x3]/thread", "cpu[4]/thread"},
	{"any key", "cpu[*]/thread", "cpu[*]/thread", "cpu[9]/thread", "cpu[9]/irq"},
	{"all below", "thread[42]/**", "thread[42]/**", "thread[42]/a/b", "thread[42]"},
	{"everything", "**", "**", "a", NULL},
	{"a bare word is a string", "a[bash]", "a[\"bash\"]", "a[\"bash\"]", "a[1]"},
	{"with signs in it", "a[lttng-consumerd]", "a[\"lttng-consumerd\"]", NULL, NULL},
	{"digits are an integer", "a[\"5\"]", "a[\"5\"]", "a[\"5\"]", "a[5]"},
	{"true is not 1", "a[true]", "a[true]", "a[ true ]", "a[1]"},
	{"negative keys", "a[-1]", "a[-1]", "a[-1]", "a[18446744073709551615]"},
	{"quoted names", "\"nr-pages\"/x", "\"nr-pages\"/x", "\"nr-pages\"/x", NULL},
	{"no name", "[3]", NULL, NULL, NULL},
	{"no key", "a[]", NULL, NULL, NULL},
	{"an open key", "a[3", NULL, NULL, NULL},
	{"a slash at the end", "a/", NULL, NULL, NULL},
	{"two paths", "a b", NULL, NULL, NULL},
	{"nothing", "", NULL, NULL, NULL},
	{"a float as key", "a[1.5]", NULL, NULL, NULL},
	{"below in the middle", "a/**/b", NULL, NULL, NULL},
};

static uint32_t attr_of(const char *path, struct attrs *attrs)
{
	struct query *query;
	struct error err;

	assert_true(query_parse(path, &query, &err));
	uint32_t attr = query_attr(query, attrs);
	query_free(query);
	return attr;
}

static void is_read(void **state)
{
	const struct row *row = *state;
	struct attrs *attrs = attrs_new();
	struct query *query;
	struct error err = {0};

	assert_int_equal(query_parse(row->text, &query, &err), row->canonical != NULL);
	if (row->canonical) {
		assert_string_equal(query_text(query), row->canonical);
		if (row->matches) {
			uint32_t attr = attr_of(row->matches, attrs);
			assert_true(query_matches(query, attrs, attr));
			assert_true(query_matches_shape(query, attrs, attr_shape(attrs, attr)));
		}
		if (row->differs)
			assert_false(query_matches(query, attrs, attr_of(row->differs, attrs)));
		query_free(query);
	} else {
		assert_non_null(strstr(err.text, "column"));
	}
	attrs_free(attrs);
}

static void values_follow_an_equals_sign(void **state)
{
	struct value value;
	struct query *query;
	struct error err;
	bool has;

	(void)state;
	assert_true(query_parse_value("thread[1]/state = running", &query, &has, &value, &err));
	assert_true(has && value.kind == VALUE_STRING && value.len == 7);
	assert_string_equal(query_text(query), "thread[1]/state");
	query_free(query);
	assert_true(query_parse_value("a=-3", &query, &has, &value, &err));
	assert_true(has && value.kind == VALUE_INT && value.negative && (int64_t)value.u == -3);
	query_free(query);
	assert_true(query_parse_value("a[\"x=y\"]", &query, &has, &value, &err));
	assert_false(has);
	query_free(query);
	assert_false(query_parse_value("a=", &query, &has, &value, &err));
	assert_false(query_parse_value("a==3", &query, &has, &value, &err));
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, is_read, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	tests[COUNT(rows)] = (struct CMUnitTest)cmocka_unit_test(values_follow_an_equals_sign);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
