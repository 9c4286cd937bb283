/*
 * trace_workers.h - does the same work on each of many traces, each in a process of its own
 *
 *     parent ── fork ──> worker of trace 0 ── columns, row, row ... end ──> parent
 *            ── fork ──> worker of trace 1 ── columns, row ... end ───────> parent
 *
 * If a trace takes too long or too much memory, or crashes its worker, only its own rows are
 * missing. The parent gets the same data for any number of workers, except for the order in which
 * rows of different traces come.
 */
#ifndef REPL_COMMANDS_TRACE_WORKERS_H
#define REPL_COMMANDS_TRACE_WORKERS_H

#include "engine/base/folder.h"
#include "repl/session.h"
#include "sql/sql.h"

struct trace_worker; /* the worker's connection to its parent */

/* Sends the columns of all rows that follow; at most once. False: the parent has gone. */
MUST_CHECK bool worker_columns(struct trace_worker *worker, const struct sql_column *columns,
			       size_t count, struct error *err);
/* Sends a row. False: the parent has gone. */
MUST_CHECK bool worker_row(struct trace_worker *worker, const struct sql_value *values,
			   size_t count, struct error *err);

enum worker_fate {
	WORKER_DONE,
	WORKER_FAILED, /* `error` says why */
	WORKER_LATE,   /* it was ended after --timeout */
	WORKER_CRASHED /* `error` says how it ended */
};

struct worker_end {
	enum worker_fate fate;
	struct error error;
	uint64_t damaged; /* parts of the trace that could not be read */
	const char *said; /* its standard error, at most 64 KiB; "": nothing */
};

struct trace_work {
	const struct folder_names *paths; /* traces, numbered from 0 */
	const char *timeout;              /* --timeout, a span such as 30s; NULL: no limit */
	/*
	 * Called in the worker, with a session of trace i and the parent's options. Standard input
	 * and output are /dev/null.
	 */
	bool (*work)(void *arg, size_t i, struct session *session, struct trace_worker *worker,
		     struct error *err);
	/*
	 * Called in the parent: columns in the order of the traces, rows behind the columns of
	 * their trace, and last its end. A worker need not send columns; `columns` may be NULL if
	 * none does. False ends the whole work. Arguments are valid during the call.
	 */
	bool (*columns)(void *arg, size_t i, const struct sql_column *columns, size_t count,
			struct error *err);
	bool (*row)(void *arg, size_t i, const struct sql_value *values, size_t count,
		    struct error *err);
	bool (*ended)(void *arg, size_t i, const struct worker_end *end, struct error *err);
	void *arg;
};

/*
 * Says that parts of the trace could not be read, with the first of them that its worker `said`,
 * and that the rest `is` there; `count` traces were damaged, of which this is the first.
 */
void worker_tell_damage(int64_t count, const char *trace, const char *said, const char *is);

/*
 * Runs workers for all traces, --jobs at a time. The process must have one thread and no open
 * index. False: *err, ERR_INTERRUPTED after Ctrl-C; no worker is left in any case.
 */
MUST_CHECK bool trace_workers_run(struct session *session, const struct trace_work *work,
				  struct error *err);

#endif
