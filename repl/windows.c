/*
 * windows.c - see windows.h
 *
 *     windows    | 0 put | 1 made | 2 being made | 3 being made | 4 ...
 *                        ^ oldest                               ^ next
 *
 * The caller's thread puts the oldest window once it is made, and makes windows itself meanwhile.
 * Results that wait to be put are bounded, so a fast thread waits for the oldest window.
 */
#include "repl/windows.h"

#include "engine/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	AHEAD_EACH = 2, /* windows per thread that are being made or wait to be put */
	WINDOWS_LEAST = 8
};

bool windows_find(struct session *session, const struct events_options *range, unsigned packets,
		  nstime **cuts, size_t *count, struct error *err)
{
	struct index *index = session_index(session, err);

	if (!index || !events_cuts(index, range, packets, cuts, count, err))
		return false;
	if (*count < WINDOWS_LEAST)
		*count = 0;
	return true;
}

struct thread_pool *windows_pool(unsigned threads)
{
	/* twice the windows: put() may add work of its own for each */
	return thread_pool_new(threads - 1, 2 * AHEAD_EACH * threads);
}

struct window {
	struct windows *of;
	bool is_made;    /* under the lock; the rest belongs to the maker, then to the caller */
	bool is_certain; /* no loss, no damage, all events within their packets' ranges */
	uint64_t events;
	nstime last;
	struct buf said;
	void *made;
	size_t bytes;
};

struct window_maker { /* belongs to one thread at a time */
	void *own;
	struct where_pass *pass;
};

struct windows {
	const struct windows_setup *setup;
	struct index *index;
	struct trace *trace;
	uint64_t disorder; /* trace_disorder() at the start */
	struct window *items;
	size_t count, next, oldest;
	_Atomic bool stop;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t made;
	size_t waiting; /* bytes of results that wait to be put */
	struct window_maker **idle;
	size_t nidle, capacity;
};

/* ---- making a window ---- */

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !((struct windows *)arg)->stop && !signals_interrupted();
}

static void fill_options(struct windows *windows, const struct window_maker *maker, size_t number,
			 struct events_options *out)
{
	const struct windows_setup *setup = windows->setup;

	*out = *setup->range;
	out->begin = number ? setup->cuts[number - 1] : setup->range->begin;
	out->end = number < setup->ncuts ? setup->cuts[number] : setup->range->end;
	out->whole_packets = true;
	out->select_arg = maker->pass;
	out->progress = goes_on;
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
static bool take_run(struct windows *windows, const struct window_maker *maker,
		     struct window *window, const struct run *run)
{
	if (windows->stop || signals_interrupted() || !run->count ||
	    !windows->setup->run(maker->own, run))
		return false;
	window->events += run->count;
	window->last = run->batch->time[run->first + run->count - 1];
	return is_in_packet(run);
}

static bool go_through(struct windows *windows, const struct window_maker *maker,
		       struct window *window)
{
	struct events_options options;
	struct events *events;
	struct error ignored; /* the plain way meets the error in its place */
	enum step step;
	struct run run;

	fill_options(windows, maker, (size_t)(window - windows->items), &options);
	if (!events_open(windows->index, &options, &events, &ignored))
		return false;
	while ((step = events_next_run(events, &run, &ignored)) == STEP_ITEM)
		if (!take_run(windows, maker, window, &run))
			break;
	events_close(events);
	return step == STEP_END;
}

static struct window_maker *take_maker(struct windows *windows)
{
	struct window_maker *maker = NULL;

