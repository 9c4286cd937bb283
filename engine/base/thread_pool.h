/* thread_pool.h - a work queue, and threads that empty it in the order in which work was given */
#ifndef ENGINE_BASE_THREAD_POOL_H
#define ENGINE_BASE_THREAD_POOL_H

#include <stdbool.h>

struct thread_pool;

/*
 * `threads` beside the caller's, as many as can be started, once there is work for them; where
 * there are none, work is done when it is given. Not more than `waiting` pieces wait.
 */
struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting);
unsigned thread_pool_threads(const struct thread_pool *pool); /* the caller's among them */
/* From the thread that made the pool. The oldest piece is done here and now where the queue is
 * full. */
void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg);
bool thread_pool_help(struct thread_pool *pool); /* does the oldest piece; false: none waits */
void thread_pool_wait(struct thread_pool *pool); /* helps until all is done */
void thread_pool_free(struct thread_pool *pool); /* after all is done; NULL is fine */

#endif
