/*
 * rows.h - a condition on rows of named columns, in the expressions of the rule language
 *
 *     comm ~ "demo-*" && (dur > 1ms || tid in (42, 43))
 *
 * A name is a column; `begin` and `ts` are synonyms. Fields and state are not allowed. A column
 * without a value in a row is unknown there.
 */
#ifndef STATE_FILTER_ROWS_H
#define STATE_FILTER_ROWS_H

#include "state/program/program.h"

struct rows_where;

/*
 * Parses a condition on `count` columns, whose names are copied; `columns` NULL: the columns are
 * the names in the text, in order of first use. The caller frees *out with rows_where_free().
 * False: *err shows the place, and for an unknown name the columns.
 */
MUST_CHECK bool rows_where_parse(const char *text, const char *const *columns, size_t count,
				 struct rows_where **out, struct error *err);
void rows_where_free(struct rows_where *where); /* NULL is fine */
/* The name of column i, borrowed; NULL: there are fewer. */
const char *rows_where_column(const struct rows_where *where, size_t i);
/* How many terms the outermost && joins. All of them must hold. */
size_t rows_where_terms(const struct rows_where *where);
bool rows_where_reads(const struct rows_where *where, size_t term, size_t column);
/* Does the term hold for a row? values[i] of columns that it reads must be set. Not thread-safe. */
bool rows_where_holds(struct rows_where *where, size_t term, const struct value *values);
/*
 * Will all terms hold for an unfinished row, whatever its final values? A column that is
 * value_open() may get any value; the number values[least] may still grow (SIZE_MAX: none does).
 * True is final. A comparison of the growing column with something that does not grow is decided as
 * early as possible; any other expression that reads it, or an open column, is undecided.
 */
bool rows_where_surely(struct rows_where *where, const struct value *values, size_t least);

#endif
