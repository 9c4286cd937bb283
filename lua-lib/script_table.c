/*
 * script_table.c - yore.write_rows(): prints the rows of an analysis as a table, CSV or JSON
 *
 *     yore.write_rows{ columns = {{key = "tid", head = "TID", kind = "count"}, ...}, rows = rows,
 *                      format = "table", title = nil, bar = nil }
 *
 * `title`, a text, is the first column of CSV and JSON. `bar` is
 * the number of the column that bars behind a table show. Of a column: `key` in a row; `head`;
 * `kind` (as in `kinds`; nil: "text"); `empty`, which a table has for nil (nil: "-"); `indent`, the
 * key of how far a table indents the text.
 */
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/timetext.h"
#include "lua-lib/script_internal.h"

#include <inttypes.h>
#include <math.h>

#define PRINTER_TYPE "yore.rows_printer"
#define EIGHTHS "\xe2\x96" /* and a byte: U+2588, a full block, to U+258F, an eighth of one */

enum { BAR = 30 /* characters */, WRITE_AT = 1 << 16 /* bytes */ };
enum { COLUMNS = 1, ROWS, PRINTER, KEYS /* from here on: of each column two keys of a row */ };

enum kind {
	KIND_TEXT,
	KIND_COUNT,
	KIND_SPAN,
	KIND_EXACT,
	KIND_TIME,
	KIND_PERCENT,
	KIND_FLOAT,
	KIND_HEX,
	KIND_SIZE
};
static const char *const kinds[] = {"text",    "count", "span", "exact", "time",
				    "percent", "float", "hex",  "size",  NULL};
static const char *const formats[] = {"table", "csv", "json", NULL};

struct printed_column {
	const char *key, *head, *empty; /* borrowed from the table of columns */
	enum kind kind;
	bool indents;
	size_t width; /* of the widest cell, in characters */
};

struct rows_printer {
	struct buf out;    /* lines to be written */
	struct buf texts;  /* of a table: all cells, row by row */
	uint32_t *lengths; /* of these, in bytes */
	size_t ncells, capacity;
	struct printed_column *columns;
	size_t ncolumns;
	size_t bar;  /* 1 + the column of the bars; 0: none */
	double most; /* in that column */
};

static int printer_gc(lua_State *L)
{
	struct rows_printer *printer = luaL_checkudata(L, 1, PRINTER_TYPE);

	buf_release(&printer->out);
	buf_release(&printer->texts);
	mem_free(printer->lengths);
	mem_free(printer->columns);
	*printer = (struct rows_printer){0};
	return 0;
}

/* Raises an error after Ctrl-C: the script's own check waits until this function returns. */
static void look_for_interrupt(lua_State *L, lua_Integer row)
{
	enum { LOOK_EACH = 1024 };

	if (row % LOOK_EACH == 0 && bind_interrupted(bind_context(L)))
		luaL_error(L, "interrupted");
}

static void flush_lines(lua_State *L, struct rows_printer *printer, size_t at)
{
	if (printer->out.len < at)
		return;
	script_write(L, printer->out.data, printer->out.len);
	printer->out.len = 0;
}

/* Pushes what the row on top of the stack has in a column, or for its indentation. */
static void push_cell(lua_State *L, size_t column, bool indent)
{
	lua_pushvalue(L, KEYS + 2 * (int)column + indent);
	lua_gettable(L, -2);
}

/* ---- values ---- */

/* Appends a number with three digits or four, none of them behind the point if it is whole. */
static void add_rounded(struct buf *out, double number, bool whole, const char *unit)
{
	int decimals = number < 9.9995 ? 3 : number < 99.995 ? 2 : 1;

	quote_number(out, "%.*f %s", whole ? 0 : decimals, number, unit);
}

/* A length of time: 999 ns, 1.234 us, 56.79 ms. */
static void add_short_span(struct buf *out, double ns)
{
	double size = fabs(ns);

	if (ns < 0)
		buf_add_char(out, '-');
	if (size < 999.95)
		add_rounded(out, floor(size + 0.5), true, "ns");
	else if (size / 1e3 < 999.95)
		add_rounded(out, size / 1e3, false, "us");
	else if (size / 1e6 < 999.95)
		add_rounded(out, size / 1e6, false, "ms");
	else
		quote_number(out, "%.3f s", size / 1e9);
}

