/*
 * render_rows.c - rows of cells
 *
 * A table's widths are those of its first rows (a screenful times ten); later rows that are wider
 * push their neighbours aside. So a table of any length streams.
 */
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "repl/render.h"

#include <string.h>

enum { TABLE_ROWS = 500 };

void rows_begin(struct rows *rows, struct sink *sink, enum format format,
		const struct column *columns, size_t ncolumns)
{
	*rows = (struct rows){
		.sink = sink, .format = format, .columns = columns, .ncolumns = ncolumns};
	sink_init(&rows->cells, -1);
	if (format != FORMAT_CSV)
		return;
	for (size_t i = 0; i < ncolumns; i++) {
		if (i)
			sink_char(sink, ',');
		sink_text(sink, columns[i].name);
	}
	sink_char(sink, '\n');
	sink_row(sink);
}

/* A cell of text ends no line. */
static void clean_cell(struct rows *rows)
{
	size_t from = rows->nends ? rows->ends[rows->nends - 1] : 0, len = rows->cells.len - from;
	const char *text = rows->cells.data + from;
	struct buf clean = {0};

	if (rows->format == FORMAT_CSV || !len ||
	    (printable_length(text, len) == len && !memchr(text, '\n', len) &&
	     !memchr(text, '\t', len)))
		return;
	quote_printable(&clean, text, len, false);
	rows->cells.len = from;
	sink_add(&rows->cells, clean.data, clean.len);
	buf_release(&clean);
}

static void end_cell(struct rows *rows)
{
	clean_cell(rows);
	rows->ends = mem_grow(rows->ends, rows->nends, &rows->ends_capacity, sizeof *rows->ends);
	rows->ends[rows->nends++] = rows->cells.len;
}

struct sink *rows_cell(struct rows *rows)
{
	if (rows->at++)
		end_cell(rows);
	return &rows->cells;
}

void rows_text(struct rows *rows, const char *text)
{
	sink_text(rows_cell(rows), text ? text : "");
}

/* Columns that a text takes on a terminal: characters, not bytes. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += (text[i] & 0xc0) != 0x80;
	return width;
}

static const char *cell(const struct rows *rows, size_t i, size_t *len)
{
	size_t from = i ? rows->ends[i - 1] : 0;

	*len = rows->ends[i] - from;
	return rows->cells.data + from;
}

static void put_cell(struct rows *rows, size_t column, const char *text, size_t len)
{
	size_t width = rows->widths ? rows->widths[column] : 0, own = width_of(text, len);
	bool last = column + 1 == rows->ncolumns;
	size_t pad = width > own ? width - own : 0;

	if (rows->columns[column].right)
		sink_pad(rows->sink, pad);
	sink_add(rows->sink, text, len);
	if (!rows->columns[column].right && !last)
		sink_pad(rows->sink, pad);
	if (!last)
		sink_pad(rows->sink, 2);
}

static void measure(struct rows *rows)
{
	rows->widths = mem_new_array(rows->ncolumns, sizeof *rows->widths);
	for (size_t i = 0; i < rows->ncolumns; i++)
		rows->widths[i] = strlen(rows->columns[i].name);
	for (size_t i = 0; i < rows->nends; i++) {
		size_t len, column = i % rows->ncolumns;
		const char *text = cell(rows, i, &len);
		size_t width = width_of(text, len);
		if (width > rows->widths[column])
			rows->widths[column] = width;
	}
	for (size_t i = 0; i < rows->ncolumns; i++)
		put_cell(rows, i, rows->columns[i].name, strlen(rows->columns[i].name));
	sink_char(rows->sink, '\n');
	sink_row(rows->sink);
}

/* Writes the rows that wait. */
static bool write_rows(struct rows *rows)
{
	bool open = !rows->sink->closed;

	if (rows->format == FORMAT_TABLE && !rows->widths)
		measure(rows);
	for (size_t i = 0; i < rows->nends && open; i++) {
		size_t len, column = i % rows->ncolumns;
		const char *text = cell(rows, i, &len);
		if (rows->format == FORMAT_CSV) {
			csv_cell(rows->sink, text, len);
			if (column + 1 < rows->ncolumns)
				sink_char(rows->sink, ',');
		} else if (rows->format == FORMAT_TABLE) {
			put_cell(rows, column, text, len);
		} else if (len) {
			if (column)
				sink_pad(rows->sink, 2);
			sink_add(rows->sink, text, len);
		}
		if (column + 1 < rows->ncolumns)
			continue;
		sink_char(rows->sink, '\n');
		open = sink_row(rows->sink);
	}
	rows->nends = 0;
	rows->cells.len = 0;
	return open;
}

bool rows_end(struct rows *rows)
{
	while (rows->at < rows->ncolumns)
		rows_cell(rows);
	end_cell(rows);
	rows->at = 0;
	if (rows->format == FORMAT_TABLE && !rows->widths &&
	    rows->nends < TABLE_ROWS * rows->ncolumns)
		return !rows->sink->closed;
	return write_rows(rows);
}

bool rows_finish(struct rows *rows)
{
	bool open = rows->nends ? write_rows(rows) : !rows->sink->closed;

	mem_free(rows->ends);
	mem_free(rows->widths);
	sink_release(&rows->cells);
	return open;
}
