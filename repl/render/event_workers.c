/*
 * event_workers.c - see event_rows.h
 *
 *     the caller:  cursor ──> heads, into chunks ───┐                    ┌──> chunks, in order,
 *                                                   ├──> ring of them ───┤    to the sink
 *     workers:            a chunk: values, text  <──┘ ──> made ──────────┘
 *
 * A chunk holds what a row needs when the cursor has gone on: heads, and which packets they are
 * of. A worker opens these packets with decoders of its own. When the ring is full the caller is a
 * worker, too, so that with two threads both always have work.
 *
 * Cutting the range into windows of time, a cursor each, would spare the hand-over, but packets
 * lie about their times: a cursor that begins in the middle may miss what one from the start finds
 * late. Here one cursor says what comes, and the messages stay in order: what it says while a
 * chunk is filled is kept in front of that chunk, what its worker says behind.
 */
#include "repl/render/event_workers.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "index/cursor/event_block.h"
#include "repl/render/row_maker.h"

#include <stdatomic.h>

enum {
	CHUNK_BITS = 8 << 20, /* of events: bounds what a chunk's text may take */
	CHUNKS_EACH = 3,      /* per thread */
	THREADS_MOST = 64,
	LOOK_EACH = 64 /* rows: whether all is to stop */
};

enum chunk_state { CHUNK_FREE, CHUNK_GIVEN, CHUNK_TAKEN, CHUNK_MADE };

struct row_chunk {
	enum chunk_state state; /* under the lock; all else is whose turn it is */
	struct event_block *block;
	uint64_t bits;
	bool has_shown; /* a time was written before its first row: */
	nstime shown;
	struct buf before, said; /* messages of the cursor, of the worker */
	uint64_t damaged;
	struct sink text;
};

struct row_worker {
	struct event_workers *pool;
	pthread_t thread;
	struct row_maker maker;
	struct event_block_opener *opener;
};

struct event_workers {
	struct event_workers_setup setup;
	const struct trace *trace;
	struct row_worker *workers; /* the first is the caller's */
	unsigned nworkers;      /* started, and the caller */
	struct row_chunk *chunks;
	size_t nchunks, oldest, used; /* the one being filled is behind those in use */
	struct event_block_filler *filler;
	bool has_shown;
	nstime shown;      /* the time written last, when all rows given are */
	struct buf before; /* said since the last row */
	_Atomic bool stop;

	pthread_mutex_t lock; /* of all states */
	pthread_cond_t given, made;
};

/* Workers ---------------------------------------------------------------------------------------
 */

static void put_stretch(struct row_worker *worker, struct row_chunk *chunk,
			const struct event_block_stretch *stretch)
{
	struct error err;
	struct run run;

	if (!event_block_run(worker->opener, chunk->block, stretch, &run,
			     &err)) { /* it was readable before */
		say("damaged", "%s", err.text);
		chunk->damaged++;
		return;
	}
	for (uint32_t n = 0; n < run.count; n++) {
		if (n % LOOK_EACH == 0 && worker->pool->stop)
			return;
		event_write_entry(worker->maker.writer, &run, run.first + n, false,
				  &chunk->damaged);
	}
}

static void make_chunk(struct row_worker *worker, struct row_chunk *chunk)
{
	struct buf *before = say_into(&chunk->said);
	const struct event_block *block = chunk->block;

	event_writer_sink(worker->maker.writer, &chunk->text);
	if (chunk->has_shown) { /* a row says the day where it is not that of the row before */
		char unused[TIME_TEXT_MAX];
		time_put(&worker->maker.times, chunk->shown, unused);
	}
	for (size_t i = 0; i < block->nstretches && !worker->pool->stop; i++) {
		const struct event_block_stretch *stretch = &block->stretches[i];
		if (stretch->packet == EVENT_BLOCK_NO_PACKET)
			event_write_loss(worker->maker.writer, &block->losses[stretch->loss]);
		else
			put_stretch(worker, chunk, stretch);
	}
	say_into(before);
}

/* The oldest that is still to be made; NULL: none. Under the lock. */
static struct row_chunk *take_chunk(struct event_workers *pool)
{
	for (size_t i = 0; i < pool->used; i++) {
		struct row_chunk *chunk = &pool->chunks[(pool->oldest + i) % pool->nchunks];
		if (chunk->state == CHUNK_GIVEN) {
			chunk->state = CHUNK_TAKEN;
			return chunk;
		}
	}
	return NULL;
}

static void put_back(struct event_workers *pool, struct row_chunk *chunk)
{
	chunk->state = CHUNK_MADE;
	pthread_cond_signal(&pool->made);
}

