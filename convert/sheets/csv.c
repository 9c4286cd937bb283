/*
 * csv.c - a folder of CSV files, one per table (RFC 4180)
 *
 * The first row has the names of the columns. An empty cell is NULL, "" an empty text. Times are
 * nanoseconds, bytes hexadecimal, lists JSON.
 */
#include "convert/convert_internal.h"
#include "convert/sheets/ordered.h"
#include "convert/sheets/tables.h"
#include "convert/sheets/values_text.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/base/thread_pool.h"

struct csv {
	struct convert of;
	struct nameset names; /* of the files */
	struct ordered ordered;
};

/* Quotes an empty text; an empty cell would be NULL. */
static void add_cell(struct buf *out, const char *text, size_t len)
{
	if (len)
		quote_csv(out, text, len);
	else
		buf_add_text(out, "\"\"");
}

static struct ordered_file *csv_open_file(struct csv *csv, struct sheet *sheet, struct error *err)
{
	char *name = convert_file_name(sheet->name, "csv", &csv->names);
	struct buf head = {0};

	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const char *column = sheet->columns[i].name;
		if (i)
			buf_add_char(&head, ',');
		add_cell(&head, column, strlen(column));
	}
	buf_add_char(&head, '\n');
	struct ordered_file *file =
		ordered_open(&csv->ordered, &csv->of.folder, sheet, name, &head, err);
	buf_release(&head);
	return file;
}

/* `scratch` holds a cell before it is quoted. */
static void add_csv_row(const struct sheet *sheet, size_t row, struct buf *out, struct buf *scratch)
{
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const struct sheet_values *values = &sheet->columns[i];
		const char *text;
		size_t len;
		if (i)
			buf_add_char(out, ',');
		if (!values->present[row])
			continue;
		if (values_are_numbers(values)) {
			values_add_text(values, row, out);
		} else if (values->kind == CELL_TEXT && !values->list) {
			text = texts_get(&values->texts, values->index[row], &len);
			add_cell(out, text, len);
		} else {
			buf_clear(scratch);
			values_add_text(values, row, scratch);
			add_cell(out, buf_text(scratch), scratch->len);
		}
	}
	buf_add_char(out, '\n');
}

/* Makes the rows of all parts, a piece each. */
static void make_rows(struct ordered_work *work)
{
	struct buf rows = {0}, scratch = {0};

	for (size_t i = 0; i < work->count; i++) {
		const struct sheet *part = work->parts[i];

		for (size_t row = 0; row < part->rows; row++)
			add_csv_row(part, row, &rows, &scratch);
		sheet_free(work->parts[i]);
		ordered_put(work, i, &rows, NULL);
	}
	buf_release(&scratch);
}

static bool csv_write_rows(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
			   struct error *err)
{
	struct csv *csv = arg;
	struct ordered_file *file = sheet->file ? sheet->file : csv_open_file(csv, sheet, err);

	return ordered_add(&csv->ordered, file, parts, count, count, make_rows, err);
}

static bool csv_open(void *self, struct error *err)
{
	struct csv *csv = self;
	const struct convert_options *options = &csv->of.options;
	struct tables_options tables = {
		.trace = options->trace, .write = csv_write_rows, .arg = csv};

	ordered_init(&csv->ordered, options->pool);
	csv->of.tables = tables_new(&tables);
	return out_folder_open(&csv->of.folder, options->path, err);
}

static bool csv_finish(void *self, struct error *err)
{
	struct csv *csv = self;
	bool ok = tables_flush(csv->of.tables, err) && ordered_done(&csv->ordered, err);

	for (size_t i = 0; ok && i < csv->ordered.count; i++)
		ok = out_finish(&csv->ordered.files[i]->out, err);
	return ok && out_folder_finish(&csv->of.folder, err);
}

static void csv_close(void *self)
{
	struct csv *csv = self;

	thread_pool_wait(csv->of.options.pool);
	nameset_release(&csv->names);
	ordered_release(&csv->ordered);
}

const struct convert_format convert_csv = {
	.kind = {.name = "csv", .endings = "", .folder = true, .has_state = true, .in_parts = true},
	.size = sizeof(struct csv),
	.open = csv_open,
	.event = tables_event,
	.loss = tables_loss,
	.interval = tables_interval,
	.finish = csv_finish,
	.close = csv_close,
};
