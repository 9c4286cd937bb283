/*
 * event_rows.c - formats the first rows in the caller's thread, all others on several threads
 *
 *     the caller:  cursor ──> heads, into chunks ───┐                    ┌──> chunks, in order,
 *                                                   ├──> ring of them ───┤    to the sink
 *     workers:            a chunk: values, text  <──┘ ──> made ──────────┘
 *
 * A chunk holds what rows need once the cursor has moved on: heads, and the packets that they are
 * in. A worker opens these packets with its own decoders. When the ring is full one of few threads
 * works on chunks, too, so that with two threads both always have work.
 *
 * One cursor finds the order, also of messages: those of the cursor while it fills a chunk are
 * printed before the chunk's rows, and so are then those of its worker. Behind the first rows,
 * several cursors may fill the blocks of chunks: event_windows.c.
 */
#include "repl/render/event_rows.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/base/thread_pool.h"
#include "index/cursor/event_block.h"
#include "repl/render/thread_names.h"

#include <stdatomic.h>

enum { ALONE = 4096 /* first rows, which the caller's thread formats */ };

struct event_rows {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	const uint64_t *classes;
	struct times times;
	struct event_writer *writer;
	struct line_names *line_names; /* NULL: thread names come from shown events only */
	bool asks_names, hidden;       /* event_rows_name() was called; its argument */
	nstime last;                   /* time of the last row that was passed */
	struct error failed;
	uint64_t alone;             /* rows left for the caller's thread; UINT64_MAX: all */
	struct event_workers *pool; /* NULL: none yet */
};

/*
 * What a thread needs to format rows behind rows of other threads: its own times and writer, which
 * writes no head.
 */
struct row_maker { /* must not be moved: the writer points into it */
	struct times times;
	struct event_writer *writer;
	struct sink nowhere; /* the writer's sink before row_maker_begin() */
	bool exact;          /* of the sink which all rows go to */
	struct row_text *text;
	struct buf *before; /* got the thread's messages before row_maker_begin() */
};

void row_text_init(struct row_text *text, const struct event_rows *rows)
{
	*text = (struct row_text){0};
	sink_init(&text->text, -1);
	text->text.color = rows->sink->color;
}

void row_text_release(struct row_text *text)
{
	sink_release(&text->text);
	buf_release(&text->said);
}

/* Writes the rows, and prints the messages before; *text is then empty. */
static void event_rows_write_text(const struct event_rows *rows, struct row_text *text)
{
	say_kept(rows->session, &text->said);
	rows->session->damaged += text->damaged;
	sink_rows(rows->sink, &text->text);
	text->damaged = 0;
	text->text.len = text->text.whole = 0;
	text->text.rows = 0;
}

struct row_maker *row_maker_new(const struct event_rows *rows)
{
	struct row_maker *maker = mem_new(sizeof *maker);

	maker->times = rows->times;
	maker->exact = rows->sink->exact;
	sink_init(&maker->nowhere, -1); /* takes the head of a CSV, which was written already */
	maker->nowhere.color = rows->sink->color;
	maker->writer = event_writer_new_of(rows->session->trace, rows->options->format,
					    &maker->times, &maker->nowhere, rows->classes);
	return maker;
}

void row_maker_free(struct row_maker *maker)
{
	if (!maker)
		return;
	event_writer_sink(maker->writer, &maker->nowhere);
	event_writer_free(maker->writer);
	sink_release(&maker->nowhere);
	mem_free(maker);
}

void row_maker_go_on(struct row_maker *maker, nstime shown)
{
	char unused[TIME_TEXT_MAX];

	time_put(&maker->times, shown, unused);
}

void row_maker_begin(struct row_maker *maker, struct row_text *text)
{
	maker->text = text;
	maker->before = say_into(&text->said);
	event_writer_sink(maker->writer, &text->text);
}

void row_maker_run(struct row_maker *maker, const struct run *run, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		event_write_entry(maker->writer, run, i, false, &maker->text->damaged);
}

