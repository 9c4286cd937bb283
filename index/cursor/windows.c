/*
 * windows.c - see windows.h
 *
 *     windows    | 0 given | 1 made | 2 being made | 3 being made | 4 ...
 *                          ^ oldest                               ^ next
 *
 * The caller gets the oldest window once it is made, and its thread makes windows itself meanwhile.
 * Results that wait for the caller are bounded, so a fast thread waits for the oldest window.
 */
#include "index/cursor/windows.h"

#include "engine/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	AHEAD_EACH = 2, /* windows per thread, where the caller does not say how many */
	WINDOWS_LEAST = 8,
	LOOK_EACH = 64 /* runs between tests for the end */
};

bool windows_find(struct index *index, const struct events_options *range,
		  const struct cuts_size *size, nstime **cuts, size_t *count, struct error *err)
{
	if (!events_cuts(index, range, size, cuts, count, err))
		return false;
	if (*count < WINDOWS_LEAST)
		*count = 0;
	return true;
}

bool windows_have_one_cursor(struct index *index, const struct events_options *range)
{
	const struct trace *trace = index_trace(index);
	bool timed = true; /* events without time come last, in no window's range */

	for (size_t i = 0; i < trace->nstreams; i++)
		timed &= trace->streams[i]->has_time;
	return timed && !range->select;
}

struct thread_pool *windows_pool(unsigned threads)
{
	/* twice the windows: the caller may add work of its own for each */
	return thread_pool_new(threads - 1, 2 * AHEAD_EACH * threads);
}

struct window {
	struct windows *of;
	bool is_made;    /* under the lock; the rest belongs to the maker, then to the caller */
	bool is_certain; /* no damage, no loss, all events within their packets' ranges */
	uint64_t events, runs;
	nstime last;
	struct kept_notices said;
	void *made;
	size_t bytes;
};

struct windows {
	struct windows_setup setup;
	struct trace *trace;
	uint64_t disorder; /* trace_disorder() at the start */
	struct window *items;
	size_t count, next, oldest;
	struct windows_done done;
	_Atomic bool stop;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t made;
	size_t waiting; /* bytes of results that wait for the caller */
	struct window_cursor *idle;
	size_t nidle, capacity;
};

struct window_cursor { /* of one thread at a time */
	void *maker;
	struct events *events; /* with one_cursor, since its first window */
	size_t past;           /* the first window behind its last one */
};

/* ---- making a window ---- */

static bool has_to_stop(const struct windows *windows)
{
	return windows->stop || windows->setup.interrupted(windows->setup.arg);
}

static bool windows_goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !has_to_stop(arg);
}

static nstime windows_begin_of(const struct windows_setup *setup, size_t number)
{
	return number ? setup->cuts[number - 1] : setup->range->begin;
}

static nstime end_of(const struct windows_setup *setup, size_t number)
{
	return number < setup->ncuts ? setup->cuts[number] : setup->range->end;
}

static void fill_options(struct windows *windows, void *maker, size_t number,
			 struct events_options *out)
{
	const struct windows_setup *setup = &windows->setup;

	*out = *setup->range;
	if (!setup->one_cursor) {
		out->begin = windows_begin_of(setup, number);
		out->end = end_of(setup, number);
	}
	out->whole_packets = true;
	out->select_arg = out->select ? setup->select_arg(maker) : NULL;
	out->progress = windows_goes_on;
	out->progress_arg = windows;
}

/* Do the packet's events lie where its header says? */
static bool is_in_packet(const struct run *run)
{
	const struct packet *rec = &run->packet->rec;
	const nstime *time = run->batch->time + run->first;

	return time[0] >= rec->min && time[run->count - 1] <= rec->max &&
	       !(rec->flags & PACKET_CONTRADICTED);
}

/* False: a loss, damage, events outside of their packet's range, or everything shall end. */
static bool windows_take_run(struct windows *windows, void *maker, struct window *window,
			     const struct run *run)
{
	const struct windows_setup *setup = &windows->setup;

	if (window->runs++ % LOOK_EACH == 0 && has_to_stop(windows))
		return false;
	if (!run->count) {
		if (setup->loss)
			setup->loss(maker, &run->loss);
		return setup->loss;
	}
	if (!setup->run(maker, run))
		return false;
	window->events += run->count;
	window->last = run->batch->time[run->first + run->count - 1];
	return is_in_packet(run);
}

