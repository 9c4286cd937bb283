/*
 * sheet_fields.c - fields as typed columns
 *
 * A column has one type. Where the classes of its table have integers of different widths, it is
 * the widest; where their types are incompatible, text. Arrays of plain numbers are lists, others
 * JSON.
 */
#include "engine/columns/sheet_fields.h"

#include "engine/base/bitset.h"
#include "engine/columns/json.h"

struct cell_type {
	enum cell_kind kind;
	unsigned bits;
	bool list;
};

static unsigned whole_bits(uint32_t bits)
{
	return bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
}

static struct cell_type scalar_type(const struct field_class *class)
{
	if (class->kind == FIELD_FLOAT)
		return (struct cell_type){CELL_FLOAT, class->bits <= 32 ? 32 : 64, false};
	return (struct cell_type){class->is_signed ? CELL_INT : CELL_UINT, whole_bits(class->bits),
				  false};
}

static bool is_list(const struct field_class *class)
{
	const struct field_class *element = class->element;

	return !class->element_layout && !element->is_enum && !element->nlabels &&
	       (element->kind == FIELD_INT || element->kind == FIELD_FLOAT);
}

static struct cell_type type_of(const struct field_class *class)
{
	struct field field = {.class = class};
	struct cell_type type = {CELL_TEXT, 0, false};

	if (class->kind == FIELD_INT || class->kind == FIELD_FLOAT)
		return scalar_type(class);
	if ((class->kind != FIELD_ARRAY && class->kind != FIELD_SEQUENCE) || field_is_text(&field))
		return type;
	if (class->is_blob) {
		type.kind = CELL_BYTES;
	} else if (is_list(class)) {
		type = scalar_type(class->element);
		type.list = true;
	}
	return type;
}

static struct cell_type common_type(struct cell_type a, struct cell_type b)
{
	struct cell_type text = {CELL_TEXT, 0, false};

	if (a.kind == b.kind && a.list == b.list) {
		a.bits = a.bits > b.bits ? a.bits : b.bits;
		return a;
	}
	bool integers = (a.kind == CELL_INT && b.kind == CELL_UINT) ||
			(a.kind == CELL_UINT && b.kind == CELL_INT);
	unsigned least = 2 * (a.kind == CELL_UINT ? a.bits : b.bits);
	unsigned bits = a.kind == CELL_INT ? a.bits : b.bits;
	if (!integers || a.list || b.list || least > 64)
		return text;
	return (struct cell_type){CELL_INT, bits > least ? bits : least, false};
}

static struct cell_type column_type(const struct shape *shape, const struct class_group *group,
				    uint32_t field)
{
	struct cell_type type = {CELL_TEXT, 0, false};
	bool first = true;

	for (size_t i = 0; i < group->count; i++) {
		const struct value_place *place = &shape->places[i * shape->nfields + field];
		if (!place->class)
			continue;
		type = first ? type_of(place->class) : common_type(type, type_of(place->class));
		first = false;
	}
	return type;
}

static bool is_taken(const struct shape *shape, size_t i, const uint64_t *wanted)
{
	const struct column *column = &shape->columns[i];

	return (wanted ? bitset_has(wanted, i) : !column->hidden) &&
	       (column->kind == COLUMN_FIELD || column->kind == COLUMN_LABEL ||
		column->kind == COLUMN_NAME);
}

struct sheet *placed_sheet(const char *name, size_t ncolumns)
{
	struct sheet *sheet = sheet_new(name, ncolumns);

	sheet_describe(sheet, 0, "ts", CELL_TIME, 64, false);
	sheet_describe(sheet, 1, "stream", CELL_TEXT, 0, false);
	sheet_describe(sheet, 2, "cpu", CELL_INT, 32, false);
	sheet->rises = true;
	return sheet;
}

void placed_put(struct sheet *sheet, size_t row, nstime t, const struct stream *stream, int32_t cpu)
{
	struct sheet_values *columns = sheet->columns;

	sheet->rises &= stream->has_time; /* events without time come last */
	values_time(&columns[0], row, stream->has_time ? t : NSTIME_MIN);
	values_symbol(&columns[1], row, stream->index, stream->name);
	values_known(&columns[2], row, cpu >= 0, (uint32_t)cpu);
}

struct sheet *fields_sheet(const struct shape *shape, const struct class_group *group,
			   const uint64_t *wanted)
{
	size_t n = COLUMNS_OWN;

	for (size_t i = 0; i < shape->ncolumns; i++)
		n += is_taken(shape, i, wanted);
	struct sheet *sheet = placed_sheet(group->name, n);
	n = COLUMNS_OWN;
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		struct cell_type type = {CELL_TEXT, 0, false};
		if (!is_taken(shape, i, wanted))
			continue;
		if (column->kind == COLUMN_FIELD)
			type = column_type(shape, group, column->field);
		sheet_describe(sheet, n++, column->name, type.kind, type.bits, type.list);
	}
	return sheet;
}

/* ---- making the steps ---- */

static bool is_number(enum cell_kind kind)
{
	return kind != CELL_TEXT && kind != CELL_BYTES;
}