	pthread_mutex_lock(&windows->lock);
	if (windows->nidle)
		maker = windows->idle[--windows->nidle];
	pthread_mutex_unlock(&windows->lock);
	if (maker)
		return maker;
	maker = mem_new(sizeof *maker);
	maker->own = windows->setup->maker_new(windows->setup->arg);
	maker->pass = filter_pass_new(windows->setup->filter);
	return maker;
}

static void make_window(void *arg)
{
	struct window *window = arg;
	struct windows *windows = window->of;
	const struct windows_setup *setup = windows->setup;
	struct window_maker *maker = take_maker(windows);
	struct buf *before = say_into(&window->said);

	if (setup->begin)
		setup->begin(maker->own);
	window->is_certain = go_through(windows, maker, window) && !window->said.len;
	window->made = setup->take(maker->own, &window->bytes);
	say_into(before);
	pthread_mutex_lock(&windows->lock);
	*mem_push(windows->idle, windows->nidle, windows->capacity) = maker;
	window->is_made = true;
	windows->waiting += window->bytes;
	pthread_cond_signal(&windows->made);
	pthread_mutex_unlock(&windows->lock);
}

/* ---- putting windows in order ---- */

/* Gives the pool as many windows as may be begun now. */
static void give_windows(struct windows *windows)
{
	struct thread_pool *pool = windows->setup->pool;
	unsigned threads = thread_pool_threads(pool);
	size_t ahead = threads > 1 ? (size_t)AHEAD_EACH * threads : 1;
	bool full = false;

	while (windows->next < windows->count && windows->next < windows->oldest + ahead && !full) {
		thread_pool_add(pool, make_window, &windows->items[windows->next++]);
		pthread_mutex_lock(&windows->lock);
		full = windows->waiting > windows->setup->most;
		pthread_mutex_unlock(&windows->lock);
	}
}

/* Waits for a window, and meanwhile helps with the pool's work. */
static void await(struct windows *windows, const struct window *window)
{
	pthread_mutex_lock(&windows->lock);
	while (!window->is_made) {
		pthread_mutex_unlock(&windows->lock);
		bool helped = thread_pool_help(windows->setup->pool);
		pthread_mutex_lock(&windows->lock);
		if (!helped && !window->is_made)
			pthread_cond_wait(&windows->made, &windows->lock);
	}
	pthread_mutex_unlock(&windows->lock);
}

static bool report(const struct windows *windows, struct error *err)
{
	const struct windows_setup *setup = windows->setup;
	size_t at = windows->oldest < setup->ncuts ? windows->oldest : setup->ncuts - 1;

	if (!signals_interrupted() &&
	    session_progress_time(setup->session, setup->cuts[at], setup->cuts[0],
				  setup->cuts[setup->ncuts - 1]))
		return true;
	return error_set(err, ERR_INTERRUPTED, "interrupted");
}

static bool is_closed(const struct windows *windows)
{
	return windows->setup->closed && *windows->setup->closed;
}

static bool put_windows(struct windows *windows, struct windows_done *out, struct error *err)
{
	const struct windows_setup *setup = windows->setup;

	while (windows->oldest < windows->count && !is_closed(windows)) {
		struct window *window = &windows->items[windows->oldest];
		give_windows(windows);
		await(windows, window);
		if (!report(windows, err))
			return false;
		if (!window->is_certain || trace_disorder(windows->trace) != windows->disorder)
			break;
		windows->oldest++;
		pthread_mutex_lock(&windows->lock);
		windows->waiting -= window->bytes;
		pthread_mutex_unlock(&windows->lock);
		if (!setup->put(setup->arg, window->made, err))
			return false;
		out->events += window->events;
		out->last = window->events ? window->last : out->last;
	}
	out->whole = windows->oldest == windows->count || is_closed(windows);
	return true;
}

/* Prints messages of windows not put, too: the plain way has the same, and each is printed once. */
static void windows_release(struct windows *windows)
{
	windows->stop = true;
	for (size_t i = windows->oldest; i < windows->next; i++) {
		await(windows, &windows->items[i]);
		windows->setup->drop(windows->setup->arg, windows->items[i].made);
	}
	for (size_t i = 0; i < windows->count; i++) {
		say_kept(windows->setup->session, &windows->items[i].said);
		buf_release(&windows->items[i].said);
	}
	for (size_t i = 0; i < windows->nidle; i++) {
		windows->setup->maker_free(windows->idle[i]->own);
		where_pass_free(windows->idle[i]->pass);
		mem_free(windows->idle[i]);
	}
	mem_free(windows->idle);
	mem_free(windows->items);
	pthread_mutex_destroy(&windows->lock);
	pthread_cond_destroy(&windows->made);
}

bool windows_run(const struct windows_setup *setup, struct windows_done *out, struct error *err)
{
	struct windows windows = {.setup = setup, .count = setup->ncuts + 1};

	*out = (struct windows_done){.last = NSTIME_MIN};
	windows.index = session_index(setup->session, err);
	if (!windows.index)
		return false;
	windows.trace = setup->session->trace;
	windows.disorder = trace_disorder(windows.trace);
	windows.items = mem_new_array(windows.count, sizeof *windows.items);
	for (size_t i = 0; i < windows.count; i++)
		windows.items[i].of = &windows;
	pthread_mutex_init(&windows.lock, NULL);
	pthread_cond_init(&windows.made, NULL);
	debug_note(&windows.trace->notices, DEBUG_CURSOR, "cursor: %zu windows on %u threads",
		   windows.count, thread_pool_threads(setup->pool));
	bool ok = put_windows(&windows, out, err);
	windows_release(&windows);
	return ok;
}
