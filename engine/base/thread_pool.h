/* thread_pool.h - a work queue, and threads that empty it in the order in which work was given */
#ifndef ENGINE_BASE_THREAD_POOL_H
#define ENGINE_BASE_THREAD_POOL_H

#include <stdbool.h>

struct thread_pool;

/*
 * Up to `threads` threads besides the caller's; each is started when there is work for it. If none
 * can be started, thread_pool_add() does the work itself. `waiting`: the most pieces in the queue.
 */
struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting);
unsigned thread_pool_threads(const struct thread_pool *pool); /* including the caller's */
/* Queues run(arg); only for the thread that made the pool. While the queue is full, this thread
 * does the oldest piece itself. `pool` NULL: does run(arg) at once. */
void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg);
/*
 * Should the owner help while it waits for a piece? Of many threads it should not: the others could
 * run out of the work that only the owner hands out.
 */
bool thread_pool_is_small(const struct thread_pool *pool);
bool thread_pool_help(struct thread_pool *pool); /* does the oldest piece; false: none waits */
/* Helps until the work is done; NULL is fine. */
void thread_pool_wait(struct thread_pool *pool);
void thread_pool_free(struct thread_pool *pool); /* after all is done; NULL is fine */

#endif
