/*
 * test_parquet.c - encodings, read back by decoders of the test's own, and thrift's bytes
 *
 * Whole files are judged by DuckDB and hyparquet (tests/oracle/npm.sh).
 */
#include "convert/sheets/parquet_internal.h"
#include "engine/base/mem.h"
#include "tests/harness.h"

#include <string.h>

/* ---- decoders, from Encodings.md ---- */

struct input {
	const uint8_t *at, *end;
};

static uint64_t varint(struct input *in)
{
	uint64_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(in->at < in->end && shift < 64);
		number |= (uint64_t)(*in->at & 0x7f) << shift;
		if (!(*in->at++ & 0x80))
			return number;
	}
}

static int64_t from_zigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ -(number & 1));
}

static uint64_t bits_at(const uint8_t *bytes, size_t from, unsigned count)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number |= (uint64_t)(bytes[(from + i) / 8] >> (from + i) % 8 & 1) << i;
	return number;
}

static void check_rle(const struct buf *bytes, const uint32_t *want, size_t count, unsigned bits)
{
	const uint8_t *data = (const uint8_t *)(bytes->len ? bytes->data : "");
	struct input in = {data, data + bytes->len};
	size_t got = 0;

	while (got < count) {
		uint64_t header = varint(&in);
		size_t n = (size_t)(header >> 1) * (header & 1 ? 8 : 1);
		for (size_t i = 0; i < n; i++) {
			uint64_t number = bits_at(in.at, header & 1 ? i * bits : 0, bits);
			if (got < count)
				assert_int_equal(number, want[got]);
			else /* a group's rest */
				assert_int_equal(number, 0);
			got++;
		}
		in.at += header & 1 ? n * bits / 8 : (bits + 7) / 8;
		assert_true(in.at <= in.end);
	}
	assert_true(got - count < 8);
	assert_ptr_equal(in.at, in.end);
}

static void check_delta(const struct buf *bytes, const uint64_t *want, size_t count)
{
	const uint8_t *data = (const uint8_t *)(bytes->len ? bytes->data : "");
	struct input in = {data, data + bytes->len};
	uint64_t number;

	assert_int_equal(varint(&in), 128);
	assert_int_equal(varint(&in), 4);
	assert_int_equal(varint(&in), count);
	number = (uint64_t)from_zigzag(varint(&in));
	if (count)
		assert_true(number == want[0]);
	for (size_t i = 1; i < count;) {
		uint64_t least = (uint64_t)from_zigzag(varint(&in));
		const uint8_t *widths = in.at;
		in.at += 4;
		for (size_t part = 0; part < 4 && i < count; part++) {
			for (size_t k = 0; k < 32 && i < count; k++, i++) {
				number += least + bits_at(in.at, k * widths[part], widths[part]);
				assert_true(number == want[i]);
			}
			in.at += (size_t)widths[part] * 4;
		}
		assert_true(in.at <= in.end);
	}
	assert_ptr_equal(in.at, in.end);
}

/* ---- rows ---- */

static struct rle_row {
	const char *name;
	size_t count, run; /* numbers change every `run` values */
	unsigned bits;
	uint32_t most;
} rle_rows[] = {
	{"nothing", 0, 1, 1, 1},
	{"one number", 1, 1, 1, 1},
	{"one run", 1000, 1000, 1, 1},
	{"all differ", 1000, 1, 10, 1000},
	{"runs too short to be worth one", 1000, 9, 7, 100},
	{"runs that lend to packed groups", 1003, 27, 7, 100},
	{"long runs", 5000, 400, 16, 60000},
	{"whole words", 100, 1, 32, UINT32_MAX},
};

static void rle(void **state)
{
	const struct rle_row *row = *state;
	uint32_t *numbers = mem_new_array(row->count + 1, sizeof *numbers);
	struct buf out = {0};

	for (size_t i = 0; i < row->count; i++)
		numbers[i] = (uint32_t)(i / row->run * 2654435761u) % row->most;
	rle_add(&out, numbers, row->count, row->bits);
	check_rle(&out, numbers, row->count, row->bits);
	buf_release(&out);
	mem_free(numbers);
}

