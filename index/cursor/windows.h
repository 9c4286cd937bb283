/*
 * windows.h - reads a range of events on several threads, each of which reads a window of time
 *
 *     plain:  one cursor finds the order of all events, and one thread or several use them
 *     here:   each thread has a cursor over a window, and makes something of the window's events;
 *             one thread gets what they made, the earliest window first
 *
 * This is a fast path with the same events as the plain way. It stops where that is not certain,
 * and the caller goes on in the plain way.
 */
#ifndef INDEX_CURSOR_WINDOWS_H
#define INDEX_CURSOR_WINDOWS_H

#include "engine/base/thread_pool.h"
#include "index/events.h"

/*
 * Finds the times that cut the range into windows; `size`, *cuts and *count as in events_cuts().
 * *count is 0 if there would be few windows.
 */
MUST_CHECK bool windows_find(struct index *index, const struct events_options *range,
			     const struct cuts_size *size, nstime **cuts, size_t *count,
			     struct error *err);
/* May windows of this range be read with one_cursor, see below? */
bool windows_have_one_cursor(struct index *index, const struct events_options *range);
/* A pool of `threads` threads, the caller's included, with room for the work of windows. */
struct thread_pool *windows_pool(unsigned threads);

struct windows_setup { /* all that it points to is borrowed until windows_close() */
	struct index *index;
	struct thread_pool *pool;
	/* forward, with losses; the windows are all of it. `progress` is called by the caller's
	   thread; the argument of `select` is that of each maker. */
	const struct events_options *range;
	const nstime *cuts; /* of events_cuts() */
	size_t ncuts;
	size_t most; /* bytes of results that may wait for the caller */
	unsigned ahead; /* windows that are being made or wait, at most; 0: two a thread */
	/* Each maker has one cursor, which decodes the heads of all windows and merges those of its
	   own: for few threads, and short windows. See windows_have_one_cursor(). */
	bool one_cursor;

	void *arg;                      /* for the functions below */
	bool (*interrupted)(void *arg); /* called by any thread */
	void *(*maker_new)(void *arg);  /* one thread at a time uses a maker */
	/* called in the thread that reads the window: */
	void *(*select_arg)(void *maker);                /* needed with range->select */
	void (*begin)(void *maker);                      /* a window begins; may be NULL */
	/* with one_cursor, after begin(): the time of the event before the window, if there is one
	   behind the maker's last window; may be NULL */
	void (*before)(void *maker, nstime time);
	bool (*run)(void *maker, const struct run *run); /* false: damage */
	/* NULL: a window with a loss is not certain */
	void (*loss)(void *maker, const struct event *loss);
	void *(*take)(void *maker, size_t *bytes); /* the window's result, and its size */
	void (*maker_free)(void *maker);
	void (*drop)(void *arg, void *made); /* frees a result that the caller did not get */

	/* for windows_run(), in the caller's thread: put() owns `made` */
	bool (*put)(void *arg, void *made, struct error *err);
	const bool *closed; /* NULL, or a flag that is set once nobody reads any more */
};

struct windows_done {
	uint64_t events; /* in the windows that the caller got, without losses */
	nstime last;     /* time of the last of them */
	bool whole;      /* it got all windows, or nobody reads more; else go on plainly */
};

struct windows;

/* Begins to read windows; *setup is copied. */
struct windows *windows_open(const struct windows_setup *setup);
/*
 * The result of the next window, which the caller owns. STEP_END: there is none, or the next window
 * has damage or events outside of their packet's range, or a loss. The events of the results so far
 * are the first ones of one cursor over the range, and the caller reads on from there.
 * STEP_ERROR: interrupted.
 */
MUST_CHECK enum step windows_next(struct windows *windows, void **made, struct error *err);
struct windows_done windows_done(const struct windows *windows);
/* Stops all threads, and gives the notices that were kept meanwhile. NULL is fine. */
void windows_close(struct windows *windows);

/* Reads windows, and puts their results in order. False: interrupted, or put() failed. */
MUST_CHECK bool windows_run(const struct windows_setup *setup, struct windows_done *out,
			    struct error *err);

#endif
