/*
 * sql_rows.c - the rows of a query: text, table, CSV, JSON, or a line per value
 *
 * Numbers are exact: integers in decimal, or as the field has them in hexadecimal where people read,
 * reals with the digits that read back. NULL is empty in CSV, in JSON null. A blob is base64 in
 * JSON, its bytes in hex elsewhere.
 */
#include "engine/base/mem.h"
#include "repl/render.h"
#include "repl/sql_shell_internal.h"

#include <string.h>

/* Text as it is, but nothing in it may steer a terminal or break a row. */
static void shown_text(struct sink *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\n')
			sink_text(out, "\\n");
		else if (c == '\t')
			sink_text(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			sink_printf(out, "\\x%02x", c);
		else
			sink_char(out, text[i]);
	}
}

/* A column of a field that is shown in hexadecimal elsewhere. */
static bool is_hex(const struct sql_statement *statement, size_t i)
{
	return !strcmp(sql_column_type(statement, i), "INTEGER HEX");
}

static void plain_value(struct sink *out, const struct sql_value *value, bool hex, bool shown,
			const char *null)
{
	switch (value->kind) {
	case SQL_NULL:
		if (null || shown)
			sink_text(out, null ? null : "NULL");
		return;
	case SQL_INTEGER:
		if (hex)
			sink_printf(out, "0x%llx", (unsigned long long)value->integer);
		else
			sink_i64(out, value->integer);
		return;
	case SQL_REAL:
		text_float(out, value->real);
		return;
	case SQL_TEXT:
		if (shown)
			shown_text(out, value->bytes, value->len);
		else
			sink_add(out, value->bytes, value->len);
		return;
	case SQL_BLOB:
		quote_hex(&out->buf, value->bytes, value->len);
		return;
	}
}

/* Of a field that is shown in hexadecimal elsewhere the number without a sign, which it is in the
 * trace. */
static void json_sql(struct sink *out, const struct sql_value *value, bool hex)
{
	if (value->kind == SQL_NULL)
		sink_text(out, "null");
	else if (value->kind == SQL_REAL)
		json_float(out, value->real);
	else if (value->kind == SQL_TEXT)
		json_string(out, value->bytes, value->len);
	else if (value->kind == SQL_BLOB)
		quote_base64(&out->buf, value->bytes, value->len);
	else if (hex)
		sink_u64(out, (uint64_t)value->integer);
	else
		sink_i64(out, value->integer);
}

static bool write_json(const struct sql_statement *statement, struct sink *sink)
{
	struct sql_value value;

	for (size_t i = 0; i < sql_columns(statement); i++) {
		sink_char(sink, i ? ',' : '{');
		json_text(sink, sql_column_name(statement, i));
		sink_char(sink, ':');
		sql_column(statement, i, &value);
		json_sql(sink, &value, is_hex(statement, i));
	}
	sink_text(sink, "}\n");
	return sink_row(sink);
}

/* A line per value, names to the right, and a blank line between rows. */
static bool write_line(const struct sql_statement *statement, struct sink *sink, bool first,
		       const char *null)
{
	size_t width = 0;
	struct sql_value value;

	for (size_t i = 0; i < sql_columns(statement); i++) {
		size_t len = strlen(sql_column_name(statement, i));
		width = len > width ? len : width;
	}
	if (!first)
		sink_char(sink, '\n');
	for (size_t i = 0; i < sql_columns(statement); i++) {
		const char *name = sql_column_name(statement, i);
		rows_line(sink, name, width);
		sql_column(statement, i, &value);
		plain_value(sink, &value, is_hex(statement, i), true, null);
		sink_char(sink, '\n');
	}
	return sink_row(sink);
}

static bool write_cells(const struct sql_statement *statement, struct rows *rows, const char *null)
{
	struct sql_value value;

	for (size_t i = 0; i < rows->ncolumns; i++) {
		sql_column(statement, i, &value);
		plain_value(rows_cell(rows), &value, is_hex(statement, i),
			    rows->format != FORMAT_CSV, null);
	}
	return rows_end(rows);
}

static bool is_number(const struct sql_statement *statement, size_t i)
{
	struct sql_value value;

	sql_column(statement, i, &value);
	return value.kind == SQL_INTEGER || value.kind == SQL_REAL ||
	       !strncmp(sql_column_type(statement, i), "INTEGER", 7);
}

/* Columns as the first row has them; names are the statement's. */
static struct column *columns_of(const struct sql_statement *statement, bool any)
{
	size_t count = sql_columns(statement);
	struct column *columns = mem_new_array(count + 1, sizeof *columns);

	for (size_t i = 0; i < count; i++)
		columns[i] = (struct column){sql_column_name(statement, i),
					     any && is_number(statement, i)};
	return columns;
}

bool sql_rows_write(const struct sql_shell *shell, struct sql_statement *statement,
		    struct sink *sink, struct error *err)
{
	enum format format = sql_shell_format(shell, sink);
	bool cells = format != FORMAT_JSON && format != FORMAT_LINE && sql_columns(statement);
	enum step step = sql_step(statement, err);
	struct column *columns = columns_of(statement, step == STEP_ITEM);
	bool open = true, first = true, exact = sink->exact;
	struct rows rows;

	sink_set_exact(sink,
		       (format == FORMAT_JSON || format == FORMAT_CSV) && !sink_is_seen(sink));
	if (cells)
		rows_begin(&rows, sink, format, columns, sql_columns(statement));
	if (cells)
		rows_fit(&rows, shell->width ? shell->width : sink->columns);
	while (step == STEP_ITEM && open) {
		open = format == FORMAT_JSON   ? write_json(statement, sink)
		       : format == FORMAT_LINE ? write_line(statement, sink, first, shell->null)
					       : write_cells(statement, &rows, shell->null);
		first = false;
		if (open)
			step = sql_step(statement, err);
	}
	if (cells)
		rows_finish(&rows);
	if (cells && rows.as_lines)
		session_note(shell->session,
			     "%zu columns are wider than the terminal, so each value has a line: "
			     "name fewer columns, or say --format csv",
			     sql_columns(statement));
	mem_free(columns);
	sink_set_exact(sink, exact);
	return step != STEP_ERROR;
}