void row_maker_end(struct row_maker *maker)
{
	struct sink *text = &maker->text->text;

	if (!maker->exact) /* while the text is in this processor's cache */
		text->printable = printable_length(text->data, text->whole) == text->whole;
	say_into(maker->before);
}

enum {
	CHUNKS_EACH = 3,   /* per thread, */
	CHUNKS_LEAST = 64, /* in all: work for one thread while another reads a window */
	THREADS_MOST = 64,
	LOOK_EACH = 64 /* rows between tests of the stop flag */
};

struct row_chunk {
	struct event_workers *pool;
	bool made; /* under the lock; until then, once given, a thread owns the rest */
	struct event_block *block;
	bool has_shown; /* `shown` is the time written before its first row */
	nstime shown;
	struct buf before; /* messages of the cursor */
	struct row_text made_text;
};

struct row_worker {              /* what a thread needs to make chunks */
	struct row_worker *next; /* in the list of those that no thread uses */
	struct row_maker *maker;
	struct event_block_opener *opener;
};

struct event_workers {
	const struct event_rows *rows; /* the owner */
	const struct trace *trace;
	struct thread_pool *threads;
	struct row_chunk *chunks;
	size_t nchunks, oldest, used; /* the chunk being filled is behind those in use */
	struct event_block_filler *filler;
	bool has_shown;
	nstime shown;      /* the time written last, once all rows passed are written */
	struct buf before; /* messages since the last row */
	_Atomic bool stop;

	pthread_mutex_t lock; /* guards what follows, and `made` of chunks */
	pthread_cond_t made;  /* `awaited` is */
	const struct row_chunk *awaited; /* by the caller */
	struct row_worker *idle; /* as many as threads, while none works */
};

/* Workers ---------------------------------------------------------------------------------------
 */

static void put_stretch(const struct row_worker *worker, struct row_chunk *chunk,
			const struct event_block_stretch *stretch)
{
	struct error err;
	struct run run;

	if (!event_block_run(worker->opener, chunk->block, stretch, &run,
			     &err)) { /* the cursor could read it */
		say("damaged", "%s", err.text);
		chunk->made_text.damaged++;
		return;
	}
	for (uint32_t n = 0; n < run.count && !chunk->pool->stop; n += LOOK_EACH) {
		uint32_t left = run.count - n;
		row_maker_run(worker->maker, &run, run.first + n,
			      left < LOOK_EACH ? left : LOOK_EACH);
	}
}

static void make_chunk(struct row_worker *worker, struct row_chunk *chunk)
{
	const struct event_block *block = chunk->block;

	row_maker_begin(worker->maker, &chunk->made_text);
	if (chunk->has_shown)
		row_maker_go_on(worker->maker, chunk->shown);
	for (size_t i = 0; i < block->nstretches && !chunk->pool->stop; i++) {
		const struct event_block_stretch *stretch = &block->stretches[i];
		if (stretch->packet == EVENT_BLOCK_NO_PACKET)
			event_write_loss(worker->maker->writer, &block->losses[stretch->loss]);
		else
			put_stretch(worker, chunk, stretch);
	}
	row_maker_end(worker->maker);
}

/* Work of the thread pool. */
static void make_given(void *arg)
{
	struct row_chunk *chunk = arg;
	struct event_workers *pool = chunk->pool;

	pthread_mutex_lock(&pool->lock);
	struct row_worker *worker = pool->idle;
	pool->idle = worker->next;
	pthread_mutex_unlock(&pool->lock);
	make_chunk(worker, chunk);
	pthread_mutex_lock(&pool->lock);
	worker->next = pool->idle;
	pool->idle = worker;
	chunk->made = true;
	if (chunk == pool->awaited)
		pthread_cond_signal(&pool->made);
	pthread_mutex_unlock(&pool->lock);
}

static void add_worker(struct event_workers *pool)
{
	struct row_worker *worker = mem_new(sizeof *worker);

	worker->maker = row_maker_new(pool->rows);
	worker->opener = event_block_opener_new(pool->trace);
	worker->next = pool->idle;
	pool->idle = worker;
}

