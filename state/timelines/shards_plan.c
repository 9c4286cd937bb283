/*
 * shards_plan.c - where shards begin
 *
 * Cuts are chosen by how many bytes of packets begin before a time, which the tables tell without
 * reading events. The plan is stored, so that all who work on it cut alike, also when the trace
 * grows meanwhile: the last shard has no end.
 */
#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "state/context/context.h"
#include "state/timelines/shards_internal.h"

#include <string.h>
#include <time.h>
#include <xxhash.h>

enum { TICK_MS = 20, WAIT_MS = 10000 };

/* False: there is no place for timelines. */
static bool set_path(struct state *state, struct shards_plan *plan)
{
	*plan = (struct shards_plan){
		.key = timelines_key_of(state->options.rules, state->event_source->trace)};
	plan->path = timelines_path(state, &plan->key);
	plan->id = XXH3_64bits_withSeed(plan->key.rules, sizeof plan->key.rules,
					identity_anywhere(state->event_source->trace));
	return plan->path != NULL;
}

void shards_plan_release(struct shards_plan *plan)
{
	mem_free(plan->cuts);
	mem_free(plan->path);
	*plan = (struct shards_plan){0};
}

/* ---- choosing cuts ---- */

struct weights {
	struct table **tables;
	double *each; /* bytes of a packet, of each stream */
	size_t n;
};

static bool weigh(struct index *index, struct weights *out, struct error *err)
{
	const struct trace *trace = index_trace(index);

	*out = (struct weights){.tables = mem_new_array(trace->nstreams, sizeof(struct table *)),
				.each = mem_new_array(trace->nstreams, sizeof(double)),
				.n = trace->nstreams};
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct packet_info info;
		uint64_t count;

		if (!index_table(index, trace->streams[i], &out->tables[i], err))
			return false;
		count = table_count(out->tables[i]);
		if (count == 0)
			continue;
		if (!table_get(out->tables[i], count / 2, &info, err))
			return false;
		out->each[i] = (double)packet_bytes(&info) + 1;
	}
	return true;
}

/* Bytes of packets that begin before t. */
static bool weight_at(const struct weights *weights, nstime t, double *out, struct error *err)
{
	*out = 0;
	for (size_t i = 0; i < weights->n; i++) {
		uint64_t before;

		if (!table_lower_bound(weights->tables[i], t, &before, err))
			return false;
		*out += (double)before * weights->each[i];
	}
	return true;
}

static bool find_cut(const struct weights *weights, nstime first, nstime last, double wanted,
		     nstime *out, struct error *err)
{
	double weight;

	while (first < last) {
		nstime middle = first + (nstime)(((uint64_t)last - (uint64_t)first) / 2);

		if (!weight_at(weights, middle, &weight, err))
			return false;
		if (weight < wanted)
			first = middle + 1;
		else
			last = middle;
	}
	*out = first;
	return true;
}

/* Without an index there are no packets: stretches of equal length. */
static bool cut_evenly(struct state *state, struct shards_plan *plan, struct error *err)
{
	nstime first, last;

	if (!state->event_source->ops->span(state->event_source, &first, &last, err))
		return false;
	for (uint32_t i = 1; i < plan->n; i++)
		plan->cuts[i] = (nstime)(first + (__int128)time_span(first, last) * i / plan->n);
	return true;
}

static bool choose_cuts(struct state *state, double ahead, struct shards_plan *plan,
			struct error *err)
{
	struct weights weights = {0};
	nstime first, last;
	double all = 0;
	bool ok;

	if (!state->index)
		return cut_evenly(state, plan, err);

	ok = events_range(state->index, &first, &last, err) && weigh(state->index, &weights, err) &&
	     weight_at(&weights, last, &all, err);
	for (uint32_t i = 1; i < plan->n && ok; i++) {
		double share = (ahead + i - 1) / (ahead + plan->n - 1);

		ok = find_cut(&weights, plan->cuts[i - 1] > first ? plan->cuts[i - 1] : first, last,
			      all * share, &plan->cuts[i], err);
	}
	mem_free(weights.tables);
	mem_free(weights.each);
	return ok;
}

/* ---- stored ---- */

static void begin_plan(struct shards_plan *plan, uint32_t n)
{
	plan->n = n;
	plan->cuts = mem_new_array((size_t)n + 1, sizeof *plan->cuts);
	plan->cuts[0] = NSTIME_MIN;
	plan->cuts[n] = NSTIME_MAX;
}

static size_t cuts_size(const struct shards_plan *plan)
{
	return ((size_t)plan->n + 1) * sizeof *plan->cuts;
}

/* From here on files are of this plan. */
static void identify(struct shards_plan *plan)
{
	plan->id = XXH3_64bits_withSeed(plan->cuts, cuts_size(plan), plan->id);
}

/* Room for n shards, and what is stored of as many; false: that cuts nothing in order. */
static bool take_cuts(struct shards_plan *plan, const struct buf *cuts)
{
	size_t count = cuts->len / sizeof *plan->cuts;

	if (count < 2 || count > SHARDS_MAX + 1 || cuts->len % sizeof *plan->cuts)
		return false;
	begin_plan(plan, (uint32_t)count - 1);
	memcpy(plan->cuts, cuts->data, cuts->len);
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->cuts[i] > plan->cuts[i + 1])
			return false;
	return plan->cuts[0] == NSTIME_MIN && plan->cuts[plan->n] == NSTIME_MAX;
}

static bool read_plan(struct shards_plan *plan)
{
	struct buf cuts = {0};
	bool ok = shard_file_read(plan, SHARD_PLAN, 0, NULL, &cuts) && take_cuts(plan, &cuts);

	if (ok)
		identify(plan);
	buf_release(&cuts);
	return ok;
}

static bool write_plan(struct shards_plan *plan, struct error *err)
{
	struct buf cuts = {0};
	bool ok;

	buf_add(&cuts, plan->cuts, cuts_size(plan));
	ok = shard_file_write(plan, SHARD_PLAN, 0, NULL, &cuts, err);
	identify(plan);
	buf_release(&cuts);
	return ok;
}

/*
 * Of commands that begin at once only one may write the index, and prepares for all: the others
 * wait for that, and must not remove what it makes.
 */
static bool prepare(struct state *state, const char *path, struct error *err)
{
	struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};

	if (!state->index || index_writable(state->index))
		return timelines_prepare(state, path, err);
	for (int i = 0; i < WAIT_MS / TICK_MS; i++) {
		if (timelines_prepared(state))
			return true;
		nanosleep(&tick, NULL);
	}
	return error_set(err, ERR_IO, "another process writes the index: run it again afterwards");
}

bool shards_plan(struct state *state, uint32_t n, double ahead, struct shards_plan *out,
		 struct error *err)
{
	uint64_t rules;

	if (!set_path(state, out))
		return error_set(err, ERR_IO, "timelines need an index that is kept");
	rules = out->id;
	if (!prepare(state, out->path, err))
		return false;
	if (read_plan(out) && (n == 0 || out->n == n))
		return true;
	if (n == 0)
		return error_set(err, ERR_QUERY,
				 "no shards were begun: run --chunk I/N --pass 1 first");
	if (n > SHARDS_MAX)
		return error_set(err, ERR_QUERY, "at most %d chunks", SHARDS_MAX);
	mem_free(out->cuts);
	out->id = rules;
	begin_plan(out, n);
	return choose_cuts(state, ahead, out, err) && write_plan(out, err);
}

bool shards_plan_stored(struct state *state, struct shards_plan *out)
{
	return set_path(state, out) && read_plan(out);
}