static enum step next_run(const struct windows_setup *setup, struct window_cursor *cursor,
			  size_t number, struct run *out, struct error *err)
{
	return setup->one_cursor && number < setup->ncuts
		       ? events_run_before(cursor->events, setup->cuts[number], out, err)
		       : events_next_run(cursor->events, out, err);
}

/*
 * Skips the windows of other cursors, which count the bytes that are read there, unless they find
 * the packet in the cache. *last: the time of the last event that it skips.
 */
static bool skip_to_window(const struct windows_setup *setup, struct window_cursor *cursor,
			   size_t number, nstime *last, struct error *err)
{
	bool again = source_asks_again(number > 0);
	bool good = events_skip(cursor->events, windows_begin_of(setup, number), last, err);

	source_asks_again(again);
	return good;
}

static bool go_through(struct windows *windows, struct window_cursor *cursor, size_t number)
{
	const struct windows_setup *setup = &windows->setup;
	struct window *window = &windows->items[number];
	struct events_options options;
	nstime before = NSTIME_MIN;
	struct error ignored; /* the plain way meets the error in its place */
	enum step step;
	struct run run;

	fill_options(windows, cursor->maker, number, &options);
	if (!cursor->events && !events_open(setup->index, &options, &cursor->events, &ignored))
		return false;
	if (setup->one_cursor && !skip_to_window(setup, cursor, number, &before, &ignored))
		return false;
	if (setup->before && before != NSTIME_MIN)
		setup->before(cursor->maker, before);
	while ((step = next_run(setup, cursor, number, &run, &ignored)) == STEP_ITEM)
		if (!windows_take_run(windows, cursor->maker, window, &run))
			break;
	return step == STEP_END;
}

/*
 * The idle cursor that is nearest before the window, or a new one. One may be behind it already:
 * the thread of a later window, though it began later, can have taken its cursor first.
 */
static struct window_cursor take_cursor(struct windows *windows, size_t number)
{
	struct window_cursor cursor = {0}, *nearest = NULL;

	pthread_mutex_lock(&windows->lock);
	for (size_t i = 0; i < windows->nidle; i++) {
		struct window_cursor *one = &windows->idle[i];
		if (one->past <= number && (!nearest || one->past > nearest->past))
			nearest = one;
	}
	if (nearest) {
		cursor = *nearest;
		*nearest = windows->idle[--windows->nidle];
	}
	pthread_mutex_unlock(&windows->lock);
	if (!cursor.maker)
		cursor.maker = windows->setup.maker_new(windows->setup.arg);
	return cursor;
}

static void make_window(void *arg)
{
	struct window *window = arg;
	struct windows *windows = window->of;
	const struct windows_setup *setup = &windows->setup;
	size_t number = (size_t)(window - windows->items);
	struct window_cursor cursor = take_cursor(windows, number);
	struct kept_notices *before = notices_keep(&window->said);

	if (setup->begin)
		setup->begin(cursor.maker);
	window->is_certain = go_through(windows, &cursor, number) && !window->said.count;
	if (setup->one_cursor) {
		cursor.past = number + 1;
	} else {
		events_close(cursor.events);
		cursor.events = NULL;
	}
	window->made = setup->take(cursor.maker, &window->bytes);
	notices_keep(before);
	pthread_mutex_lock(&windows->lock);
	*mem_push(windows->idle, windows->nidle, windows->capacity) = cursor;
	window->is_made = true;
	windows->waiting += window->bytes;
	pthread_cond_signal(&windows->made);
	pthread_mutex_unlock(&windows->lock);
}

/* ---- giving windows in order ---- */

/* Gives the pool as many windows as may be begun now. */
static void give_windows(struct windows *windows)
{
	struct thread_pool *pool = windows->setup.pool;
	unsigned threads = thread_pool_threads(pool), asked = windows->setup.ahead;
	size_t ahead = threads > 1 ? asked ? asked : (size_t)AHEAD_EACH * threads : 1;
	bool full = false;

	while (windows->next < windows->count && windows->next < windows->oldest + ahead && !full) {
		thread_pool_add(pool, make_window, &windows->items[windows->next++]);
		pthread_mutex_lock(&windows->lock);
		full = windows->waiting > windows->setup.most;
		pthread_mutex_unlock(&windows->lock);
	}
}

/*
 * Waits for a window. Of few threads the caller's helps with the pool's work meanwhile. Of many it
 * does not, since windows would wait for it, and what it does with them is not shared.
 */
