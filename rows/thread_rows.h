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
 * Rows of `syscalls` are made from entry and exit events (calls.h); if the trace has none, from
 * thread[T]/syscall. Calls that last when the range begins are read from thread[T]/syscall, too.
 *
 * All rows are clipped to the range and to what was recorded. A row that reaches over a cut between
 * stretches stays one row. The column `cpu` is the CPU on which the thread runs or ran last at
 * `begin` (thread_state), entered the call (syscalls), or ran after the wake-up (wakeups). If an
 * interrupt woke the thread, wakeups.waker is NULL, and waker_comm has the text of thread[T]/waker.
 */
#ifndef ROWS_THREAD_ROWS_H
#define ROWS_THREAD_ROWS_H

#include "rows/row_host.h"
#include "state/model/value.h"

enum { THREAD_COLUMNS_MAX = 8 };

struct thread_rows_kind {
	const struct row_column *columns;
	size_t ncolumns;
	const char *main; /* the attribute of threads whose intervals are rows: "state" */
	bool wakeups;
	unsigned tid;   /* number of the column */
	unsigned begin; /* number of the column with the row's begin */
	bool whole;     /* `syscalls`: a row that lasts when the recording ends has no end */
};
extern const struct thread_rows_kind thread_rows_state, thread_rows_wakeups, thread_rows_syscalls;

struct thread_rows_ask {
	nstime first, last; /* times of the trace's first and last event: events_range() */
	nstime begin, end;  /* the range, half-open */
	nstime low, high;   /* only rows that begin in [low, high) are needed; others may come */
	const int64_t *tid; /* rows of this thread; NULL: of all */
	bool shows_names;   /* the caller will read comm or waker_comm */
};

struct thread_rows;

struct thread_rows *thread_rows_new(const struct thread_rows_kind *kind);
void thread_rows_free(struct thread_rows *rows); /* NULL is fine */
/*
 * Starts a scan in place of the one before, and moves to its first row. After an error there are no
 * rows.
 */
MUST_CHECK bool thread_rows_begin(struct thread_rows *rows, struct row_host *host,
				  const struct thread_rows_ask *ask, struct error *err);
bool thread_rows_more(const struct thread_rows *rows); /* is there a current row? */
MUST_CHECK bool thread_rows_next(struct thread_rows *rows, struct error *err);
/* A cell of the current row; a text lives until the next call of any of these functions. */
MUST_CHECK bool thread_rows_cell(struct thread_rows *rows, size_t column, struct value *out,
				 struct error *err);
/* A hash that identifies the current row: equal in every scan of the same trace. */
uint64_t thread_rows_key(const struct thread_rows *rows);

#endif
