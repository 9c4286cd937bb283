/*
 * calls.h - the system calls of a range, from the events that enter and leave them
 *
 *     thread 7   |-enter read-----exit-|    |-enter futex-- ...     a call each
 *
 * A call lasts from an entry to the next exit of the same thread. The thread is the one that the
 * event names, else the one that cpu[*]/thread has for the event's CPU. The end of a call is
 * unknown if that exit belongs to another call, if the thread enters another call first, or if
 * events may be missing between the two (pair_doubts.h). The analysis `syscalls` pairs events by
 * the same rules (lua-lib/segments/bind_pairs.c). If the trace has several kinds of entry and exit
 * events, both read the first one in the order of call_events.h.
 */
#ifndef ROWS_CALLS_H
#define ROWS_CALLS_H

#include "rows/row_host.h"
#include "state/events/pair_doubts.h"

struct call {
	int64_t tid;
	nstime begin, end; /* `end` is valid if `gap` is PAIR_WHOLE */
	int32_t cpu;       /* on which it was entered; -1: unknown */
	uint32_t class;    /* event class of its entry; trace->nclasses: unknown */
	enum pair_end gap; /* why its end is unknown; PAIR_WHOLE: it is known */
	struct value name; /* its name, else its number; borrowed from the trace */
	bool returned;     /* the exit event has a return value: */
	int64_t ret;
};

struct calls;
struct cpu_runs;

struct calls_range {
	nstime begin, end;        /* events are read in [begin, end) */
	nstime low, high;         /* calls are reported that begin in [low, high) */
	const int64_t *tid;       /* only calls of this thread; NULL: of all. Borrowed */
	const struct query *runs; /* cpu[*]/thread, parsed; borrowed */
};

/*
 * Chooses the kind of entry and exit events by what occurs in [begin, end). *out is NULL if the
 * trace describes no events that enter system calls; freed by calls_free().
 */
MUST_CHECK bool calls_new(struct row_host *host, nstime begin, nstime end, struct calls **out,
			  struct error *err);
void calls_free(struct calls *calls); /* NULL is fine */
/*
 * Returns a state in which each call changes thread[T]/syscall once: `like`, or where rules would
 * read several kinds of call events, a copy of it that reads only the chosen kind. Borrowed until
 * the next call of this function or of calls_free().
 */
MUST_CHECK bool calls_state(struct calls *calls, struct state *like, struct state **out,
			    struct error *err);
/* Was `calls` made by calls_new() for this host and range? */
bool calls_are_of(const struct calls *calls, const struct row_host *host, nstime begin, nstime end);
/* Do some call events not name their thread? Then the caller fills calls_runs(), before each
 * calls_read(), with the intervals of cpu[*]/thread from one nanosecond before the range on. */
bool calls_need_runs(const struct calls *calls);
/* Starts a range: forgets all calls of the range before. */
MUST_CHECK bool calls_begin(struct calls *calls, const struct calls_range *range,
			    struct error *err);
/* Adds the call that the thread is in when the range begins: it begins with the range. */
void calls_add_open(struct calls *calls, int64_t tid, int32_t cpu, const struct value *name);
/* Reads events of [from, to), the next stretch, and calls `each` for each call that ends in it. */
MUST_CHECK bool calls_read(struct calls *calls, struct state *state, nstime from, nstime to,
			   void (*each)(void *arg, const struct call *call), void *arg,
			   struct error *err);
struct cpu_runs *calls_runs(struct calls *calls);
/* After the last stretch: the state says that the thread is in call `name` when the range ends. */
void calls_keep_open(struct calls *calls, int64_t tid, const struct value *name);
/* After that: calls `each` for all open calls. Those not kept by calls_keep_open() have no end. */
MUST_CHECK bool calls_end(struct calls *calls, void (*each)(void *arg, const struct call *call),
			  void *arg, struct error *err);
/* The number of entries so far whose thread is unknown; they make no call. */
uint64_t calls_nameless(const struct calls *calls);

#endif
