/*
 * table.h - a stream's table as index.h offers it, whichever way it is kept
 *
 * stored    searched in place, in the store
 * memory    rows: scanned and not (yet) stored, or rebuilt from corrections
 * computed  record i is asked of the reader; when the file turns out irregular, or records that
 *           were seen contradict the order, it becomes a table in memory, by a scan
 *
 * What decoding proved is kept beside any of the three.
 */
#ifndef INDEX_TABLES_TABLE_H
#define INDEX_TABLES_TABLE_H

#include "index/tables/internal.h"

/* All are owned by the caller; freed together with the older ones behind them. */
struct table *table_new_stored(struct index *index, const struct stream *stream, uint64_t id,
			       struct stored *taken);
struct table *table_new_rows(struct index *index, const struct stream *stream,
			     struct record_list *taken);
/* NULL when the first look shows that the reader's numbering is not the order of time. */
struct table *table_new_computed(struct index *index, const struct stream *stream, uint64_t count);
void table_free(struct table *table);

/* A table in memory with the corrections applied, `old` behind it; NULL when it is not time yet. */
struct table *table_rebuilt(struct table *old, struct error *err);
const struct record_list *table_rows(const struct table *table); /* NULL unless in memory */

#endif
