/* json.c - fields as JSON text, for the command line, SQL and files */
#include "engine/columns/json.h"

#include "engine/base/quote.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void json_add_text(struct buf *out, const char *text)
{
	quote_json(out, text, strlen(text));
}

/* Is `out` empty, or was '{', '[' or ':' added last, so that no comma may follow? */
static bool is_opened(const struct buf *out)
{
	return !out->len || strchr("{[:", out->data[out->len - 1]);
}

void json_add_key(struct buf *out, const char *key)
{
	if (!is_opened(out))
		buf_add_char(out, ',');
	json_add_text(out, key);
	buf_add_char(out, ':');
}

/* Appends the next argument; returns the last character of its conversion, which begins at `fmt`.
 */
static const char *add_argument(struct buf *out, const char *fmt, va_list *args)
{
	int len;

	switch (*fmt) {
	case 's':
		json_add_text(out, va_arg(*args, const char *));
		return fmt;
	case 'i':
		buf_add_text(out, va_arg(*args, int) ? "true" : "false");
		return fmt;
	case 'd':
		buf_add_i64(out, va_arg(*args, int));
		return fmt;
	case 'u':
		buf_add_u64(out, va_arg(*args, unsigned));
		return fmt;
	case 'z':
		buf_add_u64(out, va_arg(*args, size_t));
		return fmt + 1;
	case '.':
		len = va_arg(*args, int);
		quote_json(out, va_arg(*args, const char *), (size_t)len);
		return fmt + 2;
	default:
		assert(*fmt == 'l');
		if (fmt[2] == 'd')
			buf_add_i64(out, va_arg(*args, long long));
		else
			buf_add_u64(out, va_arg(*args, unsigned long long));
		return fmt + 2;
	}
}

void json_printf(struct buf *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fmt += *fmt == ',' && is_opened(out);
	for (; *fmt; fmt++)
		if (*fmt == '%')
			fmt = add_argument(out, fmt + 1, &args);
		else
			buf_add_char(out, *fmt == '\'' ? '"' : *fmt);
	va_end(args);
}

void json_add_float(struct buf *out, double number)
{
	if (isfinite(number))
		add_shortest(out, number);
	else
		buf_add_text(out, isnan(number) ? "\"NaN\""
				  : number < 0  ? "\"-Infinity\""
						: "\"Infinity\"");
}

static void json_int(struct buf *out, const struct field *field)
{
	if (field->class->form == FORM_BOOL)
		buf_add_text(out, field->slot.u ? "true" : "false");
	else if (field->class->is_signed)
		buf_add_i64(out, field->slot.s);
	else
		buf_add_u64(out, field->slot.u);
}

static void json_enum(struct buf *out, const struct field *field)
{
	const char *label;
	uint32_t next = 0;
	bool more = false;

	buf_add_text(out, "{\"value\":");
	json_int(out, field);
	buf_add_text(out, ",\"labels\":[");
	for (; (label = field_label(field->class, field->slot.u, &next)); more = true) {
		if (more)
			buf_add_char(out, ',');
		json_add_text(out, label);
	}
	buf_add_text(out, "]}");
}

static void json_items(struct buf *out, const struct field *field)
{
	bool structure = field->class->kind == FIELD_STRUCT, more = false;
	struct field_iter iter;

	buf_add_char(out, structure ? '{' : '[');
	field_iter_begin(&iter, field);
	for (; field_iter_next(&iter); more = true) {
		if (more)
			buf_add_char(out, ',');
		if (structure) {
			json_add_text(out, iter.name);
			buf_add_char(out, ':');
		}
		json_add_field(out, &iter.item);
	}
	field_iter_end(&iter);
	buf_add_char(out, structure ? '}' : ']');
}

static void json_sequence(struct buf *out, const struct field *field)
{
	struct buf scratch = {0};
	size_t len;

	if (!field->class->is_blob && !field_is_text(field)) {
		json_items(out, field);
		return;
	}
	const uint8_t *bytes = field_bytes(field, &scratch, &len);
	if (field->class->is_blob)
		quote_base64(out, bytes, len);
	else
		quote_json(out, bytes, len);
	buf_release(&scratch);
}

static void json_variant(struct buf *out, const struct field *field)
{
	struct field_iter iter;

	field_iter_begin(&iter, field);
	if (field_iter_next(&iter))
		json_add_field(out, &iter.item);
	else
		buf_add_text(out, "null");
	field_iter_end(&iter);
}

void json_add_field(struct buf *out, const struct field *field)
{
	const struct field_class *class = field->class;

	switch (class->kind) {
	case FIELD_INT:
		if (class->is_enum || class->nlabels)
			json_enum(out, field);
		else
			json_int(out, field);
		return;
	case FIELD_FLOAT:
		json_add_float(out, field->slot.f);
		return;
	case FIELD_STRING:
		quote_json(out, field->slot.bytes, (size_t)field->slot.n);
		return;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		json_sequence(out, field);
		return;
	case FIELD_STRUCT:
		json_items(out, field);
		return;
	case FIELD_VARIANT:
		json_variant(out, field);
		return;
	}
}

void json_add_scopes(struct buf *out, const struct fields *fields, unsigned scopes)
{
	struct field_class *const *all = fields->class->scope;
	const struct field_class *event = scopes & 1u << SCOPE_EVENT_CONTEXT
						  ? all[SCOPE_EVENT_CONTEXT]
						  : NULL;
	struct buf scratch = {0};
	struct field_iter iter;
	struct field scope;
	bool more = false;

	buf_add_char(out, '{');
	for (unsigned i = 0; i < SCOPE_COUNT; i++) {
		if (!(scopes & 1u << i) || !fields_scope(fields, (enum scope)i, &scope))
			continue;
		field_iter_begin(&iter, &scope);
		for (; field_iter_next(&iter); more = true) {
			if (more)
				buf_add_char(out, ',');
			json_add_text(out, i == SCOPE_STREAM_EVENT_CONTEXT
						   ? field_context_name(scope.class, event,
									iter.name, &scratch)
						   : iter.name);
			buf_add_char(out, ':');
			json_add_field(out, &iter.item);
		}
		field_iter_end(&iter);
	}
	buf_add_char(out, '}');
	buf_release(&scratch);
}
