/*
 * sql_rows.c - writes the rows of a query: text, table, CSV, JSON, or a line per value
 *
 * Numbers are exact: integers in decimal (for people in hexadecimal if the field has that base),
 * reals with as many digits as give the same number back. NULL is empty in CSV and null in JSON.
 * Blobs are base64 in JSON, elsewhere hex.
 */
#include "engine/base/arena.h"
#include "repl/commands/sql_shell.h"
#include "repl/render/render.h"

#include <string.h>

/* Writes text with control characters and line ends made visible. */
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

/* Is the column a field that yore prints in hexadecimal? */
static bool is_hex(const struct sql_statement *statement, size_t i)
{
	return !strcmp(sql_column_type(statement, i), "INTEGER HEX");
}

static void plain_value(struct sink *out, const struct sql_value *value, bool hex, bool shown)
{
	switch (value->kind) {
	case SQL_NULL:
		if (shown)
			sink_text(out, "NULL");
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

/* `hex`: a field that is elsewhere printed in hexadecimal; JSON has it without a sign. */
static void json_sql(struct sink *out, const struct sql_value *value, bool hex)
{
	if (value->kind == SQL_NULL)
		sink_text(out, "null");
	else if (value->kind == SQL_REAL)
		json_add_float(&out->buf, value->real);
	else if (value->kind == SQL_TEXT)
		json_string(out, value->bytes, value->len);
	else if (value->kind == SQL_BLOB)
		quote_base64(&out->buf, value->bytes, value->len);
	else if (hex)
		sink_u64(out, (uint64_t)value->integer);
	else
		sink_i64(out, value->integer);
}

/* Writes a line per value, with right-aligned names, and a blank line between rows. */
static bool write_line(const struct sql_statement *statement, struct sink *sink, bool first)
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
		plain_value(sink, &value, is_hex(statement, i), true);
		sink_char(sink, '\n');
	}
	return sink_row(sink);
}

static bool write_cells(const struct sql_statement *statement, struct rows *rows)
{
	struct sql_value value;

	for (size_t i = 0; i < rows->ncolumns; i++) {
		sql_column(statement, i, &value);
		if (rows->format == FORMAT_JSON)
			json_sql(rows_cell(rows), &value, is_hex(statement, i));
		else
			plain_value(rows_cell(rows), &value, is_hex(statement, i),
				    rows->format != FORMAT_CSV);
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

/* Sets the columns from the first row, with copies of their names. */
static void take_columns(struct sql_rows *out, const struct sql_statement *statement, bool any)
{
	out->arena = arena_new();
	out->ncolumns = sql_columns(statement);
	out->columns = arena_array(out->arena, out->ncolumns + 1, sizeof *out->columns);
	for (size_t i = 0; i < out->ncolumns; i++)
		out->columns[i] = (struct table_column){
			arena_strdup(out->arena, sql_column_name(statement, i)),
			any && is_number(statement, i)};
}

/* `any`: the statement has a row, the first one. */
static void sql_rows_begin(struct sql_rows *out, const struct sql_statement *statement, bool any)
{
	out->begun = true;
	out->cells = out->format != FORMAT_LINE && sql_columns(statement);
	take_columns(out, statement, any);
	if (!out->cells)
		return;
	rows_begin(&out->rows, out->sink, out->format, out->columns, out->ncolumns);
	out->rows.fit = out->sink->columns;
}

bool sql_rows_add(struct sql_rows *out, struct sql_statement *statement, struct error *err)
{
	struct sink *sink = out->sink;
	bool open = true, exact = sink->exact;
	enum step step = sql_step(statement, err);

	sink_set_exact(sink, (out->format == FORMAT_JSON || out->format == FORMAT_CSV) &&
				     !sink_is_seen(sink));
	if (!out->begun && step != STEP_ERROR)
		sql_rows_begin(out, statement, step == STEP_ITEM);
	while (step == STEP_ITEM && open) {
		open = out->cells ? write_cells(statement, &out->rows)
				  : write_line(statement, sink, !out->any);
		out->any = true;
		if (open)
			step = sql_step(statement, err);
	}
	sink_set_exact(sink, exact);
	return step != STEP_ERROR;
}

bool sql_rows_fit(const struct sql_rows *out, const struct sql_statement *statement)
{
	bool same = !out->begun || sql_columns(statement) == out->ncolumns;

	for (size_t i = 0; same && out->begun && i < out->ncolumns; i++)
		same = !strcmp(sql_column_name(statement, i), out->columns[i].name);
	return same;
}

void sql_rows_end(struct sql_rows *out, struct session *session)
{
	bool exact = out->sink->exact;

	sink_set_exact(out->sink, out->format == FORMAT_CSV && !sink_is_seen(out->sink));
	if (out->begun && out->cells)
		rows_finish(&out->rows);
	sink_set_exact(out->sink, exact);
	if (out->begun && out->cells && out->rows.as_lines)
		session_note(session,
			     "%zu columns are wider than the terminal, so each value has a line: "
			     "name fewer columns, or say --format csv",
			     out->ncolumns);
	arena_free(out->arena);
}

bool sql_rows_write(const struct sql_shell *shell, struct sql_statement *statement,
		    struct sink *sink, struct error *err)
{
	struct sql_rows out = {.sink = sink, .format = sql_shell_format(shell, sink)};
	bool good = sql_rows_add(&out, statement, err);

	sql_rows_end(&out, shell->session);
	return good;
}
