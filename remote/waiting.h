/* waiting.h - a lock, and waiting under it for what another thread does, which Ctrl-C ends */
#ifndef REMOTE_WAITING_H
#define REMOTE_WAITING_H

#include "engine/base/error.h"

#include <pthread.h>

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* to be broadcast */
};

bool waiting_is_stopped(void); /* as remote_stops_by() says */

void waiting_init(struct waiting *waiting);
void waiting_release(struct waiting *waiting);
/* Under the lock, until something changed, or some time has passed. */
void waiting_pause(struct waiting *waiting);
/* The same; false: ERR_INTERRUPTED, at once. */
MUST_CHECK bool waiting_wait(struct waiting *waiting, struct error *err);

#endif
