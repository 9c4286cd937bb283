/*
 * event_windows.c - see event_rows.h: threads read events, a window of time each
 *
 *     many workers: a window: its heads, merged, into blocks ──┐
 *     the caller:                     blocks of windows, in order ──> chunks of event_rows.c
 *
 * Threads then format rows of the same few thousand events, whose texts are short and written at
 * once. Rows of whole windows would have to wait for those of the windows before, a dozen times the
 * bytes of the trace.
 *
 *     few threads: a slice of a window: rows ──> the caller: writes rows of slices, in order
 *
 * Each of few threads has one cursor for all of its slices. It decodes the heads of the others'
 * slices, too, a tenth of the work of rows; blocks would cost a third of it.
 */
#include "repl/render/event_rows.h"

#include "engine/base/mem.h"

#include <pthread.h>

enum {
	PACKETS_EACH = 2,     /* packets of a stream in a window, */
	BYTES_EACH = 2 << 20, /* at most: its heads stay near the processor */
	/* Few threads read longer windows of events that are selected: their rows are few, and
	   heads of a packet that is cut are decoded on both sides. */
	SELECTED_PACKETS = 8,
	/* Windows ahead: one thread still has some to read while another is in the midst of one. */
	AHEAD_LEAST = 4,
	AHEAD_THREADS = 4,      /* and one more for so many threads */
	BLOCK_BYTES = 64 << 10, /* about those of a block */
	TEXT_BYTES = 256 << 10, /* about those of rows in a piece */
	MADE_MOST = 256 << 20,  /* bytes of blocks, or rows, that may wait */
	/* Of few threads: slices of a window, whose rows stay near the processor, */
	SLICES = 32,
	SLICES_AHEAD = 2 /* and how many are ahead, for each thread */
};

bool event_windows_find(struct session *session, const struct filter *filter,
			struct event_rows *rows, nstime row, nstime **cuts, size_t *count,
			struct error *err)
{
	bool few = thread_pool_is_small(event_rows_threads(rows));
	struct events_options range = {0};

	filter_fill(filter, &range);
	bool longer = few && (range.classes || range.select);
	range.begin = row < NSTIME_MAX ? row + 1 : NSTIME_MAX;
	const struct cuts_size size = {.packets = longer ? SELECTED_PACKETS : PACKETS_EACH,
				       .most = longer ? CUTS_MOST : BYTES_EACH};
	struct index *index = session_index(session, err);
	return index && windows_find(index, &range, &size, cuts, count, err);
}

/* ---- blocks and texts, which are reused ---- */

struct block_list {
	struct event_block **items;
	size_t count, capacity;
};

struct text_list {
	struct row_text **items;
	size_t count, capacity;
};

struct made_rows { /* by a window: heads of events in blocks, or rows */
	struct block_list blocks;
	struct text_list texts;
	nstime last; /* time of the last row of `texts` */
};

struct windows_work {
	const struct event_windows_setup *setup;
	bool makes_rows;
	nstime shown;         /* time of the row before the first window */
	pthread_mutex_t lock; /* guards what is spare */
	struct made_rows spare;
};

static void add_block(struct block_list *blocks, struct event_block *block)
{
	*mem_push(blocks->items, blocks->count, blocks->capacity) = block;
}

static void event_windows_add_text(struct text_list *texts, struct row_text *text)
{
	*mem_push(texts->items, texts->count, texts->capacity) = text;
}

static struct event_block *take_block(struct windows_work *work)
{
	struct block_list *spare = &work->spare.blocks;
	struct event_block *block = NULL;

	pthread_mutex_lock(&work->lock);
	if (spare->count)
		block = spare->items[--spare->count];
	pthread_mutex_unlock(&work->lock);
	if (!block)
		block = event_block_new();
	event_block_begin(block);
	return block;
}

static struct row_text *event_windows_take_text(struct windows_work *work)
{
	struct text_list *spare = &work->spare.texts;
	struct row_text *text = NULL;

	pthread_mutex_lock(&work->lock);
	if (spare->count)
		text = spare->items[--spare->count];
	pthread_mutex_unlock(&work->lock);
	if (!text) {
		text = mem_new(sizeof *text);
		row_text_init(text, work->setup->rows);
	}
	return text;
}

/* Frees what a window made; its blocks and texts become spare. */
static void drop_rows(void *arg, void *of_window)
{
	struct windows_work *work = arg;
	struct made_rows *made = of_window;

	pthread_mutex_lock(&work->lock);
	for (size_t i = 0; i < made->blocks.count; i++)
		add_block(&work->spare.blocks, made->blocks.items[i]);
	for (size_t i = 0; i < made->texts.count; i++)
		event_windows_add_text(&work->spare.texts, made->texts.items[i]);
	pthread_mutex_unlock(&work->lock);
	mem_free(made->blocks.items);
	mem_free(made->texts.items);
	mem_free(made);
}

static void work_release(struct windows_work *work)
{
	struct made_rows *spare = &work->spare;

	for (size_t i = 0; i < spare->blocks.count; i++)
		event_block_free(spare->blocks.items[i]);
	for (size_t i = 0; i < spare->texts.count; i++) {
		row_text_release(spare->texts.items[i]);
		mem_free(spare->texts.items[i]);
	}
	mem_free(spare->blocks.items);
	mem_free(spare->texts.items);
	pthread_mutex_destroy(&work->lock);
}

/* ---- filling them ---- */

struct window_maker {
	struct windows_work *work;
	struct where_pass *pass;
	struct event_block_filler *filler;
	struct row_maker *rows;
	struct made_rows *made; /* by the present window; its last block, or text, is not full */
};

