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

struct csv_file {
	struct ordered_file to; /* a piece for each part of the rows */
	char *name;
};

struct csv {
	struct convert of;
	struct csv_file **files;
	size_t count, capacity;
	struct nameset names; /* of the files */
	struct ordered ordered;
};

struct csv_work {
	struct csv *csv;
	struct csv_file *file;
	size_t number;        /* of the first part's piece */
	struct sheet **parts; /* its own */
	size_t count;
};

/* Quotes an empty text; an empty cell would be NULL. */
static void add_cell(struct buf *out, const char *text, size_t len)
{
	if (len)
		quote_csv(out, text, len);
	else
		buf_add_text(out, "\"\"");
}

static struct csv_file *file_of(struct csv *csv, struct sheet *sheet, struct error *err)
{
	struct csv_file *file = sheet->file;
	struct buf head = {0};

	if (file)
		return file;
	file = mem_new(sizeof *file);
	file->name = convert_file_name(sheet->name, "csv", &csv->names);
	*mem_push(csv->files, csv->count, csv->capacity) = file;
	sheet->file = file;
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const char *name = sheet->columns[i].name;
		if (i)
			buf_add_char(&head, ',');
		add_cell(&head, name, strlen(name));
	}
	buf_add_char(&head, '\n');
	bool ok = out_open_inside(&file->to.out, &csv->of.folder, file->name, err) &&
		  out_write(&file->to.out, head.data, head.len, err);
	buf_release(&head);
	return ok ? file : NULL;
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

/* Makes the rows of all parts, and frees these. */
static void run_csv(void *arg)
{
	struct csv_work *work = arg;
	struct buf rows = {0}, scratch = {0};

	for (size_t i = 0; i < work->count; i++) {
		const struct sheet *part = work->parts[i];

		for (size_t row = 0; row < part->rows; row++)
			add_csv_row(part, row, &rows, &scratch);
		sheet_free(work->parts[i]);
		ordered_put(&work->csv->ordered, &work->file->to, work->number + i, &rows);
	}
	buf_release(&scratch);
	mem_free(work->parts);
	mem_free(work);
}

static bool write_rows(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
		       struct error *err)
{
	struct csv *csv = arg;
	struct csv_file *file = file_of(csv, sheet, err);

	if (!file) {
		for (size_t i = 0; i < count; i++)
			sheet_free(parts[i]);
		return false;
	}
	struct csv_work *work = mem_new(sizeof *work);
	*work = (struct csv_work){.csv = csv,
				  .file = file,
				  .parts = mem_new_array(count, sizeof *parts),
				  .count = count};
	memcpy(work->parts, parts, count * sizeof *parts);
	bool ok = ordered_reserve(&csv->ordered, &file->to, count, &work->number, err);
	thread_pool_add(csv->of.options.pool, run_csv, work);
	return ok;
}

static bool csv_open(void *self, struct error *err)
{
	struct csv *csv = self;
	const struct convert_options *options = &csv->of.options;
	struct tables_options tables = {.trace = options->trace, .write = write_rows, .arg = csv};

	ordered_init(&csv->ordered);
	csv->of.tables = tables_new(&tables);
	return out_folder_open(&csv->of.folder, options->path, err);
}

static bool csv_finish(void *self, struct error *err)
{
	struct csv *csv = self;
	bool ok = tables_flush(csv->of.tables, err);

	thread_pool_wait(csv->of.options.pool);
	ok = ok && ordered_done(&csv->ordered, err);
	for (size_t i = 0; ok && i < csv->count; i++)
		ok = out_finish(&csv->files[i]->to.out, err);
	return ok && out_folder_finish(&csv->of.folder, err);
}

static void csv_close(void *self)
{
	struct csv *csv = self;

	thread_pool_wait(csv->of.options.pool);
	nameset_release(&csv->names);
	for (size_t i = 0; i < csv->count; i++) {
		ordered_file_release(&csv->files[i]->to);
		mem_free(csv->files[i]->name);
		mem_free(csv->files[i]);
	}
	mem_free(csv->files);
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
