/*
 * shards_cuts.c - chooses where shards begin, such that all are equal work
 *
 *     bytes of events that rules read   ▁▃▇▇▅▁▁▁▂▇▃▁
 *     cuts                                 |   |      |
 *
 * A sweep adds up the sizes of events whose classes rules read, a few events at a time; in a large
 * trace it reads only some packets of each stream, as evenly as their positions tell.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/sweep/sweep.h"
#include "state/context/context.h"
#include "state/timelines/shards_internal.h"

#include <stdlib.h>

enum {
	SAMPLED = 64 << 20 /* bytes of the trace that are read */,
	TOGETHER = 256 /* events: a sort of all weights comes before the threads begin */
};

struct weight { /* bits of events that rules read, of a few events that begin there */
	nstime begin;
	uint64_t bits;
};

struct weights {
	const uint64_t *classes;
	uint64_t every; /* one packet in so many is read */
	struct weight *items;
	size_t count, capacity;
};

static void *begin_weights(void *arg)
{
	const struct weights *all = arg;
	struct weights *own = mem_new(sizeof *own);

	*own = (struct weights){.classes = all->classes, .every = all->every};
	return own;
}

static bool is_sampled(void *own, const struct stream *stream, const struct packet_info *info)
{
	/* its number in the file, where all are of one size; streams take turns */
	uint64_t number = info->rec.off / (info->rec.len ? info->rec.len : 1);

	return (number + stream->index) % ((const struct weights *)own)->every == 0;
}

static void packet_done(void *own, bool whole)
{
	(void)own;
	(void)whole;
}

static bool weigh(void *arg, const struct sweep_run *run, struct error *err)
{
	const struct batch *batch = run->run.batch;
	struct weights *own = arg;

	(void)err;
	for (uint32_t i = 0; i < run->run.count;) {
		struct weight weight = {.begin = batch->time[i]};
		uint32_t end = i + TOGETHER < run->run.count ? i + TOGETHER : run->run.count;

		for (; i < end; i++)
			if (bitset_has(own->classes, batch->class_index[i]))
				weight.bits += run->bits[i];
		if (weight.bits)
			*mem_push(own->items, own->count, own->capacity) = weight;
	}
	return true;
}

static void join_weights(void *arg, void *given, bool good)
{
	struct weights *all = arg, *own = given;

	for (size_t i = 0; i < own->count && good; i++)
		*mem_push(all->items, all->count, all->capacity) = own->items[i];
	mem_free(own->items);
	mem_free(own);
}

static int shards_cuts_by_begin(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Cuts into equal times where there are no packets (tests) or no events that rules read. */
static bool cut_evenly(struct state *state, struct shards_plan *plan, struct error *err)
{
	nstime first, last;

	if (!state->event_source->ops->span(state->event_source, &first, &last, err))
		return false;
	for (uint32_t i = 1; i < plan->n; i++)
		plan->cuts[i] = (nstime)(first + (__int128)time_span(first, last) * i / plan->n);
	return true;
}

/* The first shard has `first` times the work of each other one. */
static void cut_by_weights(struct weights *all, struct shards_plan *plan, double first)
{
	double sum = 0, before = 0;
	size_t at = 0;

	qsort(all->items, all->count, sizeof *all->items, shards_cuts_by_begin);
	for (size_t i = 0; i < all->count; i++)
		sum += (double)all->items[i].bits;
	for (uint32_t i = 1; i < plan->n; i++) {
		double wanted = sum * (i - 1 + first) / (plan->n - 1 + first);

		while (at + 1 < all->count && before < wanted)
			before += (double)all->items[at++].bits;
		plan->cuts[i] = all->items[at].begin;
	}
}

bool shards_cut(struct state *state, struct shards_plan *plan, double first, struct error *err)
{
	struct events_options events = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct weights all = {0};
	struct sweep work = {.events = &events,
			     .bits = true,
			     .arg = &all,
			     .begin = begin_weights,
			     .run = weigh,
			     .packet = is_sampled,
			     .packet_end = packet_done,
			     .end = join_weights};
	uint64_t *classes;
	bool ok;

	if (!state->index)
		return cut_evenly(state, plan, err);
	all.every = 1 + trace_bytes(index_trace(state->index)) / SAMPLED;
	all.classes = classes = program_classes(state->program);
	ok = sweep(state->index, &work, err);
	if (ok && all.count)
		cut_by_weights(&all, plan, first);
	else
		ok = ok && cut_evenly(state, plan, err);
	mem_free(all.items);
	mem_free(classes);
	return ok;
}
