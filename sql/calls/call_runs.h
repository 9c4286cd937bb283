/*
 * call_runs.h - who runs on each CPU, for events in order of time
 *
 * A part of cpu[N]/thread is a run of a thread. A stretch of time has parts of its own, which end
 * at its edges: what goes on in the next one is one run.
 */
#ifndef SQL_CALLS_CALL_RUNS_H
#define SQL_CALLS_CALL_RUNS_H

#include "sql/sql_internal.h"

#include "engine/base/hash_index.h"

struct call_run {
	nstime begin, end;
	int64_t tid;
};

struct call_runs { /* all zero at first */
	struct call_cpu {
		int32_t cpu;
		size_t first, past, at; /* runs of the stretch; all before `at` have ended */
		struct call_run last;   /* of the stretches before; begin == end: none */
	} * cpus;
	size_t ncpus, cpus_capacity;
	struct hash_index of_cpu;
	struct call_run *runs; /* of the stretch, those of one CPU beside each other */
	size_t count, capacity;
};

void call_runs_release(struct call_runs *runs);
/* Forgets all. */
void call_runs_clear(struct call_runs *runs);
/* Another stretch begins: its parts are added next. */
void call_runs_turn(struct call_runs *runs);
/* A part of cpu[N]/thread, those of one CPU in order of time; of anything else it is passed over.
 */
void call_runs_add(struct call_runs *runs, const struct interval *interval);
/*
 * The run that lasts just before `t` on that CPU; NULL: not known. Of one CPU it is asked for in
 * order of time. Borrowed until the next stretch.
 */
const struct call_run *call_runs_at(struct call_runs *runs, int32_t cpu, nstime t);

#endif
