/*
 * table.h - a stream's table as index.h offers it, whichever way it is kept
 *
 * stored    searched in place, in the store
 * memory    rows: scanned and not (yet) stored, or rebuilt from corrections
 * computed  record i is asked of the reader; when the file turns out irregular, or records that
 *           were seen contradict the order, it becomes a table in memory, by a scan
 *
 * own       the records of one of these, and what a question found out about them: findings.h
 *
 * What decoding proved is kept beside any of them.
 */
#ifndef INDEX_TABLES_TABLE_H
#define INDEX_TABLES_TABLE_H

#include "index/tables/internal.h"

/* All are owned by the caller; freed together with the older ones behind them. */
struct table *table_new_stored(struct index *index, const struct stream *stream, uint64_t id,
			       struct stored_table *taken);
struct table *table_new_rows(struct index *index, const struct stream *stream,
			     struct record_list *taken);
/*
 * Of a trace that grows: `taken` are the rows of `before`, which table_take_rows() gave, and more;
 * those from `from` on are new, or stand elsewhere.
 */
struct table *table_new_grown(struct index *index, const struct stream *stream,
			      struct record_list *taken, struct table *before, uint64_t from);
/* The rows become the caller's; the table is only good for table_new_grown() and for being freed.
 */
void table_take_rows(struct table *table, struct record_list *out);
/* NULL when the first look shows that the reader's numbering is not the order of time. */
struct table *table_new_computed(struct index *index, const struct stream *stream, uint64_t count);
/*
 * As table_lower_bound(), of a computed table alone. False: it is none, or what was looked at is
 * not in order, which its next reader will find out.
 */
bool table_computed_bound(struct table *table, nstime t, uint64_t *out);
void table_free(struct table *table);

/* A question's own; `shared` is borrowed. */
struct table *table_own(struct table *shared);
/* False: the records that it rests on have other numbers now. */
bool table_is_current(const struct table *own);
/* `older` (may be NULL), and what is behind it, is freed with `table`. */
void table_put_behind(struct table *table, struct table *older);
/*
 * A question's own, in memory, with the corrections applied, `old` behind it; NULL when it is not
 * time yet.
 */
MUST_CHECK struct table *table_rebuilt(struct table *old, struct error *err);
const struct record_list *table_rows(const struct table *table); /* NULL unless in memory */

#endif
