/*
 * thread_rows.h - what threads did, as rows: the tables `thread_state`, `wakeups` and `syscalls`
 *
 *     thread_state(tid, cpu, comm, begin, end, dur, state)
 *     wakeups(ts, tid, comm, dur, cpu, waker, waker_comm, waker_kind)
 *     syscalls(tid, cpu, comm, begin, end, dur, name, ret)
 *
 * Rows are made of attributes of the rules, a stretch of time after the other:
 *
 *     thread[7]/state   |- sleeping -|-- ready --|- running -|       a row per part, what is ready
 *     thread[7]/cpu     |----- 0 ----------------|---- 1 -----       without having run just before
 *     thread[7]/waker   |--- 3 --|------ 12 -----------------        was woken
 *
 * Calls are made of the events that enter and leave them (calls.h), and of thread[T]/syscall only
 * where the rules read other events. Those that last when the range begins are told by that, too.
 *
 * All is clipped to the range and to what was recorded. What reaches over a cut between stretches
 * is carried on. thread_state.cpu is where the thread ran last at `begin`, syscalls.cpu where it
 * was then, wakeups.cpu where it ran then. wakeups.waker is a thread; of an interrupt it is not
 * there, and waker_comm has the text of thread[T]/waker.
 */
#ifndef ROWS_THREAD_ROWS_H
#define ROWS_THREAD_ROWS_H

#include "rows/row_host.h"
#include "state/model/value.h"

enum { THREAD_COLUMNS_MAX = 8 };

struct thread_rows_kind {
	const struct row_column *columns;
	size_t ncolumns;
	const char *main; /* the attribute whose parts are rows */
	bool wakeups;
	unsigned tid;   /* column */
	unsigned begin; /* column: when a row begins */
	bool whole;     /* a row is something that begins and ends, and not a part of the range */
};
extern const struct thread_rows_kind thread_rows_state, thread_rows_wakeups, thread_rows_syscalls;

struct thread_rows_ask {
	nstime first, last; /* of the trace's events, as events_range() tells them */
	nstime begin, end;  /* the range, half-open */
	nstime low, high;   /* no row is wanted that does not begin in [low, high); some may come */
	const int64_t *tid; /* of one thread alone; NULL: of all */
	bool shows_names;   /* comm or waker_comm will be asked for */
};

struct thread_rows;

struct thread_rows *thread_rows_new(const struct thread_rows_kind *kind);
void thread_rows_free(struct thread_rows *rows); /* NULL is fine */
/*
 * Makes the rows that are asked for, from the first one on, which is the current one then. What was
 * asked before ends. After an error there are none.
 */
MUST_CHECK bool thread_rows_begin(struct thread_rows *rows, struct row_host *host,
				  const struct thread_rows_ask *ask, struct error *err);
bool thread_rows_more(const struct thread_rows *rows); /* is there a current row? */
MUST_CHECK bool thread_rows_next(struct thread_rows *rows, struct error *err);
/* A cell of the current row; a text lives until the next call of any of these functions. */
MUST_CHECK bool thread_rows_cell(struct thread_rows *rows, size_t column, struct value *out,
				 struct error *err);
/* A number of the current row, which is the same whatever else is asked for. */
uint64_t thread_rows_key(const struct thread_rows *rows);

#endif
