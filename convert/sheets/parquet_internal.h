/*
 * parquet_internal.h - the parts of a Parquet file that its writer's sources share
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

#include "engine/columns/sheet.h"
#include "convert/sheets/thrift.h"

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

/* What the footer says of one column of one row group; places count from the group's start. */
struct column_chunk {
	int64_t dictionary_at, data_at; /* dictionary_at -1: none */
	int64_t bytes, plain_bytes;     /* with page headers; compressed, and not */
	int64_t values, nulls;
	int64_t end; /* where the next column begins */
	enum parquet_encoding encoding;
	bool has_bounds; /* of min and max */
	struct buf least, most;
};

struct ZSTD_CCtx_s;

enum parquet_type parquet_type(const struct sheet_values *values);
/* Adds the pages of one column of `rows` rows to `out` and tells of them in *chunk. */
void parquet_column(const struct sheet_values *values, size_t rows, bool rises,
		    struct ZSTD_CCtx_s *zstd, struct buf *out, struct column_chunk *chunk);

/* parquet_encode.c: runs of equal numbers, or numbers packed to `bits` bits (the RLE hybrid) */
void rle_add(struct buf *out, const uint32_t *numbers, size_t count, unsigned bits);
/* DELTA_BINARY_PACKED of 64-bit numbers */
void delta_add(struct buf *out, const uint64_t *numbers, size_t count);
unsigned bits_for(uint64_t number); /* how many hold 0..number */

/*
 * Numbers that a column's values are the entries of: entry[i] for value i. False: too many differ
 * for that to pay.
 */
struct dictionary {
	uint64_t *values;
	size_t count, capacity;
	uint32_t *entries; /* of each value */
};
bool dictionary_make(const struct sheet_values *values, const uint64_t *numbers, size_t count,
		     struct dictionary *out);
void dictionary_release(struct dictionary *dictionary);

#endif
