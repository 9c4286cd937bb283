/* wait.h - waiting for a change, but not for ever */
#ifndef ENGINE_BASE_WAIT_H
#define ENGINE_BASE_WAIT_H

#include <pthread.h>
#include <time.h>

/* Under the lock, which is given up meanwhile: until `changed` is signalled, or for so many ms. */
static inline void wait_ms(pthread_cond_t *changed, pthread_mutex_t *lock, unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms % 1000 * 1000000L;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_cond_timedwait(changed, lock, &until);
}

#endif
