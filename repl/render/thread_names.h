/*
 * thread_names.h - learns names of threads from events that have them, in the order of events
 *
 * For lines of kernel traces, with one look-up per line. A thread has no name until an event with
 * its name was learned; line_names.c also learns from events that are not shown.
 */
#ifndef REPL_RENDER_THREAD_NAMES_H
#define REPL_RENDER_THREAD_NAMES_H

#include "engine/event.h"
#include "index/events.h"
#include "repl/session.h"

struct thread_names;

struct thread_names *thread_names_new(const struct trace *trace); /* the trace is borrowed */
void thread_names_free(struct thread_names *names);
/* Moves all names from `from`, which is for the trace as it was opened before. */
void thread_names_take(struct thread_names *names, struct thread_names *from);
/* Learns the names in an event, if its class has any. */
void thread_names_learn(struct thread_names *names, const struct fields *fields);
/* Do events of the class have names of threads? */
bool thread_names_tells(struct thread_names *names, const struct event_class *class);
/*
 * From now on, a look-up of a thread calls `ask` once for the name before this point, unless an
 * event with its name was learned since. TOLD_NOTHING: the name stays as it is. NULL: no more
 * calls. `anew` false: names that are known already stay, without a call.
 */
enum told_before { TOLD_NAME, TOLD_NOTHING, TOLD_UNKNOWN };
void thread_names_ask(struct thread_names *names,
		      enum told_before (*ask)(void *arg, int64_t tid, struct buf *out), void *arg,
		      bool anew);
/*
 * Writes rules that store names from events: told[T]/name is T's last name, told[T]/like the thread
 * that T took its name from, if that happened later.
 */
void thread_names_rules(struct buf *out);
/*
 * The name that the thread had when thread_names_ask() was called, in a trace of one part; or NULL.
 */
const char *thread_names_first(const struct thread_names *names, int64_t tid, size_t *len);
/*
 * "[4297 demo] ", or "[4297] " if the name is unknown. Printable, padded for copy_padded(), at most
 * THREAD_LABEL_ROOM bytes; valid until the next call.
 */
enum { THREAD_LABEL_ROOM = 64 };
const char *thread_names_label(struct thread_names *names, uint32_t part, int64_t tid, size_t *len);

/*
 * line_names.c: names of threads in lines of kernel traces, if not all events are shown
 *
 * A line has the thread's last name up to it, also from events that are not shown: a filter does
 * not change the lines that it leaves.
 *
 *     before the first line    a question to the state, when a line first needs a thread's name
 *     from there on            a cursor of its own over the events that have names, on all CPUs
 *
 * The reading for a question is bounded: if it finds nothing by then, lines have no name.
 */
struct line_names;

/*
 * `hidden`: events with names may be among those not shown. `goes_on`: rows continue others at
 * `begin`, and `names` has their names. Borrows all arguments. NULL: no event class of the trace
 * has names, or an error.
 */
struct line_names *line_names_new(struct session *session, struct thread_names *names, bool hidden,
				  bool goes_on, nstime begin);
/* Call it behind the last row: learns the names in events before `end`. False: *err. */
MUST_CHECK bool line_names_finish(struct line_names *line_names, nstime end, struct error *err);
void line_names_free(struct line_names *line_names); /* NULL is fine */
/* Call it before the line of entry i of the run: learns the names up to there. False: *err. */
MUST_CHECK bool line_names_reach(struct line_names *line_names, const struct run *run, uint32_t i,
				 struct error *err);
/* Shall the writer learn names from shown events? Only if no event with names is hidden. */
bool line_names_learns(const struct line_names *line_names);

#endif
