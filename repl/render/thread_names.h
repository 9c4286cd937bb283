/*
 * thread_names.h - names of threads, learned from the events that tell them, in their order
 *
 * For the lines of kernel traces: one look-up per line. What no event has told so far has no name;
 * line_names.c sees to it that events which are not shown tell it, too.
 */
#ifndef REPL_RENDER_THREAD_NAMES_H
#define REPL_RENDER_THREAD_NAMES_H

#include "engine/event.h"
#include "index/events.h"
#include "repl/session.h"

struct thread_names;

struct thread_names *thread_names_new(const struct trace *trace); /* the trace is borrowed */
void thread_names_free(struct thread_names *names);
/* Takes all names that `from` knows, of the same trace as it was opened before; `from` has none then. */
void thread_names_take(struct thread_names *names, struct thread_names *from);
/* Events that name no thread cost one look at their class. */
void thread_names_learn(struct thread_names *names, const struct fields *fields);
bool thread_names_tells(struct thread_names *names, const struct event_class *class);
/*
 * From now on `ask` is asked for each thread whose name no event told since, once: what was told
 * before. NOTHING: what holds from the start, if anything. NULL: nothing is asked any more. `anew`
 * false: names that were told, or asked for, before that is said are not asked for again.
 */
enum told_before { TOLD_NAME, TOLD_NOTHING, TOLD_UNKNOWN };
void thread_names_ask(struct thread_names *names,
		      enum told_before (*ask)(void *arg, int64_t tid, struct buf *out), void *arg,
		      bool anew);
/*
 * What events tell of names, as rules: told[T]/name is the last name, told[T]/like the thread that
 * T took its name from, if that was told later.
 */
void thread_names_rules(struct buf *out);
/*
 * The name that the thread had when thread_names_ask() was called, of a trace's only part; or NULL.
 */
const char *thread_names_first(const struct thread_names *names, int64_t tid, size_t *len);
/*
 * "[4297 demo] ", without the name where it is not known. Printable, for copy_padded(), at most
 * THREAD_LABEL_ROOM bytes; borrowed until the next call.
 */
enum { THREAD_LABEL_ROOM = 64 };
const char *thread_names_label(struct thread_names *names, uint32_t part, int64_t tid, size_t *len);

/*
 * line_names.c: names of threads in lines of kernel traces, where not all events are shown
 *
 * A line has the name that the events up to it told, shown or not: with a filter it is the line
 * that there would be without.
 *
 *     before the first line    the state is asked, thread by thread, when a line first needs one
 *     from there on            a cursor of its own over the events that tell names, on all CPUs
 *
 * What must be read for that is bounded: where the search would go too far, lines have no name.
 */
struct line_names;

/*
 * `hidden`: events that tell names may be among those that are not shown. `goes_on`: rows go on at
 * `begin` behind others, whose names were taken. All is borrowed. NULL: no event of the trace tells
 * names, or an error.
 */
struct line_names *line_names_new(struct session *session, struct thread_names *names, bool hidden,
				  bool goes_on, nstime begin);
/* Behind the last row: learns what is told before `end`. False: *err. */
MUST_CHECK bool line_names_finish(struct line_names *line_names, nstime end, struct error *err);
void line_names_free(struct line_names *line_names); /* NULL is fine */
/* Before the line of entry i of the run. False: *err. */
MUST_CHECK bool line_names_reach(struct line_names *line_names, const struct run *run, uint32_t i,
				 struct error *err);
/* Do shown events tell names, too? They do where none is hidden. */
bool line_names_learns(const struct line_names *line_names);

#endif
