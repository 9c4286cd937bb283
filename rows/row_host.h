/*
 * row_host.h - the trace that tables of this room read, and callbacks of the database room
 *
 *     SQLite's virtual tables (sql/) ──┐
 *                                      ├── rows/: columns, and rows of typed cells ── state, index
 *     DuckDB's table functions (duckdb/) ┘
 *
 * Cells are `struct value`: integers and texts; unknown or none is NULL in a database.
 */
#ifndef ROWS_ROW_HOST_H
#define ROWS_ROW_HOST_H

#include "index/events.h"
#include "index/index.h"
#include "state/rules/rules.h"

struct state;
struct comms;
struct lookups;
struct threads;

struct row_host {
	struct index *index;                                                 /* borrowed */
	struct trace *trace;                                                 /* of the index */
	bool (*get_state)(void *arg, struct state **out, struct error *err); /* *out: borrowed */
	void (*say)(void *arg, const char *text); /* receives notes on rows; may be NULL */
	void *arg;                                /* of get_state() and say() */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last); /* may be NULL */
	void *progress_arg;
	bool bounds_known;       /* `first` and `last` are set */
	nstime first, last;      /* times of the first and the last event */
	struct lookups *lookups; /* values at moments; NULL: none yet */
	struct comms *comms;     /* names at moments; NULL: not read */
	struct threads *threads; /* rows of table `threads`; NULL: not made */
	bool noted_wakeups;      /* the note that no wake-ups are recorded was given */
	unsigned noted_threads;  /* notes on calls without an end of one thread so far; the owner
				    sets it to 0 for each statement */
};

/* Frees `lookups`, `comms` and `threads`. */
void row_host_release(struct row_host *host);
/* Times of the first and the last event of the trace; first > last: there is none. */
MUST_CHECK bool row_host_bounds(struct row_host *host, nstime *first, nstime *last,
				struct error *err);
MUST_CHECK bool row_host_state(struct row_host *host, struct state **out, struct error *err);
/*
 * Checks a parsed path. False: the rules or the trace do not have it. Other remarks (no event
 * writes it, say) go to say(), and set *noted, which may be NULL.
 */
MUST_CHECK bool row_host_look_up(struct row_host *host, struct state *state,
				 const struct query *query, bool *noted, struct error *err);
void row_note(struct row_host *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
