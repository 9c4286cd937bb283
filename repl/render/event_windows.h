/*
 * event_windows.h - rows of events by several threads, a window of time each; for cmd_events.c
 *
 *     plain:  one cursor ── which event is next ──> chunks to workers (event_workers.h)
 *     here:   a cursor for each window, and its rows, on a thread: nothing is left for one thread
 * but to write the windows in order
 *
 * This is a fast path: its rows are those of the plain way, which goes on where that is not
 * certain.
 */
#ifndef REPL_RENDER_EVENT_WINDOWS_H
#define REPL_RENDER_EVENT_WINDOWS_H

#include "repl/filter.h"
#include "repl/render/render.h"
#include "repl/session.h"

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

struct event_windows_result {
	uint64_t rows; /* that were written */
	nstime last;   /* the time of the last one */
	bool whole;    /* these are all; else the plain way has more */
};

/*
 * Writes rows, of the range's first windows at least none. Ends where a window has a loss or
 * damage, or where packets turn out to have events outside of their ranges: then the rows that were
 * written are the first of what one cursor over the range gives, and nothing was said of those
 * behind. False: interrupted.
 */
MUST_CHECK bool event_windows_run(const struct event_windows_setup *setup,
				  struct event_windows_result *out, struct error *err);

#endif
