/*
 * fill.c - copies values of events to the columns of a chunk
 *
 *     heads: time, class      copied              place of an integer known   loaded as a column
 *     stream, CPU of a run    one value repeated  all else                    the event is decoded
 *
 * Integers and short texts at a fixed place in their event class are loaded from the packet without
 * decoding the events (engine/columns/column.h). If some column needs more, each event is decoded
 * once, for all such columns.
 */
#include "duckdb/events_internal.h"

#include "engine/base/mem.h"
#include "engine/columns/json.h"

enum { TEXT_WORDS = 4 /* texts of up to 32 bytes */ };

enum fill_kind {
	FILL_NOTHING, /* DuckDB only counts rows */
	FILL_TIME,
	FILL_STREAM,
	FILL_CPU,
	FILL_NAME,
	FILL_NULL,
	FILL_LOADED,       /* a number, loaded from at[0] */
	FILL_LOADED_LABEL, /* the labels of such a number */
	FILL_LOADED_TEXT,  /* a text, loaded as `words` numbers of 8 bytes */
	FILL_JSON,         /* this and the following kinds decode the event */
	FILL_VALUE,
	FILL_LABEL
};

struct duck_fill {
	enum fill_kind kind;
	unsigned scopes; /* JSON */
	struct column_place at[TEXT_WORDS];
	size_t words;
	const struct value_place *place; /* LOADED..., VALUE, LABEL */
};

struct duck_filler {
	const struct duck_fills *fills;
	struct trace *trace;
	struct duck_column *out;
	uint64_t *name_rows; /* by class: 1 + a row of this chunk with its name; 0: none */
	struct buf scratch;
	uint32_t *decoded; /* columns that need decoded events */
	uint32_t ndecoded;
	uint16_t entries[BATCH_MAX];
	uint64_t numbers[TEXT_WORDS][BATCH_MAX];
};

/* ---- the plan ---- */

static struct duck_fill fill_of_field(const struct event_class *class,
				      const struct value_place *place,
				      const struct sheet_values *values, bool label)
{
	struct duck_fill fill = {.kind = FILL_VALUE, .place = place};
	struct field_path path = {place->scope, place->slot, place->class};
	bool number = values->kind != CELL_TEXT && values->kind != CELL_BYTES && !values->list;

	if (!place->class) {
		fill.kind = FILL_NULL;
		return fill;
	}
	bool fixed = !place->nchosen && place->scope != SCOPE_PACKET_CONTEXT;
	if (label)
		fill.kind = fixed && column_place(class, &path, fill.at) ? FILL_LOADED_LABEL
									 : FILL_LABEL;
	else if (number && fixed && column_place(class, &path, fill.at))
		fill.kind = FILL_LOADED;
	else if (values->kind == CELL_TEXT && fixed)
		fill.words = column_text_places(class, &path, fill.at, TEXT_WORDS);
	if (fill.words)
		fill.kind = FILL_LOADED_TEXT;
	return fill;
}

/* How a column that all events have is filled: time, stream, CPU, name, JSON. */
static struct duck_fill fill_of_own(uint64_t column)
{
	static const struct duck_fill own[] = {
		{.kind = FILL_TIME},
		{.kind = FILL_STREAM},
		{.kind = FILL_CPU},
		{.kind = FILL_NAME},
		{.kind = FILL_JSON,
		 .scopes = 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT},
		{.kind = FILL_JSON, .scopes = 1u << SCOPE_PAYLOAD}};

	return own[column];
}

/* For each column of the sheet, the column of the shape. */
static const struct column **shape_columns(const struct duck_events_call *call, struct arena *arena)
{
	const struct shape *shape = call->shape;
	const struct column **columns =
		arena_array(arena, call->sheet->ncolumns + 1, sizeof *columns);
	size_t n = COLUMNS_OWN;

	for (size_t i = 0; i < shape->ncolumns && n < call->sheet->ncolumns; i++)
		if (!shape->columns[i].hidden && (shape->columns[i].kind == COLUMN_FIELD ||
						  shape->columns[i].kind == COLUMN_LABEL))
			columns[n++] = &shape->columns[i];
	return columns;
}

static void fill_of_class(struct duck_fills *out, const struct duck_events_call *call,
			  const uint64_t *wanted, const struct column *const *columns, size_t row)
{
	const struct shape *shape = call->shape;

	for (uint64_t i = 0; i < out->ncolumns; i++) {
		struct duck_fill *fill = &out->items[row * out->ncolumns + i];
		uint64_t column = wanted[i];
		if (!out->columns[i]) {
			fill->kind = FILL_NOTHING;
		} else if (column < COLUMNS_OWN || !call->group) {
			*fill = fill_of_own(column);
		} else {
			const struct value_place *place =
				&shape->places[row * shape->nfields + columns[column]->field];
			*fill = fill_of_field(call->group->classes[row], place, out->columns[i],
					      columns[column]->kind == COLUMN_LABEL);
		}
		out->decodes |= fill->kind >= FILL_JSON;
	}
}

