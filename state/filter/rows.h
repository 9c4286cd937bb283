/*
 * rows.h - a condition on rows of named columns, in the expressions of the rule language
 *
 *     comm ~ "demo-*" && (dur > 1ms || tid in (42, 43))
 *
 * A name is a column. Of rows that have a `begin` or a `ts`, either name means it. Fields and the
 * state have no meaning. A column that has no value in a row is unknown there.
 */
#ifndef STATE_FILTER_ROWS_H
#define STATE_FILTER_ROWS_H

#include "state/program/program.h"

struct rows_where;

/*
 * Of `count` columns, whose names are copied; `columns` NULL: of those that the text names, in the
 * order in which it names them first. The caller owns *out and ends it with
 * rows_where_free(). False: *err shows the place, and names the columns where one was meant.
 */
MUST_CHECK bool rows_where_parse(const char *text, const char *const *columns, size_t count,
				 struct rows_where **out, struct error *err);
void rows_where_free(struct rows_where *where); /* NULL is fine */
/* The name of column i; NULL: there are fewer. Borrowed. */
const char *rows_where_column(const struct rows_where *where, size_t i);
/* How many parts there are that the outermost && join. All of them must hold. */
size_t rows_where_terms(const struct rows_where *where);
bool rows_where_reads(const struct rows_where *where, size_t term, size_t column);
/* Is the term true of a row? values[i]: of the columns that it reads. Belongs to one thread. */
bool rows_where_holds(struct rows_where *where, size_t term, const struct value *values);
/*
 * Are all terms true of a row of which not all is known yet, whatever it will be? A column whose
 * value is value_open() may get any; the number that values[least] is may grow (SIZE_MAX: none
 * does). What is sure stays so when a column gets its value, or the number has grown. A comparison
 * of the growing column with what does not grow is decided as early as it can be; another
 * expression that reads it, and any that reads an open column, is not decided.
 */
bool rows_where_surely(struct rows_where *where, const struct value *values, size_t least);

#endif
