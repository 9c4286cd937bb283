/*
 * real_state.c - compares backward pass and timelines with replay on a real trace: every attribute,
 * at random moments
 *
 *     real_state TRACE [MOMENTS [SEED]]   MOMENTS: how many, or -: reads lines of @NANOSECONDS
 *
 * Prints what differs and exits with 1; else one line of figures.
 */
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "index/index.h"
#include "state/context/context.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 10,  /* moments in one pass */
	ALONE = 200, /* queries in passes of their own */
	RANGES = 4,
	SHARDS = 3,
	MANY = 2000, /* with so many attributes a pass takes seconds */
	MOMENTS_OF_MANY = 2,
	SPACING =
		2000000 /* ns of replay between checkpoints, so that even short traces have some */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int die(const struct error *err)
{
	fprintf(stderr, "real_state: %s\n", err->text);
	return 1;
}

struct check {
	struct state *replay, *backward, *stored, *shards, *filtered_by_packet, *ranges;
	struct query **queries;
	size_t nqueries;
	struct moment *moments;
	size_t nmoments;
	uint64_t values, differing, visits;
	double replay_seconds, backward_seconds;
	struct rng rng;
};

/* Finds the paths of all attributes that the trace has. */
static bool find_paths(struct check *check, nstime last, struct error *err)
{
	struct moment moment = {last, false};
	struct answers all;

	if (!state_at(check->replay, &moment, 1, NULL, 0, false, &all, err))
		return false;
	check->queries = mem_new_array(all.count, sizeof(struct query *));
	for (size_t i = 0; i < all.count; i++)
		if (!query_parse(all.items[i].path, &check->queries[check->nqueries++], err))
			return false;
	answers_release(&all);
	return true;
}

static void show(const char *who, const struct answer *answer)
{
	struct buf text = {0};

	if (answer->value.kind <= VALUE_NONE)
		buf_add_text(&text, answer->value.kind == VALUE_NONE ? "none" : "unknown");
	else
		value_add_key(&answer->value, &text);
	printf("%s @%lld %s = %s since %lld\n", who, (long long)answer->t, answer->path,
	       buf_text(&text), (long long)answer->since);
	buf_release(&text);
}

static void compare(struct check *check, const char *way, const struct answer *a,
		    const struct answer *b)
{
	check->values++;
	if (value_equal(&a->value, &b->value) && a->since == b->since && !strcmp(a->path, b->path))
		return;
	if (check->differing++ < 20) {
		show("replay:", a);
		show(way, b);
	}
}

static bool check_stored(struct check *check, struct state *stored, const char *way,
			 const struct answers *expected, struct error *err)
{
	const struct query *const *queries = (const struct query *const *)check->queries;
	struct answers got;

	if (!state_at(stored, check->moments, check->nmoments, queries, check->nqueries, false,
		      &got, err))
		return false;
	if (strcmp(state_evaluation(stored), "slices") != 0)
		return error_set(err, ERR_RANGE, "timelines were not used");
	for (size_t i = 0; i < got.count; i++)
		compare(check, way, &expected->items[i], &got.items[i]);
	answers_release(&got);
	return true;
}

static bool check_moments(struct check *check, struct error *err)
{
	const struct query *const *queries = (const struct query *const *)check->queries;
	struct answers expected, got;
	double begin = now();
	size_t at = 0;

	if (!state_at(check->replay, check->moments, check->nmoments, queries, check->nqueries,
		      false, &expected, err))
		return false;
	check->replay_seconds = now() - begin;
	begin = now();
	for (size_t m = 0; m < check->nmoments; m += BATCH) {
		size_t n = check->nmoments - m < BATCH ? check->nmoments - m : BATCH;

		if (!state_at(check->backward, &check->moments[m], n, queries, check->nqueries,
			      false, &got, err))
			return false;
		check->visits += check->backward->visits;
		for (size_t i = 0; i < got.count; i++)
			compare(check, "backward:", &expected.items[at++], &got.items[i]);
		answers_release(&got);
	}
	check->backward_seconds = now() - begin;
	bool ok = check_stored(check, check->stored, "timelines:", &expected, err) &&
		  check_stored(check, check->shards, "shards:", &expected, err);
	answers_release(&expected);
	return ok;
}

