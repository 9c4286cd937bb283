/*
 * windows.h - reads a range of events on several threads, each of which reads a window of time
 *
 *     plain:  one cursor finds the order of all events; threads write the rows it gives them
 *     here:   each thread has a cursor over a window, and makes the window's rows; one thread puts
 *             the results of the windows one behind the other
 *
 * This is a fast path with the same events as the plain way. It stops where that is not certain,
 * and the caller goes on in the plain way.
 */
#ifndef REPL_WINDOWS_H
#define REPL_WINDOWS_H

#include "engine/base/thread_pool.h"
#include "repl/filter.h"
#include "repl/session.h"

/*
 * Finds the times that cut the range into windows; `packets`, *cuts and *count as in events_cuts().
 * *count is 0 if there would be few windows.
 */
MUST_CHECK bool windows_find(struct session *session, const struct events_options *range,
			     unsigned packets, nstime **cuts, size_t *count, struct error *err);
/* A pool of `threads` threads, the caller's included, with room for the work of windows_run(). */
struct thread_pool *windows_pool(unsigned threads);

struct windows_setup { /* all that it points to is borrowed */
	struct session *session;
	struct thread_pool *pool;
	const struct filter *filter;
	const struct events_options *range; /* forward, with losses; the windows are all of it */
	const nstime *cuts;                 /* of events_cuts() */
	size_t ncuts;
	size_t most; /* bytes of results that may wait for put() */

	void *arg;                     /* for the functions below */
	void *(*maker_new)(void *arg); /* one thread at a time uses a maker */
	/* the caller's thread puts results in order; put() owns `made` */
	bool (*put)(void *arg, void *made, struct error *err);
	const bool *closed; /* NULL, or a flag that is set once nobody reads any more */

	/* called in the thread that reads the window: */
	void (*begin)(void *maker);                      /* a window begins; may be NULL */
	bool (*run)(void *maker, const struct run *run); /* false: damage */
	void *(*take)(void *maker, size_t *bytes);       /* the window's result, and its size */
	void (*maker_free)(void *maker);
	void (*drop)(void *arg, void *made); /* frees a result that is not put */
};

struct windows_done {
	uint64_t events; /* in the windows that were put */
	nstime last;     /* time of the last of them */
	bool whole;      /* all windows were put, or nobody reads more; else go on plainly */
};

/*
 * Reads windows, and puts their results in order. Ends at a window with a loss, damage or events
 * outside of their packet's range: what was put then are the first events of one cursor over the
 * range, and the caller reads on from there. False: interrupted, or put() failed.
 */
MUST_CHECK bool windows_run(const struct windows_setup *setup, struct windows_done *out,
			    struct error *err);

#endif