static void free_worker(struct event_workers *pool)
{
	struct row_worker *worker = pool->idle;

	pool->idle = worker->next;
	row_maker_free(worker->maker);
	event_block_opener_free(worker->opener);
	mem_free(worker);
}

/* Chunks --------------------------------------------------------------------------------------- */

static void chunk_release(struct row_chunk *chunk)
{
	event_block_free(chunk->block);
	buf_release(&chunk->before);
	row_text_release(&chunk->made_text);
}

/* Remembers the time that will have been written last, behind the rows of these heads. */
static void note_shown(struct event_workers *pool, const struct batch *heads)
{
	if (heads->time[heads->count - 1] == NSTIME_MIN)
		return;
	pool->shown = heads->time[heads->count - 1];
	pool->has_shown = true;
}

/* Adds a loss. False: there is no room for another. */
static bool event_rows_add_loss(struct event_workers *pool, struct row_chunk *chunk,
				const struct event *loss)
{
	bool ends = loss->until != NSTIME_MIN && loss->until != NSTIME_MAX;
	bool room = event_block_add_loss(chunk->block, loss);

	if (loss->time == NSTIME_MIN && !ends)
		return room;
	pool->shown = ends ? loss->until : loss->time;
	pool->has_shown = true;
	return room;
}

/* The ring ------------------------------------------------------------------------------------ */

static struct row_chunk *filling(struct event_workers *pool)
{
	return &pool->chunks[(pool->oldest + pool->used) % pool->nchunks];
}

static void write_chunk(struct event_workers *pool, struct row_chunk *chunk)
{
	say_kept(pool->rows->session, &chunk->before);
	event_rows_write_text(pool->rows, &chunk->made_text);
	chunk->made = false;
}

static bool is_oldest_made(struct event_workers *pool)
{
	pthread_mutex_lock(&pool->lock);
	bool made = pool->chunks[pool->oldest].made;
	pthread_mutex_unlock(&pool->lock);
	return made;
}

