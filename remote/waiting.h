/* waiting.h - a lock with a condition variable; Ctrl-C ends its waits */
#ifndef REMOTE_WAITING_H
#define REMOTE_WAITING_H

#include "engine/base/error.h"

#include <pthread.h>

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* broadcast it after changes */
};

bool waiting_is_stopped(void); /* result of the function of remote_stops_by() */

void waiting_init(struct waiting *waiting);
void waiting_release(struct waiting *waiting);
/* Waits for a broadcast, or at most 200 ms; needs the lock. */
void waiting_pause(struct waiting *waiting);
/* The same; false, without waiting: ERR_INTERRUPTED. */
MUST_CHECK bool waiting_wait(struct waiting *waiting, struct error *err);

#endif
