/*
 * helper.h - a second thread with a list of duties: it repeatedly works on the first one that is
 * due
 *
 * The helper's lock protects the data that a duty shares with other threads.
 */
#ifndef ENGINE_BASE_HELPER_H
#define ENGINE_BASE_HELPER_H

#include <stdbool.h>

struct duty {
	/* Is there work to do? Called under the lock. */
	bool (*due)(void *arg);
	/* Does a piece of the work. The lock is held when it is called and when it returns. */
	void (*work)(void *arg);
	void *arg;
	struct duty *next; /* the helper's */
};

struct helper;

struct helper *helper_new(void);         /* NULL: no thread could be started */
void helper_free(struct helper *helper); /* after all duties were ended; NULL is fine */
/* Appends a duty to the list; borrowed until helper_end(). Earlier duties have precedence. */
void helper_give(struct helper *helper, struct duty *duty);
/* Removes a duty, and waits while the helper works on it. No other thread may call helper_give() or
 * helper_end() meanwhile. */
void helper_end(struct helper *helper, struct duty *duty);

void helper_lock(struct helper *helper);
void helper_unlock(struct helper *helper);
/* Under the lock, which it releases while it waits for helper_changed(). */
void helper_wait(struct helper *helper);
/* Under the lock: wakes all threads that wait. The helper calls it after each piece of work. */
void helper_changed(struct helper *helper);
/* Under the lock: true when the helper is idle and this duty is the first that is due. */
bool helper_is_next(const struct helper *helper, const struct duty *duty);

#endif
