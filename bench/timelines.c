/*
 * timelines.c - measures timelines of a trace: time to build, size, time to answer
 *
 *     bench-timelines TRACE FOLDER [RULES [THREADS]]
 *
 * Builds them in the folder, with the rules of that name (default linux), on one or two threads,
 * then queries them. Prints one line of JSON:
 *
 *     events, changes, build_seconds (CPU), bytes (of the file), trace_bytes, slices
 *     build_longest             of them the seconds of the thread that worked longest
 *     value_us, value_us_99     a value and since when, of random attributes at random moments
 *     state_us, state_count     which attributes live at a random moment, with their values
 *     whole_us                  the same as answers: paths, values, since when
 *     all_intervals_per_us      every change of every attribute, with its time
 *     busy_intervals_per_us     of the attribute with the most, as intervals that are joined: the
 *                               median of asking again; busy_first_per_us: when asked first
 *
 * Times are CPU times of the process, medians, with warm caches.
 */
#include "state/timelines/timelines.h"
#include "bench/seconds.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "index/index.h"
#include "state/state.h"
#include "state/timelines/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VALUES = 20000, STATES = 101, AGAIN = 11 };

struct bench {
	struct trace *trace;
	struct index *index;
	struct rules *rules;
	struct state *state;
	nstime first, last;
	struct rng rng;
	struct answers all; /* attributes and values at the end */
	uint32_t *attrs;    /* their attribute numbers */
};

static double seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static nstime any_moment(struct bench *bench)
{
	return bench->first +
	       (nstime)(rng_next(&bench->rng) % (uint64_t)(bench->last - bench->first + 1));
}

static bool open_all(struct bench *bench, const char *path, const char *folder, const char *rules,
		     struct error *err)
{
	const char *paths[] = {path};
	struct trace_options trace_options = {.paths = paths, .npaths = 1};
	struct index_options index_options = {.dir = folder};
	struct state_options options = {0};

	bench->rules = rules_new();
	options.rules = bench->rules;
	return trace_open(&trace_options, &bench->trace, err) &&
	       index_open(bench->trace, &index_options, &bench->index, err) &&
	       rules_add_builtin(bench->rules, rules, err) &&
	       events_range(bench->index, &bench->first, &bench->last, err) &&
	       state_open(bench->index, &options, &bench->state, err);
}

static bool build(struct bench *bench, unsigned threads, struct error *err)
{
	struct timelines_built built;
	struct stat st;
	char *path;
	double begin = seconds(), own = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	if (!timelines_build(bench->state, threads, &built, err))
		return false;
	begin = seconds() - begin;
	own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own;
	struct timelines_key key =
		timelines_key_of(bench->state->options.rules, bench->state->event_source->trace);
	path = timelines_path(bench->state, &key);
	if (stat(path, &st) != 0)
		st.st_size = 0;
	mem_free(path);
	printf("{\"events\":%llu,\"changes\":%llu,\"build_seconds\":%.3f,"
	       "\"build_longest\":%.3f,\"bytes\":%lld,\"trace_bytes\":%llu,\"slices\":%u",
	       (unsigned long long)built.events, (unsigned long long)built.changes, begin,
	       own > begin - own ? own : begin - own, (long long)st.st_size,
	       (unsigned long long)trace_bytes(bench->trace), built.slices);
	return true;
}

static bool find_attrs(struct bench *bench, struct error *err)
{
	struct moment moment = {bench->last, false};
	struct query *query;

	if (!state_at(bench->state, &moment, 1, NULL, 0, false, &bench->all, err))
		return false;
	bench->attrs = mem_new_array(bench->all.count + 1, sizeof *bench->attrs);
	for (size_t i = 0; i < bench->all.count; i++) {
		if (!query_parse(bench->all.items[i].path, &query, err))
			return false;
		bench->attrs[i] = query_attr(query, bench->state->attrs);
		query_free(query);
	}
	return bench->all.count > 0 || error_set(err, ERR_RANGE, "the rules say nothing of it");
}

static bool one_value(struct bench *bench, struct error *err)
{
	struct stored *stored = stored_of(bench->state);
	uint32_t attr = bench->attrs[rng_next(&bench->rng) % bench->all.count];
	struct fact fact;
	bool ok;

	if (!stored_begin(stored, err))
		return false;
	ok = stored_fact(stored, attr, any_moment(bench), &fact) ||
	     error_set(err, ERR_FORMAT, "damaged");
	stored_end(stored);
	return ok;
}

static bool values(struct bench *bench, struct error *err)
{
	double *times = mem_new_array(VALUES, sizeof *times);
	bool ok = true;

	for (int i = 0; i < VALUES && ok; i++) /* warm */
		ok = one_value(bench, err);
	for (int i = 0; i < VALUES && ok; i++) {
		double begin = seconds();

		ok = one_value(bench, err);
		times[i] = (seconds() - begin) * 1e6;
	}
	qsort(times, VALUES, sizeof *times, seconds_compare);
	printf(",\"value_us\":%.2f,\"value_us_99\":%.2f", times[VALUES / 2],
	       times[VALUES * 99 / 100]);
	mem_free(times);
	return ok;
}

static bool states(struct bench *bench, struct error *err)
{
	struct stored *stored = stored_of(bench->state);
	uint32_t nshapes = shape_count(bench->state->attrs);
	uint8_t *shapes = mem_new(nshapes);
	double times[STATES];
	size_t count = 0;
	bool ok = true;

	memset(shapes, 1, nshapes);
	for (int i = -5; i < STATES && ok; i++) {
		struct stored_list list = {0};
		double begin = seconds();

		ok = stored_begin(stored, err) &&
		     stored_list(stored, any_moment(bench), shapes, nshapes, false, &list);
		stored_end(stored);
		if (i >= 0)
			times[i] = (seconds() - begin) * 1e6;
		count += list.count;
		mem_free(list.items);
	}
	qsort(times, STATES, sizeof *times, seconds_compare);
	printf(",\"state_us\":%.0f,\"state_count\":%zu", times[STATES / 2], count / (STATES + 5));
	mem_free(shapes);
	return ok;
}

