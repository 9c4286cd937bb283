/*
 * parquet.c - Parquet files: one per sheet, row groups made by several threads
 *
 * Rows that tables.c writes together become one row group: the pages of its columns are made and
 * compressed in memory, then written after the groups before. Threads make groups of one file at
 * the same time; a group that is ready before its turn is written by the thread that makes the one
 * before. The footer needs the places of all columns, so they are kept.
 */
#include "convert/sheets/parquet_internal.h"

#include "convert/convert_internal.h"
#include "convert/sheets/ordered.h"
#include "convert/sheets/partition.h"
#include "convert/sheets/tables.h"
#include "engine/base/mem.h"
#include "engine/base/thread_pool.h"
#include "engine/columns/shape.h"

#include <zstd.h>

struct row_group {
	struct column_chunk *chunks;
	size_t rows, bytes;
};

struct parquet {
	struct convert of;
	struct partition *partition; /* NULL: the folder has this trace alone */
	struct partition_losses losses;
	struct arena *arena;    /* names of a partition's columns */
	struct nameset names;   /* of the files */
	struct ordered ordered; /* a piece for each group: its pages, and struct row_group */
};

/* ---- row groups ---- */

static const struct row_group *group_at(const struct ordered_file *file, size_t i)
{
	return file->pieces[i].data;
}

static void group_free(struct row_group *group, size_t ncolumns)
{
	for (size_t i = 0; group && i < ncolumns; i++) {
		buf_release(&group->chunks[i].least);
		buf_release(&group->chunks[i].most);
	}
	if (group)
		mem_free(group->chunks);
	mem_free(group);
}

static struct row_group *make_group(const struct sheet *sheet, struct buf *pages)
{
	struct row_group *group = mem_new(sizeof *group);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	group->rows = sheet->rows;
	group->chunks = mem_new_array(sheet->ncolumns, sizeof *group->chunks);
	for (size_t i = 0; i < sheet->ncolumns; i++)
		parquet_column(&sheet->columns[i], sheet->rows, sheet->rises && i == 0, zstd, pages,
			       &group->chunks[i]);
	group->bytes = pages->len;
	ZSTD_freeCCtx(zstd);
	return group;
}

static void make_piece(struct ordered_work *work)
{
	struct sheet *sheet = sheet_join(work->parts, work->count);
	struct buf pages = {0};
	struct row_group *group = make_group(sheet, &pages);

	sheet_free(sheet);
	ordered_put(work, 0, &pages, group);
}

/* ---- files ---- */

static uint64_t rows_of(const struct ordered_file *file)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < file->count; i++)
		rows += group_at(file, i)->rows;
	return rows;
}

/*
 * Returns the temporary name of a table's file. `state` and `losses` have the same in all traces,
 * whatever their event classes are named.
 */
static char *file_name(struct parquet *parquet, const struct sheet *sheet)
{
	struct buf name = {0};

	if (!parquet->partition)
		return convert_file_name(sheet->name, "parquet", &parquet->names);
	if (!sheet->own)
		return convert_file_name(sheet->name, PARTITION_ENDING, &parquet->names);
	buf_printf(&name, "%s." PARTITION_ENDING, sheet->name);
	return name.data;
}

static const char *const partition_columns[] = {"table", "trace", "host"};

static bool is_partition_column(const char *name)
{
	for (size_t i = 0; i < sizeof partition_columns / sizeof *partition_columns; i++)
		if (shape_same_name(name, partition_columns[i]))
			return true;
	return false;
}

/*
 * Adds the column `host`. Readers add columns `table` and `trace` from the names of a partition's
 * folders, so fields named like one of these three get the prefix "field_".
 */
static void add_host(struct parquet *parquet, struct sheet *sheet)
{
	struct nameset names = {.folds = true};

	for (size_t i = 0; i < sheet->ncolumns; i++)
		nameset_add(&names, sheet->columns[i].name, 2);
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		struct buf name = {0};

		if (!is_partition_column(sheet->columns[i].name))
			continue;
		buf_printf(&name, "field_%s", sheet->columns[i].name);
		nameset_make_free(&names, &name, 0, "_");
		nameset_add(&names, buf_text(&name), 2);
		sheet->columns[i].name = arena_strdup(parquet->arena, buf_text(&name));
		buf_release(&name);
	}
	nameset_release(&names);
	sheet_add_column(sheet, "host", CELL_TEXT, 0);
}

