/*
 * sweep.c - measures the gain of more threads for a sweep
 *
 *     bench-sweep TRACE heads|fields JOBS [ROUNDS]
 *
 * Measures from opening the trace, without an index, to the last event: heads and sizes as `stats`
 * needs them, or all fields. Prints one line: the mode, events, and of the best round the wall
 * seconds, the CPU seconds of all threads, and the CPU seconds of the critical path: the main
 * thread's and those of the busiest worker. On a loaded machine the last estimates the wall
 * seconds.
 */
#include "index/sweep/sweep.h"
#include "bench/seconds.h"
#include "engine/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 16 };

struct worker {
	uint64_t events, sum, runs;
	double begun, seen;
	bool fields;
};

struct round {
	bool fields;
	uint64_t events, sum;
	double longest, together; /* CPU seconds of workers */
};

static void *begin(void *arg)
{
	const struct round *round = arg;
	struct worker *worker = mem_new(sizeof *worker);

	worker->fields = round->fields;
	worker->begun = worker->seen = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	return worker;
}

static bool take(void *own, const struct sweep_run *given, struct error *err)
{
	const struct run *run = &given->run;
	struct worker *worker = own;
	struct fields fields;

	worker->events += run->count;
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		worker->sum ^= (uint64_t)run->batch->time[i] ^ given->bits[i];
		if (!worker->fields)
			continue;
		if (!run_fields(run, i, &fields, err))
			return false;
		for (uint32_t k = 0; k < fields.class->nslots; k++)
			worker->sum ^= fields.slots[k].u;
	}
	if (worker->runs++ % LOOK_EVERY == 0)
		worker->seen = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	return true;
}

static void end(void *arg, void *own, bool good)
{
	struct round *round = arg;
	struct worker *worker = own;
	double spent = worker->seen - worker->begun;

	round->events += good ? worker->events : 0;
	round->sum ^= worker->sum;
	round->longest = spent > round->longest ? spent : round->longest;
	round->together += spent;
	mem_free(worker);
}

static bool run_round(const char *path, unsigned jobs, struct round *round, struct error *err)
{
	struct trace_options topt = {.paths = &path, .npaths = 1};
	struct index_options iopt = {.none = true, .jobs = jobs};
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct sweep work = {.events = &all,
			     .bits = true,
			     .arg = round,
			     .begin = begin,
			     .run = take,
			     .end = end};
	struct trace *trace = NULL;
	struct index *index = NULL;
	bool good = trace_open(&topt, &trace, err) && index_open(trace, &iopt, &index, err) &&
		    sweep(index, &work, err);

	index_close(index);
	trace_close(trace);
	return good;
}

int main(int argc, char **argv)
{
	unsigned jobs = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	int rounds = argc > 4 ? atoi(argv[4]) : 1;
	double wall = 1e9, cpu = 1e9, way = 1e9;
	struct round last = {0};
	struct error err;

	if (argc < 4 || !jobs ||
	    (strcmp(argv[2], "heads") != 0 && strcmp(argv[2], "fields") != 0)) {
		fprintf(stderr, "usage: bench-sweep TRACE heads|fields JOBS [ROUNDS]\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		struct round round = {.fields = !strcmp(argv[2], "fields")};
		double w = seconds_of(CLOCK_MONOTONIC), c = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		double m = seconds_of(CLOCK_THREAD_CPUTIME_ID);
		if (!run_round(argv[1], jobs, &round, &err)) {
			fprintf(stderr, "bench-sweep: %s\n", err.text);
			return 1;
		}
		w = seconds_of(CLOCK_MONOTONIC) - w;
		c = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - c;
		m = seconds_of(CLOCK_THREAD_CPUTIME_ID) - m;
		/*
		 * with one job the main thread works; CPU time of other threads (finding packets)
		 * is shared out evenly
		 */
		if (jobs > 1)
			m += round.longest + (c - m - round.together) / jobs;
		wall = w < wall ? w : wall;
		cpu = c < cpu ? c : cpu;
		way = m < way ? m : way;
		last = round;
	}
	printf("%s events %llu wall %.6f cpu %.6f way %.6f sum %llx\n", argv[2],
	       (unsigned long long)last.events, wall, cpu, way, (unsigned long long)last.sum);
	return 0;
}
