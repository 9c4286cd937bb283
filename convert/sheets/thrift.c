/* thrift.c - the compact protocol, writing */
#include "convert/sheets/parquet_internal.h"

#include <assert.h>

void thrift_begin(struct thrift *thrift)
{
	assert(thrift->depth < THRIFT_DEPTH_MAX);
	thrift->last[thrift->depth++] = 0;
}

void thrift_end(struct thrift *thrift)
{
	assert(thrift->depth);
	thrift->depth--;
	buf_add_char(thrift->out, 0);
}

static void header(struct thrift *thrift, int field, enum thrift_type type)
{
	int *last = &thrift->last[thrift->depth - 1];
	int distance = field - *last;

	if (distance > 0 && distance < 16) {
		buf_add_char(thrift->out, (char)(distance << 4 | (int)type));
	} else {
		buf_add_char(thrift->out, (char)type);
		buf_add_varint(thrift->out, zigzag(field));
	}
	*last = field;
}

void thrift_struct(struct thrift *thrift, int field)
{
	header(thrift, field, THRIFT_STRUCT);
	thrift_begin(thrift);
}

void thrift_bool(struct thrift *thrift, int field, bool value)
{
	header(thrift, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_byte(struct thrift *thrift, int field, int8_t value)
{
	header(thrift, field, THRIFT_BYTE);
	buf_add_char(thrift->out, (char)value);
}

void thrift_i32(struct thrift *thrift, int field, int32_t value)
{
	header(thrift, field, THRIFT_I32);
	buf_add_varint(thrift->out, zigzag(value));
}

void thrift_i64(struct thrift *thrift, int field, int64_t value)
{
	header(thrift, field, THRIFT_I64);
	buf_add_varint(thrift->out, zigzag(value));
}

void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t len)
{
	header(thrift, field, THRIFT_BINARY);
	buf_add_varint(thrift->out, len);
	if (len)
		buf_add(thrift->out, bytes, len);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
	thrift_binary(thrift, field, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
	header(thrift, field, THRIFT_LIST);
	if (count < 15) {
		buf_add_char(thrift->out, (char)(count << 4 | type));
	} else {
		buf_add_char(thrift->out, (char)(0xf0 | type));
		buf_add_varint(thrift->out, count);
	}
}

void thrift_item_i32(struct thrift *thrift, int32_t value)
{
	buf_add_varint(thrift->out, zigzag(value));
}

void thrift_item_text(struct thrift *thrift, const char *text)
{
	buf_add_varint(thrift->out, strlen(text));
	buf_add_text(thrift->out, text);
}