static void *worker_work(void *arg)
{
	struct row_worker *worker = arg;
	struct event_workers *pool = worker->pool;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		struct row_chunk *chunk = take_chunk(pool);
		if (!chunk) {
			pthread_cond_wait(&pool->given, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		make_chunk(worker, chunk);
		pthread_mutex_lock(&pool->lock);
		put_back(pool, chunk);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void worker_init(struct row_worker *worker, struct event_workers *pool)
{
	const struct event_workers_setup *setup = &pool->setup;

	worker->pool = pool;
	row_maker_init(&worker->maker, pool->trace, setup->format, setup->classes, setup->times,
		       setup->sink->color);
	worker->opener = event_block_opener_new(pool->trace);
}

static void worker_release(struct row_worker *worker)
{
	row_maker_release(&worker->maker);
	event_block_opener_free(worker->opener);
}

/* Chunks --------------------------------------------------------------------------------------- */

static void chunk_clear(struct row_chunk *chunk)
{
	chunk->bits = chunk->damaged = 0;
	chunk->before.len = chunk->said.len = 0;
	chunk->text.len = chunk->text.whole = 0;
	chunk->text.rows = 0;
}

static void chunk_release(struct row_chunk *chunk)
{
	event_block_free(chunk->block);
	buf_release(&chunk->before);
	buf_release(&chunk->said);
	sink_release(&chunk->text);
}

/* About what so many entries from `first` on take; those of a sorted packet stand anywhere. */
static uint64_t bits_of(const struct run *run, uint32_t first, uint32_t count)
{
	const uint64_t *at = run->batch->at;
	uint32_t last = first + count - 1;
	uint64_t bits = 0;

	if (last + 1 < run->batch->count && at[last + 1] > at[first])
		return at[last + 1] - at[first];
	if (at[last] > at[first])
		return at[last] - at[first] +
		       run->reader->event_bits(run->decoder, run->batch, last);
	for (uint32_t i = first; i <= last; i++)
		bits += run->reader->event_bits(run->decoder, run->batch, i);
	return bits;
}

/* How many of the entries there was room for. */
static uint32_t add_events(struct event_workers *pool, struct row_chunk *chunk,
			   const struct run *run, uint32_t first, uint32_t count)
{
	const struct batch *heads = chunk->block->heads;
	uint32_t n = event_block_add(pool->filler, chunk->block, run, first, count);

	if (pool->setup.backward)
		first += count - n;
	chunk->bits += n ? bits_of(run, first, n) : 0;
	if (heads->time[heads->count - 1] != NSTIME_MIN) {
		pool->shown = heads->time[heads->count - 1];
		pool->has_shown = true;
	}
	return n;
}

/* False: there is no room for another. */
static bool add_loss(struct event_workers *pool, struct row_chunk *chunk, const struct event *loss)
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
	say_kept(pool->setup.session, &chunk->before);
	say_kept(pool->setup.session, &chunk->said);
	pool->setup.session->damaged += chunk->damaged;
	sink_rows(pool->setup.sink, &chunk->text);
	chunk_clear(chunk);
}

/* All that are made and have none before them that is not. */
static void write_made(struct event_workers *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->used && pool->chunks[pool->oldest].state == CHUNK_MADE) {
		struct row_chunk *chunk = &pool->chunks[pool->oldest];
		pthread_mutex_unlock(&pool->lock);
		write_chunk(pool, chunk);
		pthread_mutex_lock(&pool->lock);
		chunk->state = CHUNK_FREE; /* workers look at all of the ring */
		pool->oldest = (pool->oldest + 1) % pool->nchunks;
		pool->used--;
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Until no more than `most` chunks are in use: makes some, or waits for the thread that does. */
static void make_room(struct event_workers *pool, size_t most)
{
	write_made(pool);
	while (pool->used > most && !pool->setup.sink->closed) {
		pthread_mutex_lock(&pool->lock);
		struct row_chunk *chunk = take_chunk(pool);
		while (!chunk && pool->chunks[pool->oldest].state != CHUNK_MADE)
			pthread_cond_wait(&pool->made, &pool->lock);
		pthread_mutex_unlock(&pool->lock);
		if (chunk) {
			make_chunk(&pool->workers[0], chunk);
			pthread_mutex_lock(&pool->lock);
			put_back(pool, chunk);
			pthread_mutex_unlock(&pool->lock);
		}
		write_made(pool);
	}
}

/* Gives the chunk that was being filled, and begins another. */
static bool give(struct event_workers *pool)
{
	struct row_chunk *chunk = filling(pool);

	pthread_mutex_lock(&pool->lock);
	chunk->state = CHUNK_GIVEN;
	pool->used++;
	pthread_cond_signal(&pool->given);
	pthread_mutex_unlock(&pool->lock);
	make_room(pool, pool->nchunks - 1);
	if (pool->setup.sink->closed)
		return false;
	event_block_begin(pool->filler, filling(pool)->block);
	return true;
}

/*
 * Where the next row goes; what was said since the last one stands before a chunk. NULL: the
 * reader has gone, and there may be no room.
 */
static struct row_chunk *next_row(struct event_workers *pool)
{
	if (pool->setup.sink->closed ||
	    (pool->before.len && filling(pool)->block->nstretches && !give(pool)))
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

bool event_workers_run(struct event_workers *pool, const struct run *run, uint32_t first,
		       uint32_t count)
{
	bool backward = pool->setup.backward;

	while (count) {
		struct row_chunk *chunk = next_row(pool);
		if (!chunk)
			return false;
		uint32_t n = add_events(pool, chunk, run, first, count);
		first += backward ? 0 : n;
		count -= n;
		if ((chunk->block->heads->count == EVENT_BLOCK_ROWS || chunk->bits >= CHUNK_BITS) &&
		    !give(pool))
			return false;
	}
	return true;
}

bool event_workers_loss(struct event_workers *pool, const struct event *loss)
{
	struct row_chunk *chunk = next_row(pool);

	return chunk && (add_loss(pool, chunk, loss) || give(pool));
}

bool event_workers_tick(struct event_workers *pool)
{
	struct sink *sink = pool->setup.sink;

	if (!sink_is_due(sink))
		return sink_tick(sink);
	if (!sink->closed && filling(pool)->block->nstretches)
		give(pool);
	write_made(pool);
	return sink_tick(sink);
}

bool event_workers_end(struct event_workers *pool)
{
	if (pool->setup.sink->closed || (filling(pool)->block->nstretches && !give(pool)))
		return false;
	make_room(pool, 0);
	return !pool->setup.sink->closed;
}

/* The pool ------------------------------------------------------------------------------------ */

struct event_workers *event_workers_new(const struct event_workers_setup *setup)
{
	unsigned threads = setup->threads < THREADS_MOST ? setup->threads : THREADS_MOST;
	struct event_workers *pool = mem_new(sizeof *pool);

	pool->setup = *setup;
	pool->trace = setup->session->trace;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->given, NULL);
	pthread_cond_init(&pool->made, NULL);
	pool->filler = event_block_filler_new(pool->trace, setup->backward);
	pool->nchunks = (size_t)threads * CHUNKS_EACH;
	pool->chunks = mem_new_array(pool->nchunks, sizeof *pool->chunks);
	for (size_t i = 0; i < pool->nchunks; i++) {
		pool->chunks[i].block = event_block_new();
		sink_init(&pool->chunks[i].text, -1);
		pool->chunks[i].text.color = setup->sink->color;
	}
	event_block_begin(pool->filler, pool->chunks[0].block);
	pool->workers = mem_new_array(threads, sizeof *pool->workers);
	for (unsigned i = 0; i < threads; i++) {
		worker_init(&pool->workers[i], pool);
		if (i && !thread_start(&pool->workers[i].thread, worker_work, &pool->workers[i])) {
			worker_release(&pool->workers[i]);
			break; /* fewer make them, too */
		}
		pool->nworkers++;
	}
	say_into(&pool->before);
	return pool;
}

/* Messages of rows that are not printed any more, in their order. */
static void say_rest(struct event_workers *pool)
{
	for (size_t i = 0; i <= pool->used && i < pool->nchunks; i++) {
		struct row_chunk *chunk = &pool->chunks[(pool->oldest + i) % pool->nchunks];
		say_kept(pool->setup.session, &chunk->before);
	}
	say_kept(pool->setup.session, &pool->before);
}

void event_workers_free(struct event_workers *pool)
{
	if (!pool)
		return;
	say_into(NULL);
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->given);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 1; i < pool->nworkers; i++)
		pthread_join(pool->workers[i].thread, NULL);
	say_rest(pool);
	for (unsigned i = 0; i < pool->nworkers; i++)
		worker_release(&pool->workers[i]);
	for (size_t i = 0; i < pool->nchunks; i++)
		chunk_release(&pool->chunks[i]);
	buf_release(&pool->before);
	pthread_cond_destroy(&pool->given);
	pthread_cond_destroy(&pool->made);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool->workers);
	mem_free(pool->chunks);
	event_block_filler_free(pool->filler);
	mem_free(pool);
}
