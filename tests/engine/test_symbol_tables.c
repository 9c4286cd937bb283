/*
 * Tables of symbols: searched, damaged at every byte; names demangled.
 */
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"
#include "tests/harness.h"

#include <string.h>
#include <xxhash.h>

static void make_small_table(struct symbol_table *out)
{
	struct raw_symbols raw = {0};

	raw_symbols_add(&raw, 0x100, 0x10, "first", 5, false, true);
	raw_symbols_add(&raw, 0x200, 0, "second", 6, false, true);
	raw_symbols_add(&raw, 0x300, 0x20, "third", 5, false, true);
	raw_symbols_add(&raw, 0x304, 0x4, "inside", 6, false, true);
	raw_symbols_finish(&raw, false);
	symbol_table_make(&raw, 7, out);
	raw_symbols_release(&raw);
}

static void small_tables_are_searched(void **state)
{
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {{0, NULL},         {0xff, NULL},      {0x100, "first"},  {0x10f, "first"},
		    {0x110, NULL},     {0x200, "second"}, {0x2ff, "second"}, {0x300, "third"},
		    {0x304, "inside"}, {0x308, "third"},  {0x31f, "third"},  {0x320, NULL}};
	struct symbol_table table;
	uint64_t i;

	(void)state;
	make_small_table(&table);
	for (size_t n = 0; n < COUNT(rows); n++) {
		bool found = symbol_table_find(&table, rows[n].address, &i);
		assert_int_equal(found, rows[n].name != NULL);
		if (found)
			assert_string_equal(symbol_table_name(&table, i), rows[n].name);
	}
	symbol_table_release(&table);
}

/* A digest that fits does not make a table honest: it is put right after each change. */
static void mend(uint8_t *image, size_t size)
{
	uint64_t digest = XXH3_64bits(image + 16, size - 16);

	memcpy(image + 8, &digest, sizeof digest);
}

static void search_all(const struct symbol_table *table)
{
	uint64_t i;

	for (uint64_t at = 0; at < 0x400; at += 3)
		if (symbol_table_find(table, at, &i))
			assert_true(strlen(symbol_table_name(table, i)) < 100);
}

static void damaged_tables_are_refused_or_harmless(void **state)
{
	struct symbol_table table, got;

	(void)state;
	make_small_table(&table);
	for (size_t cut = 0; cut < table.size; cut++) {
		uint8_t *copy = mem_new(cut);
		memcpy(copy, table.image, cut);
		assert_false(symbol_table_check(copy, cut, 7, &got));
		mem_free(copy);
	}
	for (size_t at = 0; at < table.size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint8_t *copy = mem_new(table.size);
			memcpy(copy, table.image, table.size);
			copy[at] ^= (uint8_t)(1u << bit);
			assert_false(symbol_table_check(copy, table.size, 7, &got));
			mend(copy, table.size);
			if (symbol_table_check(copy, table.size, 0, &got))
				search_all(&got);
			mem_free(copy);
		}
	symbol_table_release(&table);
}

static struct mangled {
	const char *name, *shown;
} mangled[] = {
	{"main", NULL},
	{"_start", NULL},
	{"_ZN4deep3BoxImE4spinEi", "deep::Box<unsigned long>::spin"},
	{"_ZN4deep3BoxImE4spinEi.isra.0", "deep::Box<unsigned long>::spin"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi@plt",
	 "std::vector<int, std::allocator<int> >::push_back@plt"},
	{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	{"_RNvC6_123foo3bar", "123foo::bar"},
	{"_Zbroken", NULL},
	{"__libc_start_main", NULL},
};

static void names_are_demangled(void **state)
{
	const struct mangled *row = *state;
	char *shown = symbol_demangle(row->name);

	if (row->shown)
		assert_string_equal(shown, row->shown);
	else
		assert_null(shown);
	mem_free(shown);
}

int main(void)
{
	static const struct CMUnitTest plain[] = {
		cmocka_unit_test(small_tables_are_searched),
		cmocka_unit_test(damaged_tables_are_refused_or_harmless),
	};
	struct CMUnitTest tests[COUNT(plain) + COUNT(mangled)];
	size_t n = COUNT(plain);

	memcpy(tests, plain, sizeof plain);
	for (size_t i = 0; i < COUNT(mangled); i++)
		tests[n++] = (struct CMUnitTest){mangled[i].name, names_are_demangled, NULL, NULL,
						 &mangled[i]};
	return cmocka_run_group_tests_name("symbol tables", tests, NULL, NULL);
}
