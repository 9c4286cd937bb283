/*
 * where.h - `--where EXPR`: a condition on events, in the expressions of the rule language
 *
 * A lone name is a field of the event, except `ts name cpu stream`. Longer paths that are not of
 * the event read the state just before it.
 */
#ifndef STATE_FILTER_WHERE_H
#define STATE_FILTER_WHERE_H

#include "state/program/program.h"

struct where;

/* Parses a condition. *err shows the place. The caller frees *out with where_free(). */
MUST_CHECK bool where_parse(const char *text, struct where **out, struct error *err);
/*
 * Splits a key: `a + b` is both together, `a | b` the first that an event has. Each column is an
 * expression for where_parse(); beside others one with operators stands in brackets. At most `most`
 * columns.
 */
MUST_CHECK bool where_parse_key(const char *text, struct key_column *out, size_t most,
				size_t *count, struct error *err);
/* Adds a further condition that must hold; call before where_compile(). */
MUST_CHECK bool where_add(struct where *where, const char *text, struct error *err);
void where_free(struct where *where); /* NULL is fine */
bool where_reads_state(const struct where *where);

/*
 * Append conditions for where_add() on the thread then running: its id, its process' id or its name
 * matches one of `count` alternatives.
 */
struct where_range {
	uint64_t low, high;
};
/* `streams`: the trace has streams of one thread each. */
void where_tid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out);
void where_pid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out);
void where_comm_text(const char *const *globs, size_t count, struct buf *out);
/* Appends a condition on the event's name, whole or the part after its last colon. */
void where_name_text(const char *glob, struct buf *out);

/*
 * Compiles the conditions for the trace: `rules` (may be NULL) has aliases and maps; reads of state
 * use the attribute table and views of `program`, and are an error when it is NULL. Trace and
 * program are borrowed until where_free().
 */
MUST_CHECK bool where_compile(struct where *where, struct rules *rules, const struct trace *trace,
			      struct program *program, struct error *err);
/*
 * Checks that event classes or rules have the fields and attributes, except inside has(): else
 * ERR_RANGE, with the place. Call after where_compile().
 */
MUST_CHECK bool where_lookup(const struct where *where, struct error *err);

/*
 * Checks that conditions can be true: a number such as `prev_state & 2` as operand of && or || is
 * ERR_QUERY, with its place. Call after where_compile().
 */
MUST_CHECK bool where_condition(const struct where *where, struct error *err);

/* Decided before anything is decoded: */

/* False: no event of the class can pass, so it need not be read. */
bool where_class(const struct where *where, const struct event_class *class);
/* Narrows [begin, end) by comparisons of `ts` with constants. */
void where_range(const struct where *where, nstime *begin, nstime *end);
/* False: no event of the stream can pass. */
bool where_stream(const struct where *where, const struct stream *stream);

/*
 * Selecting many events at once. where_select() evaluates terms that read no state, in any order
 * and from several threads, each with its own pass; where_select_by_state() those that read the
 * state.
 */
struct where_reads { /* how the state just before an event is read */
	/*
	 * Texts live in `scratch` or until the next call. False: the value is none or unknown; only
	 * resolve() says which, and is called only if that matters, as it is expensive.
	 */
	bool (*read)(void *arg, uint32_t attr, const struct event *event, struct arena *scratch,
		     struct value *out);
	void (*resolve)(void *arg, uint32_t attr, const struct event *event, struct value *out);
	void *arg;
};
struct where_pass; /* belongs to one thread */
/*
 * For a condition of one expression: does its value depend only on the event's CPU and the state,
 * as cpu[cpu]/thread does?
 */
bool where_is_of_cpu(const struct where *where);

/* Both are borrowed; `reads` may be NULL if no state is read. */
struct where_pass *where_pass_new(const struct where *where, const struct where_reads *reads);
void where_pass_free(struct where_pass *pass); /* NULL is fine */
/* False: where_class() and where_stream() decide all; selecting is not needed. */
bool where_selects(const struct where *where);
bool where_selects_by_state(const struct where *where);
/*
 * Sets `entries` to those of the run that pass, ascending; returns how many. Fits
 * events_options.select with the pass as `arg`.
 */
uint32_t where_select(void *pass, const struct run *run, uint16_t *entries);
uint32_t where_select_by_state(struct where_pass *pass, const struct run *run, uint16_t *entries);

/*
 * The value of a condition of one expression, such as thread[cpu[cpu]/thread]/name, at the run's
 * first entry; unknown if it fails. Texts live until the next call with the pass.
 */
void where_value(struct where_pass *pass, const struct run *run, struct value *out);

#endif
