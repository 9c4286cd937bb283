/* thread_pool.c - see thread_pool.h: the queue is a ring */
#include "engine/base/thread_pool.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"

struct pool_work {
	void (*run)(void *arg);
	void *arg;
};

struct thread_pool {
	struct workers workers; /* `changed` is signalled for new work, finished work and the end */
	struct pool_work *ring;
	unsigned first, count, capacity, busy;
	unsigned threads; /* the most; thread_pool_add() starts one more until there are so many */
	bool ended;
};

/* Does the oldest piece of work. Under the lock, which it releases meanwhile. */
static void do_oldest(struct thread_pool *pool)
{
	struct workers *workers = &pool->workers;
	struct pool_work work = pool->ring[pool->first];

	pool->first = (pool->first + 1) % pool->capacity;
	pool->count--;
	pool->busy++;
	pthread_mutex_unlock(&workers->lock);
	work.run(work.arg);
	pthread_mutex_lock(&workers->lock);
	pool->busy--;
	if (!pool->busy && !pool->count)
		pthread_cond_broadcast(&workers->changed);
}

static void do_works(void *arg, unsigned i)
{
	struct thread_pool *pool = arg;
	struct workers *workers = &pool->workers;

	(void)i;
	pthread_mutex_lock(&workers->lock);
	while (pool->count || !pool->ended)
		if (pool->count)
			do_oldest(pool);
		else
			pthread_cond_wait(&workers->changed, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
}

struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting)
{
	struct thread_pool *pool = mem_new(sizeof *pool);

	pool->capacity = waiting;
	pool->threads = threads;
	pool->ring = mem_new_array(waiting, sizeof *pool->ring);
	workers_init(&pool->workers);
	return pool;
}

void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg)
{
	if (!pool) {
		run(arg);
		return;
	}
	struct workers *workers = &pool->workers;
	if (workers->started < pool->threads)
		workers_start(workers, workers->started + 1, do_works, pool);
	if (!workers->started) {
		run(arg);
		return;
	}
	pthread_mutex_lock(&workers->lock);
	while (pool->count == pool->capacity)
		do_oldest(pool);
	pool->ring[(pool->first + pool->count++) % pool->capacity] = (struct pool_work){run, arg};
	pthread_cond_signal(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
}

bool thread_pool_help(struct thread_pool *pool)
{
	bool any;

	pthread_mutex_lock(&pool->workers.lock);
	any = pool->count > 0;
	if (any)
		do_oldest(pool);
	pthread_mutex_unlock(&pool->workers.lock);
	return any;
}

unsigned thread_pool_threads(const struct thread_pool *pool)
{
	return pool->threads + 1;
}

bool thread_pool_is_small(const struct thread_pool *pool)
{
	enum { SMALL = 4 };

	return thread_pool_threads(pool) <= SMALL;
}

void thread_pool_wait(struct thread_pool *pool)
{
	if (!pool)
		return;
	struct workers *workers = &pool->workers;
	pthread_mutex_lock(&workers->lock);
	while (pool->count || pool->busy)
		if (pool->count)
			do_oldest(pool);
		else
			pthread_cond_wait(&workers->changed, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
}

void thread_pool_free(struct thread_pool *pool)
{
	struct error ignored; /* work reports its own failures */

	if (!pool)
		return;
	pthread_mutex_lock(&pool->workers.lock);
	pool->ended = true;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
	(void)!workers_end(&pool->workers, &ignored);
	mem_free(pool->ring);
	mem_free(pool);
}
