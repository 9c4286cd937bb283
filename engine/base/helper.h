/*
 * helper.h - a second thread with duties: it does the first that is due, and looks again
 *
 * What a duty shares with the thread that gave it is under the helper's lock.
 */
#ifndef ENGINE_BASE_HELPER_H
#define ENGINE_BASE_HELPER_H

#include <stdbool.h>

struct duty {
	/* Is there something to be done? Under the lock. */
	bool (*due)(void *arg);
	/* Does a piece of it. The lock is held when it is called and when it returns. */
	void (*work)(void *arg);
	void *arg;
	struct duty *next; /* the helper's */
};

struct helper;

struct helper *helper_new(void);         /* NULL: no thread is to be had */
void helper_free(struct helper *helper); /* it has no duties any more; NULL is fine */
/* The duty is borrowed until it is ended. Those that were given before come first. */
void helper_give(struct helper *helper, struct duty *duty);
/* Not while it is worked on: waits. No other thread may give or end duties meanwhile. */
void helper_end(struct helper *helper, struct duty *duty);

void helper_lock(struct helper *helper);
void helper_unlock(struct helper *helper);
/* Under the lock, which is given up meanwhile: until something changed. */
void helper_wait(struct helper *helper);
/* Under the lock: wakes all threads that wait. The helper does so after each piece of work. */
void helper_changed(struct helper *helper);
/* Under the lock: it is at nothing, and this duty is the first that is due. */
bool helper_is_next(const struct helper *helper, const struct duty *duty);

#endif
