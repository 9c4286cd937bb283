/*
 * sheet.h - rows of typed columns that wait for a writer, column by column
 *
 *     row      ts         stream (index → texts)        args_fd (present, numbers)
 *      0   1714564984..   0 → "kernel/chan_0"            1  3
 *      1   1714564985..   0                              0
 *
 * Values go from an event's slots straight to their columns; a writer takes thousands of rows of a
 * column at a time. A number takes 4 or 8 bytes a row, a text 4 and its bytes once.
 */
#ifndef ENGINE_COLUMNS_SHEET_H
#define ENGINE_COLUMNS_SHEET_H

#include "engine/base/buf.h"
#include "engine/base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum cell_kind {
	CELL_INT,   /* of 8, 16, 32 or 64 bits */
	CELL_UINT,  /* likewise */
	CELL_FLOAT, /* of 32 or 64 bits */
	CELL_BOOL,
	CELL_TIME, /* nanoseconds, 64 bits */
	CELL_TEXT, /* UTF-8 */
	CELL_BYTES
};

/* Texts, each different one once, as long as that pays; entry i ends at ends[i]. */
struct texts {
	struct buf bytes;
	uint32_t *ends;
	size_t count, capacity;
	struct hash_index index;
	size_t asked;
	bool plain;        /* too many differ: entries are not told apart any more */
	uint32_t *symbols; /* 1 + entry of what values_symbol() was given, 0 none */
	size_t nsymbols;
};

struct sheet_values {
	const char *name;
	enum cell_kind kind;
	uint8_t bits;  /* INT, UINT, FLOAT */
	bool list;     /* each row has any number of elements, of `kind` */
	bool wide;     /* numbers take 8 bytes, else 4 */
	bool has_null; /* `present` tells; else every row has a value */
	uint8_t *present;
	union {
		uint32_t *narrow;
		uint64_t *numbers; /* of a null: anything */
		uint32_t *index;   /* TEXT, BYTES: entry of texts */
		void *all;
	};
	struct texts texts;
	uint32_t *list_ends; /* list: where the elements of each row end in `elements` */
	struct buf elements; /* 4 or 8 bytes each */
};

struct sheet {
	const char *name; /* what its columns and it are called lives as long as the table */
	struct sheet_values *columns;
	size_t ncolumns;
	size_t rows, capacity;
	bool own;      /* not of an event class: state, losses, events */
	bool rises;    /* column 0 never falls, nulls first */
	size_t number; /* the owner's: which of its sheets it is */
	void *file;    /* the writer's */
};

/* `ncolumns` columns, to be described by the caller: name, kind, bits, list. */
struct sheet *sheet_new(const char *name, size_t ncolumns);
void sheet_describe(struct sheet *sheet, size_t column, const char *name, enum cell_kind kind,
		    unsigned bits, bool list);
/* One more column behind the others; rows that are there have no value of it yet. */
void sheet_add_column(struct sheet *sheet, const char *name, enum cell_kind kind, unsigned bits);
void sheet_free(struct sheet *sheet); /* NULL is fine; not its name or columns' names */
void sheet_clear(struct sheet *sheet);
size_t sheet_bytes(const struct sheet *sheet); /* what its rows take */
/* The rows and their memory go to a new table of the same columns; `sheet` is empty afterwards. */
struct sheet *sheet_take(struct sheet *sheet);
/* The rows of tables of the same columns, one table behind the other; they are freed. */
struct sheet *sheet_join(struct sheet **parts, size_t count);

void sheet_grow(struct sheet *sheet); /* for sheet_row() */

/* Begins a row; then each column must be given its value, once. */
static inline size_t sheet_row(struct sheet *sheet)
{
	if (sheet->rows == sheet->capacity)
		sheet_grow(sheet);
	return sheet->rows++;
}

static inline void values_number(struct sheet_values *values, size_t row, uint64_t number)
{
	if (values->wide)
		values->numbers[row] = number;
	else
		values->narrow[row] = (uint32_t)number;
	values->present[row] = 1;
}

static inline void values_null(struct sheet_values *values, size_t row)
{
	values->has_null = true;
	values->present[row] = 0;
	if (values->wide)
		values->numbers[row] = 0;
	else
		values->narrow[row] = 0;
	if (values->list)
		values->list_ends[row] = row ? values->list_ends[row - 1] : 0;
}

/* Null where it is not known. */
static inline void values_known(struct sheet_values *values, size_t row, bool known,
				uint64_t number)
{
	if (known)
		values_number(values, row, number);
	else
		values_null(values, row);
}

uint32_t values_symbol_entry(struct sheet_values *values, uint32_t symbol, const char *text);

/* A text that has a small number, always the same one. */
static inline void values_symbol(struct sheet_values *values, size_t row, uint32_t symbol,
				 const char *text)
{
	struct texts *texts = &values->texts;
	uint32_t entry = symbol < texts->nsymbols ? texts->symbols[symbol] : 0;

	values->present[row] = 1;
	values->index[row] = entry ? entry - 1 : values_symbol_entry(values, symbol, text);
}

/* Bytes of CELL_TEXT that are not UTF-8 become the characters U+0080 to U+00FF. */
void values_text(struct sheet_values *values, size_t row, const void *bytes, size_t len);
void values_float(struct sheet_values *values, size_t row, double number);
/* An element of this row's list; then, always, values_list_end(). */
void values_element(struct sheet_values *values, uint64_t number);
void values_list_end(struct sheet_values *values, size_t row);

static inline const char *texts_get(const struct texts *texts, uint32_t entry, size_t *len)
{
	uint32_t from = entry ? texts->ends[entry - 1] : 0;

	*len = texts->ends[entry] - from;
	return *len ? texts->bytes.data + from : "";
}

/* Value of a row: sign-extended where it is signed, a float's bits as a double's. */
uint64_t values_get(const struct sheet_values *values, size_t row);
/* Element i of all lists, likewise. */
uint64_t values_get_element(const struct sheet_values *values, size_t i);

#endif