static struct put put_of(const struct event_class *class, const struct value_place *place,
			 const struct sheet *sheet, uint32_t column, bool label)
{
	const struct sheet_values *values = &sheet->columns[column];
	bool own = place->scope != SCOPE_PACKET_CONTEXT && !place->nchosen;
	struct put put = {PUT_VALUE, column, 0, place};

	if (!place->class)
		put.op = PUT_NULL;
	else if (label)
		put.op = PUT_LABEL;
	else if (own && place->class->kind == FIELD_INT && is_number(values->kind))
		put.op = PUT_NUMBER;
	else if (own && place->class->kind == FIELD_STRING)
		put.op = PUT_STRING;
	put.slot = class->slot_base[place->scope] + place->slot;
	return put;
}

void fields_puts(const struct shape *shape, const struct event_class *class, const uint64_t *wanted,
		 struct sheet *sheet, struct arena *arena, struct class_puts *out)
{
	const struct value_place *row =
		shape->places + (shape_row(shape, class->index) - 1) * (size_t)shape->nfields;
	uint32_t at = COLUMNS_OWN;

	out->sheet = sheet;
	out->class = class;
	out->count = 0;
	out->items = arena_array(arena, sheet->ncolumns, sizeof *out->items);
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		if (!is_taken(shape, i, wanted))
			continue;
		out->items[out->count++] = column->kind == COLUMN_NAME
						   ? (struct put){.op = PUT_NAME, .column = at}
						   : put_of(class, &row[column->field], sheet, at,
							    column->kind == COLUMN_LABEL);
		at++;
	}
}

/* ---- copying an event ---- */

static size_t put_list(struct sheet_values *values, size_t row, const struct field *field)
{
	struct field_iter iter;

	field_iter_begin(&iter, field);
	while (field_iter_next(&iter))
		values_element(values, iter.item.slot.u);
	field_iter_end(&iter);
	values_list_end(values, row);
	return (size_t)iter.index * 8;
}

const uint8_t *field_cell_text(const struct field *field, struct buf *scratch, size_t *len)
{
	const struct field_class *class = field->class;

	buf_clear(scratch);
	if (field_is_text(field) || class->is_blob)
		return field_bytes(field, scratch, len);
	if (class->kind == FIELD_INT && class->is_signed)
		buf_add_i64(scratch, field->slot.s);
	else if (class->kind == FIELD_INT)
		buf_add_u64(scratch, field->slot.u);
	else
		json_add_field(scratch, field);
	*len = scratch->len;
	return (const uint8_t *)buf_text(scratch);
}

static size_t sheet_fields_put_text(struct sheet_values *values, size_t row,
				    const struct field *field, struct buf *scratch)
{
	size_t len;
	const uint8_t *bytes = field_cell_text(field, scratch, &len);

	values_text(values, row, bytes, len);
	return len;
}

static size_t sheet_fields_put_value(struct sheet_values *values, size_t row,
				     const struct value_place *place, const struct fields *fields,
				     struct buf *scratch)
{
	struct field field;

	if (!place_field(place, fields, &field)) {
		values_null(values, row);
		return 0;
	}
	if (!is_number(values->kind))
		return sheet_fields_put_text(values, row, &field, scratch);
	if (values->list)
		return put_list(values, row, &field);
	if (values->kind == CELL_FLOAT)
		values_float(values, row, field.slot.f);
	else
		values_number(values, row, field.slot.u);
	return 0;
}

static void sheet_fields_put_label(struct sheet_values *values, size_t row,
				   const struct value_place *place, const struct fields *fields,
				   struct buf *scratch)
{
	const struct slot *slot = place_slot(place, fields);
	const char *labels = slot ? field_labels(place->class, slot->u, scratch) : NULL;

	if (labels)
		values_text(values, row, labels, strlen(labels));
	else
		values_null(values, row);
}

size_t fields_put(const struct class_puts *puts, const struct fields *fields, size_t row,
		  struct buf *scratch)
{
	size_t bytes = 0;

	for (size_t i = 0; i < puts->count; i++) {
		const struct put *put = &puts->items[i];
		struct sheet_values *values = &puts->sheet->columns[put->column];
		const struct slot *slot;
		switch (fields || put->op == PUT_NAME ? put->op : PUT_NULL) {
		case PUT_NUMBER:
			values_number(values, row, fields->slots[put->slot].u);
			break;
		case PUT_STRING:
			slot = &fields->slots[put->slot];
			values_text(values, row, slot->bytes, (size_t)slot->n);
			bytes += (size_t)slot->n;
			break;
		case PUT_VALUE:
			bytes += sheet_fields_put_value(values, row, put->place, fields, scratch);
			break;
		case PUT_LABEL:
			sheet_fields_put_label(values, row, put->place, fields, scratch);
			break;
		case PUT_NAME:
			values_symbol(values, row, puts->class->index, puts->class->name);
			break;
		case PUT_NULL:
			values_null(values, row);
			break;
		}
	}
	return bytes;
}