/* Can all formats of the trace load columns? */
static bool can_load(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nparts; i++)
		if (!trace->parts[i]->reader->decoder_column)
			return false;
	return true;
}

void duck_fills_make(struct duck_fills *out, const struct duck_events_call *call,
		     struct duck_init *info)
{
	size_t rows = call->group ? call->group->count : 1;

	out->arena = arena_new();
	out->shape = call->shape;
	uint64_t *wanted = duck_wanted_columns(info, &out->ncolumns);
	out->columns = arena_array(out->arena, out->ncolumns + 1, sizeof *out->columns);
	out->items = arena_array(out->arena, rows * out->ncolumns + 1, sizeof *out->items);
	const struct column **columns = shape_columns(call, out->arena);
	for (uint64_t i = 0; i < out->ncolumns; i++)
		if (wanted[i] < call->sheet->ncolumns)
			out->columns[i] = &call->sheet->columns[wanted[i]];
	for (size_t row = 0; row < rows; row++)
		fill_of_class(out, call, wanted, columns, row);
	mem_free(wanted);
	for (uint64_t i = 0; i < rows * out->ncolumns; i++)
		out->decodes |= out->items[i].kind >= FILL_LOADED && !can_load(call->host.trace);
}

void duck_fills_release(struct duck_fills *fills)
{
	if (fills->arena)
		arena_free(fills->arena);
}

/* ---- a thread ---- */

struct duck_filler *duck_filler_new(const struct duck_fills *fills,
				    const struct duck_events_call *call)
{
	struct duck_filler *filler = mem_new(sizeof *filler);

	filler->fills = fills;
	filler->trace = call->host.trace;
	filler->out = mem_new_array(fills->ncolumns + 1, sizeof *filler->out);
	filler->decoded = mem_new_array(fills->ncolumns + 1, sizeof *filler->decoded);
	filler->name_rows = mem_new_array(filler->trace->nclasses + 1, sizeof *filler->name_rows);
	return filler;
}

void duck_filler_free(struct duck_filler *filler)
{
	if (!filler)
		return;
	buf_release(&filler->scratch);
	mem_free(filler->name_rows);
	mem_free(filler->decoded);
	mem_free(filler->out);
	mem_free(filler);
}

void duck_filler_begin(struct duck_filler *filler, struct duck_chunk *chunk)
{
	for (uint64_t i = 0; i < filler->fills->ncolumns; i++)
		if (filler->fills->columns[i])
			filler->out[i] = duck_column_of(chunk, i);
	memset(filler->name_rows, 0, (filler->trace->nclasses + 1) * sizeof *filler->name_rows);
}

/* ---- heads ---- */

static void put_times(struct duck_column *out, const struct run *run, uint32_t count, uint64_t row)
{
	const nstime *times = run->batch->time + run->first;

	if (!run->stream->has_time) {
		duck_put_nulls(out, row, count);
		return;
	}
	memcpy((int64_t *)out->data + row, times, count * sizeof *times);
	for (uint32_t i = 0; i < count; i++)
		if (times[i] == NSTIME_MIN || times[i] == NSTIME_MAX)
			duck_put_null(out, row + i);
}

static void put_stream(struct duck_column *out, const struct stream *stream, uint32_t count,
		       uint64_t row)
{
	duck_put_text(out, row, stream->name, strlen(stream->name));
	duck_repeat_text(out, row, row + 1, count - 1);
}

static void put_cpu(struct duck_column *out, int32_t cpu, uint32_t count, uint64_t row)
{
	for (uint64_t i = row; i < row + count; i++)
		((int32_t *)out->data)[i] = cpu;
	if (cpu < 0)
		duck_put_nulls(out, row, count);
}

/* Each name is stored once per chunk; other rows share its bytes. */
static void put_names(struct duck_filler *filler, struct duck_column *out, const struct run *run,
		      uint32_t count, uint64_t row)
{
	const uint32_t *classes = run->batch->class_index + run->first;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *known = &filler->name_rows[classes[i]];
		if (*known) {
			duck_repeat_text(out, *known - 1, row + i, 1);
			continue;
		}
		const char *name = filler->trace->classes[classes[i]]->name;
		duck_put_text(out, row + i, name, strlen(name));
		*known = row + i + 1;
	}
}

/* ---- fields ---- */

static unsigned fill_bytes_of(const struct sheet_values *values)
{
	return values->kind == CELL_TIME ? 8 : values->bits / 8;
}

