/*
 * shards_threads.c - all steps of shards.h by threads of one process
 *
 *     caller    pass 2 of shard 0 ──────────────────────────────────────>
 *     thread 1  pass 1 of shard 0 ─────────> join, pass 2 of shard 1 ───>
 *     thread 2  pass 1 of shard 1 ────> wait      pass 2 of shard 2 ────>
 *
 * The first shard begins with nothing, so it is built at once, and is as much longer as the others
 * wait. The thread that ends pass 1 last does the join. Each thread has a feed and a program of its
 * own; only the caller's thread reports progress, and hears of an interruption.
 */
#include "engine/base/mem.h"
#include "state/timelines/shards_internal.h"
#include "state/context/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { TICK_MS = 100 };

/* How much the first shard is, if pass 1 costs 0.7 of pass 2: the others have 0.3 of the time. */
static const double ahead = 1 / 0.3;

struct team {
	struct state *state;
	struct shards_plan plan;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	uint32_t digests; /* still to be made */
	bool joined;
	uint32_t working;
	bool failed;
	struct error error;
	_Atomic bool stop;
};

struct worker {
	struct team *team;
	uint32_t i; /* its shard */
	pthread_t thread;
	bool started;
};

static void team_fail(struct team *team, const struct error *err)
{
	pthread_mutex_lock(&team->lock);
	if (!team->failed)
		team->error = *err;
	team->failed = true;
	atomic_store(&team->stop, true);
	pthread_cond_broadcast(&team->changed);
	pthread_mutex_unlock(&team->lock);
}

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !atomic_load(&((struct team *)arg)->stop);
}

static bool goes_on_at(void *arg, nstime at)
{
	(void)at;
	return !atomic_load(&((struct team *)arg)->stop);
}

/* Also the caller's, for what it does itself. */
static bool reports(void *arg, nstime at, nstime first, nstime last)
{
	struct team *team = arg;
	const struct state_options *options = &team->state->options;

	return !atomic_load(&team->stop) &&
	       (!options->progress || options->progress(options->progress_arg, at, first, last));
}

static bool work_begin(struct team *team, bool caller, struct shards_work *out, struct error *err)
{
	struct notices silent = {0}; /* the state's own program has said it */

	*out = (struct shards_work){.state = team->state,
				    .plan = &team->plan,
				    .feed = feed_over_index(team->state->index),
				    .one_process = true,
				    .progress = goes_on_at,
				    .progress_arg = team};
	out->feed->progress = caller ? reports : goes_on;
	out->feed->progress_arg = team;
	out->feed->sketches = team->state->feed->sketches;
	out->feed->inferred = team->state->feed->inferred;
	if (!program_compile(team->state->options.rules, out->feed->trace, &silent, &out->program,
			       err))
		return false;
	program_set_gaps(out->program, team->state->gaps);
	return true;
}

static void work_end(struct shards_work *work)
{
	program_free(work->program);
	feed_over_index_free(work->feed);
}

/* Waits for all digests; the thread that made the last one joins. */
static bool join_or_wait(struct team *team, const struct shards_work *work, struct error *err)
{
	uint64_t replayed;
	bool last, ok = true;

	pthread_mutex_lock(&team->lock);
	last = --team->digests == 0;
	while (!last && !team->joined && !team->failed)
		pthread_cond_wait(&team->changed, &team->lock);
	ok = !team->failed;
	pthread_mutex_unlock(&team->lock);
	if (!last || !ok)
		return ok || error_set(err, ERR_INTERRUPTED, "interrupted");
	if (!shards_join(work, &replayed, err))
		return false;
	pthread_mutex_lock(&team->lock);
	team->joined = true;
	pthread_cond_broadcast(&team->changed);
	pthread_mutex_unlock(&team->lock);
	return true;
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct team *team = worker->team;
	struct timelines_built built;
	struct shards_work work;
	struct error err;

	if (!work_begin(team, false, &work, &err) || !shards_digest(&work, worker->i - 1, &err) ||
	    !join_or_wait(team, &work, &err) || !shards_build(&work, worker->i, &built, &err))
		team_fail(team, &err);
	work_end(&work);
	pthread_mutex_lock(&team->lock);
	team->working--;
	pthread_cond_broadcast(&team->changed);
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

/* Until all are done; hears of an interruption meanwhile. */
static void wait_for_all(struct team *team)
{
	nstime first, last;
	struct error ignored;
	bool ranged = events_range(team->state->index, &first, &last, &ignored);

	pthread_mutex_lock(&team->lock);
	while (team->working) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TICK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&team->changed, &team->lock, &until);
		pthread_mutex_unlock(&team->lock);
		if (ranged && !atomic_load(&team->stop) && !reports(team, last, first, last)) {
			struct error err;

			error_set(&err, ERR_INTERRUPTED, "interrupted");
			team_fail(team, &err);
		}
		pthread_mutex_lock(&team->lock);
	}
	pthread_mutex_unlock(&team->lock);
}

static void start_workers(struct team *team, struct worker *workers)
{
	team->digests = team->working = team->plan.n - 1;
	for (uint32_t i = 1; i < team->plan.n; i++) {
		workers[i] = (struct worker){.team = team, .i = i};
		workers[i].started =
			!pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
		if (!workers[i].started) {
			struct error err;

			error_set(&err, ERR_IO, "no thread can be started");
			pthread_mutex_lock(&team->lock);
			team->working--;
			pthread_mutex_unlock(&team->lock);
			team_fail(team, &err);
		}
	}
}

static void run_team(struct team *team)
{
	struct worker *workers = mem_new_array(team->plan.n, sizeof *workers);
	struct timelines_built built;
	struct shards_work work;
	struct error err;

	start_workers(team, workers);
	if (!work_begin(team, true, &work, &err) || !shards_build(&work, 0, &built, &err))
		team_fail(team, &err);
	work_end(&work);
	wait_for_all(team);
	for (uint32_t i = 1; i < team->plan.n; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	mem_free(workers);
}

/* What one thread found of a packet another one may have needed to know before. */
static bool build_whole(struct team *team, struct timelines_built *out, struct error *err)
{
	struct shards_work work = shards_work_of(team->state, &team->plan);

	work.one_process = true;
	return shards_build_whole(&work, out, err);
}

bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
		      struct error *err)
{
	struct team team = {.state = state};
	bool ok = shards_plan(state, n, ahead, &team.plan, err);
	uint64_t before = trace_disorder(state->feed->trace);
	struct shard_note note;

	if (ok) {
		pthread_mutex_init(&team.lock, NULL);
		pthread_cond_init(&team.changed, NULL);
		run_team(&team);
		pthread_cond_destroy(&team.changed);
		pthread_mutex_destroy(&team.lock);
		ok = !team.failed;
		if (ok)
			shards_built(&team.plan, out);
		else
			*err = team.error;
		if ((ok || err->kind != ERR_INTERRUPTED) &&
		    (trace_disorder(state->feed->trace) != before ||
		     shard_file_read(&team.plan, SHARD_STRAYED, 0, &note, NULL)))
			ok = build_whole(&team, out, err);
	}
	shards_plan_release(&team.plan);
	return ok;
}