static void await(struct windows *windows, const struct window *window)
{
	struct thread_pool *pool = windows->setup.pool;
	bool helps = thread_pool_is_small(pool);

	pthread_mutex_lock(&windows->lock);
	while (!window->is_made) {
		pthread_mutex_unlock(&windows->lock);
		bool helped = helps && thread_pool_help(pool);
		pthread_mutex_lock(&windows->lock);
		if (!helped && !window->is_made)
			pthread_cond_wait(&windows->made, &windows->lock);
	}
	pthread_mutex_unlock(&windows->lock);
}

static bool report(const struct windows *windows, struct error *err)
{
	const struct windows_setup *setup = &windows->setup;
	const struct events_options *range = setup->range;
	size_t at = windows->oldest < setup->ncuts ? windows->oldest : setup->ncuts - 1;

	if (!setup->interrupted(setup->arg) &&
	    (!range->progress || range->progress(range->progress_arg, setup->cuts[at],
						 setup->cuts[0], setup->cuts[setup->ncuts - 1])))
		return true;
	return error_set(err, ERR_INTERRUPTED, "interrupted");
}

struct windows *windows_open(const struct windows_setup *setup)
{
	struct windows *windows = mem_new(sizeof *windows);

	windows->setup = *setup;
	windows->trace = index_trace(setup->index);
	windows->count = setup->ncuts + 1;
	windows->disorder = trace_disorder(windows->trace);
	windows->done.last = NSTIME_MIN;
	windows->items = mem_new_array(windows->count, sizeof *windows->items);
	for (size_t i = 0; i < windows->count; i++)
		windows->items[i].of = windows;
	pthread_mutex_init(&windows->lock, NULL);
	pthread_cond_init(&windows->made, NULL);
	debug_note(&windows->trace->notices, DEBUG_CURSOR, "cursor: %zu windows on %u threads",
		   windows->count, thread_pool_threads(setup->pool));
	return windows;
}

enum step windows_next(struct windows *windows, void **made, struct error *err)
{
	struct window *window = &windows->items[windows->oldest];

	if (windows->oldest == windows->count)
		return STEP_END;
	give_windows(windows);
	await(windows, window);
	if (!report(windows, err))
		return STEP_ERROR;
	if (!window->is_certain || trace_disorder(windows->trace) != windows->disorder)
		return STEP_END;
	windows->oldest++;
	pthread_mutex_lock(&windows->lock);
	windows->waiting -= window->bytes;
	pthread_mutex_unlock(&windows->lock);
	windows->done.events += window->events;
	windows->done.last = window->events ? window->last : windows->done.last;
	windows->done.whole = windows->oldest == windows->count;
	*made = window->made;
	return STEP_ITEM;
}

struct windows_done windows_done(const struct windows *windows)
{
	return windows->done;
}

/* Gives notices of windows that the caller did not get, too: the plain way has the same. */
void windows_close(struct windows *windows)
{
	const struct windows_setup *setup;

	if (!windows)
		return;
	setup = &windows->setup;
	windows->stop = true;
	for (size_t i = windows->oldest; i < windows->next; i++) {
		await(windows, &windows->items[i]);
		setup->drop(setup->arg, windows->items[i].made);
	}
	for (size_t i = 0; i < windows->count; i++)
		notices_tell(&windows->items[i].said);
	for (size_t i = 0; i < windows->nidle; i++) {
		events_close(windows->idle[i].events);
		setup->maker_free(windows->idle[i].maker);
	}
	mem_free(windows->idle);
	mem_free(windows->items);
	pthread_mutex_destroy(&windows->lock);
	pthread_cond_destroy(&windows->made);
	mem_free(windows);
}

/* ---- all of it ---- */

static bool is_closed(const struct windows_setup *setup)
{
	return setup->closed && *setup->closed;
}

bool windows_run(const struct windows_setup *setup, struct windows_done *out, struct error *err)
{
	struct windows *windows = windows_open(setup);
	enum step step = STEP_END;
	bool good = true;
	void *made;

	while (good && !is_closed(setup) && (step = windows_next(windows, &made, err)) == STEP_ITEM)
		good = setup->put(setup->arg, made, err);
	*out = windows_done(windows);
	out->whole |= is_closed(setup);
	windows_close(windows);
	return good && step != STEP_ERROR;
}