static void await(struct event_workers *pool, size_t number)
{
	const struct row_chunk *chunk = &pool->chunks[number];

	pthread_mutex_lock(&pool->lock);
	pool->awaited = chunk;
	while (!chunk->made)
		pthread_cond_wait(&pool->made, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

/* Writes the chunks that are made, up to the first one that is not. */
static void write_made(struct event_workers *pool)
{
	for (; pool->used && is_oldest_made(pool); pool->used--) {
		write_chunk(pool, &pool->chunks[pool->oldest]);
		pool->oldest = (pool->oldest + 1) % pool->nchunks;
	}
}

/*
 * Makes, waits for and writes chunks until at most `most` are in use. One of few threads makes
 * chunks itself. Of many, it only waits: while it makes one, the others could run out of work.
 */
static void event_rows_make_room(struct event_workers *pool, size_t most)
{
	bool helps = thread_pool_is_small(pool->threads);

	if (!helps && pool->used > most) /* is woken once, and most others are made then */
		await(pool, (pool->oldest + pool->used - most - 1) % pool->nchunks);
	for (; pool->used > most && !pool->rows->sink->closed; write_made(pool))
		if (!helps || !thread_pool_help(pool->threads))
			await(pool, pool->oldest);
}

/* Hands the chunk that was filled to the workers, and begins another. */
static bool event_rows_give(struct event_workers *pool)
{
	struct row_chunk *chunk = filling(pool);

	pool->used++;
	thread_pool_add(pool->threads, make_given, chunk);
	write_made(pool);
	if (pool->used == pool->nchunks)
		event_rows_make_room(pool, pool->nchunks / 2);
	if (pool->rows->sink->closed)
		return false;
	event_block_begin(filling(pool)->block);
	return true;
}

/*
 * The chunk for the next row: a new one if there were messages since the last row, which are
 * printed before a chunk. NULL: the reader has gone.
 */
static struct row_chunk *next_row(struct event_workers *pool)
{
	if (pool->rows->sink->closed ||
	    (pool->before.len && filling(pool)->block->nstretches && !event_rows_give(pool)))
		return NULL;
	struct row_chunk *chunk = filling(pool);
	if (!chunk->block->nstretches) {
		struct buf before = chunk->before;
		chunk->before = pool->before;
		pool->before = before;
		chunk->has_shown = pool->has_shown;
		chunk->shown = pool->shown;
	}
	return chunk;
}

static bool row_pool_run(struct event_workers *pool, const struct run *run, uint32_t first,
			 uint32_t count)
{
	bool backward = pool->rows->options->reverse;

	while (count) {
		struct row_chunk *chunk = next_row(pool);
		if (!chunk)
			return false;
		uint32_t n = event_block_add(pool->filler, chunk->block, run, first, count);
		note_shown(pool, chunk->block->heads);
		first += backward ? 0 : n;
		count -= n;
		if (event_block_is_full(chunk->block) && !event_rows_give(pool))
			return false;
	}
	return true;
}

/* The block's rows are behind all that were passed; *block becomes an empty one. */
static bool row_pool_block(struct event_workers *pool, struct event_block **block)
{
	if (filling(pool)->block->nstretches && !event_rows_give(pool))
		return false;
	struct row_chunk *chunk = next_row(pool);
	if (!chunk)
		return false;
	struct event_block *empty = chunk->block;
	chunk->block = *block;
	*block = empty;
	note_shown(pool, chunk->block->heads);
	return event_rows_give(pool);
}

static bool row_pool_loss(struct event_workers *pool, const struct event *loss)
{
	struct row_chunk *chunk = next_row(pool);

	return chunk && (event_rows_add_loss(pool, chunk, loss) || event_rows_give(pool));
}

static bool row_pool_tick(struct event_workers *pool)
{
	struct sink *sink = pool->rows->sink;

	if (!sink_is_due(sink))
		return sink_tick(sink);
	if (!sink->closed && filling(pool)->block->nstretches)
		event_rows_give(pool);
	write_made(pool);
	return sink_tick(sink);
}

static bool row_pool_end(struct event_workers *pool)
{
	if (pool->rows->sink->closed ||
	    (filling(pool)->block->nstretches && !event_rows_give(pool)))
		return false;
	event_rows_make_room(pool, 0);
	return !pool->rows->sink->closed;
}

/* The pool ------------------------------------------------------------------------------------ */

static struct event_workers *row_pool_new(const struct event_rows *rows)
{
	unsigned most = options_threads(rows->options);
	unsigned threads = most < THREADS_MOST ? most : THREADS_MOST;
	struct event_workers *pool = mem_new(sizeof *pool);

	pool->rows = rows;
	pool->trace = rows->session->trace;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->made, NULL);
	pool->filler = event_block_filler_new(pool->trace, rows->options->reverse);
	pool->nchunks = (size_t)threads * CHUNKS_EACH;
	pool->nchunks = pool->nchunks > CHUNKS_LEAST ? pool->nchunks : CHUNKS_LEAST;
	pool->chunks = mem_new_array(pool->nchunks, sizeof *pool->chunks);
	pool->threads = thread_pool_new(threads - 1, (unsigned)pool->nchunks * 2);
	for (size_t i = 0; i < pool->nchunks; i++) {
		pool->chunks[i].pool = pool;
		pool->chunks[i].block = event_block_new();
		row_text_init(&pool->chunks[i].made_text, rows);
	}
	event_block_begin(pool->chunks[0].block);
	for (unsigned i = 0; i < threads; i++)
		add_worker(pool);
	say_into(&pool->before);
	return pool;
}

/* Prints the cursor's messages on rows that will not be written, in their order. */
static void say_rest(struct event_workers *pool)
{
	for (size_t i = 0; i <= pool->used && i < pool->nchunks; i++) {
		struct row_chunk *chunk = &pool->chunks[(pool->oldest + i) % pool->nchunks];
		say_kept(pool->rows->session, &chunk->before);
	}
	say_kept(pool->rows->session, &pool->before);
}

/* Stops at once, and drops rows that are not written. Prints the cursor's messages, no worker's. */
static void row_pool_free(struct event_workers *pool)
{
	if (!pool)
		return;
	say_into(NULL);
	pool->stop = true;
	thread_pool_wait(pool->threads);
	thread_pool_free(pool->threads);
	say_rest(pool);
	while (pool->idle)
		free_worker(pool);
	for (size_t i = 0; i < pool->nchunks; i++)
		chunk_release(&pool->chunks[i]);
	buf_release(&pool->before);
	pthread_cond_destroy(&pool->made);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool->chunks);
	event_block_filler_free(pool->filler);
	mem_free(pool);
}

