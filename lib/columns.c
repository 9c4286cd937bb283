/*
 * columns.c - the events of one name as record batches of Arrow's C data interface
 *
 *     events --> a sheet of typed columns (engine/columns/sheet.h) --> buffers of Arrow's users
 *
 * A batch is a struct array with one child per column. Each array owns its memory, so that a user
 * may move some children out and release the others, as the interface allows. Its layouts:
 * https://arrow.apache.org/docs/format/CDataInterface.html and .../CStreamInterface.html.
 */
#include "lib/lib_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/columns/sheet_fields.h"
#include "engine/reader.h"

#include <errno.h>
#include <string.h>

enum { ROWS = 1 << 16, ROWS_MOST = 1 << 24, TEXT_MOST = 64 << 20 };

struct columns { /* private_data of a stream */
	struct yore *yore;
	struct class_group *groups;
	size_t ngroups;
	const struct class_group *group;
	struct arena *arena;
	struct shape *shape;
	struct sheet *sheet;
	struct class_puts *puts;    /* by class */
	uint64_t *classes, *wanted; /* bits; wanted: columns of the shape, NULL: all */
	bool fields, epoch;
	size_t rows;
	struct events *events;
	struct run run; /* the events that are not copied yet */
	struct buf scratch;
	struct error failed;
};

/* Arrays ------------------------------------------------------------------------------------- */

struct block_of { /* private_data of an array or a schema, with the arrays that it points to */
	const void *buffers[3];
	void **pointers; /* children */
};

static void array_release(struct ArrowArray *array)
{
	struct block_of *block = array->private_data;

	for (int64_t i = 0; i < array->n_children; i++) {
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
		mem_free(array->children[i]);
	}
	for (int64_t i = 0; i < array->n_buffers; i++)
		mem_free((void *)(uintptr_t)block->buffers[i]);
	mem_free(block->pointers);
	mem_free(block);
	array->release = NULL;
}

/* Makes an array; its `nchildren` children are zeroed. */
static void array_make(struct ArrowArray *out, size_t rows, int64_t nbuffers, size_t nchildren)
{
	struct block_of *block = mem_new(sizeof *block);

	block->pointers = mem_new_array(nchildren + 1, sizeof *block->pointers);
	for (size_t i = 0; i < nchildren; i++)
		block->pointers[i] = mem_new(sizeof(struct ArrowArray));
	*out = (struct ArrowArray){.length = (int64_t)rows,
				   .n_buffers = nbuffers,
				   .n_children = (int64_t)nchildren,
				   .buffers = block->buffers,
				   .children = (struct ArrowArray **)block->pointers,
				   .release = array_release,
				   .private_data = block};
}

static void put_validity(struct ArrowArray *array, const struct sheet_values *values, size_t rows)
{
	struct block_of *block = array->private_data;

	if (!values->has_null)
		return;
	uint8_t *bits = mem_new(rows / 8 + 1);
	int64_t nulls = 0;
	for (size_t i = 0; i < rows; i++)
		if (values->present[i])
			bits[i / 8] |= (uint8_t)(1 << i % 8);
		else
			nulls++;
	block->buffers[0] = bits;
	array->null_count = nulls;
}

/* Copies `count` numbers of 4 or 8 bytes as numbers of the column's width. */
static void *packed(const struct sheet_values *values, const void *numbers, size_t count)
{
	size_t bytes = values->kind == CELL_TIME ? 8 : values->bits / 8;
	uint8_t *out = mem_new(count * bytes + 8);

	if (bytes >= 4) {
		memcpy(out, numbers, count * bytes);
		return out;
	}
	const uint32_t *narrow = numbers;
	for (size_t i = 0; i < count; i++)
		memcpy(out + i * bytes, &narrow[i], bytes); /* the low bytes: little-endian */
	return out;
}