/* A number of bytes: 999 B, 1.234 KiB, 56.79 MiB. */
static void add_short_size(struct buf *out, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double size = fabs(bytes);
	size_t unit = 0;

	if (bytes < 0)
		buf_add_char(out, '-');
	for (; size >= 1023.95 && unit + 1 < sizeof units / sizeof *units; unit++)
		size /= 1024;
	add_rounded(out, size, !unit, units[unit]);
}

/* A float with six digits, and with those up to the thousandth where that is more. */
static void add_float(struct buf *out, double number)
{
	if (fabs(number) < 1e3 || fabs(number) >= 1e15) {
		quote_number(out, "%.6g", number);
		return;
	}
	quote_number(out, "%.3f", number);
	while (out->data[out->len - 1] == '0')
		out->len--;
	if (out->data[out->len - 1] == '.')
		out->len--;
}

static void complain(lua_State *L, const struct printed_column *column, const char *needs)
{
	luaL_error(L, "%s: a column of kind %s needs %s, not %s", column->key, kinds[column->kind],
		   needs, luaL_tolstring(L, -1, NULL));
}

static int64_t check_integer(lua_State *L, const struct printed_column *column)
{
	int exact;
	int64_t number = lua_tointegerx(L, -1, &exact);

	if (!exact)
		complain(L, column, "an integer");
	return number;
}

static double check_number(lua_State *L, const struct printed_column *column)
{
	int good;
	double number = lua_tonumberx(L, -1, &good);

	if (!good)
		complain(L, column, "a number");
	return number;
}

/* The number rounded to an integer. */
static int64_t check_rounded(lua_State *L, const struct printed_column *column)
{
	double number = check_number(L, column);

	if (lua_isinteger(L, -1))
		return lua_tointeger(L, -1);
	if (!(fabs(number) < 0x1p63))
		complain(L, column, "nanoseconds");
	return (int64_t)floor(number + 0.5);
}

/* Appends the value on top of the stack as tostring() has it. */
static void add_any(lua_State *L, struct buf *out,
		    void (*quote)(struct buf *, const void *, size_t))
{
	size_t len;
	const char *text = luaL_tolstring(L, -1, &len);

	quote(out, text, len);
	lua_pop(L, 1);
}

static void quote_line(struct buf *out, const void *bytes, size_t len)
{
	quote_printable(out, bytes, len, false);
}

/* Appends the value on top of the stack, not nil, as tables show it. */
static void add_shown(lua_State *L, struct buf *out, const struct printed_column *column)
{
	char *to;

	switch (column->kind) {
	case KIND_SPAN:
		add_short_span(out, check_number(L, column));
		break;
	case KIND_EXACT:
		to = buf_room(out, TIME_TEXT_MAX);
		out->len += (size_t)(span_put(check_rounded(L, column), to) - to);
		break;
	case KIND_TIME:
		to = buf_room(out, TIME_TEXT_MAX);
		out->len += bind_time_text(L, check_integer(L, column), to);
		break;
	case KIND_PERCENT:
	case KIND_FLOAT:
		quote_number(out, "%.2f", check_number(L, column));
		break;
	case KIND_HEX:
		buf_printf(out, "0x%" PRIx64, (uint64_t)check_integer(L, column));
		break;
	case KIND_SIZE:
		add_short_size(out, check_number(L, column));
		break;
	case KIND_TEXT:
	case KIND_COUNT:
		if (lua_isinteger(L, -1))
			buf_add_i64(out, lua_tointeger(L, -1));
		else
			add_any(L, out, quote_line);
	}
}

