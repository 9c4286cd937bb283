/* density.c - see density.h */
#include "serve/density.h"

#include "engine/base/mem.h"
#include "serve/matches.h"
#include "state/intervals/sums.h"
#include "state/pictures/picture.h"
#include "state/pictures/samples.h"
#include "state/state.h"

#include <math.h>
#include <string.h>

enum {
	FINE = 16,               /* with so many buckets a column, counts of buckets are used */
	SWEPT_BYTES = 64 << 20,  /* of a smaller trace events are counted anew each time */
	FILTERED_MOST = 30000000 /* most events for which a condition is evaluated */
};

/* ---- columns ---- */

struct time_columns columns_of(nstime begin, nstime end, uint32_t count)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	count = count < 1 ? 1 : count;
	return (struct time_columns){begin, end, span < count ? (uint32_t)span : count};
}

nstime columns_time(const struct time_columns *columns, uint32_t i)
{
	return column_begin(columns->begin, columns->end, columns->count, i);
}

static uint32_t columns_find(const struct time_columns *columns, nstime t)
{
	return column_find(columns->begin, columns->end, columns->count, t);
}

/* ---- events ---- */

static void add_run(const void *arg, const struct run *events, uint64_t *in)
{
	const struct time_columns *columns = arg;

	for (uint32_t i = events->first; i < events->first + events->count; i++) {
		nstime t = events->batch->time[i];
		if (t >= columns->begin && t < columns->end)
			in[columns_find(columns, t)]++;
	}
}

static bool sweep_columns(struct served_request *request, const struct time_columns *columns,
			  double *out)
{
	struct events_counting counting = {
		.worker = request->worker,
		.begin = columns->begin,
		.end = columns->end,
		.add = add_run,
		.arg = columns,
		.count = columns->count,
		.out = mem_new_array(columns->count, sizeof *counting.out)};
	bool good = events_count(request->served, &counting, &request->err);

	for (uint32_t i = 0; i < columns->count; i++)
		out[i] = (double)counting.out[i];
	mem_free(counting.out);
	return good;
}

struct density {
	const struct time_columns *columns;
	double *out;
};

static bool count_match(void *arg, const struct match *match)
{
	struct density *density = arg;

	density->out[columns_find(density->columns, match->event.time)]++;
	return true;
}

static bool filter_columns(struct served_request *request, const struct event_counts *counts,
			   const struct time_columns *columns, const char *where, double *out)
{
	struct density density = {columns, out};
	const struct matches_asked asked = {.begin = columns->begin,
					    .end = columns->end,
					    .where = where,
					    .each = count_match,
					    .arg = &density};

	if (!counts || event_counts_between(counts, columns->begin, columns->end) > FILTERED_MOST)
		return error_set(&request->err, ERR_RANGE,
				 "the range has more than %d million events: a condition is asked "
				 "about fewer, in a shorter one",
				 FILTERED_MOST / 1000000);
	return matches_each(request, &asked);
}

bool density_events(struct served_request *request, const struct time_columns *columns,
		    const char *where, double *out)
{
	const struct event_counts *counts = served_counts(request->served);
	uint64_t span = (uint64_t)columns->end - (uint64_t)columns->begin;

	memset(out, 0, columns->count * sizeof *out);
	if (where)
		return filter_columns(request, counts, columns, where, out);
	if (!counts || trace_bytes(index_trace(request->served->index)) < SWEPT_BYTES ||
	    span / columns->count < FINE * event_counts_grain(counts))
		return sweep_columns(request, columns, out);
	struct event_bucket bucket, next;
	event_counts_at(counts, columns->begin, &bucket);
	for (uint32_t i = 0; i < columns->count; i++) {
		event_counts_at(counts, columns_time(columns, i + 1) - 1, &next);
		uint64_t until = i + 1 < columns->count ? next.first : next.first + next.count;
		out[i] = (double)(until - bucket.first);
		bucket.first = until;
	}
	return true;
}

/* ---- CPUs ---- */

