/*
 * csv.c - a folder of CSV files, one per table (RFC 4180)
 *
 * The first row has the names of the columns. An empty cell is NULL, "" an empty text. Times are
 * nanoseconds, bytes hexadecimal, lists JSON.
 */
#include "convert/convert_internal.h"
#include "convert/sheets/tables.h"
#include "convert/sheets/values_text.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

enum { FLUSH_AT = 1 << 18 };

struct csv_file {
	struct out out;
	char *name;
};

struct csv {
	struct convert of;
	struct csv_file **files;
	size_t count, capacity;
	struct nameset names; /* of the files */
	struct buf text, cell;
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

	if (file)
		return file;
	file = mem_new(sizeof *file);
	file->name = convert_file_name(sheet->name, "csv", &csv->names);
	*mem_push(csv->files, csv->count, csv->capacity) = file;
	sheet->file = file;
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const char *name = sheet->columns[i].name;
		if (i)
			buf_add_char(&csv->text, ',');
		add_cell(&csv->text, name, strlen(name));
	}
	buf_add_char(&csv->text, '\n');
	return out_open_inside(&file->out, &csv->of.folder, file->name, err) ? file : NULL;
}

static void add_csv_row(struct csv *csv, const struct sheet *sheet, size_t row)
{
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const struct sheet_values *values = &sheet->columns[i];
		const char *text;
		size_t len;
		if (i)
			buf_add_char(&csv->text, ',');
		if (!values->present[row])
			continue;
		if (values_are_numbers(values)) {
			values_add_text(values, row, &csv->text);
		} else if (values->kind == CELL_TEXT && !values->list) {
			text = texts_get(&values->texts, values->index[row], &len);
			add_cell(&csv->text, text, len);
		} else {
			buf_clear(&csv->cell);
			values_add_text(values, row, &csv->cell);
			add_cell(&csv->text, buf_text(&csv->cell), csv->cell.len);
		}
	}
	buf_add_char(&csv->text, '\n');
}

static bool write_part(struct csv *csv, struct csv_file *file, const struct sheet *part,
		       struct error *err)
{
	bool ok = true;

	for (size_t row = 0; ok && row < part->rows; row++) {
		add_csv_row(csv, part, row);
		if (csv->text.len < FLUSH_AT && row + 1 < part->rows)
			continue;
		ok = out_write(&file->out, csv->text.data, csv->text.len, err);
		buf_clear(&csv->text);
	}
	return ok;
}

static bool write_rows(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
		       struct error *err)
{
	struct csv *csv = arg;
	struct csv_file *file = file_of(csv, sheet, err);
	bool ok = file != NULL;

	for (size_t i = 0; i < count; i++) {
		ok = ok && write_part(csv, file, parts[i], err);
		sheet_free(parts[i]);
	}
	return ok;
}

static bool csv_open(void *self, struct error *err)
{
	struct csv *csv = self;
	const struct convert_options *options = &csv->of.options;
	struct tables_options tables = {.trace = options->trace, .write = write_rows, .arg = csv};

	csv->of.tables = tables_new(&tables);
	return out_folder_open(&csv->of.folder, options->path, err);
}

static bool csv_finish(void *self, struct error *err)
{
	struct csv *csv = self;

	if (!tables_flush(csv->of.tables, err))
		return false;
	for (size_t i = 0; i < csv->count; i++)
		if (!out_finish(&csv->files[i]->out, err))
			return false;
	return out_folder_finish(&csv->of.folder, err);
}

static void csv_close(void *self)
{
	struct csv *csv = self;

	nameset_release(&csv->names);
	for (size_t i = 0; i < csv->count; i++) {
		out_drop(&csv->files[i]->out);
		mem_free(csv->files[i]->name);
		mem_free(csv->files[i]);
	}
	mem_free(csv->files);
	buf_release(&csv->text);
	buf_release(&csv->cell);
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
