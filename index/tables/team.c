/*
 * team.c - index_build(): streams are scanned by several threads, one commits
 *
 *     worker ─┐
 *     worker ─┼─ steps ──> queue (bounded) ──> the caller's thread: one transaction for all that
 *     worker ─┘                                 came in GROUP_NS, progress, interruption
 *
 * A commit waits for the disk, so there are few of them; each leaves a state that the next run can
 * go on from. Callbacks want one thread, and so does the store: one writes.
 */
#include "engine/base/mem.h"
#include "index/tables/build.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 16, TICK_MS = 50, GROUP_MS = 300, QUEUE_STEPS = 4 };

struct queued {
	struct build_step step;
	struct queued *next;
};

struct team {
	struct index *index;
	const struct stream **streams; /* to be scanned */
	size_t nstreams;
	_Atomic size_t next;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t filled, drained;
	struct queued *first, **last;
	size_t steps, records;
	unsigned working;
	bool failed;
	struct error error;
};

static void team_fail(struct team *team, const struct error *err)
{
	pthread_mutex_lock(&team->lock);
	if (!team->failed)
		team->error = *err;
	team->failed = true;
	team->index->stop = 1;
	pthread_cond_broadcast(&team->drained);
	pthread_cond_broadcast(&team->filled);
	pthread_mutex_unlock(&team->lock);
}

static void enqueue(struct team *team, const struct build_step *step)
{
	struct queued *queued = mem_new(sizeof *queued);

	queued->step = *step;
	pthread_mutex_lock(&team->lock);
	while (team->records >= QUEUE_STEPS * team->index->step_records && !team->failed)
		pthread_cond_wait(&team->drained, &team->lock);
	*team->last = queued;
	team->last = &queued->next;
	team->steps++;
	team->records += step->rows.count;
	pthread_cond_signal(&team->filled);
	pthread_mutex_unlock(&team->lock);
}

static bool scan_stream(struct team *team, const struct stream *stream, struct error *err)
{
	struct stored stored;
	struct scanner scanner;
	struct build_step step;
	bool usable, complete = false, good = true;

	if (!build_needs_scan(team->index, stream, &stored, &usable)) {
		stored_release(&stored);
		return true;
	}
	scanner_init(&scanner, team->index, stream, usable ? &stored : NULL);
	stored_release(&stored);
	while (!complete && good) {
		good = scanner_step(&scanner, team->index->step_records * team->index->step_factor,
				    &step, err);
		if (!good)
			break;
		complete = step.complete;
		enqueue(team, &step);
	}
	scanner_release(&scanner);
	return good;
}

static void *work(void *arg)
{
	struct team *team = arg;
	struct error err;

	for (;;) {
		size_t i = team->next++;
		if (i >= team->nstreams || team->index->stop)
			break;
		if (!scan_stream(team, team->streams[i], &err)) {
			team_fail(team, &err);
			break;
		}
	}
	pthread_mutex_lock(&team->lock);
	team->working--;
	pthread_cond_signal(&team->filled);
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool commit(struct team *team, struct queued *group, size_t count, struct error *err)
{
	struct build_step **steps = mem_new_array(count, sizeof(struct build_step *));
	size_t i = 0;
	bool again;

	for (struct queued *one = group; one; one = one->next)
		steps[i++] = &one->step;
	bool good = write_steps(team->index, steps, count, &again, err);
	mem_free(steps);
	return good;
}

static void group_free(struct queued *group)
{
	for (struct queued *next; group; group = next) {
		next = group->next;
		step_release(&group->step);
		mem_free(group);
	}
}

/* Called with the lock; gives it up while the disk works. */
static void commit_queue(struct team *team)
{
	struct queued *group = team->first;
	size_t count = team->steps;
	struct error err;

	team->first = NULL;
	team->last = &team->first;
	team->steps = 0;
	team->records = 0;
	pthread_cond_broadcast(&team->drained);
	pthread_mutex_unlock(&team->lock);
	bool good = !count || commit(team, group, count, &err);
	group_free(group);
	if (!good)
		team_fail(team, &err);
	pthread_mutex_lock(&team->lock);
}

static void tell_progress(struct team *team)
{
	struct index *index = team->index;
	struct error err;

	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (!index->options.progress ||
	    index->options.progress(index->options.progress_arg, done, index->all))
		return;
	error_set(&err, ERR_INTERRUPTED, "interrupted");
	pthread_mutex_unlock(&team->lock);
	team_fail(team, &err);
	pthread_mutex_lock(&team->lock);
}

static void commit_while_working(struct team *team)
{
	uint64_t last = now_ms();

	pthread_mutex_lock(&team->lock);
	while (team->working) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TICK_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&team->filled, &team->lock, &until);
		tell_progress(team);
		bool full = team->records >= 2 * team->index->step_records;
		if (team->steps && (full || now_ms() - last >= GROUP_MS)) {
			commit_queue(team);
			last = now_ms();
		}
	}
	commit_queue(team);
	pthread_mutex_unlock(&team->lock);
}

static unsigned worker_count(const struct index *index, size_t nstreams)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = index->options.jobs ? index->options.jobs
					   : (processors > 0 ? (size_t)processors : 1);

	if (count > nstreams)
		count = nstreams;
	return count < WORKERS_MAX ? (unsigned)count : WORKERS_MAX;
}

static bool team_run(struct team *team, struct error *err)
{
	pthread_t threads[WORKERS_MAX];
	unsigned count = worker_count(team->index, team->nstreams), started = 0;

	team->working = count;
	while (started < count && pthread_create(&threads[started], NULL, work, team) == 0)
		started++;
	pthread_mutex_lock(&team->lock);
	team->working -= count - started;
	pthread_mutex_unlock(&team->lock);
	commit_while_working(team);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (count && !started)
		return error_set(err, ERR_IO, "no thread can be started");
	if (team->failed)
		*err = team->error;
	return !team->failed;
}

static bool build_stored(struct index *index, struct error *err)
{
	struct team team = {.index = index};

	team.last = &team.first;
	pthread_mutex_init(&team.lock, NULL);
	pthread_cond_init(&team.filled, NULL);
	pthread_cond_init(&team.drained, NULL);
	team.streams = mem_new_array(index->trace->nstreams, sizeof(struct stream *));
	for (size_t i = 0; i < index->trace->nstreams; i++)
		team.streams[team.nstreams++] = index->trace->streams[i];
	bool good = team_run(&team, err);
	mem_free(team.streams);
	pthread_cond_destroy(&team.filled);
	pthread_cond_destroy(&team.drained);
	pthread_mutex_destroy(&team.lock);
	return good;
}

bool index_build(struct index *index, struct error *err)
{
	struct table *table;

	index->stop = 0;
	if (build_may_store(index))
		return build_flush(index, err) && build_stored(index, err);
	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!index_table(index, index->trace->streams[i], &table, err))
			return false;
	return true;
}
