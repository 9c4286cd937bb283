/* call_runs.c - see call_runs.h */
#include "sql/calls/call_runs.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"

#include <string.h>

void call_runs_release(struct call_runs *runs)
{
	hash_index_release(&runs->of_cpu);
	mem_free(runs->cpus);
	mem_free(runs->runs);
	*runs = (struct call_runs){0};
}

void call_runs_clear(struct call_runs *runs)
{
	hash_index_clear(&runs->of_cpu);
	runs->ncpus = runs->count = 0;
}

void call_runs_turn(struct call_runs *runs)
{
	for (size_t i = 0; i < runs->ncpus; i++) {
		struct call_cpu *of = &runs->cpus[i];

		if (of->first < of->past)
			of->last = runs->runs[of->past - 1];
		of->first = of->past = of->at = 0;
	}
	runs->count = 0;
}

/* NULL: no run was on that CPU. */
static struct call_cpu *find_cpu(const struct call_runs *runs, int32_t cpu)
{
	uint32_t at = hash_index_find(&runs->of_cpu, hash_number((uint64_t)cpu), i,
				      runs->cpus[i].cpu == cpu);

	return at == HASH_INDEX_NONE ? NULL : &runs->cpus[at];
}

static struct call_cpu *reach_cpu(struct call_runs *runs, int32_t cpu)
{
	struct call_cpu *of = find_cpu(runs, cpu);

	if (of)
		return of;
	hash_index_add(&runs->of_cpu, hash_number((uint64_t)cpu), runs->ncpus);
	of = mem_push(runs->cpus, runs->ncpus, runs->cpus_capacity);
	*of = (struct call_cpu){.cpu = cpu};
	return of;
}

/* The N of cpu[N]/thread; false: the path is another one. */
static bool cpu_of(const char *path, int32_t *cpu)
{
	static const char begin[] = "cpu[";
	const char *at = path + sizeof begin - 1;

	if (strncmp(path, begin, sizeof begin - 1) != 0)
		return false;
	uint64_t number = decimal_take(&at, NULL);
	*cpu = (int32_t)number;
	return number <= INT32_MAX && !strcmp(at, "]/thread");
}

void call_runs_add(struct call_runs *runs, const struct interval *interval)
{
	struct call_run run = {interval->begin, interval->end, (int64_t)interval->value.u};
	struct call_cpu *of;
	int32_t cpu;

	if (!cpu_of(interval->path, &cpu) || interval->value.kind != VALUE_INT)
		return;
	of = reach_cpu(runs, cpu);
	if (of->first == of->past) {
		of->first = of->past = of->at = runs->count;
		if (of->last.tid == run.tid && of->last.begin < run.begin &&
		    run.begin <= of->last.end)
			run.begin = of->last.begin;
	}
	*mem_push(runs->runs, runs->count, runs->capacity) = run;
	of->past = runs->count;
}

const struct call_run *call_runs_at(struct call_runs *runs, int32_t cpu, nstime t)
{
	struct call_cpu *of = cpu < 0 ? NULL : find_cpu(runs, cpu);

	if (!of)
		return NULL;
	if (of->last.begin < t && t <= of->last.end)
		return &of->last;
	while (of->at < of->past && runs->runs[of->at].end < t)
		of->at++;
	return of->at < of->past && runs->runs[of->at].begin < t ? &runs->runs[of->at] : NULL;
}
