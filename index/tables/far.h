/*
 * far.h - what a search of a computed table is about to look at, fetched at once
 *
 * Each packet header of a file behind HTTP or S3 is a round trip if it is asked for alone. So the
 * headers that a search may look at are asked for together (source_prefetch()). Nothing is awaited
 * here, and files of this machine are left alone.
 */
#ifndef INDEX_TABLES_FAR_H
#define INDEX_TABLES_FAR_H

#include "index/tables/internal.h"

enum {
	TABLE_SAMPLES = 13, /* records by which a table is found to be regular */
	FAR_STEPS = 5       /* steps of a binary search whose packets are fetched together */
};

/* The number of the k-th of TABLE_SAMPLES of `count` records; the last one is the last record. */
static inline uint64_t table_sample(uint64_t count, uint64_t k)
{
	return (uint64_t)((unsigned __int128)(count - 1) * k / (TABLE_SAMPLES - 1));
}

/* Is the stream one file that is far away? */
bool far_stream(const struct stream *stream);
/* The samples of all streams, and the packet that begins first; once an index. */
void far_expect_tables(struct index *index);
/*
 * What FAR_STEPS steps of a binary search of [low, high) may look at, if the first of these is not
 * there yet. True: it was asked for.
 */
bool far_expect_steps(const struct stream *stream, uint64_t count, uint64_t low, uint64_t high);
/* A packet of a file far away, if it is short enough to be fetched before it is read. */
void far_expect_packet(const struct stream *stream, uint64_t offset, uint64_t size);
/* The headers around packet i, at which a search ended: they are looked at next. */
void far_expect_found(const struct stream *stream, uint64_t count, uint64_t i);

#endif
