/*
 * parquet_column.c - one column of a row group: its pages and its statistics
 *
 * Values that repeat become a dictionary page and indexes into it; times become differences; others
 * are stored plain. Every column may have nulls: definition levels say which rows are null,
 * repetition levels where a row's list begins:
 *
 *     a value: 0 null, 1 there      a list: 0 null, 1 empty, 2 an element; repetition 0: new row
 */
#include "convert/sheets/parquet_internal.h"
#include "engine/base/cursor.h"
#include "engine/base/mem.h"

#include <assert.h>
#include <math.h>
#include <zstd.h>

enum { PAGE_ROWS = 1 << 16, PAGE_BYTES = 1 << 20, BOUND_MAX = 64 };

enum parquet_type parquet_type(const struct sheet_values *values)
{
	switch (values->kind) {
	case CELL_INT:
	case CELL_UINT:
		return values->wide ? PARQUET_INT64 : PARQUET_INT32;
	case CELL_FLOAT:
		return values->wide ? PARQUET_DOUBLE : PARQUET_FLOAT;
	case CELL_BOOL:
		return PARQUET_BOOLEAN;
	case CELL_TIME:
		return PARQUET_INT64;
	case CELL_TEXT:
	case CELL_BYTES:
		return PARQUET_BYTE_ARRAY;
	}
	return PARQUET_BYTE_ARRAY;
}

struct column_writer {
	const struct sheet_values *values;
	size_t rows;
	struct ZSTD_CCtx_s *zstd;
	struct buf *out;
	struct column_chunk *chunk;
	size_t begin; /* of the column in `out` */
	/* non-null values, or all elements of lists: numbers, or dictionary entries */
	uint64_t *numbers;
	uint32_t *entries;
	size_t count;
	unsigned entry_bits; /* of a dictionary's */
	struct buf body;     /* bytes of the current page */
	uint32_t *levels;
	size_t nlevels, levels_capacity;
};

static bool parquet_column_is_text(const struct sheet_values *values)
{
	return values->kind == CELL_TEXT || values->kind == CELL_BYTES;
}

/* ---- values ---- */

static void gather_texts(struct column_writer *column)
{
	const struct sheet_values *values = column->values;

	column->entries = mem_new_array(column->rows + 1, sizeof *column->entries);
	for (size_t i = 0; i < column->rows; i++)
		if (values->present[i])
			column->entries[column->count++] = values->index[i];
}

static void gather_numbers(struct column_writer *column)
{
	const struct sheet_values *values = column->values;
	size_t elements = values->elements.len / (values->wide ? 8 : 4);
	size_t most = values->list ? elements : column->rows;
	uint64_t *to = column->numbers = mem_new_array(most + 1, sizeof *to);

	if (values->list && values->wide && elements) {
		memcpy(to, values->elements.data, values->elements.len);
		column->count = elements;
	} else if (values->list) {
		for (size_t i = 0; i < elements; i++)
			to[i] = get32((const uint8_t *)values->elements.data + 4 * i, false);
		column->count = elements;
	} else if (values->wide && !values->has_null) {
		memcpy(to, values->numbers, column->rows * sizeof *to);
		column->count = column->rows;
	} else if (!values->has_null) {
		for (size_t i = 0; i < column->rows; i++)
			to[i] = values->narrow[i];
		column->count = column->rows;
	} else {
		for (size_t i = 0; i < column->rows; i++)
			if (values->present[i])
				to[column->count++] =
					values->wide ? values->numbers[i] : values->narrow[i];
	}
}

static void plain_text(struct column_writer *column, uint32_t entry)
{
	size_t len;
	const char *text = texts_get(&column->values->texts, entry, &len);
	uint32_t size = (uint32_t)len;

	buf_add(&column->body, &size, 4);
	if (len)
		buf_add(&column->body, text, len);
}

