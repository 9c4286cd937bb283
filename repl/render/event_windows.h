/* event_windows.h - rows of events by several threads, a window of time each; for cmd_events.c */
#ifndef REPL_RENDER_EVENT_WINDOWS_H
#define REPL_RENDER_EVENT_WINDOWS_H

#include "repl/filter.h"
#include "repl/render/render.h"
#include "repl/session.h"
#include "repl/windows.h"

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
