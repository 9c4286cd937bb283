/*
 * render_value.c - one value: JSON, text or a CSV cell
 *
 * Strings are the bulk of most traces. They are scanned eight bytes at a time for those that need
 * care; a string without any, which is nearly each, is copied at once.
 */
#include "repl/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 plain; 1 needs an escape; 2 begins or continues something beyond ASCII. */
static const uint8_t care[256] = {
	[0 ... 31] = 1, ['"'] = 1, ['\\'] = 1, [127] = 0, [128 ... 255] = 2};

/* Bytes of the UTF-8 sequence that begins here, 0 when it is none (RFC 3629). */
static size_t utf8_length(const uint8_t *at, size_t left)
{
	uint8_t c = at[0];
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (c < 0xc2 || c > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) ||
	    (c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

static void json_escape(struct sink *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	static const char shorts[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\t', 't'},
					 {'\r', 'r'}, {'\b', 'b'},  {'\f', 'f'}};
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
		if ((uint8_t)shorts[i][0] == c) {
			text[1] = shorts[i][1];
			sink_add(out, text, 2);
			return;
		}
	sink_add(out, text, sizeof text);
}

static void text_escape(struct sink *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
	char plain = c == '\n' ? 'n' : c == '\t' ? 't' : c == '"' || c == '\\' ? (char)c : 0;

	text[1] = plain ? plain : 'x';
	sink_add(out, text, plain ? 2 : 4);
}

#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

/* Not zero when a byte of a word is below 32, '"', '\\' or beyond ASCII. */
static uint64_t needs_care(uint64_t word)
{
	return ((word - EACH(32)) | ((word ^ EACH('"')) - EACH(1)) |
		((word ^ EACH('\\')) - EACH(1)) | word) &
	       EACH(0x80);
}

/* Not zero when it has a '"', comma or line's end. */
static uint64_t needs_quotes(uint64_t word)
{
	uint64_t quote = word ^ EACH('"'), comma = word ^ EACH(','), lf = word ^ EACH('\n'),
		 cr = word ^ EACH('\r');

	return (((quote - EACH(1)) & ~quote) | ((comma - EACH(1)) & ~comma) |
		((lf - EACH(1)) & ~lf) | ((cr - EACH(1)) & ~cr)) &
	       EACH(0x80);
}

/* Is there no byte that `flagged` finds? The last word overlaps the one before. */
static inline bool is_plain(const void *bytes, size_t len, uint64_t (*flagged)(uint64_t))
{
	const char *at = bytes;
	uint64_t word = EACH('a'), found = 0;

	if (len < 8) {
		copy_short((char *)&word, at, len);
		return !flagged(word);
	}
	for (size_t i = 0; i < len; i += 8) {
		memcpy(&word, at + (i + 8 > len ? len - 8 : i), 8);
		found |= flagged(word);
	}
	return !found;
}

/* The string between two '"'. */
static void quote_plain(struct sink *out, const void *bytes, size_t len)
{
	char *to = sink_room(out, len + 2);

	*to++ = '"';
	copy_short(to, bytes, len);
	to[len] = '"';
	out->len += len + 2;
}

static void quoted(struct sink *out, const uint8_t *bytes, size_t len,
		   void (*escape)(struct sink *out, uint8_t c))
{
	size_t from = 0;

	if (is_plain(bytes, len, needs_care)) {
		quote_plain(out, bytes, len);
		return;
	}
	sink_char(out, '"');
	for (size_t i = 0; i < len;) {
		if (!care[bytes[i]]) {
			i++;
			continue;
		}
		size_t n = care[bytes[i]] == 2 ? utf8_length(bytes + i, len - i) : 0;
		if (n) {
			i += n;
			continue;
		}
		sink_add(out, bytes + from, i - from);
		escape(out, bytes[i]);
		from = ++i;
	}
	sink_add(out, bytes + from, len - from);
	sink_char(out, '"');
}

void json_string(struct sink *out, const void *bytes, size_t len)
{
	quoted(out, bytes, len, json_escape);
}

void text_string(struct sink *out, const void *bytes, size_t len)
{
	quoted(out, bytes, len, text_escape);
}

void json_text(struct sink *out, const char *text)
{
	if (text)
		json_string(out, text, strlen(text));
	else
		sink_text(out, "null");
}

void csv_cell(struct sink *out, const void *bytes, size_t len)
{
	const char *at = bytes, *end = at + len, *quote;

	if (!len || is_plain(bytes, len, needs_quotes)) {
		sink_add(out, bytes, len);
		return;
	}
	sink_char(out, '"');
	while ((quote = memchr(at, '"', (size_t)(end - at)))) {
		sink_add(out, at, (size_t)(quote + 1 - at));
		sink_char(out, '"');
		at = quote + 1;
	}
	sink_add(out, at, (size_t)(end - at));
	sink_char(out, '"');
}

/* The shortest decimal that reads back as the same double. */
static void shortest(struct sink *out, double number)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	sink_text(out, text);
	if (!strpbrk(text, ".e"))
		sink_text(out, ".0");
}

void json_float(struct sink *out, double number)
{
	if (isfinite(number))
		shortest(out, number);
	else
		sink_text(out, isnan(number) ? "\"NaN\""
			       : number < 0  ? "\"-Infinity\""
					     : "\"Infinity\"");
}

void text_float(struct sink *out, double number)
{
	if (isfinite(number))
		shortest(out, number);
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

static void integer(struct sink *out, const struct value *value)
{
	if (value->negative)
		sink_i64(out, (int64_t)value->u);
	else
		sink_u64(out, value->u);
}

void json_value(struct sink *out, const struct value *value)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		sink_text(out, "null");
		return;
	case VALUE_INT:
		integer(out, value);
		return;
	case VALUE_FLOAT:
		json_float(out, value->f);
		return;
	case VALUE_STRING:
		json_string(out, value->text, value->len);
		return;
	case VALUE_BOOL:
		sink_text(out, value->b ? "true" : "false");
		return;
	}
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

static void json_enum(struct sink *out, const struct field *field)
{
	const struct field_class *class = field->class;
	const char *label;
	uint32_t next = 0;
	bool more = false;

	sink_text(out, "{\"value\":");
	if (class->is_signed)
		sink_i64(out, field->slot.s);
	else
		sink_u64(out, field->slot.u);
	sink_text(out, ",\"labels\":[");
	while ((label = field_label(class, field->slot.u, &next))) {
		if (more)
			sink_char(out, ',');
		json_text(out, label);
		more = true;
	}
	sink_text(out, "]}");
}

static void base64(struct sink *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
		sink_add(out, text, 4);
	}
}