struct usage {
	const struct time_columns *columns;
	const nstime *edges; /* times between columns: columns->count + 1 */
	struct cpu_uses *uses;
	uint64_t *known, *idle; /* ns in each column, of the CPU being added */
	char *path;             /* of the CPU being added; NULL: none */
};

static void end_cpu(struct usage *usage)
{
	struct cpu_uses *uses = usage->uses;

	if (!usage->path)
		return;
	double *share = mem_new_array(usage->columns->count, sizeof *share);
	for (uint32_t i = 0; i < usage->columns->count; i++)
		share[i] = usage->known[i] ? 1 - (double)usage->idle[i] / (double)usage->known[i]
					   : NAN;
	*mem_push(uses->items, uses->count, uses->capacity) = (struct cpu_use){usage->path, share};
	usage->path = NULL;
	memset(usage->known, 0, usage->columns->count * sizeof *usage->known);
	memset(usage->idle, 0, usage->columns->count * sizeof *usage->idle);
}

static void to_cpu(struct usage *usage, const char *path)
{
	if (usage->path && !strcmp(usage->path, path))
		return;
	end_cpu(usage);
	usage->path = mem_strdup(path);
}

static uint32_t find_edge(const struct usage *usage, nstime t)
{
	size_t i = nstime_last(usage->edges, usage->columns->count, sizeof *usage->edges, t);

	return (uint32_t)i;
}

static bool use_interval(void *arg, const struct interval *interval)
{
	struct usage *usage = arg;
	const struct time_columns *columns = usage->columns;
	nstime from = interval->begin > columns->begin ? interval->begin : columns->begin;
	nstime to = interval->end < columns->end ? interval->end : columns->end;
	bool idle = value_is_index(&interval->value) && !interval->value.u;

	if (from >= to || !value_exists(&interval->value))
		return true;
	to_cpu(usage, interval->path);
	for (uint32_t i = find_edge(usage, from); i < columns->count && from < to; i++) {
		nstime next = usage->edges[i + 1];
		uint64_t time = (uint64_t)(next < to ? next : to) - (uint64_t)from;

		usage->known[i] += time;
		usage->idle[i] += idle ? time : 0;
		from = next;
	}
	return true;
}

static bool use_sums(void *arg, const char *path, const struct sums *sums)
{
	struct usage *usage = arg;

	to_cpu(usage, path);
	uint32_t i = find_edge(usage, sums->begin);
	usage->known[i] += (uint64_t)sums->end - (uint64_t)sums->begin;
	for (size_t k = 0; k < sums->count; k++)
		if (value_is_index(&sums->values[k].value) && !sums->values[k].value.u)
			usage->idle[i] += sums->values[k].time;
	return true;
}

bool density_cpus(struct served_request *request, const struct time_columns *columns,
		  struct cpu_uses *out)
{
	struct usage usage = {.columns = columns,
			      .uses = out,
			      .known = mem_new_array(columns->count, sizeof *usage.known),
			      .idle = mem_new_array(columns->count, sizeof *usage.idle)};
	nstime *edges = mem_new_array((size_t)columns->count + 1, sizeof *edges);
	const struct sums_sink sink = {.interval = use_interval, .sums = use_sums, .arg = &usage};
	struct state *state = request_state(request, 0);
	struct query *query = NULL;

	*out = (struct cpu_uses){0};
	usage.edges = edges;
	for (uint32_t i = 0; i <= columns->count; i++)
		edges[i] = columns_time(columns, i);
	if (state)
		samples_align(state, edges, (size_t)columns->count + 1);
	bool good = state && query_parse("cpu[*]/thread", &query, &request->err) &&
		    state_sums(state, edges, (size_t)columns->count + 1,
			       (const struct query *const *)&query, 1, &sink, &request->err);
	end_cpu(&usage);
	query_free(query);
	mem_free(usage.known);
	mem_free(usage.idle);
	mem_free(edges);
	return good;
}

void cpu_uses_release(struct cpu_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++) {
		mem_free(uses->items[i].path);
		mem_free(uses->items[i].share);
	}
	mem_free(uses->items);
	*uses = (struct cpu_uses){0};
}