/* Converts a decoded number to the column's width: a real one comes as the bits of a double. */
static uint64_t narrowed(const struct sheet_values *values, uint64_t number)
{
	double wide;
	float narrow;
	uint32_t bits;

	if (values->kind != CELL_FLOAT || values->bits > 32)
		return number;
	memcpy(&wide, &number, sizeof wide);
	narrow = (float)wide;
	memcpy(&bits, &narrow, sizeof bits);
	return bits;
}

static void put_numbers(const struct sheet_values *values, struct duck_column *out,
			uint64_t *numbers, uint32_t count, uint64_t row)
{
	for (uint32_t i = 0; i < count && values->kind == CELL_FLOAT && values->bits <= 32; i++)
		numbers[i] = narrowed(values, numbers[i]);
	duck_put_numbers(out, row, fill_bytes_of(values), numbers, count);
}

static void put_list(const struct sheet_values *values, struct duck_column *out, uint64_t row,
		     const struct field *field)
{
	uint64_t *entry = (uint64_t *)out->data + 2 * row; /* where it begins, how many */
	uint64_t at = duck.list_vector_get_size(out->vector);
	struct field_iter iter;

	field_iter_begin(&iter, field);
	duck.list_vector_reserve(out->vector, at + iter.count);
	struct duck_column elements = {.vector = duck.list_vector_get_child(out->vector)};
	elements.data = duck.vector_get_data(elements.vector);
	entry[0] = at;
	for (; field_iter_next(&iter); at++) {
		uint64_t number = narrowed(values, iter.item.slot.u);
		duck_put_numbers(&elements, at, fill_bytes_of(values), &number, 1);
	}
	field_iter_end(&iter);
	entry[1] = at - entry[0];
	duck.list_vector_set_size(out->vector, at);
}

static void fill_put_text(struct duck_filler *filler, struct duck_column *out, uint64_t row,
			  const struct field *field)
{
	size_t len;
	const uint8_t *bytes = field_cell_text(field, &filler->scratch, &len);

	duck_put_text(out, row, bytes, len);
}

static void fill_value(struct duck_filler *filler, uint64_t i, const struct value_place *place,
		       const struct fields *fields, uint64_t row)
{
	const struct sheet_values *values = filler->fills->columns[i];
	struct duck_column *out = &filler->out[i];
	struct field field;
	uint64_t number;
	size_t len;

	if (!place_field(place, fields, &field)) {
		duck_put_null(out, row);
		if (values->list)
			memset((uint64_t *)out->data + 2 * row, 0, 2 * sizeof(uint64_t));
	} else if (values->list) {
		put_list(values, out, row, &field);
	} else if (values->kind == CELL_BYTES) {
		buf_clear(&filler->scratch);
		const uint8_t *bytes = field_bytes(&field, &filler->scratch, &len);
		duck_put_blob(out, row, bytes, len);
	} else if (values->kind == CELL_TEXT) {
		fill_put_text(filler, out, row, &field);
	} else {
		number = narrowed(values, field.slot.u);
		duck_put_numbers(out, row, fill_bytes_of(values), &number, 1);
	}
}

static void put_labels(struct duck_filler *filler, struct duck_column *out,
		       const struct field_class *class, uint64_t number, uint64_t row)
{
	const char *labels = field_labels(class, number, &filler->scratch);

	if (labels)
		duck_put_text(out, row, labels, strlen(labels));
	else
		duck_put_null(out, row);
}

static void fill_put_label(struct duck_filler *filler, struct duck_column *out,
			   const struct value_place *place, const struct fields *fields,
			   uint64_t row)
{
	const struct slot *slot = place_slot(place, fields);

	if (slot)
		put_labels(filler, out, place->class, slot->u, row);
	else
		duck_put_null(out, row);
}

static void put_json(struct duck_filler *filler, struct duck_column *out, unsigned scopes,
		     const struct fields *fields, uint64_t row)
{
	buf_clear(&filler->scratch);
	json_add_scopes(&filler->scratch, fields, scopes);
	duck_put_text(out, row, buf_text(&filler->scratch), filler->scratch.len);
}

/* ---- rows ---- */

/* ---- what is loaded without decoding ---- */

static void put_loaded_texts(struct duck_filler *filler, struct duck_column *out,
			     const struct duck_fill *fill, uint32_t count, uint64_t row)
{
	const size_t most = fill->place->class->length;
	char text[8 * TEXT_WORDS];

	for (uint32_t i = 0; i < count; i++) {
		bool same = i > 0;
		for (size_t k = 0; k < fill->words && same; k++)
			same = filler->numbers[k][i] == filler->numbers[k][i - 1];
		if (same) {
			duck_repeat_text(out, row + i - 1, row + i, 1);
			continue;
		}
		for (size_t k = 0; k < fill->words; k++)
			memcpy(text + 8 * k, &filler->numbers[k][i], 8); /* little-endian */
		duck_put_text(out, row + i, text, strnlen(text, most));
	}
}

