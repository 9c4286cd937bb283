/* thread_pool.c - see thread_pool.h: the queue is a ring */
#include "engine/base/thread_pool.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"

#include <stdbool.h>

struct pool_work {
	void (*run)(void *arg);
	void *arg;
};

struct thread_pool {
	struct workers workers; /* `changed`: something came, was taken or was done, or the end */
	struct pool_work *ring;
	unsigned first, count, capacity, busy;
	bool ended;
};

static void do_works(void *arg, unsigned i)
{
	struct thread_pool *pool = arg;
	struct workers *workers = &pool->workers;

	(void)i;
	pthread_mutex_lock(&workers->lock);
	for (;;) {
		while (!pool->count && !pool->ended)
			pthread_cond_wait(&workers->changed, &workers->lock);
		if (!pool->count)
			break;
		struct pool_work work = pool->ring[pool->first];
		pool->first = (pool->first + 1) % pool->capacity;
		pool->count--;
		pool->busy++;
		pthread_cond_broadcast(&workers->changed);
		pthread_mutex_unlock(&workers->lock);
		work.run(work.arg);
		pthread_mutex_lock(&workers->lock);
		pool->busy--;
		pthread_cond_broadcast(&workers->changed);
	}
	pthread_mutex_unlock(&workers->lock);
}

struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting)
{
	struct thread_pool *pool = mem_new(sizeof *pool);

	pool->capacity = waiting;
	pool->ring = mem_new_array(waiting, sizeof *pool->ring);
	workers_init(&pool->workers);
	workers_start(&pool->workers, threads, do_works, pool);
	return pool;
}

void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg)
{
	struct workers *workers = &pool->workers;

	if (!workers->started) {
		run(arg);
		return;
	}
	pthread_mutex_lock(&workers->lock);
	while (pool->count == pool->capacity)
		pthread_cond_wait(&workers->changed, &workers->lock);
	pool->ring[(pool->first + pool->count++) % pool->capacity] = (struct pool_work){run, arg};
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
}

void thread_pool_wait(struct thread_pool *pool)
{
	struct workers *workers = &pool->workers;

	pthread_mutex_lock(&workers->lock);
	while (pool->count || pool->busy)
		pthread_cond_wait(&workers->changed, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
}

void thread_pool_free(struct thread_pool *pool)
{
	struct error ignored; /* work tells its own failures */

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
