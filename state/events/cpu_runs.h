/*
 * cpu_runs.h - which thread runs on each CPU, for questions in order of time
 *
 * An interval of cpu[N]/thread is a run of a thread. Time is processed in stretches, and intervals
 * are cut at their edges: a run that continues in the next stretch counts as one.
 */
#ifndef STATE_EVENTS_CPU_RUNS_H
#define STATE_EVENTS_CPU_RUNS_H

#include "engine/base/hash_index.h"
#include "engine/base/paged.h"
#include "state/model/moment.h"

struct cpu_run {
	nstime begin, end;
	int64_t tid;
};

struct cpu_runs { /* all zero at first */
	struct cpu_of_runs {
		int32_t cpu;
		size_t first, past, at; /* of runs: [first, past); those before `at` have ended */
		struct cpu_run last;    /* the last run of earlier stretches; begin == end: none */
	} * cpus;
	size_t ncpus, cpus_capacity;
	struct hash_index of_cpu;
	struct cpu_run *runs; /* of the stretch, grouped by CPU */
	size_t count, capacity;
	struct paged memory; /* of these */
};

void cpu_runs_release(struct cpu_runs *runs);
/* Forgets all. */
void cpu_runs_clear(struct cpu_runs *runs);
/* Begins another stretch: its runs are added next. */
void cpu_runs_turn(struct cpu_runs *runs);
/* Adds a run of the stretch: all runs of a CPU one after the other, in order of time. */
void cpu_runs_add(struct cpu_runs *runs, int32_t cpu, const struct cpu_run *run);
/* The same for an interval of cpu[N]/thread; ignores intervals of other attributes. */
void cpu_runs_add_part(struct cpu_runs *runs, const struct interval *interval);
/*
 * Makes *out, which is all zero, another reader of the same runs: its calls of cpu_runs_at() may be
 * at other times. No run is added to either any more; cpu_runs_unshare() releases it.
 */
void cpu_runs_share(const struct cpu_runs *runs, struct cpu_runs *out);
void cpu_runs_unshare(struct cpu_runs *runs);
/*
 * The run on the CPU just before `t`, borrowed until the next stretch; NULL: not known. Calls for
 * one CPU must come in order of time.
 */
const struct cpu_run *cpu_runs_at(struct cpu_runs *runs, int32_t cpu, nstime t);

#endif