static void put_host(const struct parquet *parquet, struct sheet *sheet)
{
	const char *host = trace_host(parquet->of.options.trace);
	struct sheet_values *values = &sheet->columns[sheet->ncolumns - 1];
	size_t len = strlen(host);

	if (!len) {
		for (size_t row = 0; row < sheet->rows; row++)
			values_null(values, row);
		return;
	}
	values_text(values, 0, host, len);
	memset(values->present, 1, sheet->rows);
	for (size_t row = 1; row < sheet->rows; row++)
		values->index[row] = values->index[0];
}

static struct ordered_file *parquet_open_file(struct parquet *parquet, struct sheet *sheet,
					      struct error *err)
{
	struct buf head = {.data = (char *)(uintptr_t) "PAR1", .len = 4};
	char *name = file_name(parquet, sheet);

	if (parquet->partition)
		add_host(parquet, sheet);
	return ordered_open(&parquet->ordered, &parquet->of.folder, sheet, name, &head, err);
}

static bool parquet_write_rows(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
			       struct error *err)
{
	struct parquet *parquet = arg;
	struct ordered_file *file =
		sheet->file ? sheet->file : parquet_open_file(parquet, sheet, err);

	for (size_t i = 0; file && parquet->partition && i < count; i++) {
		if (parts[i]->ncolumns < sheet->ncolumns)
			sheet_add_column(parts[i], "host", CELL_TEXT, 0);
		put_host(parquet, parts[i]);
	}
	return ordered_add(&parquet->ordered, file, parts, count, 1, make_piece, err);
}

/* ---- the footer ---- */

/*
 * Times are never marked as adjusted to UTC: DuckDB would read them as microseconds and lose the
 * nanoseconds. The key `yore.epoch` says whether they are UTC.
 */
static void stamp_type(struct thrift *thrift)
{
	thrift_struct(thrift, 8);
	thrift_bool(thrift, 1, false);
	thrift_struct(thrift, 2);
	thrift_struct(thrift, 3); /* nanoseconds */
	thrift_end(thrift);
	thrift_end(thrift);
	thrift_end(thrift);
}

static void integer_type(struct thrift *thrift, const struct sheet_values *values)
{
	thrift_struct(thrift, 10);
	thrift_byte(thrift, 1, (int8_t)values->bits);
	thrift_bool(thrift, 2, values->kind == CELL_INT);
	thrift_end(thrift);
}

/* The ConvertedType, for older readers; -1: none. */
static int old_type(const struct sheet_values *values)
{
	int width = values->bits == 8 ? 0 : values->bits == 16 ? 1 : values->bits == 32 ? 2 : 3;

	switch (values->kind) {
	case CELL_TEXT:
		return 0;
	case CELL_UINT:
		return 11 + width;
	case CELL_INT:
		return 15 + width;
	default:
		return -1;
	}
}

static void leaf_schema(struct thrift *thrift, const struct sheet_values *values, const char *name,
			bool required)
{
	thrift_begin(thrift);
	thrift_i32(thrift, 1, (int32_t)parquet_type(values));
	thrift_i32(thrift, 3, required ? 0 : 1);
	thrift_text(thrift, 4, name);
	if (old_type(values) >= 0)
		thrift_i32(thrift, 6, old_type(values));
	if (values->kind == CELL_TEXT || values->kind == CELL_TIME || values->kind == CELL_INT ||
	    values->kind == CELL_UINT) {
		thrift_struct(thrift, 10);
		if (values->kind == CELL_TEXT) {
			thrift_struct(thrift, 1);
			thrift_end(thrift);
		} else if (values->kind == CELL_TIME) {
			stamp_type(thrift);
		} else {
			integer_type(thrift, values);
		}
		thrift_end(thrift);
	}
	thrift_end(thrift);
}

/* optional group NAME (LIST) { repeated group list { required element } } */
static void list_schema(struct thrift *thrift, const struct sheet_values *values)
{
	thrift_begin(thrift);
	thrift_i32(thrift, 3, 1);
	thrift_text(thrift, 4, values->name);
	thrift_i32(thrift, 5, 1);
	thrift_i32(thrift, 6, 3);
	thrift_struct(thrift, 10);
	thrift_struct(thrift, 3);
	thrift_end(thrift);
	thrift_end(thrift);
	thrift_end(thrift);
	thrift_begin(thrift);
	thrift_i32(thrift, 3, 2);
	thrift_text(thrift, 4, "list");
	thrift_i32(thrift, 5, 1);
	thrift_end(thrift);
	leaf_schema(thrift, values, "element", true);
}

