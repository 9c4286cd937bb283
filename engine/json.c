/* json.c - fields as JSON text, as the command line prints them */
#include "engine/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at `at`, 0: it is none. */
static size_t utf8_length(const uint8_t *at, const uint8_t *end)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t count = *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
	uint32_t code = count ? *at & (0xffu >> (count + 1)) : 0;

	if (!count || (size_t)(end - at) < count)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	bool good = code >= least[count] && code < 0x110000 && (code < 0xd800 || code > 0xdfff);
	return good ? count : 0;
}

/* 0 plain; 1 needs an escape; 2 begins or continues something beyond ASCII. */
static const uint8_t care[256] = {[0 ... 31] = 1, ['"'] = 1, ['\\'] = 1, [128 ... 255] = 2};

static void escape(struct buf *out, uint8_t c)
{
	if (c == '"' || c == '\\')
		buf_printf(out, "\\%c", c);
	else if (c == '\n' || c == '\t')
		buf_add_text(out, c == '\n' ? "\\n" : "\\t");
	else
		buf_printf(out, "\\u%04x", c);
}

void json_add_string(struct buf *out, const void *text, size_t len)
{
	const uint8_t *bytes = text, *end = bytes + len, *from = bytes;

	buf_add_char(out, '"');
	while (bytes < end) {
		size_t count = !care[*bytes] ? 1 : care[*bytes] == 2 ? utf8_length(bytes, end) : 0;
		if (count) {
			bytes += count;
			continue;
		}
		buf_add(out, from, (size_t)(bytes - from));
		escape(out, *bytes);
		from = ++bytes;
	}
	buf_add(out, from, (size_t)(end - from));
	buf_add_char(out, '"');
}

void json_add_text(struct buf *out, const char *text)
{
	json_add_string(out, (const uint8_t *)text, strlen(text));
}

void json_add_float(struct buf *out, double number)
{
	char text[40];

	if (!isfinite(number)) {
		buf_add_text(out, isnan(number) ? "\"NaN\""
				  : number < 0  ? "\"-Infinity\""
						: "\"Infinity\"");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back */
		snprintf(text, sizeof text, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	buf_add_text(out, text);
	if (!strpbrk(text, ".e"))
		buf_add_text(out, ".0");
}

static void json_int(struct buf *out, const struct field *field)
{
	if (field->class->is_signed)
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

static void base64(struct buf *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	buf_add_char(out, '"');
	for (size_t i = 0; i < len; i += 3) {
		uint32_t n = (uint32_t)bytes[i] << 16;
		n |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
		n |= i + 2 < len ? bytes[i + 2] : 0;
		char text[4] = {digits[n >> 18], digits[n >> 12 & 63], digits[n >> 6 & 63],
				digits[n & 63]};
		if (i + 1 >= len)
			text[2] = '=';
		if (i + 2 >= len)
			text[3] = '=';
		buf_add(out, text, 4);
	}
	buf_add_char(out, '"');
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
		base64(out, bytes, len);
	else
		json_add_string(out, bytes, len);
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
		json_add_string(out, field->slot.bytes, (size_t)field->slot.n);
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
			json_add_text(out, iter.name);
			buf_add_char(out, ':');
			json_add_field(out, &iter.item);
		}
		field_iter_end(&iter);
	}
	buf_add_char(out, '}');
}
