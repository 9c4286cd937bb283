/*
 * trace_workers.h - the same work on each of many traces, each in a process of its own
 *
 *     parent ── fork ──> worker of trace 0 ── columns, row, row ... end ──> parent
 *            ── fork ──> worker of trace 1 ── columns, row ... end ───────> parent
 *
 * A trace that takes too long, too much memory or the process with it costs its own rows and no
 * others'. What the parent is given does not depend on how many work at a time, but for the order
 * in which rows of different traces come.
 */
#ifndef REPL_COMMANDS_TRACE_WORKERS_H
#define REPL_COMMANDS_TRACE_WORKERS_H

#include "engine/base/folder.h"
#include "repl/session.h"
#include "sql/sql.h"

struct trace_worker; /* the worker's way to its parent */

/* The columns of all rows that follow; at most once. False: the parent has gone. */
MUST_CHECK bool worker_columns(struct trace_worker *worker, const struct sql_column *columns,
			       size_t count, struct error *err);
/* A row; the values are copied. False: the parent has gone. */
MUST_CHECK bool worker_row(struct trace_worker *worker, const struct sql_value *values,
			   size_t count, struct error *err);

enum worker_fate {
	WORKER_DONE,
	WORKER_FAILED, /* `error` says why */
	WORKER_LATE,   /* it was ended after the time that it had */
	WORKER_CRASHED /* `error` says how it ended */
};

struct worker_end {
	enum worker_fate fate;
	struct error error;
	uint64_t damaged; /* parts of the trace that could not be read */
	const char *said; /* what it wrote on standard error, at most 64 KiB; "": nothing */
};

struct trace_work {
	const struct folder_names *paths; /* traces, numbered from 0 */
	const char *timeout; /* --timeout, a span as 30s; NULL: each has all the time it wants */
	/*
	 * In the worker, whose standard input and output are empty: a session of trace i, with the
	 * parent's options.
	 */
	bool (*work)(void *arg, size_t i, struct session *session, struct trace_worker *worker,
		     struct error *err);
	/*
	 * In the parent: columns in the order of the traces, rows behind the columns of their
	 * trace, and, last, how it ended. A worker need not give columns. False ends all of the
	 * work. `columns` may be NULL where none gives any. What they are given is borrowed for the
	 * call.
	 */
	bool (*columns)(void *arg, size_t i, const struct sql_column *columns, size_t count,
			struct error *err);
	bool (*row)(void *arg, size_t i, const struct sql_value *values, size_t count,
		    struct error *err);
	bool (*ended)(void *arg, size_t i, const struct worker_end *end, struct error *err);
	void *arg;
};

/*
 * Until all traces are done, --jobs at a time. The process must have one thread and no index open.
 * False: *err, ERR_INTERRUPTED after Ctrl-C; no worker is left then, either.
 */
MUST_CHECK bool trace_workers_run(struct session *session, const struct trace_work *work,
				  struct error *err);

#endif
