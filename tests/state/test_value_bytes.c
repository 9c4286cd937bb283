/* test_value_bytes.c - values as they are stored: each byte, and back */
#include "tests/harness.h"

#include "state/model/value_bytes.h"

#include <string.h>

/* Bytes by hand, from the table in value_bytes.h. */
static const struct row {
	const char *name;
	struct value value;
	const char *bytes;
	size_t size;
} rows[] = {
	{"unknown", {.kind = VALUE_UNKNOWN}, "\x00", 1},
	{"none", {.kind = VALUE_NONE}, "\x02", 1},
	{"a number of one byte", {.kind = VALUE_INT, .u = 127}, "\x04\x7f", 2},
	{"a number of two bytes", {.kind = VALUE_INT, .u = 300}, "\x04\xac\x02", 3},
	{"minus one",
	 {.kind = VALUE_INT, .negative = true, .u = UINT64_MAX},
	 "\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	 11},
	{"the greatest number",
	 {.kind = VALUE_INT, .u = UINT64_MAX},
	 "\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	 11},
	{"a float", {.kind = VALUE_FLOAT, .f = 0.0}, "\x06\x00", 2},
	{"a text", {.kind = VALUE_STRING, .len = 4, .text = "idle"}, "\x08\x04idle", 6},
	{"an empty text", {.kind = VALUE_STRING, .text = ""}, "\x08\x00", 2},
	{"true", {.kind = VALUE_BOOL, .b = true}, "\x0a\x01", 2},
	{"false", {.kind = VALUE_BOOL, .b = false}, "\x0a\x00", 2},
};

/* All of it, as a value. */
static bool reads(struct attrs *attrs, const char *bytes, size_t size, struct value *out)
{
	const uint8_t *at = (const uint8_t *)bytes;
	struct io io = {.at = at, .end = at + size, .attrs = attrs};

	*out = io_value(&io, (struct value){0});
	return io_ended(&io);
}

static void is_written_and_read(void **state)
{
	const struct row *row = *state;
	struct attrs *attrs = attrs_new();
	struct buf out = {0};
	struct value read;

	io_value(&(struct io){.out = &out}, row->value);
	assert_int_equal(out.len, row->size);
	assert_memory_equal(out.data, row->bytes, row->size);
	assert_true(reads(attrs, out.data, out.len, &read));
	assert_true(value_equal(&read, &row->value));
	for (size_t size = 0; size < out.len; size++)
		assert_false(reads(attrs, out.data, size, &read));
	buf_release(&out);
	attrs_free(attrs);
}

static void other_kinds_are_damage(void **state)
{
	static const char bytes[] = {12, 0};
	struct attrs *attrs = attrs_new();
	struct value read;

	(void)state;
	assert_false(reads(attrs, bytes, 1, &read) || reads(attrs, bytes, sizeof bytes, &read));
	attrs_free(attrs);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, is_written_and_read, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	tests[COUNT(rows)] = (struct CMUnitTest)cmocka_unit_test(other_kinds_are_damage);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