/* Rows ------------------------------------------------------------------------------------------
 */

/* Lines of kernel traces have names from earlier events; tables have widths of earlier rows. */
static bool depends_on_rows(const struct trace *trace, const struct options *options,
			    struct event_writer *writer)
{
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];

		if (options->format == FORMAT_TEXT && trace->parts[class->part]->reader->text &&
		    thread_names_tells(event_writer_names(writer), class))
			return true;
	}
	return options->format != FORMAT_TEXT && options->format != FORMAT_JSON &&
	       options->format != FORMAT_CSV;
}

/* Do rows have symbols? These depend on the mappings in earlier events. */
static bool has_symbols(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (symbols_chain(trace->classes[i]) || symbols_has_address(trace->classes[i]) ||
		    trace->classes[i]->address)
			return true;
	return false;
}

static bool may_share(const struct trace *trace, const struct options *options,
		      struct event_writer *writer, const struct sink *sink, bool symbols)
{
	return options_threads(options) > 1 && !sink->eager &&
	       !depends_on_rows(trace, options, writer) && !(symbols && has_symbols(trace));
}

/* The head of a CSV goes to `head`. */
static struct event_rows *make_rows(struct session *session, const struct options *options,
				    const uint64_t *classes, struct sink *sink, struct sink *head,
				    const struct times *times)
{
	const struct trace *trace = session->trace;
	struct event_rows *rows = mem_new(sizeof *rows);
	bool symbols = options->format == FORMAT_TEXT || options->symbols;

	rows->session = session;
	rows->options = options;
	rows->sink = sink;
	rows->classes = classes;
	rows->times = *times;
	rows->writer = event_writer_new_of(trace, options->format, &rows->times, head, classes);
	event_writer_sink(rows->writer, sink);
	rows->alone =
		may_share(trace, options, rows->writer, sink, symbols) ? ALONE : UINT64_MAX;
	if (symbols)
		event_writer_symbols(rows->writer, session_symbols(session),
				     options->lines ? SYMBOLS_LINES : 0);
	return rows;
}

bool event_rows_new(struct session *session, const struct options *options, const uint64_t *classes,
		    struct sink *sink, struct event_rows *before, nstime begin,
		    struct event_rows **out, struct error *err)
{
	struct sink nowhere;
	struct times times;

	if (!session_trace(session, err) || (!before && !session_times(session, &times, err)))
		return false;
	sink_init(&nowhere, -1);
	nowhere.color = sink->color;
	*out = make_rows(session, options, classes, sink, before ? &nowhere : sink,
			 before ? &before->times : &times);
	sink_release(&nowhere);
	if (!before)
		return true;
	if (!event_writer_go_on((*out)->writer, before->writer, err)) {
		event_rows_free(*out);
		return false;
	}
	if (before->asks_names)
		(*out)->line_names = line_names_new(session, event_writer_names((*out)->writer),
						    before->hidden, true, begin);
	(*out)->asks_names = before->asks_names;
	(*out)->hidden = before->hidden;
	return true;
}

