/*
 * event_counts.c - the number of events before a moment
 *
 *     buckets   | 3 | 0 | 7 | ...        of equal time, over the whole trace
 *     before    0   3   3   10           running sums: what a rank is searched in
 *
 * Many tracers do not count events in their packets, so the heads of all events have to be read
 * once. That is a sweep on all threads; its memory does not depend on the trace.
 */
#include "serve/serving.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/sweep/sweep.h"

enum { BUCKETS = 1 << 20 };

struct event_counts {
	nstime begin;
	uint64_t grain;   /* ns of a bucket */
	size_t count;     /* number of buckets */
	uint64_t *before; /* events before each bucket, then all: count + 1 */
};

static struct event_counts *counts_new(nstime first, nstime last)
{
	struct event_counts *counts = mem_new(sizeof *counts);
	uint64_t span = first > last ? 1 : (uint64_t)last - (uint64_t)first + 1;

	counts->begin = first;
	counts->grain = span / BUCKETS + 1;
	counts->count = (size_t)((span - 1) / counts->grain + 1);
	counts->before = mem_new_array(counts->count + 1, sizeof *counts->before);
	return counts;
}

void event_counts_free(struct event_counts *counts)
{
	if (counts)
		mem_free(counts->before);
	mem_free(counts);
}

static size_t bucket_of(const struct event_counts *counts, nstime t)
{
	if (t < counts->begin)
		return 0;
	uint64_t bucket = ((uint64_t)t - (uint64_t)counts->begin) / counts->grain;
	return bucket < counts->count ? (size_t)bucket : counts->count - 1;
}

/* ---- the sweep ---- */

struct count_part { /* by one thread */
	const struct events_counting *counting;
	uint64_t *in;
};

static bool event_counts_goes_on(void *arg, uint64_t done, uint64_t all)
{
	const struct events_counting *counting = arg;

	(void)done;
	(void)all;
	return worker_goes_on(counting->worker, 0, 0, 0);
}

static void *event_counts_begin(void *arg)
{
	struct count_part *own = mem_new(sizeof *own);

	own->counting = arg;
	own->in = mem_new_array(own->counting->count, sizeof *own->in);
	return own;
}

static bool event_counts_run(void *arg, const struct sweep_run *sweep_run, struct error *err)
{
	struct count_part *own = arg;

	(void)err;
	own->counting->add(own->counting->arg, &sweep_run->run, own->in);
	return true;
}

static void end(void *arg, void *own_arg, bool good)
{
	const struct events_counting *counting = arg;
	struct count_part *own = own_arg;

	for (size_t i = 0; good && i < counting->count; i++)
		counting->out[i] += own->in[i];
	mem_free(own->in);
	mem_free(own);
}

bool events_count(struct served *served, struct events_counting *counting, struct error *err)
{
	const struct events_options events = {.begin = counting->begin, .end = counting->end};
	const struct sweep work = {.events = &events,
				   .arg = counting,
				   .progress = event_counts_goes_on,
				   .begin = event_counts_begin,
				   .run = event_counts_run,
				   .end = end};

	return sweep(served->index, &work, err);
}

struct bucket_filling {
	const struct event_counts *counts;
	bool ordinals; /* no stream has a clock: times are numbers of events */
};

static void add_run(const void *arg, const struct run *events, uint64_t *in)
{
	const struct bucket_filling *filling = arg;
	const struct event_counts *counts = filling->counts;

	if (!events->stream->has_time && !filling->ordinals) { /* cursors return these last */
		in[counts->count - 1] += events->count;
		return;
	}
	for (uint32_t i = events->first; i < events->first + events->count; i++)
		in[bucket_of(counts, events->batch->time[i])]++;
}

bool event_counts_make(struct served *served, struct worker *worker, struct event_counts **out,
		       struct error *err)
{
	struct event_counts *counts = counts_new(served->first, served->last);
	const struct bucket_filling filling = {counts,
					       trace_has_ordinals(index_trace(served->index))};
	struct events_counting counting = {.worker = worker,
					   .begin = NSTIME_MIN,
					   .end = NSTIME_MAX,
					   .add = add_run,
					   .arg = &filling,
					   .count = counts->count,
					   .out = counts->before + 1};

	if (!events_count(served, &counting, err)) {
		event_counts_free(counts);
		return false;
	}
	for (size_t i = 0; i < counts->count; i++)
		counts->before[i + 1] += counts->before[i];
	*out = counts;
	return true;
}

/* ---- questions ---- */

uint64_t event_counts_all(const struct event_counts *counts)
{
	return counts->before[counts->count];
}

uint64_t event_counts_grain(const struct event_counts *counts)
{
	return counts->grain;
}

uint64_t event_counts_between(const struct event_counts *counts, nstime begin, nstime end)
{
	if (begin >= end || end <= counts->begin)
		return 0;
	size_t first = bucket_of(counts, begin), last = bucket_of(counts, end - 1);
	return counts->before[last + 1] - counts->before[first];
}

static void bucket_at(const struct event_counts *counts, size_t i, struct event_bucket *out)
{
	bool last = i + 1 == counts->count;

	*out = (struct event_bucket){
		.begin = i ? counts->begin + (nstime)(i * counts->grain) : NSTIME_MIN,
		.end = last ? NSTIME_MAX : counts->begin + (nstime)((i + 1) * counts->grain),
		.first = counts->before[i],
		.count = counts->before[i + 1] - counts->before[i]};
}

void event_counts_at(const struct event_counts *counts, nstime t, struct event_bucket *out)
{
	bucket_at(counts, bucket_of(counts, t), out);
}

bool event_counts_find(const struct event_counts *counts, uint64_t rank, struct event_bucket *out)
{
	if (rank >= event_counts_all(counts))
		return false;
	size_t behind = search_first(i, (size_t)0, counts->count, counts->before[i] <= rank);
	bucket_at(counts, behind - 1, out);
	return true;
}
