/*
 * event_rows.h - writes rows of events and losses, in the order in which the caller passes them
 *
 * The caller's thread formats the first thousands of rows. If no row depends on those before it,
 * --jobs threads then share the work: the caller passes heads in order, workers decode values and
 * format rows, and the caller writes them in order. Rows, and messages on damage, are the same as
 * with one thread.
 */
#ifndef REPL_RENDER_EVENT_ROWS_H
#define REPL_RENDER_EVENT_ROWS_H

#include "index/cursor/event_block.h"
#include "index/cursor/windows.h"
#include "repl/filter.h"
#include "repl/render/render.h"
#include "repl/session.h"

struct event_rows;

struct row_text {         /* rows, and messages that are printed before them */
	struct sink text; /* in memory */
	struct buf said;
	uint64_t damaged; /* of the messages */
};

/*
 * `classes`: a bit per class whose events will be passed, NULL: all. All arguments are borrowed;
 * the caller ends *out with event_rows_free(). `before`: paused rows, of the trace as it was opened
 * before, which *out continues at `begin`; then only event_rows_free() may be called on them. NULL:
 * *out writes the first rows.
 */
MUST_CHECK bool event_rows_new(struct session *session, const struct options *options,
			       const uint64_t *classes, struct sink *sink,
			       struct event_rows *before, nstime begin, struct event_rows **out,
			       struct error *err);
/* Writes all rows, up to time `end`; others may continue them, and the trace may be closed. */
MUST_CHECK bool event_rows_pause(struct event_rows *rows, nstime end, struct error *err);
/* Drops the rows that event_rows_end() has not written. NULL is fine. */
void event_rows_free(struct event_rows *rows);

/* The writer, to pass it thread names that hold before the first row; not after that row. */
struct event_writer *event_rows_writer(struct event_rows *rows);

/*
 * For rows that leave out events; call it before the first row. Thread names in lines are then as
 * if all events up to the line had been passed. `hidden`: events with names may be left out.
 */
void event_rows_name(struct event_rows *rows, bool hidden);
/* May other threads format rows? If so, no row depends on those before it. */
bool event_rows_shares(const struct event_rows *rows);
/* False: an error ended the rows, *err. */
MUST_CHECK bool event_rows_good(const struct event_rows *rows, struct error *err);
/*
 * Writes rows of entries [first, first + count) of the run's batch, with --reverse from the last to
 * the first. False: the reader has gone, or event_rows_good() has an error.
 */
bool event_rows_run(struct event_rows *rows, const struct run *run, uint32_t first, uint32_t count);
bool event_rows_loss(struct event_rows *rows, const struct event *loss);
/* The threads that format rows if event_rows_shares(); they may do other work, too. */
struct thread_pool *event_rows_threads(struct event_rows *rows);
nstime event_rows_last(const struct event_rows *rows); /* time of the last row that was passed */
/*
 * Appends rows of the events of a block, at least one, forward; *block is then another one, empty.
 * For rows with event_rows_threads(). False: the reader has gone.
 */
bool event_rows_block(struct event_rows *rows, struct event_block **block);
/*
 * Appends rows that a row_maker made, up to time `last`, and empties *text. For rows with
 * event_rows_threads(). False: the reader has gone.
 */
bool event_rows_text(struct event_rows *rows, struct row_text *text, nstime last);
/* As sink_tick(), for work that seldom makes a row. */
bool event_rows_tick(struct event_rows *rows);
/* Writes all rows that were passed. False: the reader has gone. */
bool event_rows_end(struct event_rows *rows);

/* ---- rows in memory, made by any thread ---- */

void row_text_init(struct row_text *text, const struct event_rows *rows);
void row_text_release(struct row_text *text);

struct row_maker; /* belongs to one thread at a time */

/* `rows` must event_rows_shares(). */
struct row_maker *row_maker_new(const struct event_rows *rows);
void row_maker_free(struct row_maker *maker); /* NULL is fine */
/* The row before the next one has time `shown`: rows have a date where the day changes. */
void row_maker_go_on(struct row_maker *maker, nstime shown);
/* Until row_maker_end(), rows and messages of the calling thread go to *text. */
void row_maker_begin(struct row_maker *maker, struct row_text *text);
/* Writes rows of entries [first, first + count) of the run's batch, forward. */
void row_maker_run(struct row_maker *maker, const struct run *run, uint32_t first, uint32_t count);
void row_maker_end(struct row_maker *maker);

/* event_windows.c: heads of events, or rows, by several threads, a window of time each */

/*
 * Finds the times that cut the events behind time `row` into windows for the threads of `rows`;
 * *cuts and *count as in events_cuts(). *count is 0 if windows would be few.
 */
MUST_CHECK bool event_windows_find(struct session *session, const struct filter *filter,
				   struct event_rows *rows, nstime row, nstime **cuts,
				   size_t *count, struct error *err);

struct event_windows_setup { /* all that it points to is borrowed */
	struct session *session;
	const struct filter *filter;
	const struct events_options *range; /* forward, with losses; the windows are all of it */
	const nstime *cuts;                 /* of events_cuts() */
	size_t ncuts;
	struct event_rows *rows; /* event_rows_shares() */
	const struct sink *sink; /* of these rows */
};

/* Passes the events of the range to the rows; see windows_run(). */
MUST_CHECK bool event_windows_run(const struct event_windows_setup *setup, struct windows_done *out,
				  struct error *err);

#endif
