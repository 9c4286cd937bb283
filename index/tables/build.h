/* build.h - scanning streams into tables */
#ifndef INDEX_TABLES_BUILD_H
#define INDEX_TABLES_BUILD_H

#include "engine/base/workers.h"
#include "index/tables/internal.h"
#include "index/tables/table.h"

/* Scans all records of a stream into memory, sorted; the caller calls record_list_release(). */
MUST_CHECK bool build_rows(struct index *index, const struct stream *stream,
			   struct record_list *out, struct error *err);
/* Makes the table of a stream in the cheapest way: see build.c. */
MUST_CHECK bool build_table(struct index *index, const struct stream *stream, struct table **out,
			    struct error *err);
/*
 * Makes the tables of several streams by several threads, so that index_table() returns them at
 * once; does nothing with fewer than two threads. False: interrupted, or a table cannot be made.
 */
MUST_CHECK bool build_tables(struct index *index, const struct stream *const *streams,
			     size_t nstreams, unsigned workers, struct error *err);
/* Stores all that was scanned and not yet stored. */
MUST_CHECK bool build_flush(struct index *index, struct error *err);
/* Opens an empty store in place of a damaged one; false: not possible, or done before. */
bool index_begin_anew(struct index *index);
/* The store of a growing trace is only written by an index with `keeps`, and by `yore index`. */
static inline bool index_may_write(const struct index *index)
{
	return !index->grown || index->options.keeps || index->options.scan_all;
}
/* Are tables only made in memory? So they are of a growing trace, and where its store may only be
 * read. */
bool build_in_memory(const struct index *index);
/* True when the index has a store and this process may write it. */
bool build_may_store(struct index *index);
/*
 * Scans the stream, unless a complete table of it is stored. What fits one step waits for
 * build_flush(). False: interrupted, or storing failed.
 */
MUST_CHECK bool build_stored(struct index *index, const struct stream *stream, struct error *err);

#endif