/* Checks queries for single attributes: packet filters then exclude most packets. */
static bool check_alone(struct check *check, struct error *err)
{
	const struct query *const *queries = (const struct query *const *)check->queries;
	struct answers expected, got;

	for (int i = 0; i < ALONE && check->nqueries; i++) {
		const struct moment *moment =
			&check->moments[rng_next(&check->rng) % check->nmoments];
		const struct query *const *query =
			&queries[rng_next(&check->rng) % check->nqueries];

		if (!state_at(check->filtered_by_packet, moment, 1, query, 1, false, &got, err) ||
		    !state_at(check->stored, moment, 1, query, 1, false, &expected, err))
			return false;
		compare(check, "alone:", &expected.items[0], &got.items[0]);
		answers_release(&expected);
		answers_release(&got);
	}
	return true;
}

/* ---- lists over short ranges ---- */

struct listed_range {
	nstime begin, end; /* range whose intervals are stored */
	struct buf text;
};

static bool keep_interval(void *arg, const struct interval *interval)
{
	struct listed_range *range = arg;

	if (interval->begin >= range->end || interval->end <= range->begin)
		return true;
	buf_printf(&range->text, "%s [%lld, %lld) = ", interval->path, (long long)interval->begin,
		   (long long)interval->end);
	value_add_key(&interval->value, &range->text);
	buf_add_char(&range->text, '\n');
	return true;
}

/*
 * Compares a list over a short range with a run over the whole trace, first with nothing cached and
 * then again.
 */
static bool check_list(struct check *check, const char *path, struct error *err)
{
	struct listed_range expected = {0}, got = {0};
	struct query *query;
	nstime first, last;
	bool ok = query_parse(path, &query, err);

	for (int i = 0; ok && i < RANGES; i++) {
		nstime begin = check->moments[rng_next(&check->rng) % check->nmoments].t;

		expected.begin = got.begin = begin;
		expected.end = got.end = begin + 1 + (nstime)(rng_next(&check->rng) % 1000000);
		buf_clear(&expected.text);
		buf_clear(&got.text);
		ok = state_recorded(check->replay, &first, &last, err) &&
		     (begin > last || /* no values outside of the recording */
		      state_intervals(check->replay, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE,
				      (const struct query *const *)&query, 1, keep_interval,
				      &expected, err)) &&
		     state_intervals(check->ranges, begin, got.end, INTERVALS_WHOLE,
				     (const struct query *const *)&query, 1, keep_interval, &got,
				     err);
		if (!strcmp(buf_text(&expected.text), buf_text(&got.text)))
			continue;
		check->differing++;
		printf("%s [%lld, %lld)\nreplay:\n%srange:\n%s", path, (long long)begin,
		       (long long)got.end, buf_text(&expected.text), buf_text(&got.text));
	}
	buf_release(&expected.text);
	buf_release(&got.text);
	query_free(query);
	return ok;
}

/* Checks lists of the siblings of some attribute, and of names and states of all threads. */
static bool check_lists(struct check *check, struct error *err)
{
	struct buf path = {0};
	bool ok = true;

	if (!check->nqueries)
		return true;
	buf_add_text(&path, query_text(check->queries[rng_next(&check->rng) % check->nqueries]));
	path.data[strcspn(buf_text(&path), "]")] = 0;
	path.len = strlen(path.data);
	buf_add_text(&path, "]/**");
	check->ranges->spacing = SPACING;
	check->ranges->share = 0;
	ok = check_list(check, buf_text(&path), err) && check_list(check, "thread[*]/name", err) &&
	     check_list(check, "thread[*]/state", err);
	buf_release(&path);
	return ok;
}

static bool open_state(struct index *index, struct rules *rules, enum force force,
		       struct state **out, struct error *err)
{
	struct state_options options = {.rules = rules, .no_checkpoints = true};

	if (!state_open(index, &options, out, err))
		return false;
	(*out)->force = force;
	(*out)->limits = (struct backward_limits){UINT64_MAX, 1 << 20, 1 << 24, 100, SIZE_MAX};
	return true;
}

/* Stores timelines in a temporary file, which is deleted once open. */
static bool open_stored(struct index *index, struct rules *rules, unsigned jobs,
			struct state **out, struct error *err)
{
	static char paths[2][32] = {"/tmp/real_state-XXXXXX", "/tmp/real_state-XXXXXX"};
	char *path = paths[jobs > 1];
	struct timelines_built built;
	int fd = mkstemp(path);
	bool ok;

