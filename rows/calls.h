/*
 * calls.h - the system calls of a range, from the events that enter and leave them
 *
 *     thread 7   |-enter read-----exit-|    |-enter futex-- ...     a call each
 *
 * A call goes from an entry to the next exit of its thread: the one that the event names, else the
 * one that runs on its CPU. It has no end where that exit is another call's, where the thread
 * enters the next call before, and where pair_doubts.h says so. The analysis `syscalls` pairs the
 * same events in the same way (lua-lib/segments/bind_pairs.c), so that both tell the same calls. Of
 * the kinds of events that tell calls (call_events.h) the first one that the trace has counts, as
 * there.
 */
#ifndef ROWS_CALLS_H
#define ROWS_CALLS_H

#include "rows/row_host.h"
#include "state/events/pair_doubts.h"

struct call {
	int64_t tid;
	nstime begin, end; /* `end` of PAIR_WHOLE alone */
	int32_t cpu;       /* where it was entered; -1: not known */
	uint32_t class;    /* of its entry; as many as the trace has classes: not known */
	enum pair_end gap;
	struct value name; /* borrowed from the trace: its name, or its number */
	bool returned;     /* the exit says what */
	int64_t ret;
};

struct calls;
struct cpu_runs;

struct calls_range {
	nstime begin, end;        /* half-open: events are read in it */
	nstime low, high;         /* calls are told that begin in [low, high) */
	const int64_t *tid;       /* of one thread alone; NULL: of all. Borrowed */
	const struct query *runs; /* cpu[*]/thread; borrowed */
};

/*
 * NULL: the trace has no events that enter system calls. [begin, end) is the range whose events say
 * which kind of them counts.
 */
MUST_CHECK bool calls_new(struct row_host *host, nstime begin, nstime end, struct calls **out,
			  struct error *err);
void calls_free(struct calls *calls); /* NULL is fine */
/*
 * The state that sees each call once: `like`, or one that does not see the events which do not
 * count. Rules see events of one kind in perf's recordings alone, which describe nothing that was
 * not recorded. Borrowed until the next call of this function, or of calls_free().
 */
MUST_CHECK bool calls_state(struct calls *calls, struct state *like, struct state **out,
			    struct error *err);
/* Was it made for that host and range? */
bool calls_are_of(const struct calls *calls, const struct row_host *host, nstime begin, nstime end);
/* Are there events of calls that do not name their thread? Then calls_runs() wants parts of
 * cpu[*]/thread from one nanosecond before the range on, stretch by stretch. */
bool calls_need_runs(const struct calls *calls);
/* Begins to read a range, from its begin. */
MUST_CHECK bool calls_begin(struct calls *calls, const struct calls_range *range,
			    struct error *err);
/* The call that the thread is in when the range begins: it is told as one that begins there. */
void calls_add_open(struct calls *calls, int64_t tid, int32_t cpu, const struct value *name);
/* Reads [from, to), the next stretch, and calls `each` for what ends there. */
MUST_CHECK bool calls_read(struct calls *calls, struct state *state, nstime from, nstime to,
			   void (*each)(void *arg, const struct call *call), void *arg,
			   struct error *err);
struct cpu_runs *calls_runs(struct calls *calls);
/* Behind the last stretch: the thread still is in that call where the range ends, and is told so.
 */
void calls_keep_open(struct calls *calls, int64_t tid, const struct value *name);
/* Behind that: calls `each` for what is still open. What was not kept has no end. */
MUST_CHECK bool calls_end(struct calls *calls, void (*each)(void *arg, const struct call *call),
			  void *arg, struct error *err);
/* Entries of no known thread so far, which are no calls. */
uint64_t calls_nameless(const struct calls *calls);

#endif
