/* thread_pool.c - see thread_pool.h: the queue is a ring */
#include "engine/base/thread_pool.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"

#include <stdbool.h>

struct work {
	void (*run)(void *arg);
	void *arg;
};

struct thread_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something came, was taken or was done, or the end */
	struct work *ring;
	unsigned first, count, capacity, busy;
	bool ended;
	pthread_t *threads;
	unsigned nthreads;
};

static void *serve(void *arg)
{
	struct thread_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->count && !pool->ended)
			pthread_cond_wait(&pool->changed, &pool->lock);
		if (!pool->count)
			break;
		struct work work = pool->ring[pool->first];
		pool->first = (pool->first + 1) % pool->capacity;
		pool->count--;
		pool->busy++;
		pthread_cond_broadcast(&pool->changed);
		pthread_mutex_unlock(&pool->lock);
		work.run(work.arg);
		pthread_mutex_lock(&pool->lock);
		pool->busy--;
		pthread_cond_broadcast(&pool->changed);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting)
{
	struct thread_pool *pool = mem_new(sizeof *pool);

	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	pool->capacity = waiting;
	pool->ring = mem_new_array(waiting, sizeof *pool->ring);
	pool->threads = mem_new_array(threads, sizeof *pool->threads);
	for (unsigned i = 0; i < threads; i++)
		if (thread_start(&pool->threads[pool->nthreads], serve, pool))
			pool->nthreads++;
	return pool;
}

void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg)
{
	if (!pool->nthreads) {
		run(arg);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	while (pool->count == pool->capacity)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pool->ring[(pool->first + pool->count++) % pool->capacity] = (struct work){run, arg};
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

void thread_pool_wait(struct thread_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->count || pool->busy)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void thread_pool_free(struct thread_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ended = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->nthreads; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	mem_free(pool->threads);
	mem_free(pool->ring);
	mem_free(pool);
}
