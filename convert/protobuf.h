/*
 * protobuf.h - the wire format of Protocol Buffers, writing
 *
 * Source: "Encoding" of the Protocol Buffers documentation. A field is a tag (field number and wire
 * type), then a varint, 8 bytes, or a length and as many bytes. A nested message has its length in
 * front: protobuf_begin() reserves one byte for it, and protobuf_end() moves the message if the
 * length needs more.
 */
#ifndef CONVERT_PROTOBUF_H
#define CONVERT_PROTOBUF_H

#include "engine/base/varint.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum protobuf_wire { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2 };

static inline void protobuf_tag(struct buf *out, unsigned field, enum protobuf_wire wire)
{
	buf_add_varint(out, (uint64_t)field << 3 | wire);
}

/* For uint32, uint64, bool and enumerations; of int32 and int64 the sign-extended bits. */
static inline void protobuf_uint(struct buf *out, unsigned field, uint64_t value)
{
	protobuf_tag(out, field, PROTOBUF_VARINT);
	buf_add_varint(out, value);
}

static inline void protobuf_int(struct buf *out, unsigned field, int64_t value)
{
	protobuf_uint(out, field, (uint64_t)value);
}

static inline void protobuf_double(struct buf *out, unsigned field, double value)
{
	uint64_t bits;
	char bytes[8];

	memcpy(&bits, &value, sizeof bits);
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (char)(bits >> 8 * i);
	protobuf_tag(out, field, PROTOBUF_FIXED64);
	buf_add(out, bytes, sizeof bytes);
}

static inline void protobuf_bytes(struct buf *out, unsigned field, const void *bytes, size_t len)
{
	protobuf_tag(out, field, PROTOBUF_BYTES);
	buf_add_varint(out, len);
	buf_add(out, bytes, len);
}

static inline void protobuf_text(struct buf *out, unsigned field, const char *text)
{
	protobuf_bytes(out, field, text, strlen(text));
}

/*
 * Opens a message as a field: all that is added until protobuf_end() is inside. Pass the returned
 * position to protobuf_end().
 */
static inline size_t protobuf_begin(struct buf *out, unsigned field)
{
	protobuf_tag(out, field, PROTOBUF_BYTES);
	buf_add_char(out, 0);
	return out->len;
}

static inline void protobuf_end(struct buf *out, size_t begin)
{
	size_t len = out->len - begin, more = 0;

	for (size_t rest = len >> 7; rest; rest >>= 7)
		more++;
	if (more) {
		buf_room(out, more);
		memmove(out->data + begin + more, out->data + begin, len);
		out->len += more;
		out->data[out->len] = 0;
	}
	varint_put((uint8_t *)out->data + begin - 1, len);
}

#endif