static void put_texts(struct ArrowArray *array, const struct sheet_values *values, size_t rows)
{
	struct block_of *block = array->private_data;
	int32_t *ends = mem_new_array(rows + 1, sizeof *ends);
	size_t at = 0, len;

	for (size_t i = 0; i < rows; i++) {
		len = 0;
		if (values->present[i])
			(void)texts_get(&values->texts, values->index[i], &len);
		at += len;
		ends[i + 1] = (int32_t)at;
	}
	char *bytes = mem_new(at + 1);
	for (size_t i = 0; i < rows; i++)
		if (ends[i + 1] > ends[i])
			memcpy(bytes + ends[i], texts_get(&values->texts, values->index[i], &len),
			       (size_t)(ends[i + 1] - ends[i]));
	block->buffers[1] = ends;
	block->buffers[2] = bytes;
}

static void put_lists(struct ArrowArray *array, const struct sheet_values *values, size_t rows)
{
	struct block_of *block = array->private_data, *inner;
	int32_t *ends = mem_new_array(rows + 1, sizeof *ends);
	size_t count = values->elements.len / (values->wide ? 8 : 4);

	for (size_t i = 0; i < rows; i++)
		ends[i + 1] = (int32_t)values->list_ends[i];
	block->buffers[1] = ends;
	array_make(array->children[0], count, 2, 0);
	inner = array->children[0]->private_data;
	inner->buffers[1] = packed(values, buf_text(&values->elements), count);
}

static void put_column(struct ArrowArray *array, const struct sheet_values *values, size_t rows)
{
	bool texts = values->kind == CELL_TEXT || values->kind == CELL_BYTES;

	array_make(array, rows, texts ? 3 : 2, values->list);
	put_validity(array, values, rows);
	if (texts)
		put_texts(array, values, rows);
	else if (values->list)
		put_lists(array, values, rows);
	else
		((struct block_of *)array->private_data)->buffers[1] =
			packed(values, values->all, rows);
}

/* Schemas ------------------------------------------------------------------------------------ */

