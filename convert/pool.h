/* pool.h - work that other threads do, begun in the order in which it was given */
#ifndef CONVERT_POOL_H
#define CONVERT_POOL_H

struct pool;

/* `threads` at least 1. Not more than `waiting` pieces wait. */
struct pool *pool_new(unsigned threads, unsigned waiting);
/* Waits while too much waits. */
void pool_add(struct pool *pool, void (*run)(void *arg), void *arg);
void pool_wait(struct pool *pool); /* until all is done */
void pool_free(struct pool *pool); /* after all is done; NULL is fine */

#endif
