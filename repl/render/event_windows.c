/*
 * event_windows.c - see event_rows.h: threads read heads of events, a window of time each
 *
 *     workers:     a window: its heads, merged, into blocks ──┐
 *     the caller:                     blocks of windows, in order ──> chunks of event_rows.c
 *
 * Threads then format rows of the same few thousand events, whose texts are short and written at
 * once. Rows of whole windows would have to wait for those of the windows before, a dozen times the
 * bytes of the trace.
 */
#include "repl/render/event_rows.h"

#include "engine/base/mem.h"

#include <pthread.h>

enum {
	PACKETS_EACH = 2,     /* packets of a stream in a window, */
	BYTES_EACH = 2 << 20, /* at most: its heads stay near the processor */
	/* Windows ahead: reading one takes a tenth of the time that its rows take. */
	AHEAD_LEAST = 2,
	AHEAD_THREADS = 4,      /* and one more for so many threads */
	BLOCK_BYTES = 64 << 10, /* about those of a block */
	MADE_MOST = 256 << 20   /* bytes of blocks that may wait */
};

bool event_windows_find(struct session *session, const struct filter *filter, nstime row,
			nstime **cuts, size_t *count, struct error *err)
{
	struct events_options range = {0};

	filter_fill(filter, &range);
	range.begin = row < NSTIME_MAX ? row + 1 : NSTIME_MAX;
	struct index *index = session_index(session, err);
	return index && windows_find(index, &range, PACKETS_EACH, BYTES_EACH, cuts, count, err);
}

/* ---- blocks, which are reused ---- */

struct block_list {
	struct event_block **items;
	size_t count, capacity;
};

struct windows_work {
	const struct event_windows_setup *setup;
	pthread_mutex_t lock; /* guards the spare blocks */
	struct block_list spare;
};

static void add_block(struct block_list *blocks, struct event_block *block)
{
	*mem_push(blocks->items, blocks->count, blocks->capacity) = block;
}

static struct event_block *take_block(struct windows_work *work)
{
	struct event_block *block = NULL;

	pthread_mutex_lock(&work->lock);
	if (work->spare.count)
		block = work->spare.items[--work->spare.count];
	pthread_mutex_unlock(&work->lock);
	if (!block)
		block = event_block_new();
	event_block_begin(block);
	return block;
}

/* Frees what a window made; its blocks become spare. */
static void drop_blocks(void *arg, void *made)
{
	struct windows_work *work = arg;
	struct block_list *blocks = made;

	pthread_mutex_lock(&work->lock);
	for (size_t i = 0; i < blocks->count; i++)
		add_block(&work->spare, blocks->items[i]);
	pthread_mutex_unlock(&work->lock);
	mem_free(blocks->items);
	mem_free(blocks);
}

static void work_release(struct windows_work *work)
{
	for (size_t i = 0; i < work->spare.count; i++)
		event_block_free(work->spare.items[i]);
	mem_free(work->spare.items);
	pthread_mutex_destroy(&work->lock);
}

/* ---- filling them ---- */

struct window_maker {
	struct windows_work *work;
	struct where_pass *pass;
	struct event_block_filler *filler;
	struct block_list *made; /* by the present window; the last is not full */
};

static void *maker_new(void *arg)
{
	struct windows_work *work = arg;
	struct window_maker *maker = mem_new(sizeof *maker);

	maker->work = work;
	maker->pass = filter_pass_new(work->setup->filter);
	maker->filler = event_block_filler_new(work->setup->session->trace, false);
	return maker;
}

static void maker_free(void *arg)
{
	struct window_maker *maker = arg;

	event_block_filler_free(maker->filler);
	where_pass_free(maker->pass);
	mem_free(maker);
}

static void *pass_of(void *arg)
{
	return ((struct window_maker *)arg)->pass;
}

static void begin_blocks(void *arg)
{
	((struct window_maker *)arg)->made = mem_new(sizeof(struct block_list));
}

static bool add_run(void *arg, const struct run *run)
{
	struct window_maker *maker = arg;
	struct block_list *made = maker->made;
	uint32_t first = run->first, end = first + run->count;

	while (first < end) {
		if (!made->count || event_block_is_full(made->items[made->count - 1]))
			add_block(made, take_block(maker->work));
		first += event_block_add(maker->filler, made->items[made->count - 1], run, first,
					 end - first);
	}
	return true;
}

static void *take_blocks(void *arg, size_t *bytes)
{
	struct block_list *made = ((struct window_maker *)arg)->made;

	*bytes = made->count * BLOCK_BYTES;
	return made;
}

/* In the caller's thread: passes blocks to the rows. */
static bool put_blocks(void *arg, void *made, struct error *err)
{
	const struct windows_work *work = arg;
	struct block_list *blocks = made;

	(void)err;
	for (size_t i = 0; i < blocks->count; i++)
		if (!event_rows_block(work->setup->rows, &blocks->items[i]))
			break;
	drop_blocks(arg, made);
	return true;
}

bool event_windows_run(const struct event_windows_setup *setup, struct windows_done *out,
		       struct error *err)
{
	struct windows_work work = {.setup = setup};
	struct events_options range = *setup->range;
	struct thread_pool *pool = event_rows_threads(setup->rows);
	const struct windows_setup windows = {.index = session_index(setup->session, err),
					      .pool = pool,
					      .range = &range,
					      .cuts = setup->cuts,
					      .ncuts = setup->ncuts,
					      .most = MADE_MOST,
					      .ahead = AHEAD_LEAST +
						       thread_pool_threads(pool) / AHEAD_THREADS,
					      .arg = &work,
					      .interrupted = signals_stopped,
					      .maker_new = maker_new,
					      .select_arg = pass_of,
					      .put = put_blocks,
					      .closed = &setup->sink->closed,
					      .begin = begin_blocks,
					      .run = add_run,
					      .take = take_blocks,
					      .maker_free = maker_free,
					      .drop = drop_blocks};

	range.progress = session_progress_time;
	range.progress_arg = setup->session;
	pthread_mutex_init(&work.lock, NULL);
	bool ok = windows.index && windows_run(&windows, out, err);
	work_release(&work);
	return ok;
}
