/* print_raw.c - " name=value" for each field, for events with an unusable print format */
#include "engine/kernel/print.h"

#include "engine/base/quote.h"

#include <string.h>

static bool is_printable(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && bytes[i]; i++)
		if ((bytes[i] < ' ' || bytes[i] > '~') && (bytes[i] < '\t' || bytes[i] > '\r'))
			return false;
	return true;
}

static void raw_array(const struct print_record *record, const struct kernel_field *field,
		      struct buf *out)
{
	size_t at = field->offset, len = field->size;

	if (field->is_located)
		print_locate(record, field, &at, &len);
	if (at > record->size)
		at = record->size;
	if (len > record->size - at || (!field->size && field->is_text))
		len = record->size - at;
	const uint8_t *bytes = record->data + at;
	if (field->is_text && is_printable(bytes, len)) {
		const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL;
		buf_add(out, bytes, zero ? (size_t)(zero - bytes) : len);
		return;
	}
	buf_add_text(out, "ARRAY[");
	for (size_t i = 0; i < len; i++) {
		buf_add_text(out, i ? ", " : "");
		quote_hex(out, bytes + i, 1);
	}
	buf_add_char(out, ']');
}

static void raw_number(const struct print_record *record, const struct kernel_field *field,
		       struct buf *out)
{
	struct print_spec spec = {.conversion = 'd', .width = -1, .precision = -1, .longs = 2};
	uint64_t value = print_field(record, field);
	bool hex = field->is_pointer || (field->is_long && (!field->is_signed || field->size == 4));

	if (hex) {
		buf_add_text(out, "0x");
		print_hex(out, value);
		return;
	}
	if (!field->is_signed) {
		print_decimal(out, false, value);
		return;
	}
	spec.longs = field->size == 4 ? 0 : field->size == 2 ? -1 : field->size == 1 ? -2 : 2;
	spec.width = field->size == 2 ? 2 : -1;
	print_number(out, &spec, value);
}

void print_raw(const struct print_record *record, const struct tracing_text *text, struct buf *out)
{
	for (uint32_t i = text->ncommon; i < text->nfields; i++) {
		const struct kernel_field *field = &text->fields[i];
		buf_add_char(out, ' ');
		buf_add_text(out, field->name);
		buf_add_char(out, '=');
		if (field->is_array)
			raw_array(record, field, out);
		else
			raw_number(record, field, out);
	}
}
