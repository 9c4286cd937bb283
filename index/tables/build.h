/* build.h - scanning streams into tables */
#ifndef INDEX_TABLES_BUILD_H
#define INDEX_TABLES_BUILD_H

#include "engine/base/workers.h"
#include "index/tables/internal.h"
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
/* Tells progress, and has all stop when that interrupts, or one of the workers failed. */
void build_tell_progress(struct index *index, struct workers *workers);
/* Stores what was scanned and not yet stored. */
MUST_CHECK bool build_flush(struct index *index, struct error *err);
/* Of a store that was found damaged; false: another one cannot be had, or was before. */
bool index_begin_anew(struct index *index);
/* Of a trace that grows what is stored is written by who keeps it, and by `yore index`. */
static inline bool index_may_write(const struct index *index)
{
	return !index->grown || index->options.keeps || index->options.scan_all;
}
/* While a trace grows its tables are in memory, and so are those of who only reads what is stored.
 */
bool build_in_memory(const struct index *index);
/* True when this index may be stored and this process may do it. */
bool build_may_store(struct index *index);
/*
 * Must the stream be scanned for a whole stored table? Then *stored is how far that came. The
 * caller ends it with stored_release().
 */
bool build_needs_scan(struct index *index, const struct stream *stream,
		      struct stored_table *stored);

#endif
