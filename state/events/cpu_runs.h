/*
 * cpu_runs.h - who runs on each CPU, for events in order of time
 *
 * A part of cpu[N]/thread is a run of a thread. A stretch of time has parts of its own, which end
 * at its edges: what goes on in the next one is one run.
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
		size_t first, past, at; /* runs of the stretch; all before `at` have ended */
		struct cpu_run last;    /* of the stretches before; begin == end: none */
	} * cpus;
	size_t ncpus, cpus_capacity;
	struct hash_index of_cpu;
	struct cpu_run *runs; /* of the stretch, those of one CPU beside each other */
	size_t count, capacity;
	struct paged memory; /* of these */
};

void cpu_runs_release(struct cpu_runs *runs);
/* Forgets all. */
void cpu_runs_clear(struct cpu_runs *runs);
/* Another stretch begins: its parts are added next. */
void cpu_runs_turn(struct cpu_runs *runs);
/* Adds a run of the stretch; those of one CPU come beside each other, in order of time. */
void cpu_runs_add(struct cpu_runs *runs, int32_t cpu, const struct cpu_run *run);
/* The same of a part of cpu[N]/thread; one of anything else is passed over. */
void cpu_runs_add_part(struct cpu_runs *runs, const struct interval *interval);
/*
 * The run that lasts just before `t` on that CPU; NULL: not known. Of one CPU it is asked for in
 * order of time. Borrowed until the next stretch.
 */
const struct cpu_run *cpu_runs_at(struct cpu_runs *runs, int32_t cpu, nstime t);

#endif