bool event_rows_pause(struct event_rows *rows, nstime end, struct error *err)
{
	event_rows_end(rows);
	bool good = !rows->line_names || line_names_finish(rows->line_names, end, err);
	line_names_free(rows->line_names);
	rows->line_names = NULL;
	if (rows->pool) { /* its threads formatted the times, not rows->times */
		char unused[TIME_TEXT_MAX];
		time_put(&rows->times, rows->last, unused);
	}
	row_pool_free(rows->pool);
	rows->pool = NULL;
	return good;
}

void event_rows_free(struct event_rows *rows)
{
	if (!rows)
		return;
	row_pool_free(rows->pool);
	line_names_free(rows->line_names);
	event_writer_free(rows->writer);
	mem_free(rows);
}

struct event_writer *event_rows_writer(struct event_rows *rows)
{
	return rows->writer;
}

void event_rows_name(struct event_rows *rows, bool hidden)
{
	rows->asks_names = true;
	rows->hidden = hidden;
	if (!rows->options->reverse)
		rows->line_names = line_names_new(rows->session, event_writer_names(rows->writer),
						  hidden, false, NSTIME_MIN);
}

bool event_rows_shares(const struct event_rows *rows)
{
	return rows->alone != UINT64_MAX;
}

bool event_rows_good(const struct event_rows *rows, struct error *err)
{
	if (rows->failed.kind != ERR_NONE)
		*err = rows->failed;
	return rows->failed.kind == ERR_NONE;
}

/* Do workers format the next `count` rows? Starts them once the caller's share is used up. */
static bool is_shared(struct event_rows *rows, uint32_t count)
{
	if (rows->pool)
		return true;
	if (rows->alone) {
		if (rows->alone != UINT64_MAX)
			rows->alone -= count < rows->alone ? count : rows->alone;
		return false;
	}
	rows->pool = row_pool_new(rows);
	return true;
}

bool event_rows_run(struct event_rows *rows, const struct run *run, uint32_t first, uint32_t count)
{
	bool open = true, backward = rows->options->reverse;
	bool learns = !backward && (!rows->line_names || line_names_learns(rows->line_names));

	rows->last = run->batch->time[backward ? first : first + count - 1];
	if (is_shared(rows, count))
		return row_pool_run(rows->pool, run, first, count);
	for (uint32_t n = 0; n < count && open; n++) {
		uint32_t i = backward ? first + count - 1 - n : first + n;
		open = (!rows->line_names ||
			line_names_reach(rows->line_names, run, i, &rows->failed)) &&
		       event_write_entry(rows->writer, run, i, learns, &rows->session->damaged);
	}
	return open;
}

struct thread_pool *event_rows_threads(struct event_rows *rows)
{
	if (!rows->pool)
		rows->pool = row_pool_new(rows);
	return rows->pool->threads;
}

nstime event_rows_last(const struct event_rows *rows)
{
	return rows->last;
}

bool event_rows_block(struct event_rows *rows, struct event_block **block)
{
	const struct batch *heads = (*block)->heads;

	rows->last = heads->time[heads->count - 1];
	return row_pool_block(rows->pool, block);
}

bool event_rows_text(struct event_rows *rows, struct row_text *text, nstime last)
{
	struct event_workers *pool = rows->pool;

	if (!row_pool_end(pool))
		return false;
	say_kept(rows->session, &pool->before);
	rows->last = pool->shown = last;
	pool->has_shown = true;
	event_rows_write_text(rows, text);
	return !rows->sink->closed;
}

bool event_rows_loss(struct event_rows *rows, const struct event *loss)
{
	rows->last = loss->time;
	if (is_shared(rows, 1))
		return row_pool_loss(rows->pool, loss);
	return event_write_loss(rows->writer, loss);
}

bool event_rows_tick(struct event_rows *rows)
{
	return rows->pool ? row_pool_tick(rows->pool) : sink_tick(rows->sink);
}

bool event_rows_end(struct event_rows *rows)
{
	return rows->pool ? row_pool_end(rows->pool) : !rows->sink->closed;
}
