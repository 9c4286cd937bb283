/*
 * where.h - `--where EXPR`: a condition on events, in the expressions of the rule language
 *
 * A lone name is a field of the event, but for `ts name cpu stream`. Longer paths that are not of
 * the event read the state just before it.
 */
#ifndef STATE_FILTER_WHERE_H
#define STATE_FILTER_WHERE_H

#include "state/program/program.h"

struct where;

/* *err shows the place. The caller owns *out and ends it with where_free(). */
MUST_CHECK bool where_parse(const char *text, struct where **out, struct error *err);
/* Adds a condition that must hold, too; before where_compile(). */
MUST_CHECK bool where_add(struct where *where, const char *text, struct error *err);
void where_free(struct where *where); /* NULL is fine */
bool where_reads_state(const struct where *where);

/*
 * Conditions on the thread then running, for where_add(): one of `count` alternatives holds for its
 * id, its process' or its name.
 */
struct where_range {
	uint64_t low, high;
};
/* `streams`: some streams of the trace are of one thread each. */
void where_tid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out);
void where_pid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out);
void where_comm_text(const char *const *globs, size_t count, struct buf *out);
/* A condition on the event's name, as a word of --name: whole, or the part after its last colon. */
void where_name_text(const char *glob, struct buf *out);

/*
 * Prepares it for the trace: `rules` (may be NULL) gives aliases and maps. With `program` (may be
 * NULL) its attribute table and views are used by state reads. An expression that reads state is an
 * error when `program` is NULL. Trace and program are borrowed until where_free().
 */
MUST_CHECK bool where_compile(struct where *where, struct rules *rules, const struct trace *trace,
			      struct program *program, struct error *err);
/*
 * Looks up its fields and attributes: one that no event class or rule has is ERR_RANGE, with its
 * place. Not inside has(). After where_compile().
 */
MUST_CHECK bool where_lookup(const struct where *where, struct error *err);

/*
 * Is it one that can be true? An operand of && and || that is a number, such as `prev_state & 2`, is
 * ERR_QUERY, with its place. After where_compile().
 */
MUST_CHECK bool where_condition(const struct where *where, struct error *err);

/* What is decided before anything is decoded. */

/* False when no event of the class can pass: it need not be read. */
bool where_class(const struct where *where, const struct event_class *class);
/* Narrows [begin, end) to the times that comparisons of `ts` with constants leave. */
void where_range(const struct where *where, nstime *begin, nstime *end);
/* False when no event of the stream can. */
bool where_stream(const struct where *where, const struct stream *stream);

/*
 * Many events at once. What needs no state is select()'s part, in any order and from several
 * threads, each with a pass of its own; what reads the state is select_by_state()'s.
 */
struct where_reads { /* how the state just before an event is read */
	/*
	 * Texts live in `scratch` or until the next call. False: it is none or unknown, and which
	 * of them only resolve() says, which is dear: it is asked when the answer depends on it.
	 */
	bool (*read)(void *arg, uint32_t attr, const struct event *event, struct arena *scratch,
		     struct value *out);
	void (*resolve)(void *arg, uint32_t attr, const struct event *event, struct value *out);
	void *arg;
};
struct where_pass; /* belongs to one thread */
/*
 * Of a condition that was parsed of one expression: is its value the same at all events of a CPU,
 * as long as what it reads of the state is? So of cpu[cpu]/thread.
 */
bool where_is_of_cpu(const struct where *where);

/* Both are borrowed; `reads` may be NULL when no state is read. */
struct where_pass *where_pass_new(const struct where *where, const struct where_reads *reads);
void where_pass_free(struct where_pass *pass); /* NULL is fine */
/* False: classes and streams say all, and there is nothing to be selected. */
bool where_selects(const struct where *where);
bool where_selects_by_state(const struct where *where);
/* Entries of the run that pass, rising; fits events_options.select, with the pass as `arg`. */
uint32_t where_select(void *pass, const struct run *run, uint16_t *entries);
uint32_t where_select_by_state(struct where_pass *pass, const struct run *run, uint16_t *entries);

/*
 * The value of a condition that was parsed of one expression, such as thread[cpu[cpu]/thread]/name,
 * at the first entry of the run. It is unknown where it has none there. Texts live until the next
 * call with the same pass.
 */
void where_value(struct where_pass *pass, const struct run *run, struct value *out);

#endif