static void schema_release(struct ArrowSchema *schema)
{
	struct block_of *block = schema->private_data;

	for (int64_t i = 0; i < schema->n_children; i++) {
		if (schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
		mem_free(schema->children[i]);
	}
	mem_free((char *)(uintptr_t)schema->format);
	mem_free((char *)(uintptr_t)schema->name);
	mem_free(block->pointers);
	mem_free(block);
	schema->release = NULL;
}

static void schema_make(struct ArrowSchema *out, const char *format, const char *name,
			size_t nchildren)
{
	struct block_of *block = mem_new(sizeof *block);

	block->pointers = mem_new_array(nchildren + 1, sizeof *block->pointers);
	for (size_t i = 0; i < nchildren; i++)
		block->pointers[i] = mem_new(sizeof(struct ArrowSchema));
	*out = (struct ArrowSchema){.format = mem_strdup(format),
				    .name = mem_strdup(name),
				    .flags = ARROW_FLAG_NULLABLE,
				    .n_children = (int64_t)nchildren,
				    .children = (struct ArrowSchema **)block->pointers,
				    .release = schema_release,
				    .private_data = block};
}

static const char *format_of(const struct sheet_values *values, bool epoch)
{
	static const char *const signed_bits[] = {"c", "s", "i", "l"};
	static const char *const unsigned_bits[] = {"C", "S", "I", "L"};
	unsigned width = values->bits <= 8    ? 0
			 : values->bits <= 16 ? 1
			 : values->bits <= 32 ? 2
					      : 3;

	switch (values->kind) {
	case CELL_INT:
		return signed_bits[width];
	case CELL_UINT:
		return unsigned_bits[width];
	case CELL_FLOAT:
		return values->wide ? "g" : "f";
	case CELL_TIME:
		return epoch ? "tsn:UTC" : "tDn";
	case CELL_BYTES:
		return "z";
	default:
		return "u";
	}
}

/* The stream --------------------------------------------------------------------------------- */

static bool is_given(const struct columns *columns, size_t i)
{
	/* the first columns of a shape are those of a sheet */
	return i >= COLUMNS_OWN || !columns->wanted || bitset_has(columns->wanted, i);
}

static size_t given(const struct columns *columns)
{
	size_t n = 0;

	for (size_t i = 0; i < columns->sheet->ncolumns; i++)
		n += is_given(columns, i);
	return n;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	const struct columns *columns = stream->private_data;
	size_t n = 0;

	schema_make(out, "+s", columns->sheet->name, given(columns));
	for (size_t i = 0; i < columns->sheet->ncolumns; i++) {
		const struct sheet_values *values = &columns->sheet->columns[i];
		const char *format = format_of(values, columns->epoch);
		if (!is_given(columns, i))
			continue;
		schema_make(out->children[n], values->list ? "+l" : format, values->name,
			    values->list);
		if (values->list)
			schema_make(out->children[n]->children[0], format, "item", 0);
		n++;
	}
	return 0;
}

/* NULL: the event cannot be decoded; it is reported as damage, and its row has nulls. */
static const struct fields *decode(struct columns *columns, uint32_t i, struct fields *fields)
{
	const struct run *run = &columns->run;
	struct error bad;

	if (run->reader->decoder_fields(run->decoder, run->batch, i, fields, &bad))
		return fields;
	trace_damage(columns->yore->trace, run->stream->name, &bad);
	return NULL;
}

/* Copies events of the run to rows until the batch is full. Returns the bytes of their texts. */
static size_t put_run(struct columns *columns)
{
	struct run *run = &columns->run;
	struct sheet *sheet = columns->sheet;
	struct fields fields;
	size_t bytes = 0;

	for (; run->count && sheet->rows < columns->rows && bytes < TEXT_MOST; run->count--) {
		const uint32_t i = run->first++;
		const size_t row = sheet_row(sheet);
		placed_put(sheet, row, run->batch->time[i], run->stream, run->cpu);
		if (columns->fields)
			bytes += fields_put(&columns->puts[run->batch->class_index[i]],
					    decode(columns, i, &fields), row, &columns->scratch);
	}
	return bytes;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct columns *columns = stream->private_data;
	struct sheet *sheet = columns->sheet;
	size_t bytes = 0, n = 0;
	enum step step = STEP_ITEM;

	*out = (struct ArrowArray){0};
	sheet_clear(sheet);
	while (step == STEP_ITEM && sheet->rows < columns->rows && bytes < TEXT_MOST) {
		if (!columns->run.count)
			step = events_next_run(columns->events, &columns->run, &columns->failed);
		if (step == STEP_ITEM)
			bytes += put_run(columns);
	}
	if (step == STEP_ERROR)
		return EIO;
	if (step == STEP_END)
		columns->run.count = 0;
	if (!sheet->rows)
		return 0;
	array_make(out, sheet->rows, 1, given(columns));
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if (is_given(columns, i))
			put_column(out->children[n++], &sheet->columns[i], sheet->rows);
	return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	const struct columns *columns = stream->private_data;

	return columns->failed.text;
}

static void columns_free(struct columns *columns)
{
	struct yore *yore = columns->yore;

	events_close(columns->events);
	sheet_free(columns->sheet);
	shape_free(columns->shape);
	arena_free(columns->arena);
	class_groups_free(columns->groups, columns->ngroups);
	buf_release(&columns->scratch);
	mem_free(columns->puts);
	mem_free(columns->classes);
	mem_free(columns->wanted);
	mem_free(columns);
	lib_release(yore);
}

static void stream_release(struct ArrowArrayStream *stream)
{
	columns_free(stream->private_data);
	stream->release = NULL;
}

/* Opening ------------------------------------------------------------------------------------ */

static bool columns_find_group(struct columns *columns, const char *name, struct error *err)
{
	class_groups_make(columns->yore->trace, &columns->groups, &columns->ngroups);
	for (size_t i = 0; i < columns->ngroups && !columns->group; i++)
		if (shape_same_name(columns->groups[i].name, name))
			columns->group = &columns->groups[i];
	return columns->group ||
	       error_set(err, ERR_QUERY, "the trace has no events called '%s'", name);
}

/* A group ignores the case of names; if some class has exactly this name, only such are read. */
static bool columns_is_named(const struct event_class *class, const char *name)
{
	const char *tail = strrchr(class->name, ':');

	return !strcmp(class->name, name) || (tail && !strcmp(tail + 1, name));
}

static void take_classes(struct columns *columns, const char *name)
{
	bool any = false;

	columns->classes = bitset_new(columns->yore->trace->nclasses);
	for (size_t i = 0; i < columns->group->count; i++)
		any |= columns_is_named(columns->group->classes[i], name);
	for (size_t i = 0; i < columns->group->count; i++)
		if (!any || columns_is_named(columns->group->classes[i], name))
			bitset_add(columns->classes, columns->group->classes[i]->index);
}

static bool want(struct columns *columns, const char *name, struct error *err)
{
	for (size_t i = 0; i < columns->shape->ncolumns; i++) {
		const struct column *column = &columns->shape->columns[i];
		if ((i >= COLUMNS_OWN && column->kind != COLUMN_FIELD &&
		     column->kind != COLUMN_LABEL) ||
		    !shape_same_name(column->name, name))
			continue;
		bitset_add(columns->wanted, i);
		return true;
	}
	return error_set(err, ERR_QUERY, "%s has no column '%s'", columns->group->name, name);
}

static bool make_sheet(struct columns *columns, const struct yore_columns_options *options,
		       struct error *err)
{
	const struct trace *trace = columns->yore->trace;

	columns->arena = arena_new();
	columns->shape = shape_new(trace, columns->group, false, columns->arena);
	columns->wanted = options->columns ? bitset_new(columns->shape->ncolumns) : NULL;
	for (size_t i = 0; options->columns && i < options->ncolumns; i++)
		if (!want(columns, options->columns[i], err))
			return false;
	columns->sheet = fields_sheet(columns->shape, columns->group, columns->wanted);
	columns->fields = columns->sheet->ncolumns > COLUMNS_OWN;
	columns->puts = mem_new_array(trace->nclasses + 1, sizeof *columns->puts);
	for (size_t i = 0; i < columns->group->count; i++) {
		const struct event_class *class = columns->group->classes[i];
		fields_puts(columns->shape, class, columns->wanted, columns->sheet, columns->arena,
			    &columns->puts[class->index]);
	}
	return true;
}

static bool open_columns(struct columns *columns, const char *name,
			 const struct yore_columns_options *options, struct error *err)
{
	columns->epoch = trace_has_epoch(columns->yore->trace);
	columns->rows = !options->rows              ? ROWS
			: options->rows > ROWS_MOST ? ROWS_MOST
						    : options->rows;
	if (!columns_find_group(columns, name, err) || !make_sheet(columns, options, err))
		return false;
	take_classes(columns, name);
	const struct events_options events = {.begin = options->begin,
					      .end = options->end,
					      .values = columns->fields,
					      .classes = columns->classes};
	return events_open(columns->yore->index, &events, &columns->events, err);
}

int yore_columns_open(struct yore *yore, const char *name,
		      const struct yore_columns_options *options, struct ArrowArrayStream *out,
		      struct yore_error *err)
{
	struct yore_columns_options own = YORE_COLUMNS_ALL;
	struct columns *columns = mem_new(sizeof *columns);
	struct error cause;

	*out = (struct ArrowArrayStream){0};
	lib_take_options(&own, sizeof own, options, options ? options->size : 0);
	columns->yore = yore;
	atomic_fetch_add(&yore->owners, 1);
	if (!open_columns(columns, name, &own, &cause)) {
		columns_free(columns);
		return lib_fail(err, &cause);
	}
	*out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, stream_release,
					 columns};
	return 0;
}