/* Loads a column of `count` events. False: the format cannot, the events must be decoded. */
static bool put_loaded(struct duck_filler *filler, uint64_t column, const struct duck_fill *fill,
		       const struct run *run, uint32_t count, uint64_t row)
{
	const struct reader *reader = run->reader;
	struct duck_column *out = &filler->out[column];
	size_t words = fill->kind == FILL_LOADED_TEXT ? fill->words : 1;

	if (!reader->decoder_column)
		return false;
	for (size_t k = 0; k < words; k++)
		if (!reader->decoder_column(run->decoder, run->batch, filler->entries, count,
					    &fill->at[k], filler->numbers[k]))
			return false;
	if (fill->kind == FILL_LOADED)
		put_numbers(filler->fills->columns[column], out, filler->numbers[0], count, row);
	else if (fill->kind == FILL_LOADED_TEXT)
		put_loaded_texts(filler, out, fill, count, row);
	else
		for (uint32_t i = 0; i < count; i++)
			put_labels(filler, out, fill->place->class, filler->numbers[0][i], row + i);
	return true;
}

/* Fills the columns that need no decoded event, and lists the others in filler->decoded. */
static void put_columns(struct duck_filler *filler, const struct duck_fill *fills,
			const struct run *run, uint32_t count, uint64_t row)
{
	filler->ndecoded = 0;
	for (uint64_t i = 0; i < filler->fills->ncolumns; i++) {
		struct duck_column *out = &filler->out[i];
		switch (fills[i].kind) {
		case FILL_NOTHING:
			break;
		case FILL_TIME:
			put_times(out, run, count, row);
			break;
		case FILL_STREAM:
			put_stream(out, run->stream, count, row);
			break;
		case FILL_CPU:
			put_cpu(out, run->cpu, count, row);
			break;
		case FILL_NAME:
			put_names(filler, out, run, count, row);
			break;
		case FILL_NULL:
			duck_put_nulls(out, row, count);
			break;
		case FILL_LOADED:
		case FILL_LOADED_LABEL:
		case FILL_LOADED_TEXT:
			if (put_loaded(filler, i, &fills[i], run, count, row))
				break;
			/* fall through */
		default:
			filler->decoded[filler->ndecoded++] = (uint32_t)i;
		}
	}
}

static void put_event(struct duck_filler *filler, const struct duck_fill *fills,
		      const struct run *run, uint32_t entry, uint64_t row)
{
	struct fields fields;
	struct error bad;

	bool good = run->reader->decoder_fields(run->decoder, run->batch, entry, &fields, &bad);
	if (!good)
		trace_damage(filler->trace, run->stream->name, &bad);
	for (uint32_t k = 0; k < filler->ndecoded; k++) {
		uint32_t i = filler->decoded[k];
		if (!good)
			duck_put_null(&filler->out[i], row);
		else if (fills[i].kind == FILL_JSON)
			put_json(filler, &filler->out[i], fills[i].scopes, &fields, row);
		else if (fills[i].kind == FILL_LABEL || fills[i].kind == FILL_LOADED_LABEL)
			fill_put_label(filler, &filler->out[i], fills[i].place, &fields, row);
		else
			fill_value(filler, i, fills[i].place, &fields, row);
	}
}

/* Fills rows from events of one class, or of any class if all have the same columns. */
static void fill_class(struct duck_filler *filler, const struct run *run, uint32_t count,
		       uint64_t row)
{
	const struct shape *shape = filler->fills->shape;
	uint32_t class = run->batch->class_index[run->first];
	size_t of = shape->group ? shape_row(shape, class) - 1 : 0;
	const struct duck_fill *fills = &filler->fills->items[of * filler->fills->ncolumns];

	for (uint32_t i = 0; i < count; i++)
		filler->entries[i] = (uint16_t)(run->first + i);
	put_columns(filler, fills, run, count, row);
	for (uint32_t i = 0; i < count && filler->ndecoded; i++)
		put_event(filler, fills, run, run->first + i, row + i);
}

void duck_fill(struct duck_filler *filler, const struct run *run, uint32_t count, uint64_t row)
{
	struct run rest = *run;

	if (!filler->fills->shape->group) {
		fill_class(filler, run, count, row);
		return;
	}
	while (count) {
		const uint32_t *classes = rest.batch->class_index + rest.first;
		uint32_t same = 1;
		while (same < count && classes[same] == classes[0])
			same++;
		fill_class(filler, &rest, same, row);
		rest.first += same;
		row += same;
		count -= same;
	}
}
