/*
 * sheet.c - growing columns, and dictionaries of their texts
 *
 * A column of texts has a dictionary, since names of threads and files repeat, and Parquet stores
 * dictionaries, too. Where most texts differ, lookups do not pay: from then on each text becomes an
 * entry of its own.
 */
#include "engine/columns/sheet.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"

enum { FIRST_ROWS = 16, TRY_TEXTS = 4096 };

struct sheet *sheet_new(const char *name, size_t ncolumns)
{
	struct sheet *sheet = mem_new(sizeof *sheet);

	sheet->name = name;
	sheet->ncolumns = ncolumns;
	sheet->columns = mem_new_array(ncolumns, sizeof *sheet->columns);
	return sheet;
}

void sheet_describe(struct sheet *sheet, size_t column, const char *name, enum cell_kind kind,
		    unsigned bits, bool list)
{
	struct sheet_values *values = &sheet->columns[column];

	values->name = name;
	values->kind = kind;
	values->bits = (uint8_t)bits;
	values->list = list;
	values->wide = kind == CELL_TIME || (bits > 32 && kind != CELL_TEXT && kind != CELL_BYTES);
}

static void values_grow(struct sheet_values *values, size_t capacity)
{
	values->present = mem_resize(values->present, capacity, 1);
	values->all = mem_resize(values->all, capacity, values->wide ? 8 : 4);
	if (values->list)
		values->list_ends = mem_resize(values->list_ends, capacity, 4);
}

void sheet_add_column(struct sheet *sheet, const char *name, enum cell_kind kind, unsigned bits)
{
	size_t column = sheet->ncolumns++;

	sheet->columns = mem_resize(sheet->columns, sheet->ncolumns, sizeof *sheet->columns);
	sheet->columns[column] = (struct sheet_values){0};
	sheet_describe(sheet, column, name, kind, bits, false);
	if (sheet->capacity)
		values_grow(&sheet->columns[column], sheet->capacity);
}

static void values_release(struct sheet_values *values)
{
	mem_free(values->present);
	mem_free(values->all);
	mem_free(values->list_ends);
	mem_free(values->texts.ends);
	hash_index_release(&values->texts.index);
	mem_free(values->texts.symbols);
	buf_release(&values->texts.bytes);
	buf_release(&values->elements);
}

void sheet_free(struct sheet *sheet)
{
	if (!sheet)
		return;
	for (size_t i = 0; i < sheet->ncolumns; i++)
		values_release(&sheet->columns[i]);
	mem_free(sheet->columns);
	mem_free(sheet);
}

void sheet_clear(struct sheet *sheet)
{
	sheet->rows = 0;
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		struct sheet_values *values = &sheet->columns[i];
		struct texts *texts = &values->texts;
		values->has_null = false;
		buf_clear(&values->elements);
		buf_clear(&texts->bytes);
		texts->count = texts->asked = 0;
		texts->plain = false;
		hash_index_clear(&texts->index);
		if (texts->symbols)
			memset(texts->symbols, 0, texts->nsymbols * sizeof *texts->symbols);
	}
}

size_t sheet_bytes(const struct sheet *sheet)
{
	size_t bytes = 0;

	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const struct sheet_values *values = &sheet->columns[i];
		bytes += sheet->rows * (values->wide ? 9 : 5) + values->elements.len +
			 values->texts.bytes.len + values->texts.count * 4;
	}
	return bytes;
}

struct sheet *sheet_take(struct sheet *sheet)
{
	struct sheet *taken = mem_new(sizeof *taken);

	*taken = *sheet;
	sheet->columns = mem_new_array(sheet->ncolumns, sizeof *sheet->columns);
	for (size_t i = 0; i < sheet->ncolumns; i++)
		sheet_describe(sheet, i, taken->columns[i].name, taken->columns[i].kind,
			       taken->columns[i].bits, taken->columns[i].list);
	sheet->rows = sheet->capacity = 0;
	return taken;
}

static void set_capacity(struct sheet *sheet, size_t capacity)
{
	for (size_t i = 0; i < sheet->ncolumns; i++)
		values_grow(&sheet->columns[i], capacity);
	sheet->capacity = capacity;
}

void sheet_grow(struct sheet *sheet)
{
	set_capacity(sheet, sheet->capacity ? sheet->capacity * 2 : FIRST_ROWS);
}

/* ---- texts ---- */

static uint32_t entry_add(struct texts *texts, const void *bytes, size_t len)
{
	if (len)
		buf_add(&texts->bytes, bytes, len);
	*mem_push(texts->ends, texts->count, texts->capacity) = (uint32_t)texts->bytes.len;
	return (uint32_t)texts->count - 1;
}

static bool entry_is(const struct texts *texts, uint32_t entry, const void *bytes, size_t len)
{
	size_t have;
	const char *text = texts_get(texts, entry, &have);

	return have == len && !memcmp(text, bytes, len);
}

static uint32_t sheet_add_text(struct texts *texts, const void *bytes, size_t len)
{
	if (texts->plain)
		return entry_add(texts, bytes, len);
	uint64_t hash = hash_bytes(bytes, len);
	uint32_t entry = hash_index_find(&texts->index, hash, i, entry_is(texts, i, bytes, len));
	return entry != HASH_INDEX_NONE
		       ? entry
		       : hash_index_add(&texts->index, hash, entry_add(texts, bytes, len));
}

