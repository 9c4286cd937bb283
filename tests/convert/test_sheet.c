/* test_sheet.c - columns: texts, numbers of both widths, lists, nulls; names of files */
#include "convert/convert_internal.h"
#include "engine/columns/sheet.h"
#include "convert/sheets/values_text.h"
#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static struct text_row {
	const char *name, *text, *kept;
	enum cell_kind kind;
} text_rows[] = {
	{"plain", "bash", "bash", CELL_TEXT},
	{"nothing", "", "", CELL_TEXT},
	{"UTF-8 stays", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", CELL_TEXT},
	{"other bytes are characters", "a\xff-\x80", "a\xc3\xbf-\xc2\x80", CELL_TEXT},
	{"a character cut short", "\xe2\x82", "\xc3\xa2\xc2\x82", CELL_TEXT},
	{"half of a pair", "\xed\xa0\x80", "\xc3\xad\xc2\xa0\xc2\x80", CELL_TEXT},
	{"too long a form", "\xc0\xaf", "\xc3\x80\xc2\xaf", CELL_TEXT},
	{"behind eight plain bytes", "12345678\xff", "12345678\xc3\xbf", CELL_TEXT},
	{"bytes stay bytes", "a\xff", "a\xff", CELL_BYTES},
};

static void keeps_text(void **state)
{
	const struct text_row *row = *state;
	struct sheet *sheet = sheet_new("t", 1);
	const char *text;
	size_t len, at;

	sheet_describe(sheet, 0, "c", row->kind, 0, false);
	at = sheet_row(sheet);
	values_text(&sheet->columns[0], at, row->text, strlen(row->text));
	text = texts_get(&sheet->columns[0].texts, sheet->columns[0].index[at], &len);
	assert_int_equal(len, strlen(row->kept));
	assert_memory_equal(text, row->kept, len);
	sheet_free(sheet);
}

static void check_texts(struct sheet *sheet, unsigned rows, unsigned different)
{
	struct sheet_values *column = &sheet->columns[0];
	char name[24];

	for (unsigned i = 0; i < rows; i++) {
		snprintf(name, sizeof name, "name %u", i * 7 % different);
		values_text(column, sheet_row(sheet), name, strlen(name));
	}
	for (unsigned i = 0; i < rows; i++) {
		size_t len;
		const char *text = texts_get(&column->texts, column->index[i], &len);
		snprintf(name, sizeof name, "name %u", i * 7 % different);
		assert_int_equal(len, strlen(name));
		assert_memory_equal(text, name, len);
	}
}

static void texts_once(void **state)
{
	struct sheet *sheet = sheet_new("t", 1);

	(void)state;
	sheet_describe(sheet, 0, "c", CELL_TEXT, 0, false);
	check_texts(sheet, 50000, 1000);
	assert_int_equal(sheet->columns[0].texts.count, 1000);
	assert_false(sheet->columns[0].texts.plain);
	sheet_clear(sheet);
	check_texts(sheet, 50000, 50000);
	assert_true(sheet->columns[0].texts.plain);
	sheet_clear(sheet);
	check_texts(sheet, 10, 3);
	assert_int_equal(sheet->columns[0].texts.count, 3);
	struct sheet *taken = sheet_take(sheet);
	assert_int_equal(taken->rows, 10);
	assert_int_equal(sheet->rows, 0);
	check_texts(sheet, 10, 4);
	sheet_free(taken);
	sheet_free(sheet);
}

static struct value_row {
	const char *name;
	enum cell_kind kind;
	unsigned bits;
	uint64_t number;
	const char *text;
} value_rows[] = {
	{"negative of 8 bits", CELL_INT, 8, (uint64_t)-5, "-5"},
	{"least of 32 bits", CELL_INT, 32, (uint64_t)INT32_MIN, "-2147483648"},
	{"greatest of 32 bits", CELL_UINT, 32, UINT32_MAX, "4294967295"},
	{"least of 64 bits", CELL_INT, 64, (uint64_t)INT64_MIN, "-9223372036854775808"},
	{"greatest of 64 bits", CELL_UINT, 64, UINT64_MAX, "18446744073709551615"},
	{"a time before 1970", CELL_TIME, 64, (uint64_t)-1, "-1"},
	{"a boolean", CELL_BOOL, 1, 1, "true"},
};

static void keeps_value(void **state)
{
	const struct value_row *row = *state;
	struct sheet *sheet = sheet_new("t", 1);
	struct buf text = {0};
	size_t at;

	sheet_describe(sheet, 0, "c", row->kind, row->bits, false);
	at = sheet_row(sheet);
	values_number(&sheet->columns[0], at, row->number);
	values_add_text(&sheet->columns[0], at, &text);
	assert_string_equal(buf_text(&text), row->text);
	buf_release(&text);
	sheet_free(sheet);
}

static void lists(void **state)
{
	struct sheet *sheet = sheet_new("t", 1);
	struct sheet_values *column = &sheet->columns[0];
	struct buf text = {0};
	double half = 0.5;
	uint64_t bits;

	(void)state;
	sheet_describe(sheet, 0, "c", CELL_FLOAT, 32, true);
	memcpy(&bits, &half, sizeof bits);
	values_list_end(column, sheet_row(sheet));
	values_null(column, sheet_row(sheet));
	size_t row = sheet_row(sheet);
	values_element(column, bits);
	values_element(column, bits);
	values_list_end(column, row);
	values_add_text(column, 0, &text);
	assert_string_equal(buf_text(&text), "[]");
	assert_int_equal(column->present[1], 0);
	buf_clear(&text);
	values_add_text(column, 2, &text);
	assert_string_equal(buf_text(&text), "[0.5,0.5]");
	buf_release(&text);
	sheet_free(sheet);
}

static void file_names(void **state)
{
	static const struct {
		const char *name, *taken, *file;
	} rows[] = {
		{"sched_switch", NULL, "sched_switch.csv"},
		{"sched:sched_switch", NULL, "sched.sched_switch.csv"},
		{"a/b \"c\"", NULL, "a_b__c_.csv"},
		{"../x", NULL, "_.._x.csv"},
		{"", NULL, "_.csv"},
		{"#12", NULL, "__12.csv"},
		{"state", "state.csv", "state-2.csv"},
		{"State", "state.csv", "State.csv"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct nameset taken = {0};
		if (rows[i].taken)
			nameset_add(&taken, rows[i].taken, 2);
		char *file = convert_file_name(rows[i].name, "csv", &taken);
		assert_string_equal(file, rows[i].file);
		assert_true(nameset_find(&taken, file, NULL));
		nameset_release(&taken);
		mem_free(file);
	}
}

/* The last of many classes whose files would have one name is not compared with all of them. */
static void one_name_many_times(void **state)
{
	struct nameset taken = {0};
	char *files[1000];
	uint32_t next;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		files[i] = convert_file_name("a", "csv", &taken);
	assert_string_equal(files[0], "a.csv");
	assert_string_equal(files[999], "a-1000.csv");
	assert_true(nameset_find(&taken, "a.csv", &next));
	assert_int_equal(next, 1001); /* where the next one begins to look */
	for (size_t i = 1; i < COUNT(files); i++)
		assert_string_not_equal(files[i], files[i - 1]);
	nameset_release(&taken);
	for (size_t i = 0; i < COUNT(files); i++)
		mem_free(files[i]);
}

enum {
	TEXTS = sizeof text_rows / sizeof *text_rows,
	VALUES = sizeof value_rows / sizeof *value_rows
};

int main(void)
{
	struct CMUnitTest tests[TEXTS + VALUES + 4];
	size_t n = 0;

	for (size_t i = 0; i < TEXTS; i++)
		tests[n++] = (struct CMUnitTest){text_rows[i].name, keeps_text, NULL, NULL,
						 &text_rows[i]};
	for (size_t i = 0; i < VALUES; i++)
		tests[n++] = (struct CMUnitTest){value_rows[i].name, keeps_value, NULL, NULL,
						 &value_rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(texts_once);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(lists);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(file_names);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(one_name_many_times);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
