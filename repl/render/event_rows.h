/*
 * event_rows.h - rows of events and losses, in the order in which they are given
 *
 * The first thousands are made by the caller's thread. Then several threads share the work (as
 * many as --jobs says), where no row depends on those before it: the caller still finds which event
 * comes next, others decode its values and put them into words, and the caller writes what they
 * made, in order. So what is written, and what is said of damage, is the same as with one thread.
 */
#ifndef REPL_RENDER_EVENT_ROWS_H
#define REPL_RENDER_EVENT_ROWS_H

#include "repl/filter.h"
#include "repl/render/render.h"
#include "repl/session.h"
#include "repl/windows.h"

struct event_rows;

/*
 * Of events of these classes (a bit per class, NULL: all). All but *out is borrowed. The caller
 * ends *out with event_rows_free(). `before`: rows that these go on behind at `begin`, which were
 * paused, are of the same trace as it was opened before, and are only good for event_rows_free()
 * then; NULL: these are the first.
 */
MUST_CHECK bool event_rows_new(struct session *session, const struct options *options,
			       const uint64_t *classes, struct sink *sink,
			       struct event_rows *before, nstime begin, struct event_rows **out,
			       struct error *err);
/* Ends rows that others go on behind, in which all before `end` are: the trace may be closed. */
MUST_CHECK bool event_rows_pause(struct event_rows *rows, nstime end, struct error *err);
/* Drops the rows that event_rows_end() has not written. NULL is fine. */
void event_rows_free(struct event_rows *rows);

/* For names that hold before the first row; not after it. */
struct event_writer *event_rows_writer(struct event_rows *rows);

/*
 * Before the first row, of rows that are not all of the trace: names in lines are nevertheless what
 * all events up to them told. `hidden`: some that tell names may be left out between rows.
 */
void event_rows_name(struct event_rows *rows, bool hidden);
/* May other threads make rows, too? Then no row depends on those before it. */
bool event_rows_shares(const struct event_rows *rows);
/* Times as the last row that was given leaves them. */
const struct times *event_rows_times(const struct event_rows *rows);
/* What ended the rows; false: *err. */
MUST_CHECK bool event_rows_good(const struct event_rows *rows, struct error *err);
/*
 * Entries [first, first + count) of the run's batch, with --reverse from the last
 * to the first. False: the reader has gone.
 */
bool event_rows_run(struct event_rows *rows, const struct run *run, uint32_t first, uint32_t count);
bool event_rows_loss(struct event_rows *rows, const struct event *loss);
/* As sink_tick(), for work that seldom makes a row. */
bool event_rows_tick(struct event_rows *rows);
/* Writes all that was given. False: the reader has gone. */
bool event_rows_end(struct event_rows *rows);

/*
 * What a thread needs to make rows beside those that are written already: times and a writer of its
 * own, which writes no head.
 */
struct row_maker { /* stays where it is: its writer points into it */
	struct times times;
	struct event_writer *writer;
	struct sink nowhere; /* of the writer, between two event_writer_sink() */
};

/*
 * `times` as the row before leaves them, copied; `classes` as of event_writer_new_of(), borrowed;
 * `color` as the sink of all rows has it.
 */
void row_maker_init(struct row_maker *maker, const struct trace *trace, enum format format,
		    const uint64_t *classes, const struct times *times, bool color);
void row_maker_release(struct row_maker *maker);

/* event_windows.c: rows by several threads, a window of time each */

/*
 * Looks for times at which what comes behind a row of time `row` is cut, for *cuts and *count: as
 * events_cuts() has them. None where windows would be few, or where the date of a row depends on
 * the row before it.
 */
MUST_CHECK bool event_windows_find(struct session *session, const struct filter *filter,
				   const struct times *times, nstime row, nstime **cuts,
				   size_t *count, struct error *err);

struct event_windows_setup { /* all that it points to is borrowed */
	struct session *session;
	enum format format;
	const struct filter *filter;
	const struct events_options *range; /* forward, with losses; the windows are all of it */
	const nstime *cuts;                 /* of events_cuts() */
	size_t ncuts;
	const struct times *times; /* as the row before left them */
	struct sink *sink;
	unsigned threads; /* the caller's among them */
};

/* Writes rows; as windows_run(). */
MUST_CHECK bool event_windows_run(const struct event_windows_setup *setup, struct windows_done *out,
				  struct error *err);

#endif
