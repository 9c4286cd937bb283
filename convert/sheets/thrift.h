/*
 * thrift.h - the compact protocol of Apache Thrift, as far as Parquet's structures need it
 *
 * Source: the Thrift project's thrift-compact-protocol.md. A field's header is the distance of its
 * number to that of the field before, and its type; integers are zigzag varints.
 */
#ifndef CONVERT_SHEETS_THRIFT_H
#define CONVERT_SHEETS_THRIFT_H

#include "engine/base/varint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THRIFT_DEPTH_MAX = 16 };

struct thrift {
	struct buf *out;
	int last[THRIFT_DEPTH_MAX]; /* number of the field written last, per open structure */
	unsigned depth;
};

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12
};

/* A structure by itself, or an element of a list; ended by thrift_end(). */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

/* Members of the structure that is open, by number, which must rise. */
void thrift_struct(struct thrift *thrift, int field); /* ended by thrift_end() */
void thrift_bool(struct thrift *thrift, int field, bool value);
void thrift_byte(struct thrift *thrift, int field, int8_t value);
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);
void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t len);
void thrift_text(struct thrift *thrift, int field, const char *text);
/* `count` elements follow: structures, or by the functions below. */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);
void thrift_item_i32(struct thrift *thrift, int32_t value);
void thrift_item_text(struct thrift *thrift, const char *text);

#endif
