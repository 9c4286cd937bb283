/*
 * where.h - `--where EXPR`: a condition on events, in the expressions of the rule language
 *
 * A lone name is a field of the event, but for `t name cpu stream`. Longer paths that are not of
 * the event read the state just before it.
 */
#ifndef STATE_WHERE_H
#define STATE_WHERE_H

#include "state/program.h"

struct where;

/* *err says the column. The caller owns *out and ends it with where_free(). */
bool where_parse(const char *text, struct where **out, struct error *err);
void where_free(struct where *where); /* NULL is fine */
bool where_reads_state(const struct where *where);
/*
 * Prepares it for the trace: `rules` (may be NULL) gives aliases and maps; warns of fields that no
 * class has. With `program` (may be NULL) its attribute table and views are used by state reads. An
 * expression that reads state is an error when `program` is NULL. Trace and program are borrowed
 * until where_free().
 */
bool where_compile(struct where *where, struct rules *rules, const struct trace *trace,
		   struct program *program, const struct notices *notices, struct error *err);
/* False when no event of the class can pass: it need not be read. */
bool where_class(const struct where *where, const struct event_class *class);
/*
 * Does the event pass? env: `event` (with a class), `decode`, `scratch`, `arg`, and `read` when
 * state is read; `program` is set by the call. A loss never passes.
 */
bool where_test(const struct where *where, struct env *env);

#endif