static void *maker_new(void *arg)
{
	struct windows_work *work = arg;
	const struct event_windows_setup *setup = work->setup;
	struct window_maker *maker = mem_new(sizeof *maker);

	maker->work = work;
	maker->pass = filter_pass_new(setup->filter);
	if (work->makes_rows) {
		maker->rows = row_maker_new(setup->rows);
		row_maker_go_on(maker->rows, work->shown);
	} else {
		maker->filler = event_block_filler_new(setup->session->trace, false);
	}
	return maker;
}

static void maker_free(void *arg)
{
	struct window_maker *maker = arg;

	row_maker_free(maker->rows);
	event_block_filler_free(maker->filler);
	where_pass_free(maker->pass);
	mem_free(maker);
}

static void *pass_of(void *arg)
{
	return ((struct window_maker *)arg)->pass;
}

static void event_windows_begin_rows(void *arg)
{
	((struct window_maker *)arg)->made = mem_new(sizeof(struct made_rows));
}

static void note_before(void *arg, nstime time)
{
	row_maker_go_on(((struct window_maker *)arg)->rows, time);
}

static bool add_heads(void *arg, const struct run *run)
{
	struct window_maker *maker = arg;
	struct block_list *blocks = &maker->made->blocks;
	uint32_t first = run->first, end = first + run->count;

	while (first < end) {
		if (!blocks->count || event_block_is_full(blocks->items[blocks->count - 1]))
			add_block(blocks, take_block(maker->work));
		first += event_block_add(maker->filler, blocks->items[blocks->count - 1], run,
					 first, end - first);
	}
	return true;
}

static void end_text(struct window_maker *maker)
{
	if (maker->made->texts.count)
		row_maker_end(maker->rows);
}

static bool event_windows_add_rows(void *arg, const struct run *run)
{
	struct window_maker *maker = arg;
	struct text_list *texts = &maker->made->texts;

	if (!texts->count || texts->items[texts->count - 1]->text.whole >= TEXT_BYTES) {
		end_text(maker);
		event_windows_add_text(texts, event_windows_take_text(maker->work));
		row_maker_begin(maker->rows, texts->items[texts->count - 1]);
	}
	maker->made->last = run->batch->time[run->first + run->count - 1];
	row_maker_run(maker->rows, run, run->first, run->count);
	return true;
}

static void *take_rows(void *arg, size_t *bytes)
{
	struct window_maker *maker = arg;
	struct made_rows *made = maker->made;

	end_text(maker);
	*bytes = made->blocks.count * BLOCK_BYTES + made->texts.count * TEXT_BYTES;
	return made;
}

/* In the caller's thread: passes blocks, or rows, on. */
static bool put_rows(void *arg, void *of_window, struct error *err)
{
	const struct windows_work *work = arg;
	struct event_rows *rows = work->setup->rows;
	struct made_rows *made = of_window;
	bool open = true;

	(void)err;
	for (size_t i = 0; i < made->blocks.count && open; i++)
		open = event_rows_block(rows, &made->blocks.items[i]);
	for (size_t i = 0; i < made->texts.count && open; i++)
		open = event_rows_text(rows, made->texts.items[i], made->last);
	drop_rows(arg, made);
	return true;
}

/* Cuts each window but the last into SLICES of equal time. The caller frees *out. */
static size_t cut_slices(const struct event_windows_setup *setup, nstime **out)
{
	nstime begin = setup->range->begin;
	nstime *slices = mem_new_array(setup->ncuts * SLICES, sizeof *slices);
	size_t n = 0;

	for (size_t i = 0; i < setup->ncuts; begin = setup->cuts[i++])
		for (nstime k = 1; k <= SLICES; k++)
			slices[n++] = k == SLICES ? setup->cuts[i]
						  : begin + (setup->cuts[i] - begin) / SLICES * k;
	*out = slices;
	return n;
}

static unsigned windows_ahead(unsigned threads, bool make_rows)
{
	return make_rows ? threads * SLICES_AHEAD : AHEAD_LEAST + threads / AHEAD_THREADS;
}

bool event_windows_run(const struct event_windows_setup *setup, struct windows_done *out,
		       struct error *err)
{
	struct windows_work work = {.setup = setup, .shown = event_rows_last(setup->rows)};
	struct events_options range = *setup->range;
	struct thread_pool *pool = event_rows_threads(setup->rows);
	unsigned threads = thread_pool_threads(pool);
	struct index *index = session_index(setup->session, err);
	nstime *slices = NULL;

	if (!index)
		return false;
	work.makes_rows = thread_pool_is_small(pool) && windows_have_one_cursor(index, &range);
	struct windows_setup windows = {.index = index,
					.pool = pool,
					.range = &range,
					.cuts = setup->cuts,
					.ncuts = setup->ncuts,
					.most = MADE_MOST,
					.ahead = windows_ahead(threads, work.makes_rows),
					.one_cursor = work.makes_rows,
					.arg = &work,
					.interrupted = signals_stopped,
					.maker_new = maker_new,
					.select_arg = pass_of,
					.put = put_rows,
					.closed = &setup->sink->closed,
					.begin = event_windows_begin_rows,
					.before = work.makes_rows ? note_before : NULL,
					.run = work.makes_rows ? event_windows_add_rows : add_heads,
					.take = take_rows,
					.maker_free = maker_free,
					.drop = drop_rows};

	if (work.makes_rows) {
		windows.ncuts = cut_slices(setup, &slices);
		windows.cuts = slices;
	}
	range.progress = session_progress_time;
	range.progress_arg = setup->session;
	pthread_mutex_init(&work.lock, NULL);
	bool ok = windows_run(&windows, out, err);
	work_release(&work);
	mem_free(slices);
	return ok;
}
