/*
 * sheet.c - columns that grow, and texts that are kept once
 *
 * A column of texts numbers the different ones: names of threads and files are few, and the number
 * is what a dictionary page wants. Where most texts differ looking them up does not pay: from then
 * on each is an entry of its own.
 */
#include "convert/sheet.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"

enum { FIRST_ROWS = 16, FIRST_PLACES = 16, TRY_TEXTS = 4096 };

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
	struct values *values = &sheet->columns[column];

	values->name = name;
	values->kind = kind;
	values->bits = (uint8_t)bits;
	values->list = list;
	values->wide = kind == CELL_TIME || (bits > 32 && kind != CELL_TEXT && kind != CELL_BYTES);
}

static void values_release(struct values *values)
{
	mem_free(values->present);
	mem_free(values->all);
	mem_free(values->list_ends);
	mem_free(values->texts.ends);
	mem_free(values->texts.places);
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
		struct values *values = &sheet->columns[i];
		struct texts *texts = &values->texts;
		values->has_null = false;
		buf_clear(&values->elements);
		buf_clear(&texts->bytes);
		texts->count = texts->asked = 0;
		texts->plain = false;
		if (texts->places)
			memset(texts->places, 0, texts->nplaces * sizeof *texts->places);
		if (texts->symbols)
			memset(texts->symbols, 0, texts->nsymbols * sizeof *texts->symbols);
	}
}