static void json_bytes(struct sink *out, const struct field *field)
{
	struct buf scratch = {0};
	size_t len;
	const uint8_t *bytes = field_bytes(field, &scratch, &len);

	if (field->class->is_blob) {
		sink_char(out, '"');
		base64(out, bytes, len);
		sink_char(out, '"');
	} else {
		json_string(out, bytes, len);
	}
	buf_release(&scratch);
}

static void json_items(struct sink *out, const struct field *field)
{
	bool structure = field->class->kind == FIELD_STRUCT, more = false;
	struct field_iter iter;

	sink_char(out, structure ? '{' : '[');
	field_iter_begin(&iter, field);
	while (field_iter_next(&iter)) {
		if (more)
			sink_char(out, ',');
		if (structure) {
			json_text(out, iter.name);
			sink_char(out, ':');
		}
		json_field(out, &iter.item);
		more = true;
	}
	field_iter_end(&iter);
	sink_char(out, structure ? '}' : ']');
}

/* The option that is chosen; false when the tag chose none. */
static bool chosen(const struct field *variant, struct field *out)
{
	struct field_iter iter;

	field_iter_begin(&iter, variant);
	bool any = field_iter_next(&iter);
	*out = iter.item;
	field_iter_end(&iter);
	return any;
}

void json_field(struct sink *out, const struct field *field)
{
	const struct field_class *class = field->class;
	struct field option;

	switch (class->kind) {
	case FIELD_INT:
		if (is_enum(class))
			json_enum(out, field);
		else if (class->is_signed)
			sink_i64(out, field->slot.s);
		else
			sink_u64(out, field->slot.u);
		return;
	case FIELD_FLOAT:
		json_float(out, field->slot.f);
		return;
	case FIELD_STRING:
		json_string(out, field->slot.bytes, (size_t)field->slot.n);
		return;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (class->is_blob || field_is_text(field))
			json_bytes(out, field);
		else
			json_items(out, field);
		return;
	case FIELD_STRUCT:
		json_items(out, field);
		return;
	case FIELD_VARIANT:
		if (chosen(field, &option))
			json_field(out, &option);
		else
			sink_text(out, "null");
		return;
	}
}

static void text_int(struct sink *out, const struct field *field)
{
	const struct field_class *class = field->class;
	uint64_t mask = class->bits < 64 ? (UINT64_C(1) << class->bits) - 1 : UINT64_MAX;

	if (class->base == 16 || class->is_address) {
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

/* "LABEL" (3); several labels of one value are joined by |. */
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

	if (field->class->is_blob) {
		for (size_t i = 0; i < len; i++)
			sink_hex(out, bytes[i], 2);
	} else {
		text_string(out, bytes, len);
	}
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