/* Appends the value on top of the stack, a member of JSON or a cell of CSV. */
static void add_raw(lua_State *L, struct buf *out, const struct printed_column *column,
		    bool is_json)
{
	if (lua_isnil(L, -1)) {
		buf_add_text(out, is_json ? "null" : "");
	} else if (column->kind == KIND_HEX) {
		buf_printf(out, is_json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64,
			   (uint64_t)check_integer(L, column));
	} else if (lua_isinteger(L, -1)) {
		buf_add_i64(out, lua_tointeger(L, -1));
	} else if (lua_type(L, -1) == LUA_TNUMBER) {
		if (is_json && !isfinite(lua_tonumber(L, -1)))
			buf_add_text(out, "null");
		else
			add_float(out, lua_tonumber(L, -1));
	} else if (lua_isboolean(L, -1)) {
		buf_add_text(out, lua_toboolean(L, -1) ? "true" : "false");
	} else {
		add_any(L, out, is_json ? quote_json : quote_csv);
	}
}

/* ---- CSV and JSON ---- */

static void write_records(lua_State *L, struct rows_printer *printer, lua_Integer count,
			  const char *title, bool is_json)
{
	struct buf *out = &printer->out;

	for (lua_Integer i = 1; i <= count; i++) {
		look_for_interrupt(L, i);
		lua_geti(L, ROWS, i);
		if (is_json)
			buf_add_text(out, title ? "{\"table\":" : "{");
		if (title)
			(is_json ? quote_json : quote_csv)(out, title, strlen(title));
		for (size_t c = 0; c < printer->ncolumns; c++) {
			const struct printed_column *column = &printer->columns[c];
			if (c || title)
				buf_add_char(out, ',');
			if (is_json) {
				quote_json(out, column->key, strlen(column->key));
				buf_add_char(out, ':');
			}
			push_cell(L, c, false);
			add_raw(L, out, column, is_json);
			lua_pop(L, 1);
		}
		buf_add_text(out, is_json ? "}\n" : "\n");
		lua_pop(L, 1);
		flush_lines(L, printer, WRITE_AT);
	}
}

/* ---- tables ---- */

static size_t characters(const char *text, size_t len)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t count = 0;

	for (size_t done = 0; done < len; count++) {
		size_t bytes = utf8_length(at + done, len - done);
		done += bytes ? bytes : 1;
	}
	return count;
}

/* Ends the cell that begins at `from` in `texts`. */
static void end_text(struct rows_printer *printer, struct printed_column *column, size_t from)
{
	size_t len = printer->texts.len - from, width = characters(printer->texts.data + from, len);

	*mem_push(printer->lengths, printer->ncells, printer->capacity) = (uint32_t)len;
	if (width > column->width)
		column->width = width;
}

/* Makes the texts of the row on top of the stack. */
static void add_row(lua_State *L, struct rows_printer *printer)
{
	for (size_t c = 0; c < printer->ncolumns; c++) {
		struct printed_column *column = &printer->columns[c];
		size_t from = printer->texts.len;

		if (column->indents) {
			push_cell(L, c, true);
			for (lua_Integer n = luaL_checkinteger(L, -1); n > 0; n--)
				buf_add_text(&printer->texts, "  ");
			lua_pop(L, 1);
		}
		push_cell(L, c, false);
		if (lua_isnil(L, -1))
			buf_add_text(&printer->texts, column->empty);
		else
			add_shown(L, &printer->texts, column);
		if (c + 1 == printer->bar && lua_tonumber(L, -1) > printer->most)
			printer->most = lua_tonumber(L, -1);
		lua_pop(L, 1);
		end_text(printer, column, from);
	}
}

static void add_spaces(struct buf *out, size_t count)
{
	memset(buf_room(out, count), ' ', count);
	out->len += count;
}

static void add_padded(struct rows_printer *printer, size_t column, const char *text, size_t len)
{
	const struct printed_column *of = &printer->columns[column];
	size_t pad = of->width - characters(text, len);

	if (column)
		add_spaces(&printer->out, 2);
	if (of->kind != KIND_TEXT)
		add_spaces(&printer->out, pad);
	buf_add(&printer->out, text, len);
	if (of->kind == KIND_TEXT)
		add_spaces(&printer->out, pad);
}

/* A bar whose length is rounded to an eighth of a character, of the row on top of the stack. */
static void add_bar(lua_State *L, struct rows_printer *printer)
{
	push_cell(L, printer->bar - 1, false);
	double share = printer->most > 0 ? lua_tonumber(L, -1) / printer->most : 0;
	long eighths = (long)floor(share * BAR * 8 + 0.5);

	lua_pop(L, 1);
	add_spaces(&printer->out, 2);
	for (; eighths >= 8; eighths -= 8)
		buf_add_text(&printer->out, EIGHTHS "\x88");
	if (eighths > 0) {
		buf_add_text(&printer->out, EIGHTHS);
		buf_add_char(&printer->out, (char)(0x90 - eighths));
	}
}

