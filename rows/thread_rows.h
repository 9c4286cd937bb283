/*
 * thread_rows.h - what threads did, as rows: the tables `thread_state`, `wakeups` and `syscalls`
 *
 *     thread_state(tid, cpu, comm, begin, end, dur, state)
 *     wakeups(ts, tid, comm, dur, cpu, waker, waker_comm, waker_kind)
 *     syscalls(tid, cpu, comm, begin, end, dur, name, ret)
 *
 * Rows are made from attributes, one stretch of time after the other:
 *
 *     thread[7]/state   |- sleeping -|-- ready --|- running -|       a row per part, what is ready
 *     thread[7]/cpu     |----- 0 ----------------|---- 1 -----       without having run just before
 *     thread[7]/waker   |--- 3 --|------ 12 -----------------        was woken
 *
 * Rows of `syscalls` are made from entry and exit events (thread_calls.c); if the trace has none,
 * from thread[T]/syscall. Calls that last when the range begins are read from thread[T]/syscall,
 * too.
 *
 * All rows are clipped to the range and to what was recorded. A row that reaches over a cut between
 * stretches stays one row. The column `cpu` is the CPU on which the thread runs or ran last at
 * `begin` (thread_state), entered the call (syscalls), or ran after the wake-up (wakeups). If an
 * interrupt woke the thread, wakeups.waker is NULL, and waker_comm has the text of thread[T]/waker.
 *
 * Bounds of `begin` or wakeups.ts narrow the range if that makes it a window (state_set_lists()).
 * It then ends as far behind the last as a window reads events, and a row that reaches its end has
 * no end.
 *
 * thread_rows.c reads ranges and fills cells, thread_parts.c makes rows from intervals of
 * attributes, and thread_calls.c makes those of `syscalls` from events.
 */
#ifndef ROWS_THREAD_ROWS_H
#define ROWS_THREAD_ROWS_H

#include "rows/row_table.h"

#include "state/events/pair_doubts.h"
#include "state/intervals/stretches.h"

enum { OF_MAIN, OF_CPU, OF_WAKER, ATTRIBUTES, OF_NAME = ATTRIBUTES, OF_RUNS, QUERIES };

struct calls;
struct cpu_runs;

struct thread_rows_kind {
	const char *main; /* the attribute of threads whose intervals are rows: "state" */
	bool wakeups;
	bool whole;           /* `syscalls`: a row that lasts when the recording ends has no end */
	const uint8_t *cells; /* what each column has */
};

struct segment_piece { /* an interval of one attribute of a thread, cut to the stretch */
	int64_t tid;
	unsigned of;
	nstime begin, end;
	struct value value;
	bool lost; /* at `end` the attribute becomes unknown */
};

struct thread_segment { /* a row */
	int64_t tid;
	nstime begin, end;
	bool lost;
	struct value value, cpu, waker;
	bool ran;       /* wakeups: the thread runs at `end` */
	uint32_t class; /* calls: event class of the entry */
	bool returned;  /* calls: `ret` is known */
	int64_t ret;
};

struct open_part { /* a row whose end is not read yet: it may reach over the cut */
	struct thread_segment segment;
	bool woken; /* wakeups: the thread became ready without having run just before */
};

struct call_counts {
	uint64_t all, without[PAIR_ENDS]; /* calls; those without an end, by the reason */
	uint64_t nameless;                /* entries whose thread is unknown: they make no row */
};

struct thread_rows {
	struct row_scan head; /* over the rows of this stretch */
	const struct thread_rows_kind *kind;
	struct query *queries[QUERIES];
	const struct query *asked[QUERIES]; /* those of `queries` that stretches read */
	struct stretches todo;
	struct calls *calls;       /* NULL: rows are made from intervals of attributes */
	nstime first;              /* time of the trace's first event */
	nstime begin, end;         /* the range, half-open */
	bool is_over;              /* the recording ends at `end` */
	bool window;               /* low and high made the range a window (state_set_lists()) */
	bool along;                /* names of threads are read in the same pass: comms_along_... */
	bool narrowed;             /* low and high moved `end`: a row that reaches it has no end */
	nstime low, high;          /* rows begin in [low, high) */
	struct call_counts counts; /* of `syscalls` */
	int64_t tid;               /* with of_thread: the only thread that has rows */
	bool of_thread;
	nstime from, to;               /* the stretch */
	struct arena *arena, *carried; /* texts of the stretch; of `open` */
	struct segment_piece *parts;
	size_t nparts, parts_capacity;
	struct open_part *open; /* by rising tid */
	size_t nopen, open_capacity;
	struct open_part *next; /* the open rows at the end of this stretch, being made */
	size_t nnext, next_capacity;
	struct thread_segment *rows;
	size_t capacity;
	bool silent; /* no note on an empty result is needed: a row came, or a note was given */
};

struct thread_parts { /* one thread's parts in the stretch: [begin, end) of each attribute */
	int64_t tid;
	const struct segment_piece *parts;
	size_t begin[ATTRIBUTES], end[ATTRIBUTES];
};

/* Does the row reach the end of all that is read, so that it may go on behind it? */
static inline bool thread_rows_goes_on(const struct thread_rows *cursor,
				       const struct thread_segment *row)
{
	return (cursor->is_over || cursor->narrowed) && row->end == cursor->end;
}

/* ---- thread_parts.c ---- */

/* For state_intervals(): takes an interval as a part; `arg` is the cursor. */
bool thread_rows_take_part(void *arg, const struct interval *interval);
/* Brings the parts into order, by thread, attribute and begin. */
void thread_rows_sort_parts(struct thread_rows *cursor);
/* Fills *out with the parts of the thread of part `at`; returns the first part behind them. */
size_t thread_rows_split_thread(const struct thread_rows *cursor, size_t at,
				struct thread_parts *out);
/* The value of attribute `of` at `t`; kind VALUE_NONE: unknown. */
struct value thread_rows_sample(const struct thread_parts *thread, unsigned of, nstime t);
/* Makes rows from the parts of the stretch; `last`: no other stretch follows. */
void thread_rows_read_threads(struct thread_rows *cursor, bool last);

/* ---- thread_calls.c ---- */

void calls_free(struct calls *calls); /* NULL is fine */
/* Do some call events not name their thread? Then calls_runs() has to be filled, before each
 * thread_rows_read_calls(), with intervals of cpu[*]/thread from 1 ns before the range on. */
bool calls_need_runs(const struct calls *calls);
struct cpu_runs *calls_runs(struct calls *calls);

/*
 * Sets cursor->calls for the whole range, before low and high narrow it; NULL where rows are made
 * from intervals of attributes.
 */
MUST_CHECK bool thread_rows_get_calls(struct thread_rows *cursor, struct error *err);
/* Begins to read the calls of the cursor's range; after stretches_begin(). */
MUST_CHECK bool thread_rows_begin_calls(struct thread_rows *cursor, struct error *err);
/* Makes rows from the call events of the stretch. */
MUST_CHECK bool thread_rows_read_calls(struct thread_rows *cursor, struct error *err);
/* Counts rows of `syscalls` that are made from intervals, and those without an end, by reason. */
MUST_CHECK bool thread_rows_count_parts(struct thread_rows *cursor, struct error *err);
/* Gives a note on how many calls have no end, and why; of thread *tid, or (NULL) of all. */
void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid);

#endif