static uint32_t entry_of(struct sheet_values *values, const void *bytes, size_t len)
{
	struct texts *texts = &values->texts;
	struct buf mended = {0};

	if (++texts->asked % TRY_TEXTS == 0 && texts->count > texts->asked / 2)
		texts->plain = true;
	if (values->kind != CELL_TEXT || utf8_is(bytes, len))
		return sheet_add_text(texts, bytes, len);
	utf8_mend(&mended, bytes, len);
	uint32_t entry = sheet_add_text(texts, mended.data, mended.len);
	buf_release(&mended);
	return entry;
}

void values_text(struct sheet_values *values, size_t row, const void *bytes, size_t len)
{
	struct texts *texts = &values->texts;
	bool before = row && values->present[row - 1] && !texts->plain;

	values->present[row] = 1;
	values->index[row] = before && entry_is(texts, values->index[row - 1], bytes, len)
				     ? values->index[row - 1]
				     : entry_of(values, bytes, len);
}

uint32_t values_symbol_entry(struct sheet_values *values, uint32_t symbol, const char *text)
{
	struct texts *texts = &values->texts;
	uint32_t entry = entry_of(values, text, strlen(text));

	texts->symbols =
		mem_reach(texts->symbols, symbol, &texts->nsymbols, sizeof *texts->symbols);
	texts->symbols[symbol] = entry + 1;
	return entry;
}

void values_float(struct sheet_values *values, size_t row, double number)
{
	float narrow = (float)number;
	uint64_t bits = 0;

	if (values->wide)
		memcpy(&bits, &number, sizeof number);
	else
		memcpy(&bits, &narrow, sizeof narrow);
	values_number(values, row, bits);
}

/* ---- lists ---- */

void values_element(struct sheet_values *values, uint64_t number)
{
	uint32_t narrow = (uint32_t)number;
	double real;
	float less;

	if (values->kind == CELL_FLOAT && !values->wide) {
		memcpy(&real, &number, sizeof real);
		less = (float)real;
		memcpy(&narrow, &less, sizeof less);
	}
	if (values->wide)
		buf_add(&values->elements, &number, 8);
	else
		buf_add(&values->elements, &narrow, 4);
}

void values_list_end(struct sheet_values *values, size_t row)
{
	values->present[row] = 1;
	values->list_ends[row] = (uint32_t)(values->elements.len / (values->wide ? 8 : 4));
}

/* ---- joining ---- */

/* Adds the entries of `from` to `to`; returns the number in `to` of each entry. */
static uint32_t *join_texts(struct texts *to, const struct texts *from)
{
	uint32_t *map = mem_new_array(from->count + 1, sizeof *map);

	to->plain |= from->plain;
	for (uint32_t i = 0; i < from->count; i++) {
		size_t len;
		const char *text = texts_get(from, i, &len);
		map[i] = sheet_add_text(to, text, len);
	}
	return map;
}

static void join_values(struct sheet_values *to, size_t at, const struct sheet_values *from,
			size_t rows)
{
	size_t size = to->wide ? 8 : 4;
	uint32_t before = (uint32_t)(to->elements.len / size), *map;

	to->has_null |= from->has_null;
	memcpy(to->present + at, from->present, rows);
	if (to->list) {
		for (size_t i = 0; i < rows; i++)
			to->list_ends[at + i] = before + from->list_ends[i];
		if (from->elements.len)
			buf_add(&to->elements, from->elements.data, from->elements.len);
	} else if (to->kind == CELL_TEXT || to->kind == CELL_BYTES) {
		map = join_texts(&to->texts, &from->texts);
		for (size_t i = 0; i < rows; i++)
			to->index[at + i] = from->present[i] ? map[from->index[i]] : 0;
		mem_free(map);
	} else {
		memcpy((char *)to->all + at * size, from->all, rows * size);
	}
}

struct sheet *sheet_join(struct sheet **parts, size_t count)
{
	struct sheet *all = parts[0];
	size_t rows = 0;

	for (size_t k = 0; k < count; k++)
		rows += parts[k]->rows;
	if (rows > all->capacity)
		set_capacity(all, rows);
	for (size_t k = 1; k < count; k++) {
		for (size_t i = 0; i < all->ncolumns; i++)
			join_values(&all->columns[i], all->rows, &parts[k]->columns[i],
				    parts[k]->rows);
		all->rows += parts[k]->rows;
		all->rises &= parts[k]->rises;
		sheet_free(parts[k]);
	}
	return all;
}

/* ---- reading ---- */

static uint64_t widened(const struct sheet_values *values, uint32_t number)
{
	float narrow;
	double wide;
	uint64_t bits;

	if (values->kind == CELL_INT)
		return (uint64_t)(int64_t)(int32_t)number;
	if (values->kind != CELL_FLOAT)
		return number;
	memcpy(&narrow, &number, sizeof narrow);
	wide = (double)narrow;
	memcpy(&bits, &wide, sizeof bits);
	return bits;
}

uint64_t values_get(const struct sheet_values *values, size_t row)
{
	return values->wide ? values->numbers[row] : widened(values, values->narrow[row]);
}

uint64_t values_get_element(const struct sheet_values *values, size_t i)
{
	uint64_t number;
	uint32_t narrow;

	if (values->wide) {
		memcpy(&number, values->elements.data + 8 * i, 8);
		return number;
	}
	memcpy(&narrow, values->elements.data + 4 * i, 4);
	return widened(values, narrow);
}