/* Ends the line, which begins at `from`, without spaces at its end. */
static void end_line(lua_State *L, struct rows_printer *printer, size_t from)
{
	struct buf *out = &printer->out;

	while (out->len > from && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add_char(out, '\n');
	flush_lines(L, printer, WRITE_AT);
}

static void write_table(lua_State *L, struct rows_printer *printer, lua_Integer count)
{
	const char *text;
	size_t cell = 0, from = printer->out.len;

	for (lua_Integer i = 1; i <= count; i++) {
		look_for_interrupt(L, i);
		lua_geti(L, ROWS, i);
		add_row(L, printer);
		lua_pop(L, 1);
	}
	for (size_t c = 0; c < printer->ncolumns; c++)
		add_padded(printer, c, printer->columns[c].head, strlen(printer->columns[c].head));
	end_line(L, printer, from);
	text = buf_text(&printer->texts);
	for (lua_Integer i = 1; i <= count; i++) {
		look_for_interrupt(L, i);
		from = printer->out.len;
		for (size_t c = 0; c < printer->ncolumns; text += printer->lengths[cell++], c++)
			add_padded(printer, c, text, printer->lengths[cell]);
		if (printer->bar) {
			lua_geti(L, ROWS, i);
			add_bar(L, printer);
			lua_pop(L, 1);
		}
		end_line(L, printer, from);
	}
}

/* ---- columns ---- */

/* Field `name` of the column on top of the stack. Its text is borrowed from that table. */
static const char *column_text(lua_State *L, const char *name, const char *otherwise)
{
	lua_getfield(L, -1, name);
	const char *text = luaL_optstring(L, -1, otherwise);
	lua_pop(L, 1);
	return text;
}

/* Pushes two keys of each column. */
static void read_columns(lua_State *L, struct rows_printer *printer)
{
	lua_Unsigned count = lua_rawlen(L, COLUMNS);

	luaL_checkstack(L, 2 * (int)count + 8, "columns");
	printer->columns = mem_new_array(count + 1, sizeof *printer->columns);
	printer->ncolumns = count;
	for (size_t c = 0; c < count; c++) {
		struct printed_column *column = &printer->columns[c];
		lua_geti(L, COLUMNS, (lua_Integer)c + 1);
		column->key = column_text(L, "key", "");
		column->head = column_text(L, "head", column->key);
		column->empty = column_text(L, "empty", "-");
		column->kind = (enum kind)bind_choice(L, -1, "kind", kinds);
		column->width = characters(column->head, strlen(column->head));
		lua_getfield(L, -1, "key");
		column->indents = lua_getfield(L, -2, "indent") != LUA_TNIL;
		lua_remove(L, -3);
	}
}

int script_write_rows(lua_State *L)
{
	struct rows_printer *printer;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	if (lua_getfield(L, 1, "rows") != LUA_TTABLE || lua_getfield(L, 1, "columns") != LUA_TTABLE)
		luaL_error(L, "columns and rows are lists");
	lua_settop(L, ROWS);
	printer = bind_new_owned(L, sizeof *printer, PRINTER_TYPE, printer_gc);
	int format = bind_choice(L, 1, "format", formats);
	lua_Integer count = (lua_Integer)lua_rawlen(L, ROWS);
	lua_getfield(L, 1, "bar");
	printer->bar = (size_t)luaL_optinteger(L, -1, 0);
	lua_getfield(L, 1, "title");
	const char *title = luaL_optstring(L, -1, NULL); /* the caller's table keeps it */
	lua_settop(L, PRINTER);
	lua_getfield(L, 1, "columns");
	lua_replace(L, COLUMNS);
	read_columns(L, printer);
	if (format == 0)
		write_table(L, printer, count);
	else
		write_records(L, printer, count, title, format == 2);
	flush_lines(L, printer, 1);
	return 0;
}
