/* render_value.c - one value: JSON or text */
#include "repl/render/render.h"

#include <math.h>
#include <string.h>

void text_float(struct sink *out, double number)
{
	if (isfinite(number))
		add_shortest(&out->buf, number);
	else
		sink_text(out, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
}

void json_time(struct sink *out, nstime t)
{
	if (t == NSTIME_MIN || t == NSTIME_MAX)
		sink_text(out, "null");
	else
		sink_i64(out, t);
}

void text_value(struct sink *out, const struct value *value)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
		sink_text(out, "unknown");
		return;
	case VALUE_NONE:
		sink_text(out, "none");
		return;
	case VALUE_FLOAT:
		text_float(out, value->f);
		return;
	case VALUE_STRING:
		text_string(out, value->text, value->len);
		return;
	case VALUE_INT:
	case VALUE_BOOL:
		json_value(out, value);
		return;
	}
}

/* Fields -------------------------------------------------------------------------------------- */

static bool is_enum(const struct field_class *class)
{
	return class->is_enum || class->nlabels;
}

/* The option that the variant's tag selects; false: none. */
static bool chosen(const struct field *variant, struct field *out)
{
	struct field_iter iter;

	field_iter_begin(&iter, variant);
	bool any = field_iter_next(&iter);
	*out = iter.item;
	field_iter_end(&iter);
	return any;
}

static void text_int(struct sink *out, const struct field *field)
{
	const struct field_class *class = field->class;
	uint64_t mask = class->bits < 64 ? (UINT64_C(1) << class->bits) - 1 : UINT64_MAX;

	if (class->form == FORM_BOOL) {
		sink_text(out, field->slot.u ? "true" : "false");
	} else if (class->base == 16 || class->is_address) {
		sink_text(out, "0x");
		sink_hex(out, field->slot.u & mask, 1);
	} else if (class->base == 8) {
		sink_printf(out, "0%llo", (unsigned long long)(field->slot.u & mask));
	} else if (class->is_signed) {
		sink_i64(out, field->slot.s);
	} else {
		sink_u64(out, field->slot.u);
	}
}

/* Writes "LABEL" (3); several labels of one value are joined by |. */
static void text_enum(struct sink *out, const struct field *field)
{
	const char *label;
	uint32_t next = 0;
	bool more = false;

	while ((label = field_label(field->class, field->slot.u, &next))) {
		if (more)
			sink_char(out, '|');
		text_string(out, label, strlen(label));
		more = true;
	}
	if (more)
		sink_text(out, " (");
	text_int(out, field);
	if (more)
		sink_char(out, ')');
}

static void text_bytes(struct sink *out, const struct field *field)
{
	struct buf scratch = {0};
	size_t len;
	const uint8_t *bytes = field_bytes(field, &scratch, &len);

	if (field->class->is_blob)
		quote_hex(&out->buf, bytes, len);
	else
		text_string(out, bytes, len);
	buf_release(&scratch);
}

static void text_items(struct sink *out, const struct field *field)
{
	bool structure = field->class->kind == FIELD_STRUCT, more = false;
	struct field_iter iter;

	sink_char(out, structure ? '{' : '[');
	field_iter_begin(&iter, field);
	while (field_iter_next(&iter)) {
		if (more)
			sink_text(out, ", ");
		if (structure) {
			sink_text(out, iter.name);
			sink_text(out, " = ");
		}
		text_field(out, &iter.item);
		more = true;
	}
	field_iter_end(&iter);
	sink_char(out, structure ? '}' : ']');
}

void text_field(struct sink *out, const struct field *field)
{
	const struct field_class *class = field->class;
	struct field option;

	switch (class->kind) {
	case FIELD_INT:
		if (is_enum(class))
			text_enum(out, field);
		else
			text_int(out, field);
		return;
	case FIELD_FLOAT:
		text_float(out, field->slot.f);
		return;
	case FIELD_STRING:
		text_string(out, field->slot.bytes, (size_t)field->slot.n);
		return;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (class->is_blob || field_is_text(field))
			text_bytes(out, field);
		else
			text_items(out, field);
		return;
	case FIELD_STRUCT:
		text_items(out, field);
		return;
	case FIELD_VARIANT:
		if (chosen(field, &option))
			text_field(out, &option);
		else
			sink_text(out, "none");
		return;
	}
}