	if (fd < 0)
		return error_set(err, ERR_IO, "%s cannot be made", path);
	close(fd);
	unlink(path);
	ok = open_state(index, rules, FORCE_SLICES, out, err);
	if (!ok)
		return false;
	(*out)->timelines = path;
	ok = timelines_build(*out, jobs, &built, err) &&
	     (timelines_there(*out) || error_set(err, ERR_RANGE, "no timelines were made"));
	return timelines_remove(path, err) && ok;
}

static void report(const struct check *check)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("packets skipped %llu; ranges handed on %llu; attributes %zu, moments %zu, values "
	       "%llu, differing %llu; "
	       "replay %.2f s; "
	       "backward %.2f s, %.0f visits a moment; %ld MB\n",
	       (unsigned long long)index_trace(state_index(check->filtered_by_packet))
		       ->packets_skipped,
	       (unsigned long long)check->ranges->handed, check->nqueries, check->nmoments,
	       (unsigned long long)check->values, (unsigned long long)check->differing,
	       check->replay_seconds, check->backward_seconds,
	       (double)check->visits / (double)check->nmoments, usage.ru_maxrss / 1024);
}

static void choose_moments(struct check *check, nstime first, nstime last)
{
	check->moments = mem_new_array(check->nmoments, sizeof *check->moments);
	for (size_t i = 0; i < check->nmoments; i++)
		check->moments[i] = (struct moment){
			first + (nstime)(rng_next(&check->rng) % (uint64_t)(last - first + 1)),
			rng_once_in(&check->rng, 2)};
}

/* Reads moments; each is queried, and the state just before it. */
static void read_moments(struct check *check)
{
	size_t capacity = 0;
	long long t;

	check->nmoments = 0;
	while (scanf("@%lld\n", &t) == 1)
		for (int before = 0; before < 2; before++) {
			check->moments = mem_grow(check->moments, check->nmoments, &capacity,
						  sizeof *check->moments);
			check->moments[check->nmoments++] = (struct moment){t, before};
		}
}

int main(int argc, char **argv)
{
	const char *paths[] = {argc > 1 ? argv[1] : ""};
	struct trace_options trace_options = {.paths = paths, .npaths = 1};
	struct index_options index_options = {.none = true};
	struct check check = {.nmoments = argc > 2 ? strtoul(argv[2], NULL, 10) : 200,
			      .rng = {argc > 3 ? strtoull(argv[3], NULL, 10) : 1}};
	struct rules *rules = rules_new();
	struct trace *trace;
	struct index *index;
	struct error err;
	nstime first, last;

	if (argc < 2 || !trace_open(&trace_options, &trace, &err) ||
	    !index_open(trace, &index_options, &index, &err) ||
	    !rules_add_builtin(rules, "linux", &err) || !events_range(index, &first, &last, &err) ||
	    !open_state(index, rules, FORCE_REPLAY, &check.replay, &err) ||
	    !open_state(index, rules, FORCE_BACKWARD, &check.backward, &err) ||
	    !open_state(index, rules, FORCE_BACKWARD, &check.filtered_by_packet, &err) ||
	    !open_state(index, rules, FORCE_NONE, &check.ranges, &err) ||
	    !open_stored(index, rules, 1, &check.stored, &err) ||
	    !open_stored(index, rules, SHARDS, &check.shards, &err) ||
	    !find_paths(&check, last, &err))
		return die(&err);
	if (argc > 2 && !strcmp(argv[2], "-"))
		read_moments(&check);
	else {
		if (check.nqueries > MANY && check.nmoments > MOMENTS_OF_MANY)
			check.nmoments = MOMENTS_OF_MANY;
		choose_moments(&check, first, last);
	}
	check.filtered_by_packet->patience = 1;
	check.ranges->options.no_checkpoints = false;
	if (!check_moments(&check, &err) || !check_alone(&check, &err) ||
	    !check_lists(&check, &err))
		return die(&err);
	report(&check);
	for (size_t i = 0; i < check.nqueries; i++)
		query_free(check.queries[i]);
	mem_free(check.queries);
	mem_free(check.moments);
	state_close(check.replay);
	state_close(check.backward);
	state_close(check.filtered_by_packet);
	state_close(check.ranges);
	state_close(check.stored);
	state_close(check.shards);
	index_close(index);
	trace_close(trace);
	rules_free(rules);
	return check.differing != 0;
}
