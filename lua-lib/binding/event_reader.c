/* event_reader.c - see event_reader.h */
#include "lua-lib/binding/event_reader.h"

#include "engine/base/mem.h"
#include "state/filter/where.h"

#include <string.h>

void event_reader_turn(struct event_reader *reader)
{
	const struct run *run = &reader->run;

	reader->serial++;
	if (!run->count) {
		reader->event = run->loss;
		return;
	}
	reader->event.stream = run->stream; /* the rest is for losses */
	reader->event.cpu = run->cpu;
}

const struct fields *event_reader_fields(struct event_reader *reader)
{
	struct error err;

	if (reader->decoded == reader->serial)
		return &reader->fields;
	if (!run_fields(&reader->run, reader->entry, &reader->fields, &err)) {
		reader->failed = true;
		reader->error = err;
		return NULL;
	}
	reader->decoded = reader->serial;
	return &reader->fields;
}

bool event_reader_field(struct event_reader *reader, const struct bind_name *place,
			struct field *out)
{
	const struct fields *fields = place->direct ? event_reader_fields(reader) : NULL;

	if (fields)
		fields_at(fields, &place->path, out);
	return fields;
}

bool event_reader_integer(struct event_reader *reader, const struct bind_name *place, int64_t *out)
{
	const struct run *run = &reader->run;
	uint16_t entry = (uint16_t)reader->entry;
	uint64_t value;
	struct field field;

	if (!place->integer)
		return false;
	if (reader->decoded != reader->serial && place->column.placed && run->count &&
	    run->reader->decoder_column &&
	    run->reader->decoder_column(run->decoder, run->batch, &entry, 1, &place->column.place,
					&value)) {
		*out = (int64_t)value;
		return true;
	}
	if (!event_reader_field(reader, place, &field))
		return false;
	*out = field.slot.s;
	return true;
}

/* ---- values of columns ---- */

static struct value text_value(const char *text)
{
	return text ? value_text(text, strlen(text)) : (struct value){.kind = VALUE_UNKNOWN};
}

static void field_as_value(const struct field *field, struct buf *scratch, struct value *out)
{
	const uint8_t *bytes;
	size_t len;

	if (field->class->kind == FIELD_INT && field->class->form == FORM_BOOL) {
		*out = value_bool(field->slot.u != 0);
	} else if (field->class->kind == FIELD_INT) {
		*out = value_s64(field->slot.s);
	} else if (field->class->kind == FIELD_FLOAT) {
		*out = (struct value){.kind = VALUE_FLOAT, .f = field->slot.f};
	} else if (field->class->kind == FIELD_STRING || field_is_text(field)) {
		bytes = field_bytes(field, scratch, &len);
		*out = value_text((const char *)bytes, len);
	}
}

static void field_value(struct event_reader *reader, const struct bind_name *place,
			struct buf *scratch, struct value *out)
{
	struct field field;
	int64_t number;

	if (event_reader_integer(reader, place, &number))
		*out = value_s64(number);
	else if (event_reader_field(reader, place, &field))
		field_as_value(&field, scratch, out);
}

static void label_value(struct event_reader *reader, const struct bind_name *place,
			struct value *out)
{
	uint32_t next = 0;
	int64_t number;

	if (event_reader_integer(reader, place, &number))
		*out = text_value(field_label(place->path.class, (uint64_t)number, &next));
}

void event_reader_expr(struct event_reader *reader, const struct bind_expr *expr, struct value *out)
{
	uint32_t number = expr->number;
	struct run one = reader->run;

	one.first = reader->entry;
	one.count = 1;
	reader->passes =
		mem_reach(reader->passes, number, &reader->npasses, sizeof *reader->passes);
	if (!reader->passes[number])
		reader->passes[number] = where_pass_new(expr->where, NULL);
	where_value(reader->passes[number], &one, out);
}

void event_reader_release(struct event_reader *reader)
{
	for (size_t i = 0; i < reader->npasses; i++)
		where_pass_free(reader->passes[i]);
	mem_free(reader->passes);
	reader->passes = NULL;
	reader->npasses = 0;
}

void event_reader_value(struct event_reader *reader, const struct bind_column *column,
			struct buf *scratch, struct value *out)
{
	const struct event *event = &reader->event;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	switch (column->kind) {
	case COLUMN_T:
		if (event->time != NSTIME_MIN)
			*out = value_s64(event->time);
		return;
	case COLUMN_NAME:
		*out = text_value(event->class ? event->class->name : NULL);
		return;
	case COLUMN_CPU:
		if (event->cpu >= 0)
			*out = value_s64(event->cpu);
		return;
	case COLUMN_STREAM:
		*out = text_value(event->stream->name);
		return;
	case COLUMN_FIELD:
		if (event->class)
			field_value(reader, column->places[event->class->index], scratch, out);
		return;
	case COLUMN_LABEL:
		if (event->class)
			label_value(reader, column->places[event->class->index], out);
		return;
	case COLUMN_EXPR:
		if (event->class)
			event_reader_expr(reader, column->expr, out);
		bind_column_tested(column, out);
		return;
	case COLUMN_STATE:
		return;
	}
}
