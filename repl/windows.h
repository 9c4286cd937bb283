/*
 * windows.h - a range of events that several threads go through, a window of time each
 *
 *     plain:  one cursor finds the order of all events; threads write the rows it gives them
 *     here:   each thread has a cursor over a window, and makes the window's rows; one thread puts
 *             the results of the windows one behind the other
 *
 * This is a fast path: its events are those of the plain way, which goes on where that is not
 * certain.
 */
#ifndef REPL_WINDOWS_H
#define REPL_WINDOWS_H

#include "engine/base/thread_pool.h"
#include "repl/filter.h"
#include "repl/session.h"

/*
 * Looks for times at which the range is cut, for `packets`, *cuts and *count as events_cuts() has
 * them. None where windows would be few.
 */
MUST_CHECK bool windows_find(struct session *session, const struct events_options *range,
			     unsigned packets, nstime **cuts, size_t *count, struct error *err);
/* A pool of `threads`, the caller's among them, with room for the windows of windows_run(). */
struct thread_pool *windows_pool(unsigned threads);

struct windows_setup { /* all that it points to is borrowed */
	struct session *session;
	struct thread_pool *pool;
	const struct filter *filter;
	const struct events_options *range; /* forward, with losses; the windows are all of it */
	const nstime *cuts;                 /* of events_cuts() */
	size_t ncuts;
	size_t most; /* bytes that may wait to be put */

	void *arg;                     /* of the functions below that take one: */
	void *(*maker_new)(void *arg); /* of one thread */
	/* by the caller, in order; what was made is the receiver's */
	bool (*put)(void *arg, void *made, struct error *err);
	const bool *closed; /* NULL, or: nobody takes more */

	/* by the maker's thread: */
	void (*begin)(void *maker);                      /* a window; may be NULL */
	bool (*run)(void *maker, const struct run *run); /* false: damage */
	void *(*take)(void *maker, size_t *bytes);       /* what was made of the window */
	void (*maker_free)(void *maker);
	void (*drop)(void *arg, void *made); /* by the caller: what is not put */
};

struct windows_done {
	uint64_t events; /* of the windows that were put */
	nstime last;     /* the time of the last one */
	bool whole;      /* these are all; else the plain way has more */
};

/*
 * Puts what is made of the range's first windows, at least of none. Ends where a window has a loss
 * or damage, or where packets turn out to have events outside of their ranges: then the events are
 * the first of what one cursor over the range gives, and nothing was said of those behind. False:
 * interrupted, or put() failed.
 */
MUST_CHECK bool windows_run(const struct windows_setup *setup, struct windows_done *out,
			    struct error *err);

#endif