static struct delta_row {
	const char *name;
	size_t count;
	uint64_t first, step, noise;
} delta_rows[] = {
	{"no number", 0, 0, 0, 0},
	{"one number", 1, 42, 0, 0},
	{"two numbers", 2, UINT64_C(1) << 63, 1, 0},
	{"equal steps take no bits", 1000, 5, 7, 0},
	{"a block and one", 130, 1714564984123456789, 1000, 999},
	{"falling", 500, 1000000, (uint64_t)-3, 2},
	{"differences of 64 bits", 300, 0, 0, UINT64_MAX},
};

static void delta(void **state)
{
	const struct delta_row *row = *state;
	uint64_t *numbers = mem_new_array(row->count + 1, sizeof *numbers);
	struct buf out = {0};

	for (size_t i = 0; i < row->count; i++)
		numbers[i] = row->first + i * row->step +
			     (row->noise ? i * UINT64_C(0x9e3779b97f4a7c15) % row->noise : 0);
	delta_add(&out, numbers, row->count);
	check_delta(&out, numbers, row->count);
	buf_release(&out);
	mem_free(numbers);
}

/* ---- dictionaries ---- */

static void dictionary(void **state)
{
	struct sheet_values values = {.kind = CELL_INT, .bits = 32};
	struct dictionary out;
	uint64_t numbers[9000];

	(void)state;
	for (size_t i = 0; i < 9000; i++)
		numbers[i] = i * 7919 % 300;
	assert_true(dictionary_make(&values, numbers, 9000, &out));
	assert_int_equal(out.count, 300);
	for (size_t i = 0; i < 9000; i++)
		assert_int_equal(out.values[out.entries[i]], numbers[i]);
	dictionary_release(&out);
	for (size_t i = 0; i < 9000; i++)
		numbers[i] = i;
	assert_false(dictionary_make(&values, numbers, 9000, &out));
	assert_false(dictionary_make(&values, numbers, 0, &out));
}

/* ---- thrift-compact-protocol.md ---- */

static void thrift_bytes(void **state)
{
	static const uint8_t want[] = {
		0x15, 0x02,             /* field 1, i32 1 */
		0x16, 0x01,             /* field 2, i64 -1 */
		0x18, 0x02, 'a',  'b',  /* field 3, "ab" */
		0x11,                   /* field 4, true */
		0x12,                   /* field 5, false */
		0x05, 0x50, 0x80, 0x02, /* field 40, i32 128: too far for the short form */
		0x19, 0x25, 0x02, 0x04, /* field 41, list of 2 i32: 1, 2 */
		0x1c, 0x13, 0x07, 0x00, /* field 42, a structure: field 1, byte 7 */
		0x00};
	struct buf out = {0};
	struct thrift thrift = {.out = &out};

	(void)state;
	thrift_begin(&thrift);
	thrift_i32(&thrift, 1, 1);
	thrift_i64(&thrift, 2, -1);
	thrift_text(&thrift, 3, "ab");
	thrift_bool(&thrift, 4, true);
	thrift_bool(&thrift, 5, false);
	thrift_i32(&thrift, 40, 128);
	thrift_list(&thrift, 41, THRIFT_I32, 2);
	thrift_item_i32(&thrift, 1);
	thrift_item_i32(&thrift, 2);
	thrift_struct(&thrift, 42);
	thrift_byte(&thrift, 1, 7);
	thrift_end(&thrift);
	thrift_end(&thrift);
	assert_int_equal(out.len, sizeof want);
	assert_memory_equal(out.data, want, sizeof want);
	buf_release(&out);
}

enum { RLES = COUNT(rle_rows), DELTAS = COUNT(delta_rows) };

int main(void)
{
	struct CMUnitTest tests[RLES + DELTAS + 2];

	for (size_t i = 0; i < RLES; i++)
		tests[i] = (struct CMUnitTest){rle_rows[i].name, rle, NULL, NULL, &rle_rows[i]};
	for (size_t i = 0; i < DELTAS; i++)
		tests[RLES + i] =
			(struct CMUnitTest){delta_rows[i].name, delta, NULL, NULL, &delta_rows[i]};
	tests[RLES + DELTAS] = (struct CMUnitTest)cmocka_unit_test(dictionary);
	tests[RLES + DELTAS + 1] = (struct CMUnitTest)cmocka_unit_test(thrift_bytes);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
