/*
 * parquet_internal.h - what the sources of the Parquet writer share
 *
 * Source of all facts: the format's parquet.thrift and Encodings.md (Apache Parquet 2.10).
 *
 *     "PAR1"
 *     row group 0:  column 0: [dictionary page] data page ...   column 1: ...
 *     row group 1:  ...
 *     FileMetaData (thrift)   its length, 4 bytes   "PAR1"
 */
#ifndef CONVERT_SHEETS_PARQUET_INTERNAL_H
#define CONVERT_SHEETS_PARQUET_INTERNAL_H

#include "engine/base/varint.h"
#include "engine/columns/sheet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parquet_type {
	PARQUET_BOOLEAN = 0,
	PARQUET_INT32 = 1,
	PARQUET_INT64 = 2,
	PARQUET_FLOAT = 4,
	PARQUET_DOUBLE = 5,
	PARQUET_BYTE_ARRAY = 6
};

enum parquet_encoding {
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_DELTA = 5,
	ENCODING_DICTIONARY = 8
};

enum { CODEC_ZSTD = 6, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* The footer's entry of one column of one row group; offsets count from the group's start. */
struct column_chunk {
	int64_t dictionary_at, data_at; /* dictionary_at -1: none */
	int64_t bytes, plain_bytes;     /* sizes with page headers: compressed, uncompressed */
	int64_t values, nulls;
	int64_t end; /* where the next column begins */
	enum parquet_encoding encoding;
	bool has_bounds; /* least and most are set */
	struct buf least, most;
};

struct ZSTD_CCtx_s;

enum parquet_type parquet_type(const struct sheet_values *values);
/*
 * Appends the pages of one column of `rows` rows to `out` and describes them in *chunk. `rises`:
 * values never fall.
 */
void parquet_column(const struct sheet_values *values, size_t rows, bool rises,
		    struct ZSTD_CCtx_s *zstd, struct buf *out, struct column_chunk *chunk);

/* parquet_encode.c: runs of equal numbers, or numbers packed to `bits` bits (the RLE hybrid) */
void rle_add(struct buf *out, const uint32_t *numbers, size_t count, unsigned bits);
/* DELTA_BINARY_PACKED of 64-bit numbers */
void delta_add(struct buf *out, const uint64_t *numbers, size_t count);
unsigned bits_for(uint64_t number); /* bits that can hold 0..number */

/*
 * Distinct values of a column: value i is values[entries[i]]. dictionary_make() returns false if
 * too many values differ to save space.
 */
struct dictionary {
	uint64_t *values;
	size_t count, capacity;
	uint32_t *entries; /* of each value */
};
bool dictionary_make(const struct sheet_values *values, const uint64_t *numbers, size_t count,
		     struct dictionary *out);
void dictionary_release(struct dictionary *dictionary);

/*
 * thrift.c: the compact protocol of Apache Thrift, as far as Parquet's structures need it
 *
 * Source: the Thrift project's thrift-compact-protocol.md. A field's header is the distance of its
 * number to that of the field before, and its type; integers are zigzag varints.
 */

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

/* Begins a structure at the top, or an element of a list; ended by thrift_end(). */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

/* Members of the open structure; field numbers must rise. */
void thrift_struct(struct thrift *thrift, int field); /* ended by thrift_end() */
void thrift_bool(struct thrift *thrift, int field, bool value);
void thrift_byte(struct thrift *thrift, int field, int8_t value);
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);
void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t len);
void thrift_text(struct thrift *thrift, int field, const char *text);
/* Begins a list; `count` elements follow, by thrift_begin() or the functions below. */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);
void thrift_item_i32(struct thrift *thrift, int32_t value);
void thrift_item_text(struct thrift *thrift, const char *text);

#endif
