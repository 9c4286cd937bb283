/*
 * table.c - functions in order of address, in one run of bytes
 *
 *     OFFSET  SIZE     MEANING
 *          0     8     magic, in the byte order of the machine
 *          8     8     XXH3 of all that follows
 *         16     8     stamp: what the table was made of
 *         24     8     number of symbols, N
 *         32     8     bytes of names, B
 *         40     8 N   addresses, rising
 *                8 N   lengths
 *                4 N   where each name begins among the names
 *                B     names, mangled, each ended by a zero
 *
 * Which of several symbols at one address stays, and how far one without a size reaches, is decided
 * as perf does, so that both name the same address alike.
 */
#include "engine/symbols/tables/tables.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TABLE_MAGIC UINT64_C(0x316d797365726f79)

enum { HEAD_BYTES = 40, BYTES_EACH = 8 + 8 + 4, PAGE = 4096, BACKWARD_MAX = 64 };

/* Collecting ---------------------------------------------------------------------------------- */

void raw_symbols_add(struct raw_symbols *raw, uint64_t start, uint64_t len, const char *name,
		     size_t nname, bool weak, bool global)
{
	if (raw->count >= UINT32_MAX || raw->text.len + nname + 1 > UINT32_MAX)
		return; /* offsets of names have 32 bits */
	struct raw_symbol symbol = {.start = start,
				    .len = len,
				    .name = raw->text.len,
				    .order = (uint32_t)raw->count,
				    .weak = weak,
				    .global = global};
	*mem_push(raw->items, raw->count, raw->capacity) = symbol;
	buf_add(&raw->text, name, nname);
	buf_add_char(&raw->text, 0);
}

void raw_symbols_release(struct raw_symbols *raw)
{
	mem_free(raw->items);
	buf_release(&raw->text);
	*raw = (struct raw_symbols){0};
}

static int by_start(const void *a, const void *b)
{
	const struct raw_symbol *x = a, *y = b;

	return three_way(x->start, y->start) ?: three_way(x->order, y->order);
}

static const char *raw_name(const struct raw_symbols *raw, const struct raw_symbol *symbol)
{
	return raw->text.data + symbol->name;
}

static bool of_module(const struct raw_symbols *raw, const struct raw_symbol *symbol)
{
	return strchr(raw_name(raw, symbol), '[') != NULL;
}

static uint64_t page_up(uint64_t address)
{
	return (address + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* One without a size reaches to the next symbol; the last one to the end of the page after it. */
static void give_lengths(struct raw_symbols *raw, bool kallsyms)
{
	for (size_t i = 0; i < raw->count; i++) {
		struct raw_symbol *symbol = &raw->items[i];
		const struct raw_symbol *next = symbol + 1;
		if (symbol->len)
			continue;
		if (i + 1 == raw->count)
			symbol->len = page_up(symbol->start) + PAGE - symbol->start;
		else if (kallsyms && of_module(raw, symbol) != of_module(raw, next))
			symbol->len = page_up(symbol->start + PAGE) - symbol->start;
		else
			symbol->len = next->start - symbol->start;
	}
}

static size_t shown_underscores(const struct raw_symbols *raw, const struct raw_symbol *symbol,
				size_t *len)
{
	char *demangled = symbol_demangle(raw_name(raw, symbol));
	const char *name = demangled ? demangled : raw_name(raw, symbol);
	size_t count = strspn(name, "_");

	*len = strlen(name);
	mem_free(demangled);
	return count;
}

/* Does `a` stay rather than `b`, which came after it? */
static bool better(const struct raw_symbols *raw, const struct raw_symbol *a,
		   const struct raw_symbol *b)
{
	size_t len_a, len_b, under_a, under_b;

	if (!a->len != !b->len)
		return a->len != 0;
	if (a->weak != b->weak)
		return !a->weak;
	if (a->global != b->global)
		return a->global;
	under_a = shown_underscores(raw, a, &len_a);
	under_b = shown_underscores(raw, b, &len_b);
	if (under_a != under_b)
		return under_a < under_b;
	if (len_a != len_b)
		return len_a > len_b;
	return strncmp(raw_name(raw, a), "SyS", 3) != 0 &&
	       strncmp(raw_name(raw, a), "compat_SyS", 10) != 0;
}

void raw_symbols_finish(struct raw_symbols *raw, bool kallsyms)
{
	size_t kept = 0;

	if (!raw->count)
		return;
	qsort(raw->items, raw->count, sizeof *raw->items, by_start);
	give_lengths(raw, kallsyms);
	for (size_t i = 1; i < raw->count; i++) {
		struct raw_symbol *last = &raw->items[kept];
		if (raw->items[i].start != last->start)
			raw->items[++kept] = raw->items[i];
		else if (!better(raw, last, &raw->items[i]))
			*last = raw->items[i];
	}
	raw->count = kept + 1;
}

/* Demangling ---------------------------------------------------------------------------------- */

char *symbol_demangle(const char *name)
{
	size_t len = strlen(name);
	char *result, *plt;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != '_'))
		return NULL;
	if (len < 5 || strcmp(name + len - 4, "@plt") != 0)
		return cplus_demangle(name, DMGL_NO_OPTS);
	plt = mem_strdup(name);
	plt[len - 4] = 0;
	result = cplus_demangle(plt, DMGL_NO_OPTS);
	mem_free(plt);
	if (!result)
		return NULL;
	len = strlen(result);
	result = mem_resize(result, len + 5, 1);
	memcpy(result + len, "@plt", 5);
	return result;
}