size_t sheet_bytes(const struct sheet *sheet)
{
	size_t bytes = 0;

	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const struct values *values = &sheet->columns[i];
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

void sheet_grow(struct sheet *sheet)
{
	size_t capacity = sheet->capacity ? sheet->capacity * 2 : FIRST_ROWS;

	for (size_t i = 0; i < sheet->ncolumns; i++) {
		struct values *values = &sheet->columns[i];
		values->present = mem_resize(values->present, capacity, 1);
		values->all = mem_resize(values->all, capacity, values->wide ? 8 : 4);
		if (values->list)
			values->list_ends = mem_resize(values->list_ends, capacity, 4);
	}
	sheet->capacity = capacity;
}

/* ---- texts ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15u;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const uint8_t *bytes, size_t len)
{
	uint64_t hash = len, word = 0;

	for (; len >= 8; len -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = mix(hash, word);
	}
	word = 0;
	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return mix(mix(hash, word), 0xd6e8feb86659fd93u);
}

static uint32_t entry_add(struct texts *texts, const void *bytes, size_t len)
{
	texts->ends = mem_grow(texts->ends, texts->count, &texts->capacity, sizeof *texts->ends);
	if (len)
		buf_add(&texts->bytes, bytes, len);
	texts->ends[texts->count] = (uint32_t)texts->bytes.len;
	return (uint32_t)texts->count++;
}

static void places_grow(struct texts *texts)
{
	size_t count = texts->nplaces ? texts->nplaces * 2 : FIRST_PLACES, len;

	mem_free(texts->places);
	texts->places = mem_new_array(count, sizeof *texts->places);
	texts->nplaces = count;
	for (size_t i = 0; i < texts->count; i++) {
		const char *text = texts_get(texts, (uint32_t)i, &len);
		size_t at = hash_of((const uint8_t *)text, len) & (count - 1);
		while (texts->places[at])
			at = (at + 1) & (count - 1);
		texts->places[at] = (uint32_t)i + 1;
	}
}

/* As memcmp(), for the few bytes that names are made of: a call costs more than they do. */
static bool same_bytes(const char *a, const char *b, size_t len)
{
	uint64_t x, y, u, v;

	if (len < 8 || len > 16) {
		if (len > 16)
			return memcmp(a, b, len) == 0;
		for (size_t i = 0; i < len; i++)
			if (a[i] != b[i])
				return false;
		return true;
	}
	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	memcpy(&u, a + len - 8, 8);
	memcpy(&v, b + len - 8, 8);
	return x == y && u == v;
}

static bool entry_is(const struct texts *texts, uint32_t entry, const void *bytes, size_t len)
{
	size_t have;
	const char *text = texts_get(texts, entry, &have);

	return have == len && same_bytes(text, bytes, len);
}

/* Where the text is among the entries, or would be. */
static size_t place_of(const struct texts *texts, const void *bytes, size_t len)
{
	size_t at = hash_of(bytes, len) & (texts->nplaces - 1);

	while (texts->places[at] && !entry_is(texts, texts->places[at] - 1, bytes, len))
		at = (at + 1) & (texts->nplaces - 1);
	return at;
}

static bool is_utf8(const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	uint64_t word;
	size_t n;

	for (; at < end; at += n) {
		n = 8;
		if (end - at >= 8) {
			memcpy(&word, at, 8);
			if (!(word & 0x8080808080808080u))
				continue;
		}
		n = utf8_length(at, (size_t)(end - at));
		if (!n)
			return false;
	}
	return true;
}

static void mend(const uint8_t *at, size_t len, struct buf *out)
{
	const uint8_t *end = at + len;

	while (at < end) {
		size_t n = utf8_length(at, (size_t)(end - at));
		if (n) {
			buf_add(out, at, n);
		} else {
			buf_add_char(out, (char)(0xc0 | *at >> 6));
			buf_add_char(out, (char)(0x80 | (*at & 0x3f)));
		}
		at += n ? n : 1;
	}
}

static uint32_t add_text(struct values *values, const void *bytes, size_t len)
{
	struct texts *texts = &values->texts;

	if (!texts->plain) {
		size_t at = place_of(texts, bytes, len);
		if (texts->places[at])
			return texts->places[at] - 1;
		texts->places[at] = (uint32_t)texts->count + 1;
	}
	return entry_add(texts, bytes, len);
}

static uint32_t entry_of(struct values *values, const void *bytes, size_t len)
{
	struct texts *texts = &values->texts;
	struct buf mended = {0};
	uint32_t entry;

	if (texts->count * 2 >= texts->nplaces && !texts->plain)
		places_grow(texts);
	if (++texts->asked % TRY_TEXTS == 0 && texts->count > texts->asked / 2)
		texts->plain = true;
	if (!texts->plain) {
		entry = texts->places[place_of(texts, bytes, len)];
		if (entry)
			return entry - 1;
	}
	if (values->kind != CELL_TEXT || is_utf8(bytes, len))
		return add_text(values, bytes, len);
	mend(bytes, len, &mended);
	entry = add_text(values, mended.data, mended.len);
	buf_release(&mended);
	return entry;
}

void values_text(struct values *values, size_t row, const void *bytes, size_t len)
{
	struct texts *texts = &values->texts;
	bool before = row && values->present[row - 1] && !texts->plain;

	values->present[row] = 1;
	values->index[row] = before && entry_is(texts, values->index[row - 1], bytes, len)
				     ? values->index[row - 1]
				     : entry_of(values, bytes, len);
}

uint32_t values_symbol_entry(struct values *values, uint32_t symbol, const char *text)
{
	struct texts *texts = &values->texts;
	uint32_t entry = entry_of(values, text, strlen(text));

	if (symbol >= texts->nsymbols) {
		size_t count = symbol + 16;
		texts->symbols = mem_resize_zeroed(texts->symbols, texts->nsymbols, count,
						   sizeof *texts->symbols);
		texts->nsymbols = count;
	}
	texts->symbols[symbol] = entry + 1;
	return entry;
}

void values_float(struct values *values, size_t row, double number)
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

void values_element(struct values *values, uint64_t number)
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

void values_list_end(struct values *values, size_t row)
{
	values->present[row] = 1;
	values->list_ends[row] = (uint32_t)(values->elements.len / (values->wide ? 8 : 4));
}

/* ---- reading ---- */

static uint64_t widened(const struct values *values, uint32_t number)
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

uint64_t values_get(const struct values *values, size_t row)
{
	return values->wide ? values->numbers[row] : widened(values, values->narrow[row]);
}

uint64_t values_get_element(const struct values *values, size_t i)
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
