/* pool.c - a ring of work, and threads that empty it */
#include "convert/pool.h"

#include "engine/base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct work {
	void (*run)(void *arg);
	void *arg;
};

struct pool {
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
	struct pool *pool = arg;

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

struct pool *pool_new(unsigned threads, unsigned waiting)
{
	struct pool *pool = mem_new(sizeof *pool);
	sigset_t all, before;

	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	pool->capacity = waiting;
	pool->ring = mem_new_array(waiting, sizeof *pool->ring);
	pool->threads = mem_new_array(threads, sizeof *pool->threads);
	sigfillset(&all); /* signals are for the thread that began */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&pool->threads[pool->nthreads], NULL, serve, pool) == 0)
			pool->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pool;
}

void pool_add(struct pool *pool, void (*run)(void *arg), void *arg)
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

void pool_wait(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->count || pool->busy)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void pool_free(struct pool *pool)
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