static void plain_numbers(struct column_writer *column, const uint64_t *numbers, size_t count)
{
	struct buf *body = &column->body;

	if (column->values->kind == CELL_BOOL) {
		for (size_t i = 0; i < count; i += 8) {
			uint8_t byte = 0;
			for (size_t k = 0; k < 8 && i + k < count; k++)
				byte |= (uint8_t)((numbers[i + k] & 1) << k);
			buf_add_char(body, (char)byte);
		}
	} else if (column->values->wide) {
		buf_add(body, numbers, count * 8);
	} else {
		char *to = buf_room(body, count * 4);
		for (size_t i = 0; i < count; i++) {
			uint32_t number = (uint32_t)numbers[i];
			memcpy(to + 4 * i, &number, 4);
		}
		body->len += count * 4;
	}
}

/* ---- bounds ---- */

/* Compares two values in the order of the column's type; floats are no NaN. */
static bool is_less(const struct sheet_values *values, uint64_t a, uint64_t b)
{
	double x, y;
	float u, v;

	if (values->kind == CELL_FLOAT && values->wide) {
		memcpy(&x, &a, 8);
		memcpy(&y, &b, 8);
		return x < y;
	}
	if (values->kind == CELL_FLOAT) {
		memcpy(&u, &a, 4);
		memcpy(&v, &b, 4);
		return u < v;
	}
	if (values->kind == CELL_UINT || values->kind == CELL_BOOL)
		return a < b;
	return values->wide ? (int64_t)a < (int64_t)b : (int32_t)a < (int32_t)b;
}

static bool has_nan(const struct sheet_values *values, const uint64_t *numbers, size_t count)
{
	double wide;
	float narrow;

	for (size_t i = 0; values->kind == CELL_FLOAT && i < count; i++) {
		memcpy(&wide, &numbers[i], 8);
		memcpy(&narrow, &numbers[i], 4);
		if (values->wide ? isnan(wide) : isnan(narrow))
			return true;
	}
	return false;
}

/* Adds a minimum or maximum. A float zero stands for both zeros: the minimum is written as -0. */
static void add_bound(const struct sheet_values *values, uint64_t number, bool least,
		      struct buf *out)
{
	uint64_t sign = values->wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;

	if (values->kind == CELL_FLOAT && !(number & ~sign))
		number = least ? sign : 0;
	buf_add(out, &number, values->kind == CELL_BOOL ? 1 : values->wide ? 8 : 4);
}

static void bound_numbers(struct column_writer *column, const uint64_t *numbers, size_t count)
{
	const struct sheet_values *values = column->values;
	struct column_chunk *chunk = column->chunk;

	if (!count || has_nan(values, numbers, count))
		return;
	uint64_t least = numbers[0], most = numbers[0];
	for (size_t i = 1; i < count; i++) {
		least = is_less(values, numbers[i], least) ? numbers[i] : least;
		most = is_less(values, most, numbers[i]) ? numbers[i] : most;
	}
	add_bound(values, least, true, &chunk->least);
	add_bound(values, most, false, &chunk->most);
	chunk->has_bounds = true;
}

static int text_compare(const struct texts *texts, uint32_t a, uint32_t b)
{
	size_t na, nb;
	const char *x = texts_get(texts, a, &na), *y = texts_get(texts, b, &nb);
	size_t n = na < nb ? na : nb;
	int order = n ? memcmp(x, y, n) : 0;

	return order ? order : (na > nb) - (na < nb);
}

static void bound_texts(struct column_writer *column)
{
	const struct texts *texts = &column->values->texts;
	uint32_t least = 0, most = 0;
	size_t nleast, nmost;

	if (!texts->count)
		return;
	for (uint32_t i = 1; i < texts->count; i++) {
		least = text_compare(texts, i, least) < 0 ? i : least;
		most = text_compare(texts, i, most) > 0 ? i : most;
	}
	const char *low = texts_get(texts, least, &nleast);
	const char *high = texts_get(texts, most, &nmost);
	if (nleast > BOUND_MAX || nmost > BOUND_MAX)
		return;
	buf_add(&column->chunk->least, low, nleast);
	buf_add(&column->chunk->most, high, nmost);
	column->chunk->has_bounds = true;
}

