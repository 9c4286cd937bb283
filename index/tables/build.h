/* build.h - scanning streams into tables */
#ifndef INDEX_TABLES_BUILD_H
#define INDEX_TABLES_BUILD_H

#include "index/tables/table.h"

/* All records of a stream in memory, sorted; the caller ends *out with record_list_release(). */
MUST_CHECK bool build_rows(struct index *index, const struct stream *stream,
			   struct record_list *out, struct error *err);
/* The table of a stream, by whatever way is the cheapest. */
MUST_CHECK bool build_table(struct index *index, const struct stream *stream, struct table **out,
			    struct error *err);
/*
 * Finds the tables of several streams by several threads, so that index_table() has them; with fewer
 * than two threads nothing is done. False: interrupted, or one cannot be had.
 */
MUST_CHECK bool build_tables(struct index *index, const struct stream *const *streams,
			     size_t nstreams, unsigned workers, struct error *err);
/* Stores what was scanned and not yet stored. */
MUST_CHECK bool build_flush(struct index *index, struct error *err);
/* True when this index may be stored and this process may do it. */
bool build_may_store(struct index *index);
/*
 * Must the stream be scanned for a whole stored table? *usable: what *stored has is a beginning.
 * The caller ends *stored with stored_release().
 */
bool build_needs_scan(struct index *index, const struct stream *stream, struct stored *stored,
		      bool *usable);

#endif
