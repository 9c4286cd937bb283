/* thread_pool.h - a work queue, and threads that empty it in the order in which work was given */
#ifndef ENGINE_BASE_THREAD_POOL_H
#define ENGINE_BASE_THREAD_POOL_H

struct thread_pool;

/*
 * `threads` at least 1, as many as can be started; where none can, work is done when it is given.
 * Not more than `waiting` pieces wait.
 */
struct thread_pool *thread_pool_new(unsigned threads, unsigned waiting);
/* Waits while the queue is full. */
void thread_pool_add(struct thread_pool *pool, void (*run)(void *arg), void *arg);
void thread_pool_wait(struct thread_pool *pool); /* until all is done */
void thread_pool_free(struct thread_pool *pool); /* after all is done; NULL is fine */

#endif
