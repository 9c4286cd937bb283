/*
 * row_host.h - a trace, as the tables of this room are made of it
 *
 *     SQLite's virtual tables (sql/) ──┐
 *                                      ├── rows/: columns, and rows of typed cells ── state, index
 *     DuckDB's table functions (duckdb/) ┘
 *
 * Cells are `struct value`: integers, texts, and what is not known or not there.
 */
#ifndef ROWS_ROW_HOST_H
#define ROWS_ROW_HOST_H

#include "index/events.h"
#include "index/index.h"
#include "state/rules/rules.h"

struct state;
struct comms;
struct threads;

struct row_host {
	struct index *index;                                                 /* borrowed, as */
	struct trace *trace;                                                 /* its trace */
	bool (*get_state)(void *arg, struct state **out, struct error *err); /* borrowed */
	void (*say)(void *arg, const char *text); /* what is to be said of rows; may be NULL */
	void *arg;                                /* of both */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last); /* may be NULL */
	void *progress_arg;
	struct comms *comms;     /* names at moments, NULL: none yet */
	struct threads *threads; /* rows of the table, NULL: none yet */
	bool noted_wakeups;      /* that wake-ups are not recorded: said once */
	unsigned noted_threads;  /* of single ones it was said which calls have no end; the owner
				    begins anew for each statement */
};

/* Ends what was read for it: names, threads. */
void row_host_release(struct row_host *host);
MUST_CHECK bool row_host_state(struct row_host *host, struct state **out, struct error *err);
/*
 * A path that the rules or the trace do not have is an error; what else is to be said, is said, and
 * *noted, unless that is NULL.
 */
MUST_CHECK bool row_host_look_up(struct row_host *host, struct state *state,
				 const struct query *query, bool *noted, struct error *err);
void row_note(struct row_host *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

enum row_type {
	ROW_INTEGER, /* of 64 bits */
	ROW_TIME,    /* nanoseconds, as an integer */
	ROW_TEXT,
	ROW_ANY /* an integer or a text */
};

struct row_column {
	const char *name;
	enum row_type type;
};

#endif
