/* value_bytes.c - see value_bytes.h */
#include "state/model/value_bytes.h"

#include "engine/base/varint.h"

void value_write(struct buf *out, const struct value *value)
{
	buf_add_varint(out,
		       (uint64_t)value->kind << 1 | (value->kind == VALUE_INT && value->negative));
	if (value->kind == VALUE_STRING) {
		buf_add_varint(out, value->len);
		buf_add(out, value->text, value->len);
	} else if (value->kind == VALUE_BOOL) {
		buf_add_varint(out, value->b);
	} else if (value_exists(value)) {
		buf_add_varint(out, value->u);
	}
}

const uint8_t *value_read(const uint8_t *at, const uint8_t *end, struct attrs *attrs,
			      struct value *out)
{
	uint64_t head, number = 0;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	at = varint_get(at, end, &head);
	if (!at || head >> 1 > VALUE_BOOL)
		return NULL;
	if (head >> 1 > VALUE_NONE)
		at = varint_get(at, end, &number);
	if (!at)
		return NULL;
	out->kind = (enum value_kind)(head >> 1);
	out->negative = head & 1;
	if (out->kind == VALUE_STRING) {
		if (number > (uint64_t)(end - at))
			return NULL;
		out->len = (uint32_t)number;
		out->text = attrs_text(attrs, (const char *)at, out->len);
		return at + number;
	}
	if (out->kind == VALUE_BOOL)
		out->b = number != 0;
	else
		out->u = number;
	return at;
}
