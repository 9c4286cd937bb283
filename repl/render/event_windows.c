/*
 * event_windows.c - see event_windows.h
 *
 *     windows    | 0 written | 1 made | 2 being made | 3 being made | 4 ...
 *                            ^ oldest                               ^ next
 *
 * The caller writes the oldest window once it is made, and makes windows itself meanwhile. What is
 * made and not written yet is bounded, so a fast thread waits for the oldest window.
 */
#include "repl/render/event_windows.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "repl/render/row_maker.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	MADE_MOST = 512 << 20, /* bytes of text that wait */
	AHEAD_EACH = 2,        /* windows per thread that are being made, or wait */
	LOOK_EACH = 64,        /* rows: whether all is to stop */
	WINDOWS_LEAST = 8
};

/* ---- where windows may be ---- */

static bool is_one_day(const struct times *times, nstime from, nstime to)
{
	struct times one = *times, other = *times;
	char unused[TIME_TEXT_MAX];

	time_put(&one, from, unused);
	time_put(&other, to, unused);
	return times->style != TIME_CLOCK || one.day == other.day;
}

bool event_windows_find(struct session *session, const struct filter *filter,
			const struct times *times, nstime row, nstime **cuts, size_t *count,
			struct error *err)
{
	struct index *index = session_index(session, err);
	struct events_options range = {0};

	filter_fill(filter, &range);
	range.begin = row < NSTIME_MAX ? row + 1 : NSTIME_MAX;
	if (!index || !events_cuts(index, &range, cuts, count, err))
		return false;
	if (*count < WINDOWS_LEAST || !is_one_day(times, row, (*cuts)[*count - 1]))
		*count = 0;
	return true;
}

/* ---- the pool ---- */

struct window {
	bool is_made;    /* under the lock; all else is whose turn it is */
	bool is_certain; /* no loss, no damage, all events where packets say */
	uint64_t rows;
	nstime last;
	struct buf said;
	struct sink text;
};

struct window_pool {
	const struct event_windows_setup *setup;
	struct index *index;
	struct trace *trace;
	uint64_t disorder; /* of the trace, before */
	struct window *windows;
	size_t count;
	struct workers workers; /* its lock is that of all below */
	size_t next, oldest;
	size_t waiting;     /* bytes of text that was made and not written */
	struct sink *spare; /* whose memory is used again */
	size_t nspare, spare_capacity;
	_Atomic bool stop;
};

struct window_maker { /* belongs to one thread */
	struct window_pool *pool;
	struct row_maker rows;
	struct where_pass *pass;
};

static void maker_init(struct window_maker *maker, struct window_pool *pool)
{
	const struct event_windows_setup *setup = pool->setup;

	maker->pool = pool;
	row_maker_init(&maker->rows, pool->trace, setup->format, setup->range->classes,
		       setup->times, setup->sink->color);
	maker->pass = filter_pass_new(setup->filter);
}

static void maker_release(struct window_maker *maker)
{
	row_maker_release(&maker->rows);
	where_pass_free(maker->pass);
}

/* ---- making a window ---- */

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !((struct window_pool *)arg)->stop && !signals_interrupted();
}

static void fill_options(const struct window_maker *maker, size_t number,
			 struct events_options *out)
{
	struct window_pool *pool = maker->pool;
	const struct event_windows_setup *setup = pool->setup;

	*out = *setup->range;
	out->begin = number ? setup->cuts[number - 1] : setup->range->begin;
	out->end = number < setup->ncuts ? setup->cuts[number] : setup->range->end;
	out->whole_packets = true;
	out->select_arg = maker->pass;
	out->progress = goes_on;
	out->progress_arg = pool;
}

/* Do the packet's events lie where its header says? */
static bool is_in_packet(const struct run *run)
{
	const struct packet *rec = &run->packet->rec;
	const nstime *time = run->batch->time + run->first;

	return time[0] >= rec->min && time[run->count - 1] <= rec->max &&
	       !(rec->flags & PACKET_CONTRADICTED);
}

/* False: a loss, or damage. */
static bool write_run(struct window_maker *maker, struct window *window, const struct run *run)
{
	uint64_t damaged = 0;

	for (uint32_t n = 0; n < run->count; n++) {
		if (n % LOOK_EACH == 0 && (maker->pool->stop || signals_interrupted()))
			return false;
		event_write_entry(maker->rows.writer, run, run->first + n, false, &damaged);
	}
	window->rows += run->count;
	if (run->count)
		window->last = run->batch->time[run->first + run->count - 1];
	return run->count && !damaged && is_in_packet(run);
}

static bool write_window(struct window_maker *maker, size_t number)
{
	struct window_pool *pool = maker->pool;
	struct window *window = &pool->windows[number];
	struct events_options options;
	struct events *events;
	struct error ignored; /* the plain way meets it at its place */
	enum step step;
	struct run run;

	fill_options(maker, number, &options);
	if (!events_open(pool->index, &options, &events, &ignored))
		return false;
	while ((step = events_next_run(events, &run, &ignored)) == STEP_ITEM)
		if (!write_run(maker, window, &run))
			break;
	events_close(events);
	return step == STEP_END;
}

static void make_window(struct window_maker *maker, size_t number)
{
	struct window_pool *pool = maker->pool;
	struct window *window = &pool->windows[number];
	struct buf *before = say_into(&window->said);

	event_writer_sink(maker->rows.writer, &window->text);
	window->is_certain = write_window(maker, number) && !window->said.len;
	window->text.printable =
		printable_length(window->text.data, window->text.whole) == window->text.whole;
	event_writer_sink(maker->rows.writer, &maker->rows.nowhere);
	say_into(before);
}

