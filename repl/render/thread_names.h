/*
 * thread_names.h - names of threads, learned from the events that tell them, in their order
 *
 * For the lines of kernel traces: one look-up per line. What no event has told so far has no name;
 * line_names.h sees to it that events which are not shown tell it, too.
 */
#ifndef REPL_RENDER_THREAD_NAMES_H
#define REPL_RENDER_THREAD_NAMES_H

#include "engine/event.h"

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
 * before. NOTHING: what holds from the start, if anything. NULL: nothing is asked any more.
 */
enum told_before { TOLD_NAME, TOLD_NOTHING, TOLD_UNKNOWN };
void thread_names_ask(struct thread_names *names,
		      enum told_before (*ask)(void *arg, int64_t tid, struct buf *out), void *arg);
/* The same for names that were taken: those that were told, or asked for, are not asked for again. */
void thread_names_ask_on(struct thread_names *names,
			 enum told_before (*ask)(void *arg, int64_t tid, struct buf *out),
			 void *arg);
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

#endif
