/*
 * render_rows.c - rows of cells
 *
 * The first TABLE_ROWS rows of a table set its widths. A later cell that is wider shifts the cells
 * to its right, or is cut if the table must fit a terminal. So a table of any length streams, which
 * libsmartcols cannot do: it lays out a table as a whole.
 */
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "repl/render/render.h"

#include <string.h>
#include <wchar.h>

enum { TABLE_ROWS = 500, TEXT_MIN = 12 /* columns that a cut text has at least */ };
#define ELLIPSIS "\xe2\x80\xa6"

void rows_begin(struct rows *rows, struct sink *sink, enum format format,
		const struct table_column *columns, size_t ncolumns)
{
	*rows = (struct rows){
		.sink = sink, .format = format, .columns = columns, .ncolumns = ncolumns};
	sink_init(&rows->cells, -1);
	if (format != FORMAT_CSV)
		return;
	for (size_t i = 0; i < ncolumns; i++) {
		if (i)
			sink_char(sink, ',');
		csv_cell(sink, columns[i].name, strlen(columns[i].name));
	}
	sink_char(sink, '\n');
	sink_row(sink);
}

/* Replaces what would end the line in a cell of text. */
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
	*mem_push(rows->ends, rows->nends, rows->ends_capacity) = rows->cells.len;
}

struct sink *rows_cell(struct rows *rows)
{
	size_t at = rows->at++;

	if (rows->format == FORMAT_JSON) {
		sink_char(rows->sink, at ? ',' : '{');
		json_text(rows->sink, rows->columns[at].name);
		sink_char(rows->sink, ':');
		return rows->sink;
	}
	if (at)
		end_cell(rows);
	return &rows->cells;
}

void rows_text(struct rows *rows, const char *text)
{
	struct sink *cell = rows_cell(rows);

	if (rows->format == FORMAT_JSON)
		json_text(cell, text);
	else
		sink_text(cell, text ? text : "");
}

void rows_u64(struct rows *rows, bool known, uint64_t number)
{
	struct sink *cell = rows_cell(rows);

	if (known)
		sink_u64(cell, number);
	else if (rows->format == FORMAT_JSON)
		sink_text(cell, "null");
}

void rows_time(struct rows *rows, struct times *times, nstime t, const char *unknown)
{
	struct sink *cell = rows_cell(rows);

	if (rows->format == FORMAT_JSON)
		json_time(cell, t);
	else if (t != NSTIME_MIN && t != NSTIME_MAX)
		time_add(times, t, cell);
	else if (rows->format != FORMAT_CSV)
		sink_text(cell, unknown);
}

/* Columns of the UTF-8 character at `at`: 2 for East Asian wide ones, 0 for combining marks. */
static size_t character_width(const uint8_t *at, size_t len)
{
	wchar_t c = len == 1 ? at[0] : at[0] & (0xff >> (len + 1));

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (at[i] & 0x3f);
	int width = wcwidth(c);
	return width < 0 ? 1 : (size_t)width;
}

/* Length of the longest start of the text of at most `most` columns; *width: its columns. */
static size_t cut_at(const char *text, size_t len, size_t most, size_t *width)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t done = 0;

	for (*width = 0; done < len;) {
		size_t bytes = utf8_length(at + done, len - done);
		size_t one = bytes ? character_width(at + done, bytes) : 1;
		if (*width + one > most)
			break;
		*width += one;
		done += bytes ? bytes : 1;
	}
	return done;
}

/* Columns that a text takes on a terminal. */
static size_t width_of(const char *text, size_t len)
{
	size_t width;

	cut_at(text, len, SIZE_MAX, &width);
	return width;
}

static const char *cell(const struct rows *rows, size_t i, size_t *len)
{
	size_t from = i ? rows->ends[i - 1] : 0;

	*len = rows->ends[i] - from;
	return rows->cells.data + from;
}

static void render_rows_put_cell(struct rows *rows, size_t column, const char *text, size_t len)
{
	size_t width = rows->widths ? rows->widths[column] : 0, own = width_of(text, len);
	bool last = column + 1 == rows->ncolumns;
	bool cut = rows->fit && own > width && !rows->columns[column].right;

	if (cut) {
		len = cut_at(text, len, width - 1, &own);
		own++;
	}
	size_t pad = width > own ? width - own : 0;
	if (rows->columns[column].right)
		sink_pad(rows->sink, pad);
	sink_add(rows->sink, text, len);
	if (cut)
		sink_text(rows->sink, ELLIPSIS);
	if (!rows->columns[column].right && !last)
		sink_pad(rows->sink, pad);
	if (!last)
		sink_pad(rows->sink, 2);
}

void rows_line(struct sink *sink, const char *name, size_t width)
{
	sink_pad(sink, width - strlen(name));
	sink_text(sink, name);
	sink_text(sink, " = ");
}

/* Narrows the widest column of texts until the table fits; else each value becomes a line. */
static void fit_widths(struct rows *rows)
{
	size_t total = 2 * (rows->ncolumns - 1);

	for (size_t i = 0; i < rows->ncolumns; i++)
		total += rows->widths[i];
	for (; total > rows->fit; total--) {
		size_t widest = rows->ncolumns;
		for (size_t i = 0; i < rows->ncolumns; i++)
			if (!rows->columns[i].right && rows->widths[i] > TEXT_MIN &&
			    rows->widths[i] > strlen(rows->columns[i].name) &&
			    (widest == rows->ncolumns || rows->widths[i] > rows->widths[widest]))
				widest = i;
		if (widest == rows->ncolumns) {
			rows->as_lines = true;
			return;
		}
		rows->widths[widest]--;
	}
}

static void head(struct rows *rows)
{
	for (size_t i = 0; i < rows->ncolumns; i++)
		render_rows_put_cell(rows, i, rows->columns[i].name, strlen(rows->columns[i].name));
	sink_char(rows->sink, '\n');
	sink_row(rows->sink);
}

static void put_line(struct rows *rows, size_t column, const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < rows->ncolumns; i++)
		if (strlen(rows->columns[i].name) > width)
			width = strlen(rows->columns[i].name);
	if (!column && rows->began)
		sink_char(rows->sink, '\n');
	rows->began = true;
	rows_line(rows->sink, rows->columns[column].name, width);
	sink_add(rows->sink, text, len);
	if (column + 1 < rows->ncolumns)
		sink_char(rows->sink, '\n');
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
	if (rows->fit)
		fit_widths(rows);
	if (!rows->as_lines)
		head(rows);
}

/* Writes the rows that wait. */
static bool render_rows_write(struct rows *rows)
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
		} else if (rows->as_lines) {
			put_line(rows, column, text, len);
		} else if (rows->format == FORMAT_TABLE) {
			render_rows_put_cell(rows, column, text, len);
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
	if (rows->format == FORMAT_JSON) {
		rows->at = 0;
		sink_text(rows->sink, "}\n");
		return sink_row(rows->sink);
	}
	while (rows->at < rows->ncolumns)
		rows_cell(rows);
	end_cell(rows);
	rows->at = 0;
	if (rows->format == FORMAT_TABLE && !rows->widths &&
	    rows->nends < TABLE_ROWS * rows->ncolumns)
		return !rows->sink->closed;
	return render_rows_write(rows);
}

bool rows_finish(struct rows *rows)
{
	bool open = rows->nends ? render_rows_write(rows) : !rows->sink->closed;

	mem_free(rows->ends);
	mem_free(rows->widths);
	sink_release(&rows->cells);
	return open;
}