static void schema(struct thrift *thrift, const struct sheet *sheet)
{
	size_t nodes = 1;

	for (size_t i = 0; i < sheet->ncolumns; i++)
		nodes += sheet->columns[i].list ? 3 : 1;
	thrift_list(thrift, 2, THRIFT_STRUCT, nodes);
	thrift_begin(thrift);
	thrift_text(thrift, 4, "schema");
	thrift_i32(thrift, 5, (int32_t)sheet->ncolumns);
	thrift_end(thrift);
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		if (sheet->columns[i].list)
			list_schema(thrift, &sheet->columns[i]);
		else
			leaf_schema(thrift, &sheet->columns[i], sheet->columns[i].name, false);
	}
}

static void statistics(struct thrift *thrift, const struct column_chunk *chunk)
{
	thrift_struct(thrift, 12);
	thrift_i64(thrift, 3, chunk->nulls);
	if (chunk->has_bounds) {
		thrift_binary(thrift, 5, chunk->most.data, chunk->most.len);
		thrift_binary(thrift, 6, chunk->least.data, chunk->least.len);
	}
	thrift_end(thrift);
}

static void column_metadata(struct thrift *thrift, const struct sheet_values *values,
			    const struct column_chunk *chunk, uint64_t at)
{
	bool dictionary = chunk->dictionary_at >= 0;

	thrift_struct(thrift, 3);
	thrift_i32(thrift, 1, (int32_t)parquet_type(values));
	thrift_list(thrift, 2, THRIFT_I32, dictionary ? 3 : 2);
	thrift_item_i32(thrift, ENCODING_RLE);
	thrift_item_i32(thrift, (int32_t)chunk->encoding);
	if (dictionary)
		thrift_item_i32(thrift, ENCODING_PLAIN);
	thrift_list(thrift, 3, THRIFT_BINARY, values->list ? 3 : 1);
	thrift_item_text(thrift, values->name);
	if (values->list) {
		thrift_item_text(thrift, "list");
		thrift_item_text(thrift, "element");
	}
	thrift_i32(thrift, 4, CODEC_ZSTD);
	thrift_i64(thrift, 5, chunk->values);
	thrift_i64(thrift, 6, chunk->plain_bytes);
	thrift_i64(thrift, 7, chunk->bytes);
	thrift_i64(thrift, 9, (int64_t)at + chunk->data_at);
	if (dictionary)
		thrift_i64(thrift, 11, (int64_t)at + chunk->dictionary_at);
	statistics(thrift, chunk);
	thrift_end(thrift);
}

static void row_group(struct thrift *thrift, const struct sheet *sheet,
		      const struct row_group *group, uint64_t at)
{
	int64_t plain = 0;

	thrift_begin(thrift);
	thrift_list(thrift, 1, THRIFT_STRUCT, sheet->ncolumns);
	for (size_t i = 0; i < sheet->ncolumns; i++) {
		const struct column_chunk *chunk = &group->chunks[i];
		int64_t first = chunk->dictionary_at >= 0 ? chunk->dictionary_at : chunk->data_at;
		plain += chunk->plain_bytes;
		thrift_begin(thrift);
		thrift_i64(thrift, 2, (int64_t)at + first);
		column_metadata(thrift, &sheet->columns[i], chunk, at);
		thrift_end(thrift);
	}
	thrift_i64(thrift, 2, plain);
	thrift_i64(thrift, 3, (int64_t)group->rows);
	if (sheet->rises) {
		thrift_list(thrift, 4, THRIFT_STRUCT, 1);
		thrift_begin(thrift);
		thrift_i32(thrift, 1, 0);
		thrift_bool(thrift, 2, false);
		thrift_bool(thrift, 3, true);
		thrift_end(thrift);
	}
	thrift_i64(thrift, 5, (int64_t)at);
	thrift_i64(thrift, 6, (int64_t)group->bytes);
	thrift_end(thrift);
}

static void key_value(struct thrift *thrift, const char *key, const char *value)
{
	thrift_begin(thrift);
	thrift_text(thrift, 1, key);
	thrift_text(thrift, 2, value);
	thrift_end(thrift);
}

