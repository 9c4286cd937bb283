/*
 * sheet.h - a buffer of rows in typed columns, for writers of column formats
 *
 *     row      ts         stream (index → texts)        args_fd (present, numbers)
 *      0   1714564984..   0 → "kernel/chan_0"            1  3
 *      1   1714564985..   0                              0
 *
 * Values are copied from an event's slots to their columns; a writer reads thousands of rows of one
 * column at a time. A number takes 4 or 8 bytes a row, a text 4, and its bytes once.
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

/* A dictionary of a column's texts; entry i ends at ends[i] in `bytes`. */
struct texts {
	struct buf bytes;
	uint32_t *ends;
	size_t count, capacity;
	struct hash_index index;
	size_t asked;      /* how often a text was looked up */
	bool plain;        /* most texts differ: each is a new entry, without a lookup */
	uint32_t *symbols; /* by symbol of values_symbol(): 1 + entry, 0 none yet */
	size_t nsymbols;
};

struct sheet_values {
	const char *name;
	enum cell_kind kind;
	uint8_t bits;  /* INT, UINT, FLOAT */
	bool list;     /* each row has any number of elements of `kind` */
	bool wide;     /* numbers take 8 bytes, else 4 */
	bool has_null; /* some row may be null */
	uint8_t *present; /* by row: 0 null, 1 a value */
	union {           /* by row: */
		uint32_t *narrow;
		uint64_t *numbers;
		uint32_t *index;   /* TEXT, BYTES: entry of texts */
		void *all;
	};
	struct texts texts;
	uint32_t *list_ends; /* list: where the elements of each row end in `elements` */
	struct buf elements; /* 4 or 8 bytes each */
};

struct sheet {
	const char *name; /* borrowed, as are the columns' names */
	struct sheet_values *columns;
	size_t ncolumns;
	size_t rows, capacity;
	bool own;      /* it is of no event class: state, losses, events */
	bool rises;    /* column 0 is sorted, nulls first */
	size_t number; /* for the owner: which of its sheets it is */
	void *file;    /* the writer's */
};

/* A sheet of `ncolumns` columns; the caller calls sheet_describe() for each. `name` is borrowed. */
struct sheet *sheet_new(const char *name, size_t ncolumns);
void sheet_describe(struct sheet *sheet, size_t column, const char *name, enum cell_kind kind,
		    unsigned bits, bool list);
/* Appends a column; its values in rows that exist already are undefined. */
void sheet_add_column(struct sheet *sheet, const char *name, enum cell_kind kind, unsigned bits);
void sheet_free(struct sheet *sheet); /* NULL is fine; not its name or columns' names */
void sheet_clear(struct sheet *sheet);
size_t sheet_bytes(const struct sheet *sheet); /* what its rows take */
/* Moves the rows to a new sheet with the same columns; `sheet` is empty afterwards. */
struct sheet *sheet_take(struct sheet *sheet);
/* Concatenates the rows of sheets with the same columns; frees these sheets. */
struct sheet *sheet_join(struct sheet **parts, size_t count);

void sheet_grow(struct sheet *sheet); /* for sheet_row() */

/* Begins a row and returns its number; then each column must get its value, once. */
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

/* The number if it is `known`, else null. */
static inline void values_known(struct sheet_values *values, size_t row, bool known,
				uint64_t number)
{
	if (known)
		values_number(values, row, number);
	else
		values_null(values, row);
}

uint32_t values_symbol_entry(struct sheet_values *values, uint32_t symbol, const char *text);

/* A text that always comes with the same small number, which makes the lookup fast. */
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
/* Appends an element to this row's list; call values_list_end() behind the last, also if none. */
void values_element(struct sheet_values *values, uint64_t number);
void values_list_end(struct sheet_values *values, size_t row);

static inline const char *texts_get(const struct texts *texts, uint32_t entry, size_t *len)
{
	uint32_t from = entry ? texts->ends[entry - 1] : 0;

	*len = texts->ends[entry] - from;
	return *len ? texts->bytes.data + from : "";
}

/* The value of a row: signed ones are sign-extended, a float's are the bits of a double. */
uint64_t values_get(const struct sheet_values *values, size_t row);
/* Element i of all lists, likewise. */
uint64_t values_get_element(const struct sheet_values *values, size_t i);

#endif
