/*
 * far.h - fetches the packet headers that a search of a computed table may read, all at once
 *
 * Reading single packet headers of a file behind HTTP or S3 takes a round trip each. So all headers
 * that a search may read are requested together (source_prefetch()). These functions do not wait,
 * and do nothing for files of this machine.
 */
#ifndef INDEX_TABLES_FAR_H
#define INDEX_TABLES_FAR_H

#include "index/tables/internal.h"

enum {
	TABLE_SAMPLES = 13, /* records that are checked before a stream gets a computed table */
	SEARCH_STEP = 4     /* by which the steps of a search grow */
};

/* The number of the k-th of TABLE_SAMPLES of `count` records; the last one is the last record. */
static inline uint64_t table_sample(uint64_t count, uint64_t k)
{
	return (uint64_t)((unsigned __int128)(count - 1) * k / (TABLE_SAMPLES - 1));
}

/* Is the stream a single file on a server? */
bool far_stream(const struct stream *stream);
/* Fetches the samples of all streams; once for each index. */
void far_expect_tables(struct index *index);
/*
 * Fetches the headers that a search of [low, high) reads if it begins with record `middle`, and
 * ends near it.
 */
void far_expect_search(const struct stream *stream, uint64_t count, uint64_t low, uint64_t middle,
		       uint64_t high);
/* Fetches a packet of a file on a server, if it is short. */
void far_expect_packet(const struct stream *stream, uint64_t offset, uint64_t size);
/* Fetches the headers of packets [first, end). */
void far_expect_headers(const struct stream *stream, uint64_t count, uint64_t first, uint64_t end);
/* Fetches the headers around packet i, at which a search ended: they are read next. */
void far_expect_found(const struct stream *stream, uint64_t count, uint64_t i);

#endif
