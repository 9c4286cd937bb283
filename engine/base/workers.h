/*
 * workers.h - threads that do one piece of work together while their caller watches
 *
 *     workers_init()      workers_start()      workers_watch()      workers_end()
 *                         run(arg, 0) ─────────────────────────>│
 *                         run(arg, 1) ──────────────────>       │ joined
 *                         caller      tick   tick   tick   tick │
 *
 * Callbacks of the program (progress, interruption) are made by the caller alone, from tick().
 */
#ifndef ENGINE_BASE_WORKERS_H
#define ENGINE_BASE_WORKERS_H

#include "engine/base/error.h"

#include <pthread.h>
#include <stdbool.h>

enum { WORKERS_MAX = 64 };

/* How many threads can run at a time: processors that the process may use, at least 1. */
unsigned processors(void);

struct workers {
	pthread_mutex_t lock;   /* of all below, and of data that the user protects with it */
	pthread_cond_t changed; /* a worker ended or failed; the user may signal more */
	unsigned working;
	struct error error;  /* the first failure */
	_Atomic bool failed; /* may be read without the lock */
	unsigned started;
	pthread_t threads[WORKERS_MAX];
	struct worker_place {
		struct workers *workers;
		unsigned i;
	} places[WORKERS_MAX];
	void (*run)(void *arg, unsigned i);
	void *arg;
};

/*
 * Starts a thread that blocks all signals but those of its own faults (SIGBUS, SIGSEGV, ...), so
 * that the others go to the main thread. False: no thread could be started.
 */
bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

void workers_init(struct workers *workers);
/*
 * Starts up to `count` (at most WORKERS_MAX) threads, each of which calls run(arg, i) with its i,
 * from 0 on. Returns how many could be started: numbers from there on are not run.
 */
unsigned workers_start(struct workers *workers, unsigned count, void (*run)(void *arg, unsigned i),
		       void *arg);
/* Stores the first failure and wakes all threads that wait. For any thread, without the lock. */
void workers_fail(struct workers *workers, const struct error *err);
/* Waits until all have ended; calls tick(arg), without the lock, every `ms` and at each change. */
void workers_watch(struct workers *workers, unsigned ms, void (*tick)(void *arg), void *arg);
/* Joins all threads. False: one of them failed, see *err. */
MUST_CHECK bool workers_end(struct workers *workers, struct error *err);

#endif