/* Images -------------------------------------------------------------------------------------- */

static uint64_t digest(const uint8_t *image, size_t size)
{
	return XXH3_64bits(image + 16, size - 16);
}

static void put64(uint8_t *image, size_t at, uint64_t value)
{
	memcpy(image + at, &value, sizeof value);
}

static uint64_t get64(const uint8_t *image, size_t at)
{
	uint64_t value;

	memcpy(&value, image + at, sizeof value);
	return value;
}

static void point(struct symbol_table *table, const uint8_t *image, size_t size)
{
	const uint8_t *at = image + HEAD_BYTES;

	table->image = image;
	table->size = size;
	table->count = get64(image, 24);
	table->ntext = get64(image, 32);
	table->starts = (const void *)at;
	table->lens = table->starts + table->count;
	table->names = (const void *)(table->lens + table->count);
	table->text = (const char *)(table->names + table->count);
}

void symbol_table_make(const struct raw_symbols *raw, uint64_t stamp, struct symbol_table *out)
{
	size_t count = raw->count, size = HEAD_BYTES + count * BYTES_EACH + raw->text.len;
	uint8_t *image = mem_new(size);
	uint8_t *starts = image + HEAD_BYTES, *lens = starts + 8 * count, *names = lens + 8 * count;

	put64(image, 0, TABLE_MAGIC);
	put64(image, 16, stamp);
	put64(image, 24, count);
	put64(image, 32, raw->text.len);
	for (size_t i = 0; i < count; i++) {
		uint32_t name = (uint32_t)raw->items[i].name;
		put64(starts, 8 * i, raw->items[i].start);
		put64(lens, 8 * i, raw->items[i].len);
		memcpy(names + 4 * i, &name, sizeof name);
	}
	if (raw->text.len)
		memcpy(names + 4 * count, raw->text.data, raw->text.len);
	put64(image, 8, digest(image, size));
	*out = (struct symbol_table){.own = image};
	point(out, image, size);
}

bool symbol_table_check(const uint8_t *image, size_t size, uint64_t stamp, struct symbol_table *out)
{
	uint64_t count, ntext;

	if (size < HEAD_BYTES || get64(image, 0) != TABLE_MAGIC ||
	    (stamp && get64(image, 16) != stamp))
		return false;
	count = get64(image, 24);
	ntext = get64(image, 32);
	if (count > (size - HEAD_BYTES) / BYTES_EACH ||
	    ntext != size - HEAD_BYTES - count * BYTES_EACH || (count && !ntext) ||
	    (ntext && image[size - 1]) || get64(image, 8) != digest(image, size))
		return false;
	*out = (struct symbol_table){0};
	point(out, image, size);
	return true;
}

void symbol_table_release(struct symbol_table *table)
{
	mem_free(table->own);
	if (table->source) {
		source_put(&table->block);
		source_close(table->source);
	}
	*table = (struct symbol_table){0};
}

bool symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *index)
{
	uint64_t low = search_first(i, 0, table->count, table->starts[i] <= address);

	for (uint64_t n = 0; n < BACKWARD_MAX && low > 0; n++) {
		uint64_t i = --low, into = address - table->starts[i];
		if (into < table->lens[i]) {
			*index = i;
			return true;
		}
	}
	return false;
}

enum { MEMO_BITS = 12 };

bool memo_find(struct symbol_memo *memo, const struct symbol_table *table, uint64_t address,
	       uint64_t *index)
{
	uint64_t hash = (address ^ (uintptr_t)table) * UINT64_C(0x9e3779b97f4a7c15);

	if (!memo->entries)
		memo->entries = mem_new_array(1 << MEMO_BITS, sizeof *memo->entries);
	struct memo_entry *entry = &memo->entries[hash >> (64 - MEMO_BITS)];
	if (entry->table != table || entry->address != address) {
		*entry = (struct memo_entry){table, address, UINT64_MAX};
		symbol_table_find(table, address, &entry->index);
	}
	*index = entry->index;
	return *index != UINT64_MAX;
}

const char *symbol_table_name(const struct symbol_table *table, uint64_t index)
{
	uint32_t at = index < table->count ? table->names[index] : UINT32_MAX;

	return at < table->ntext ? table->text + at : "";
}
