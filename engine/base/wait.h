/* wait.h - the system's clocks, and waiting on a condition with a timeout */
#ifndef ENGINE_BASE_WAIT_H
#define ENGINE_BASE_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* A monotonic clock in ms, up to ten too low. For differences; signal handlers may call it. */
static inline int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What the clock says, ns: CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID... */
static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Under the lock, which it releases meanwhile: waits until `changed` is signalled, or for `ms`. */
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