static void footer(const struct parquet *parquet, const struct ordered_file *file, struct buf *out)
{
	const struct sheet *sheet = file->sheet;
	struct thrift thrift = {.out = out};

	thrift_begin(&thrift);
	thrift_i32(&thrift, 1, 2);
	schema(&thrift, sheet);
	thrift_i64(&thrift, 3, (int64_t)rows_of(file));
	thrift_list(&thrift, 4, THRIFT_STRUCT, file->count);
	for (size_t i = 0; i < file->count; i++)
		row_group(&thrift, sheet, group_at(file, i), file->pieces[i].at);
	thrift_list(&thrift, 5, THRIFT_STRUCT, 3);
	key_value(&thrift, "yore.table", sheet->name);
	key_value(&thrift, "yore.epoch",
		  trace_has_epoch(parquet->of.options.trace) ? "UTC" : "clock");
	key_value(&thrift, "yore.trace", parquet->of.options.trace->path);
	thrift_text(&thrift, 6, "yore version " YORE_VERSION " (build -)");
	thrift_list(&thrift, 7, THRIFT_STRUCT, sheet->ncolumns);
	for (size_t i = 0; i < sheet->ncolumns; i++) { /* TypeDefinedOrder */
		thrift_begin(&thrift);
		thrift_struct(&thrift, 1);
		thrift_end(&thrift);
		thrift_end(&thrift);
	}
	thrift_end(&thrift);
	uint32_t len = (uint32_t)out->len;
	buf_add(out, &len, 4);
	buf_add(out, "PAR1", 4);
}

/* Finishes the folder of this trace, or adds its files to the partition. */
static bool finish_folder(struct parquet *parquet, struct error *err)
{
	struct partition_file *files;
	bool ok;

	if (!parquet->partition)
		return out_folder_finish(&parquet->of.folder, err);
	files = mem_new_array(parquet->ordered.count + 1, sizeof *files);
	for (size_t i = 0; i < parquet->ordered.count; i++) {
		struct ordered_file *file = parquet->ordered.files[i];
		file->name[strlen(file->name) - strlen("." PARTITION_ENDING)] = '\0';
		files[i] = (struct partition_file){file->name, file->sheet->name, file->out.path,
						   rows_of(file), file->out.at};
	}
	ok = partition_finish(parquet->partition, files, parquet->ordered.count, &parquet->losses,
			      err);
	mem_free(files);
	return ok;
}

static bool finish_file(struct parquet *parquet, struct ordered_file *file, struct error *err)
{
	struct buf bytes = {0};

	footer(parquet, file, &bytes);
	bool ok = out_write(&file->out, bytes.data, bytes.len, err) && out_finish(&file->out, err);
	buf_release(&bytes);
	return ok;
}

/* ---- the format ---- */

static bool open_folder(struct parquet *parquet, struct error *err)
{
	const struct convert_options *options = &parquet->of.options;

	if (options->partition) {
		parquet->partition = partition_open(options, &parquet->of.folder, err);
		if (!parquet->partition)
			return false;
		/* these names are reserved; an event class of that name gets another */
		nameset_add(&parquet->names, "state." PARTITION_ENDING, 2);
		nameset_add(&parquet->names, "losses." PARTITION_ENDING, 2);
		return true;
	}
	return out_folder_open(&parquet->of.folder, options->path, err);
}

static bool open_parquet(void *self, struct error *err)
{
	struct parquet *parquet = self;
	struct tables_options tables = {
		.trace = parquet->of.options.trace, .write = parquet_write_rows, .arg = parquet};

	parquet->arena = arena_new();
	ordered_init(&parquet->ordered, parquet->of.options.pool);
	parquet->of.tables = tables_new(&tables);
	return open_folder(parquet, err);
}

static bool parquet_loss(void *self, const struct event *loss, struct error *err)
{
	struct parquet *parquet = self;

	parquet->losses.places++;
	if (!loss->lost_unknown)
		parquet->losses.events += loss->lost;
	return tables_loss(self, loss, err);
}

static bool parquet_finish(void *self, struct error *err)
{
	struct parquet *parquet = self;
	bool ok = tables_flush(parquet->of.tables, err) && ordered_done(&parquet->ordered, err);

	for (size_t i = 0; ok && i < parquet->ordered.count; i++)
		ok = finish_file(parquet, parquet->ordered.files[i], err);
	return ok && finish_folder(parquet, err);
}

static void parquet_close(void *self)
{
	struct parquet *parquet = self;

	thread_pool_wait(parquet->of.options.pool);
	nameset_release(&parquet->names);
	for (size_t i = 0; i < parquet->ordered.count; i++) {
		struct ordered_file *file = parquet->ordered.files[i];
		for (size_t k = 0; k < file->count; k++)
			group_free(file->pieces[k].data, file->sheet->ncolumns);
	}
	partition_close(parquet->partition);
	arena_free(parquet->arena);
	ordered_release(&parquet->ordered);
}

const struct convert_format convert_parquet = {
	.kind = {.name = "parquet",
		 .endings = "",
		 .folder = true,
		 .partitions = true,
		 .has_state = true,
		 .in_parts = true},
	.size = sizeof(struct parquet),
	.open = open_parquet,
	.event = tables_event,
	.loss = parquet_loss,
	.interval = tables_interval,
	.finish = parquet_finish,
	.close = parquet_close,
};