/* ---- pages ---- */

static void page_write(struct column_writer *column, int type, size_t values,
		       enum parquet_encoding encoding)
{
	struct buf *out = column->out, *body = &column->body;
	struct buf packed = {0};
	struct thrift thrift = {.out = out};
	size_t before = out->len;

	char *to = buf_room(&packed, ZSTD_compressBound(body->len));
	size_t n = ZSTD_compressCCtx(column->zstd, to, ZSTD_compressBound(body->len), body->data,
				     body->len, 1);
	assert(!ZSTD_isError(n)); /* the room is ZSTD_compressBound() */
	thrift_begin(&thrift);
	thrift_i32(&thrift, 1, type);
	thrift_i32(&thrift, 2, (int32_t)body->len);
	thrift_i32(&thrift, 3, (int32_t)n);
	thrift_struct(&thrift, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&thrift, 1, (int32_t)values);
	thrift_i32(&thrift, 2, (int32_t)encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&thrift, 3, ENCODING_RLE);
		thrift_i32(&thrift, 4, ENCODING_RLE);
	}
	thrift_end(&thrift);
	thrift_end(&thrift);
	column->chunk->plain_bytes += (int64_t)(out->len - before + body->len);
	buf_add(out, to, n);
	column->chunk->bytes += (int64_t)(out->len - before);
	buf_release(&packed);
	buf_clear(body);
}

static void level_add(struct column_writer *column, uint32_t level)
{
	*mem_push(column->levels, column->nlevels, column->levels_capacity) = level;
}

/* Writes the collected levels, after their length in bytes. */
static void levels_write(struct column_writer *column, unsigned bits)
{
	struct buf *body = &column->body;
	size_t at = body->len;
	uint32_t len = 0;

	buf_add(body, &len, 4);
	rle_add(body, column->levels, column->nlevels, bits);
	len = (uint32_t)(body->len - at - 4);
	memcpy(body->data + at, &len, 4);
	column->nlevels = 0;
}

/* The same for rows that all have a value: one run. */
static void levels_all(struct column_writer *column, size_t rows)
{
	struct buf run = {0};
	uint32_t len;

	buf_add_varint(&run, rows << 1);
	buf_add_char(&run, 1);
	len = (uint32_t)run.len;
	buf_add(&column->body, &len, 4);
	buf_add(&column->body, run.data, run.len);
	buf_release(&run);
}

static uint32_t list_length(const struct sheet_values *values, size_t row)
{
	return values->list_ends[row] - (row ? values->list_ends[row - 1] : 0);
}

/* Writes the levels of rows [from, to) and returns how many; *there: rows with a value. */
static size_t page_levels(struct column_writer *column, size_t from, size_t to, size_t *there)
{
	const struct sheet_values *values = column->values;
	size_t levels;

	*there = to - from;
	if (!values->list && !values->has_null) {
		levels_all(column, to - from);
		return to - from;
	}
	*there = 0;
	for (size_t row = from; values->list && row < to; row++)
		for (uint32_t i = 0, n = list_length(values, row); i < n || !i; i++)
			level_add(column, i > 0);
	if (values->list)
		levels_write(column, 1);
	for (size_t row = from; row < to; row++) {
		uint32_t n = values->list ? list_length(values, row) : 0;
		if (!n)
			level_add(column, values->present[row]);
		for (uint32_t i = 0; i < n; i++)
			level_add(column, 2);
		*there += values->list ? n : values->present[row];
	}
	levels = column->nlevels;
	levels_write(column, values->list ? 2 : 1);
	return levels;
}

