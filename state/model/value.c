/* value.c - values compared, hashed and written as keys */
#include "state/model/value.h"

#include "engine/base/hash_index.h"
#include "engine/base/quote.h"
#include "engine/columns/json.h"

#include <string.h>

struct value value_copy(struct arena *arena, const struct value *value)
{
	if (value->kind != VALUE_STRING)
		return *value;
	return value_text(arena_strndup(arena, value->text, value->len), value->len);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_int(const struct value *a, const struct value *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return compare_u64(a->u, b->u); /* two's complement keeps the order of negatives */
}

static int compare_float(const struct value *a, const struct value *b)
{
	if (a->f < b->f)
		return -1;
	if (a->f > b->f)
		return 1;
	return compare_u64(a->u, b->u); /* zeros and NaNs still need an order */
}

static int compare_text(const struct value *a, const struct value *b)
{
	uint32_t common = a->len < b->len ? a->len : b->len;
	int order = common ? memcmp(a->text, b->text, common) : 0;

	return order ? (order > 0) - (order < 0) : compare_u64(a->len, b->len);
}

int value_compare(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	switch (a->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		return 0;
	case VALUE_INT:
		return compare_int(a, b);
	case VALUE_FLOAT:
		return compare_float(a, b);
	case VALUE_STRING:
		return compare_text(a, b);
	case VALUE_BOOL:
		return (int)a->b - (int)b->b;
	}
	return 0;
}

uint64_t value_hash(const struct value *value)
{
	uint64_t kind = (uint64_t)value->kind << 1 | (value->kind == VALUE_INT && value->negative);

	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		return hash_number(kind);
	case VALUE_INT:
	case VALUE_FLOAT:
		return hash_number(value->u + hash_number(kind));
	case VALUE_STRING:
		return hash_bytes(value->text, value->len) + kind;
	case VALUE_BOOL:
		return hash_number(kind << 1 | value->b);
	}
	return 0;
}

static void add_quoted(const char *text, uint32_t len, struct buf *out)
{
	buf_add_char(out, '"');
	for (uint32_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_add_text(out, "\\n");
		else if (c == '\t')
			buf_add_text(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add_char(out, (char)c);
	}
	buf_add_char(out, '"');
}

void value_add_key(const struct value *value, struct buf *out)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
		buf_add_text(out, "unknown");
		break;
	case VALUE_NONE:
		buf_add_text(out, "none");
		break;
	case VALUE_INT:
		if (value->negative)
			buf_add_i64(out, (int64_t)value->u);
		else
			buf_add_u64(out, value->u);
		break;
	case VALUE_FLOAT:
		quote_number(out, "%.17g", value->f);
		break;
	case VALUE_STRING:
		add_quoted(value->text, value->len, out);
		break;
	case VALUE_BOOL:
		buf_add_text(out, value->b ? "true" : "false");
		break;
	}
}

void value_add_word(const struct value *value, struct buf *out)
{
	if (value->kind == VALUE_STRING)
		buf_add(out, value->text, value->len);
	else
		value_add_key(value, out);
}

void value_add_json(const struct value *value, struct buf *out)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		buf_add_text(out, "null");
		break;
	case VALUE_FLOAT:
		json_add_float(out, value->f);
		break;
	case VALUE_STRING:
		quote_json(out, value->text, value->len);
		break;
	case VALUE_INT:
	case VALUE_BOOL:
		value_add_key(value, out);
		break;
	}
}