/* The next window that may be begun; false: none now. Under the lock. */
static bool take_window(struct window_pool *pool, size_t *out)
{
	size_t ahead = pool->next - pool->oldest;

	if (pool->stop || pool->next == pool->count ||
	    (ahead &&
	     (pool->waiting > MADE_MOST || ahead >= (size_t)AHEAD_EACH * pool->setup->threads)))
		return false;
	*out = pool->next++;
	struct sink *text = &pool->windows[*out].text;
	if (pool->nspare)
		*text = pool->spare[--pool->nspare];
	else
		sink_init(text, -1);
	text->len = text->whole = 0;
	text->color = pool->setup->sink->color;
	return true;
}

static void put_window(struct window_pool *pool, size_t number)
{
	struct window *window = &pool->windows[number];

	pthread_mutex_lock(&pool->workers.lock);
	window->is_made = true;
	pool->waiting += window->text.len;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
}

static void make_windows(void *arg, unsigned i)
{
	struct window_pool *pool = arg;
	struct workers *workers = &pool->workers;
	struct window_maker maker;
	size_t number;

	(void)i;
	maker_init(&maker, pool);
	pthread_mutex_lock(&workers->lock);
	while (!pool->stop && pool->next < pool->count) {
		if (!take_window(pool, &number)) {
			pthread_cond_wait(&workers->changed, &workers->lock);
			continue;
		}
		pthread_mutex_unlock(&workers->lock);
		make_window(&maker, number);
		put_window(pool, number);
		pthread_mutex_lock(&workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
	maker_release(&maker);
}

/* ---- writing windows in order ---- */

/* Until the oldest window is made: makes others. */
static void await_oldest(struct window_maker *maker)
{
	struct window_pool *pool = maker->pool;
	pthread_mutex_t *lock = &pool->workers.lock;
	size_t number;

	pthread_mutex_lock(lock);
	while (!pool->windows[pool->oldest].is_made) {
		if (!take_window(pool, &number)) {
			pthread_cond_wait(&pool->workers.changed, lock);
			continue;
		}
		pthread_mutex_unlock(lock);
		make_window(maker, number);
		put_window(pool, number);
		pthread_mutex_lock(lock);
	}
	pthread_mutex_unlock(lock);
}

static bool report(const struct window_pool *pool, struct error *err)
{
	const struct event_windows_setup *setup = pool->setup;
	size_t at = pool->oldest < setup->ncuts ? pool->oldest : setup->ncuts - 1;

	if (!signals_interrupted() &&
	    session_progress_time(setup->session, setup->cuts[at], setup->cuts[0],
				  setup->cuts[setup->ncuts - 1]))
		return true;
	return error_set(err, ERR_INTERRUPTED, "interrupted");
}

static void drop_window(struct window_pool *pool, struct window *window)
{
	pthread_mutex_lock(&pool->workers.lock);
	pool->waiting -= window->text.len;
	pool->oldest++;
	*mem_push(pool->spare, pool->nspare, pool->spare_capacity) = window->text;
	sink_init(&window->text, -1);
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
}

static bool write_windows(struct window_maker *maker, struct event_windows_result *out,
			  struct error *err)
{
	struct window_pool *pool = maker->pool;
	struct sink *sink = pool->setup->sink;

	while (pool->oldest < pool->count && !sink->closed) {
		struct window *window = &pool->windows[pool->oldest];
		await_oldest(maker);
		if (!report(pool, err))
			return false;
		if (!window->is_certain || trace_disorder(pool->trace) != pool->disorder)
			break;
		sink_rows(sink, &window->text);
		out->rows += window->rows;
		out->last = window->rows ? window->last : out->last;
		drop_window(pool, window);
	}
	out->whole = pool->oldest == pool->count || sink->closed;
	return true;
}

/* Says what the plain way would say, too, and says no second time. */
static void pool_release(struct window_pool *pool)
{
	for (size_t i = 0; i < pool->count; i++) {
		say_kept(pool->setup->session, &pool->windows[i].said);
		buf_release(&pool->windows[i].said);
		sink_release(&pool->windows[i].text);
	}
	for (size_t i = 0; i < pool->nspare; i++)
		sink_release(&pool->spare[i]);
	mem_free(pool->spare);
	mem_free(pool->windows);
}

bool event_windows_run(const struct event_windows_setup *setup, struct event_windows_result *out,
		       struct error *err)
{
	struct window_pool pool = {.setup = setup, .count = setup->ncuts + 1};
	struct window_maker maker;
	struct error unused;

	*out = (struct event_windows_result){.last = NSTIME_MIN};
	pool.index = session_index(setup->session, err);
	if (!pool.index)
		return false;
	pool.trace = setup->session->trace;
	pool.disorder = trace_disorder(pool.trace);
	pool.windows = mem_new_array(pool.count, sizeof *pool.windows);
	debug_note(&pool.trace->notices, DEBUG_CURSOR, "cursor: rows of %zu windows on %u threads",
		   pool.count, setup->threads);
	workers_init(&pool.workers);
	maker_init(&maker, &pool);
	workers_start(&pool.workers, setup->threads - 1, make_windows, &pool);
	bool ok = write_windows(&maker, out, err);
	pool.stop = true;
	pthread_mutex_lock(&pool.workers.lock);
	pthread_cond_broadcast(&pool.workers.changed);
	pthread_mutex_unlock(&pool.workers.lock);
	ok = workers_end(&pool.workers, &unused) && ok;
	maker_release(&maker);
	pool_release(&pool);
	return ok;
}
