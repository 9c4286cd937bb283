/* waiting.c - see waiting.h */
#include "remote/waiting.h"

#include "engine/base/wait.h"
#include "remote/remote.h"

#include <stddef.h>

enum { SLICE_MS = 200 };

static bool (*stops)(void);

void remote_stops_by(bool (*stopped)(void))
{
	stops = stopped;
}

bool waiting_is_stopped(void)
{
	return stops && stops();
}

void waiting_init(struct waiting *waiting)
{
	pthread_mutex_init(&waiting->lock, NULL);
	pthread_cond_init(&waiting->changed, NULL);
}

void waiting_release(struct waiting *waiting)
{
	pthread_cond_destroy(&waiting->changed);
	pthread_mutex_destroy(&waiting->lock);
}

void waiting_pause(struct waiting *waiting)
{
	wait_ms(&waiting->changed, &waiting->lock, SLICE_MS);
}

bool waiting_wait(struct waiting *waiting, struct error *err)
{
	if (waiting_is_stopped())
		return error_set(err, ERR_INTERRUPTED, "interrupted");
	waiting_pause(waiting);
	return true;
}