/* The end of the page that begins with row `from`. */
static size_t page_end(const struct column_writer *column, size_t from)
{
	const struct sheet_values *values = column->values;
	size_t to = from, bytes = 0, len;

	if (!values->list && !(parquet_column_is_text(values) && values->texts.plain))
		return from + PAGE_ROWS < column->rows ? from + PAGE_ROWS : column->rows;
	for (; to < column->rows && to - from < PAGE_ROWS && bytes < PAGE_BYTES; to++) {
		if (values->list) {
			bytes += 4 + list_length(values, to) * (values->wide ? 8 : 4);
		} else if (values->present[to]) {
			texts_get(&values->texts, values->index[to], &len);
			bytes += len + 4;
		}
	}
	return to;
}

static void page_values(struct column_writer *column, size_t at, size_t count)
{
	struct buf *body = &column->body;

	switch (column->chunk->encoding) {
	case ENCODING_DICTIONARY:
		buf_add_char(body, (char)column->entry_bits);
		rle_add(body, column->entries + at, count, column->entry_bits);
		return;
	case ENCODING_DELTA:
		delta_add(body, column->numbers + at, count);
		return;
	default:
		if (!parquet_column_is_text(column->values)) {
			plain_numbers(column, column->numbers + at, count);
			return;
		}
		for (size_t i = at; i < at + count; i++)
			plain_text(column, column->entries[i]);
	}
}

static void pages_write(struct column_writer *column)
{
	struct column_chunk *chunk = column->chunk;
	size_t at = 0, values;

	chunk->data_at = (int64_t)(column->out->len);
	for (size_t from = 0, to; from < column->rows; from = to) {
		to = page_end(column, from);
		size_t levels = page_levels(column, from, to, &values);
		page_values(column, at, values);
		chunk->values += (int64_t)levels;
		chunk->nulls += (int64_t)(levels - values);
		at += values;
		page_write(column, PAGE_DATA, levels, chunk->encoding);
	}
}

static void dictionary_page(struct column_writer *column, size_t count)
{
	column->chunk->encoding = ENCODING_DICTIONARY;
	column->chunk->dictionary_at = (int64_t)column->out->len;
	column->entry_bits = count > 1 ? bits_for(count - 1) : 1;
	page_write(column, PAGE_DICTIONARY, count, ENCODING_PLAIN);
}

static void text_column(struct column_writer *column)
{
	const struct texts *texts = &column->values->texts;

	gather_texts(column);
	bound_texts(column);
	if (!texts->plain && texts->count) {
		for (uint32_t i = 0; i < texts->count; i++)
			plain_text(column, i);
		dictionary_page(column, texts->count);
	}
}

static void number_column(struct column_writer *column, bool rises)
{
	const struct sheet_values *values = column->values;
	struct dictionary dictionary;

	gather_numbers(column);
	if (values->kind != CELL_BOOL && !rises &&
	    dictionary_make(values, column->numbers, column->count, &dictionary)) {
		bound_numbers(column, dictionary.values, dictionary.count);
		plain_numbers(column, dictionary.values, dictionary.count);
		column->entries = dictionary.entries;
		dictionary.entries = NULL;
		dictionary_page(column, dictionary.count);
		dictionary_release(&dictionary);
		return;
	}
	bound_numbers(column, column->numbers, column->count);
	if (values->kind == CELL_TIME || (rises && values->wide))
		column->chunk->encoding = ENCODING_DELTA;
}

void parquet_column(const struct sheet_values *values, size_t rows, bool rises,
		    struct ZSTD_CCtx_s *zstd, struct buf *out, struct column_chunk *chunk)
{
	struct column_writer column = {
		.values = values, .rows = rows, .zstd = zstd, .out = out, .chunk = chunk};

	*chunk = (struct column_chunk){.dictionary_at = -1, .encoding = ENCODING_PLAIN};
	if (parquet_column_is_text(values))
		text_column(&column);
	else
		number_column(&column, rises);
	pages_write(&column);
	chunk->end = (int64_t)out->len;
	mem_free(column.numbers);
	mem_free(column.entries);
	mem_free(column.levels);
	buf_release(&column.body);
}