static bool whole(struct bench *bench, struct error *err)
{
	double times[STATES];
	bool ok = true;

	for (int i = 0; i < STATES && ok; i++) {
		struct moment moment = {any_moment(bench), false};
		struct answers answers;
		double begin = seconds();

		ok = state_at(bench->state, &moment, 1, NULL, 0, false, &answers, err);
		times[i] = (seconds() - begin) * 1e6;
		if (ok)
			answers_release(&answers);
	}
	qsort(times, STATES, sizeof *times, seconds_compare);
	printf(",\"whole_us\":%.0f", times[STATES / 2]);
	return ok;
}

/* Reads all nticks times of a slice. */
static bool tick_times(const struct slice *slice, nstime *out)
{
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	for (uint32_t j = 0; j < slice->ticks.nblocks; j++) {
		if (!slice_block_open(&slice->ticks, j, &block) || !slice_block_keys(&block, keys))
			return false;
		for (uint32_t i = 0; i < block.count; i++)
			*out++ = (nstime)((uint64_t)slice->begin + keys[i]);
	}
	return true;
}

static bool all_intervals(struct bench *bench, struct error *err)
{
	struct stored *stored = stored_of(bench->state);
	uint64_t count = 0, sum = 0;
	struct slice_opened open;
	const struct slice_block *block = &open.block;
	const uint64_t *keys = open.keys;
	struct slice_value values[SLICE_BLOCK];
	nstime *ticks = NULL;
	size_t room = 0;
	double begin = seconds();

	if (!stored_begin(stored, err))
		return false;
	for (uint32_t s = 0; s < stored->items[0].shard->nslices; s++) {
		const struct slice *slice = shard_slice(stored->items[0].shard, s);

		if (slice && slice->nticks > room) {
			room = slice->nticks * 2;
			ticks = mem_resize(ticks, room, sizeof *ticks);
		}
		if (!slice || !tick_times(slice, ticks))
			return false;
		open.j = 0;
		for (uint32_t j = 0; j < slice->changes.nblocks; j++) {
			if (!slice_opened_at(&open, &slice->changes, j))
				return false;
			slice_block_values(block, values);
			for (uint32_t i = 0; i < block->count; i++)
				sum += (uint64_t)ticks[keys[i] & ((1u << slice->tick_bits) - 1)] ^
				       (uint64_t)values[i].number;
			count += block->count;
		}
	}
	stored_end(stored);
	begin = seconds() - begin;
	mem_free(ticks);
	printf(",\"all_intervals_per_us\":%.1f", (double)count / begin * 1e-6 + (sum == 1));
	return true;
}

static bool count_interval(void *arg, const struct interval *interval)
{
	(void)interval;
	++*(uint64_t *)arg;
	return true;
}

static bool intervals_of(struct bench *bench, const char *path, uint64_t *count, double *took,
			 struct error *err)
{
	const struct query *queries[1];
	struct query *query;
	bool ok;

	if (!query_parse(path, &query, err))
		return false;
	queries[0] = query;
	*count = 0;
	*took = seconds();
	ok = state_intervals(bench->state, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE, queries, 1,
			     count_interval, count, err);
	*took = seconds() - *took;
	query_free(query);
	return ok;
}

static bool busy_intervals(struct bench *bench, struct error *err)
{
	uint64_t count, most = 0;
	double took, first = 0, again[AGAIN];
	size_t busiest = 0;

	for (size_t i = 0; i < bench->all.count && i < 400; i++) {
		struct value variables[ENV_VARIABLES];

		if (program_view_of(bench->state->program, bench->attrs[i], variables))
			continue; /* a view */
		if (!intervals_of(bench, bench->all.items[i].path, &count, &took, err))
			return false;
		if (count > most) {
			most = count;
			first = took;
			busiest = i;
		}
	}
	for (size_t i = 0; i < AGAIN; i++)
		if (!intervals_of(bench, bench->all.items[busiest].path, &count, &again[i], err))
			return false;
	qsort(again, AGAIN, sizeof *again, seconds_compare);
	printf(",\"busy_intervals\":%llu,\"busy_intervals_per_us\":%.1f", (unsigned long long)most,
	       (double)most / again[AGAIN / 2] * 1e-6);
	printf(",\"busy_first_per_us\":%.1f}\n", (double)most / first * 1e-6);
	return true;
}

int main(int argc, char **argv)
{
	struct bench bench = {.rng = {1}};
	struct error err;

	if (argc < 3) {
		fprintf(stderr, "usage: bench-timelines TRACE FOLDER [RULES [THREADS]]\n");
		return 2;
	}
	if (!open_all(&bench, argv[1], argv[2], argc > 3 ? argv[3] : "linux", &err) ||
	    !build(&bench, argc > 4 ? (unsigned)atoi(argv[4]) : 1, &err) ||
	    !find_attrs(&bench, &err) || !values(&bench, &err) || !states(&bench, &err) ||
	    !whole(&bench, &err) || !all_intervals(&bench, &err) || !busy_intervals(&bench, &err)) {
		fprintf(stderr, "bench-timelines: %s\n", err.text);
		return 1;
	}
	answers_release(&bench.all);
	mem_free(bench.attrs);
	state_close(bench.state);
	index_close(bench.index);
	trace_close(bench.trace);
	rules_free(bench.rules);
	return 0;
}
