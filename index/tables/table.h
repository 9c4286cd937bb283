/*
 * table.h - a stream's table (see index.h), of one of these kinds
 *
 * stored    searched in place, in the store
 * memory    rows in memory: scanned and not (yet) stored, or rebuilt with corrections
 * computed  reader->packet_at() reads record i; when the file turns out to be irregular, or records
 *           are not in order, the stream is scanned and this becomes a table in memory
 *
 * own       a question's own: the records of one of these, with corrections (findings.h)
 */
#ifndef INDEX_TABLES_TABLE_H
#define INDEX_TABLES_TABLE_H

#include "index/tables/internal.h"

/* The caller owns the new table and ends it with table_free(), which frees the older ones, too. */
struct table *table_new_stored(struct index *index, const struct stream *stream, uint64_t id,
			       struct stored_table *taken);
struct table *table_new_rows(struct index *index, const struct stream *stream,
			     struct record_list *taken);
/*
 * Of a growing trace: `taken` are the rows that table_take_rows() took out of `before`, and new
 * ones; those from index `from` on are new or were moved.
 */
struct table *table_new_grown(struct index *index, const struct stream *stream,
			      struct record_list *taken, struct table *before, uint64_t from);
/* Moves the rows to *out; the table may then only be passed to table_new_grown() and freed. */
void table_take_rows(struct table *table, struct record_list *out);
/* NULL: samples show that the reader's numbering is not the order of time. */
struct table *table_new_computed(struct index *index, const struct stream *stream, uint64_t count);
/*
 * As table_lower_bound(), for computed tables only. False: it is not computed, or the records read
 * are not in order, which its next reader will find out, too.
 */
bool table_computed_bound(struct table *table, nstime t, uint64_t *out);
/* Fetches the headers of records [first, end), which are read next, if they lie on a server. */
void table_expect(const struct table *table, uint64_t first, uint64_t end);
void table_free(struct table *table);

/* A question's own table over `shared`, which is borrowed. */
struct table *table_own(struct table *shared);
/* False: the records of its shared table were renumbered. */
bool table_is_current(const struct table *own);
/* Links `older` (may be NULL) and those linked to it behind `table`, to be freed with it. */
void table_put_behind(struct table *table, struct table *older);
/*
 * Makes a question's own table in memory, sorted anew with the corrections applied, with `old`
 * linked behind it; NULL: there are few corrections, or too many records.
 */
MUST_CHECK struct table *table_rebuilt(struct table *old, struct error *err);
const struct record_list *table_rows(const struct table *table); /* NULL unless in memory */

#endif
