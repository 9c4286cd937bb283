/* workers.c - see workers.h */
#include "engine/base/workers.h"

#include "engine/base/wait.h"

#include <sched.h>
#include <signal.h>

unsigned processors(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

	return count > 0 ? (unsigned)count : 1;
}

bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
	sigset_t others, before;
	bool started;

	sigfillset(&others);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&others, faults[i]);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	started = pthread_create(thread, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void workers_init(struct workers *workers)
{
	workers->working = workers->started = 0;
	workers->failed = false;
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->changed, NULL);
}

static void *worker_run(void *arg)
{
	const struct worker_place *place = arg;
	struct workers *workers = place->workers;

	workers->run(workers->arg, place->i);
	pthread_mutex_lock(&workers->lock);
	workers->working--;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

unsigned workers_start(struct workers *workers, unsigned count, void (*run)(void *arg, unsigned i),
		       void *arg)
{
	if (!workers->started) { /* else those that run read them */
		workers->run = run;
		workers->arg = arg;
	}
	while (workers->started < count && workers->started < WORKERS_MAX) {
		unsigned i = workers->started;

		workers->places[i] = (struct worker_place){workers, i};
		pthread_mutex_lock(&workers->lock);
		workers->working++;
		pthread_mutex_unlock(&workers->lock);
		if (!thread_start(&workers->threads[i], worker_run, &workers->places[i])) {
			pthread_mutex_lock(&workers->lock);
			workers->working--;
			pthread_mutex_unlock(&workers->lock);
			break;
		}
		workers->started++;
	}
	return workers->started;
}

void workers_fail(struct workers *workers, const struct error *err)
{
	pthread_mutex_lock(&workers->lock);
	if (!workers->failed)
		workers->error = *err;
	workers->failed = true;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
}

void workers_watch(struct workers *workers, unsigned ms, void (*tick)(void *arg), void *arg)
{
	pthread_mutex_lock(&workers->lock);
	while (workers->working) {
		wait_ms(&workers->changed, &workers->lock, ms);
		pthread_mutex_unlock(&workers->lock);
		tick(arg);
		pthread_mutex_lock(&workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
}

bool workers_end(struct workers *workers, struct error *err)
{
	for (unsigned i = 0; i < workers->started; i++)
		pthread_join(workers->threads[i], NULL);
	pthread_cond_destroy(&workers->changed);
	pthread_mutex_destroy(&workers->lock);
	if (workers->failed)
		*err = workers->error;
	return !workers->failed;
}
