/* cpu_runs.c - see cpu_runs.h */
#include "state/events/cpu_runs.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

void cpu_runs_release(struct cpu_runs *runs)
{
	hash_index_release(&runs->of_cpu);
	mem_free(runs->cpus);
	paged_free(&runs->memory);
	*runs = (struct cpu_runs){0};
}

void cpu_runs_clear(struct cpu_runs *runs)
{
	hash_index_clear(&runs->of_cpu);
	runs->ncpus = runs->count = 0;
}

void cpu_runs_turn(struct cpu_runs *runs)
{
	for (size_t i = 0; i < runs->ncpus; i++) {
		struct cpu_of_runs *of = &runs->cpus[i];

		if (of->first < of->past)
			of->last = runs->runs[of->past - 1];
		of->first = of->past = of->at = 0;
	}
	runs->count = 0;
}

/* NULL: no run was on that CPU. */
static struct cpu_of_runs *find_cpu(const struct cpu_runs *runs, int32_t cpu)
{
	uint32_t at = hash_index_find(&runs->of_cpu, hash_number((uint64_t)cpu), i,
				      runs->cpus[i].cpu == cpu);

	return at == HASH_INDEX_NONE ? NULL : &runs->cpus[at];
}

static struct cpu_of_runs *reach_cpu(struct cpu_runs *runs, int32_t cpu)
{
	struct cpu_of_runs *of = find_cpu(runs, cpu);

	if (of)
		return of;
	hash_index_add(&runs->of_cpu, hash_number((uint64_t)cpu), runs->ncpus);
	of = mem_push(runs->cpus, runs->ncpus, runs->cpus_capacity);
	*of = (struct cpu_of_runs){.cpu = cpu};
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

void cpu_runs_add(struct cpu_runs *runs, int32_t cpu, const struct cpu_run *run)
{
	struct cpu_of_runs *of = reach_cpu(runs, cpu);
	struct cpu_run own = *run;

	if (of->first == of->past) {
		of->first = of->past = of->at = runs->count;
		if (of->last.tid == own.tid && of->last.begin < own.begin &&
		    own.begin <= of->last.end)
			own.begin = of->last.begin;
	}
	runs->runs = paged_reach(&runs->memory, runs->count, &runs->capacity, sizeof *runs->runs);
	runs->runs[runs->count++] = own;
	of->past = runs->count;
}

void cpu_runs_add_part(struct cpu_runs *runs, const struct interval *interval)
{
	struct cpu_run run = {interval->begin, interval->end, (int64_t)interval->value.u};
	int32_t cpu;

	if (cpu_of(interval->path, &cpu) && interval->value.kind == VALUE_INT)
		cpu_runs_add(runs, cpu, &run);
}

void cpu_runs_share(const struct cpu_runs *runs, struct cpu_runs *out)
{
	*out = *runs;
	out->cpus = mem_new_array(runs->ncpus + 1, sizeof *runs->cpus);
	if (runs->ncpus)
		memcpy(out->cpus, runs->cpus, runs->ncpus * sizeof *runs->cpus);
}

void cpu_runs_unshare(struct cpu_runs *runs)
{
	mem_free(runs->cpus);
	*runs = (struct cpu_runs){0};
}

/* The first run from of->at on that does not end before `t`; near ones are found at once. */
static size_t find_run(const struct cpu_runs *runs, const struct cpu_of_runs *of, nstime t)
{
	size_t first = of->at, step = 1;

	while (first + step < of->past && runs->runs[first + step].end < t) {
		first += step;
		step *= 2;
	}
	size_t past = first + step < of->past ? first + step : of->past;
	return search_first(i, first, past, runs->runs[i].end < t);
}

const struct cpu_run *cpu_runs_at(struct cpu_runs *runs, int32_t cpu, nstime t)
{
	struct cpu_of_runs *of = cpu < 0 ? NULL : find_cpu(runs, cpu);

	if (!of)
		return NULL;
	if (of->last.begin < t && t <= of->last.end)
		return &of->last;
	of->at = find_run(runs, of, t);
	return of->at < of->past && runs->runs[of->at].begin < t ? &runs->runs[of->at] : NULL;
}
