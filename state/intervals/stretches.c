/* stretches.c - see stretches.h */
#include "state/intervals/stretches.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/answer/planner.h"
#include "state/context/wanted.h"
#include "state/intervals/intervals.h"
#include "state/intervals/own_timelines.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <string.h>

/* Bytes of the trace per stretch; intervals take about five times as much memory. */
enum { STRETCH_BYTES = 8 << 20, STRETCHES_MAX = 4096 };

/* ---- how many ---- */

/* Sets *near: can each stretch be answered from the events in and around it? */
static bool is_near(struct state *state, const struct query *const *queries, size_t nqueries,
		    bool *near, struct error *err)
{
	struct listed *listed = NULL;
	struct wanted wanted;
	size_t count;

	err->kind = ERR_NONE;
	wanted_init(state, queries, nqueries, &wanted);
	*near = !wanted.lists || wanted_enumerate(state, &wanted, &listed, &count, err);
	mem_free(listed);
	wanted_release(&wanted);
	return err->kind == ERR_NONE;
}

static unsigned count_of(const struct stretches *stretches, nstime first, nstime last)
{
	uint64_t bytes = trace_bytes(stretches->state->event_source->trace);
	double share = (double)time_span(stretches->from, stretches->to) / ((double)time_span(first, last) + 1);
	uint64_t each = stretches->state->stretch ? stretches->state->stretch : STRETCH_BYTES;
	double count = (double)bytes * share / (double)each;

	return count < 2 ? 1 : count < STRETCHES_MAX ? (unsigned)count : STRETCHES_MAX;
}

/* Makes timelines that answer the queries of the stretches and the others. */
static bool make_timelines(struct stretches *stretches, const struct query *const *others,
			   size_t nothers, struct error *err)
{
	size_t count = stretches->nqueries;
	const struct query **all = mem_new_array(count + nothers, sizeof *all);

	memcpy(all, stretches->queries, count * sizeof *all);
	for (size_t i = 0; i < nothers; i++)
		all[count++] = others[i];
	bool ok = own_timelines(stretches->state, all, count, &stretches->asked, err);
	mem_free(all);
	return ok;
}

bool stretches_begin(struct stretches *stretches, struct state *state, nstime begin, nstime end,
		     const struct query *const *queries, size_t nqueries, struct error *err)
{
	return stretches_begin_with(stretches, state, begin, end, queries, nqueries, NULL, 0, err);
}

bool stretches_begin_with(struct stretches *stretches, struct state *state, nstime begin,
			  nstime end, const struct query *const *queries, size_t nqueries,
			  const struct query *const *others, size_t nothers, struct error *err)
{
	nstime first, last;

	*stretches = (struct stretches){.state = state,
					.asked = state,
					.queries = queries,
					.nqueries = nqueries,
					.begin = begin,
					.end = end,
					.count = begin < end,
					.cut = NSTIME_MIN};
	if (begin >= end)
		return true;
	if (state_names_threads(state, queries, nqueries)) {
		if (!state_named_told(state, begin, end, queries, nqueries, &stretches->named, err))
			return false;
		stretches->queries = queries = stretches->named.items;
		stretches->nqueries = nqueries = stretches->named.count;
		stretches->count = nqueries > 0;
	}
	if (!stretches->count || !state->index || state->options.replay_only)
		return true;
	if (!state->event_source->ops->span(state->event_source, &first, &last, err))
		return false;
	stretches->from = begin > first ? begin : first;
	stretches->to = end < last ? end : last;
	if (first > last || stretches->from >= stretches->to)
		return true;
	bool window;
	if (!state_lists_window(state, begin, end, queries, nqueries, &window, err))
		return false;
	if (window) /* in one stretch, since the lists of a window depend on all of it */
		return true;
	stretches->count = count_of(stretches, first, last);
	if (stretches->count == 1 || timelines_there(state))
		return true;
	bool near;
	if (!is_near(state, queries, nqueries, &near, err) ||
	    (!near && !make_timelines(stretches, others, nothers, err)))
		return false;
	if (!near && !timelines_there(stretches->asked))
		stretches->count = 1;
	return true;
}

/* ---- intervals over a cut ---- */

struct held_interval {
	char *path;
	struct interval interval;
	unsigned seen; /* number of the last stretch that had the path, from 1 */
	bool open;     /* it may go on; false: it was given */
};

struct held_intervals {
	struct held_interval *items;
	size_t count, capacity;
	struct hash_index index; /* by path */
};

static uint64_t path_hash(const char *path)
{
	return hash_bytes(path, strlen(path));
}

/* NULL: none is held. Valid until the next one is added. */
static struct held_interval *held_find(const struct held_intervals *held, const char *path)
{
	uint32_t at = held ? hash_index_find(&held->index, path_hash(path), i,
					     !strcmp(held->items[i].path, path))
			   : HASH_INDEX_NONE;

	return at == HASH_INDEX_NONE ? NULL : &held->items[at];
}

static void held_free(struct held_intervals *held)
{
	if (!held)
		return;
	for (size_t i = 0; i < held->count; i++)
		mem_free(held->items[i].path);
	mem_free(held->items);
	hash_index_release(&held->index);
	mem_free(held);
}

static struct held_interval *held_add(struct held_intervals *held, const char *path)
{
	held->items = mem_grow(held->items, held->count, &held->capacity, sizeof *held->items);
	hash_index_add(&held->index, path_hash(path), held->count);
	held->items[held->count] = (struct held_interval){.path = mem_strdup(path)};
	return &held->items[held->count++];
}

static void hold(struct stretches *stretches, const struct interval *interval, unsigned seen)
{
	struct held_interval *item = held_find(stretches->held, interval->path);

	if (!stretches->held)
		stretches->held = mem_new(sizeof *stretches->held);
	if (!item)
		item = held_add(stretches->held, interval->path);
	item->interval = *interval;
	item->interval.path = item->path;
	item->seen = seen;
	item->open = true;
}

/* ---- one ---- */

/* Did the answer take a run, which reads more than the range? */
static bool is_pass(const char *evaluation)
{
	return strcmp(evaluation, "slices") != 0 && strcmp(evaluation, "backward") != 0;
}

struct stretch_output {
	struct stretches *stretches;
	nstime cut; /* NSTIME_MAX: there is none, this is the last stretch */
	bool stopped;
	bool (*each)(void *arg, const struct interval *interval);
	void *arg;
};

static bool give_one(struct stretch_output *giving, const struct interval *interval)
{
	giving->stopped = !giving->each(giving->arg, interval);
	return !giving->stopped;
}

/* Called for intervals of a path in order of time. The first may extend the one that is held. */
static bool stretches_give(void *arg, const struct interval *interval)
{
	struct stretch_output *giving = arg;
	struct stretches *stretches = giving->stretches;
	struct interval whole = *interval;
	struct held_interval *item = held_find(stretches->held, interval->path);

	if (item && item->seen < stretches->next) {
		item->seen = stretches->next;
		item->open = false;
		if (whole.begin <= item->interval.end &&
		    value_equal(&whole.value, &item->interval.value))
			whole.begin = item->interval.begin;
		else if (!give_one(giving, &item->interval))
			return false;
	}
	if (whole.end < giving->cut)
		return give_one(giving, &whole);
	hold(stretches, &whole, stretches->next);
	return true;
}

/*
 * Gives held intervals that this stretch did not extend, after the last stretch all. Holds the
 * others.
 */
static void give_ended(struct stretch_output *giving)
{
	struct stretches *stretches = giving->stretches;
	struct held_intervals *old = stretches->held;

	stretches->held = NULL;
	for (size_t i = 0; old && i < old->count; i++) {
		const struct held_interval *item = &old->items[i];
		bool last = giving->cut == NSTIME_MAX;
		if (!item->open || giving->stopped)
			continue;
		if (last || item->seen < stretches->next)
			give_one(giving, &item->interval);
		else
			hold(stretches, &item->interval, item->seen);
	}
	held_free(old);
}

/* Is the stretch at an end of the whole range, beyond which true begins or ends must be found? */
static bool is_at_end(const struct stretches *stretches)
{
	return (stretches->next == 1 && stretches->begin > NSTIME_MIN) ||
	       (stretches->next == stretches->count && stretches->end < NSTIME_MAX);
}

void stretches_edges(const struct stretches *stretches, nstime *from, nstime *to)
{
	unsigned next = stretches->next + 1;

	*from = stretches->next ? stretches->cut : stretches->begin;
	*to = stretches->end;
	if (next < stretches->count)
		*to = (nstime)(stretches->from +
			       (__int128)time_span(stretches->from, stretches->to) * next /
				       stretches->count);
}

/* If this stretch took a run, the next would take one, too: makes the rest one stretch. */
static void join_rest(struct stretches *stretches)
{
	if (is_pass(state_evaluation(stretches->asked)) && stretches->next + 1 < stretches->count)
		stretches->count = stretches->next + 1;
}

typedef bool ask_intervals(struct state *state, nstime begin, nstime end, enum interval_ends ends,
			   const struct query *const *queries, size_t nqueries,
			   bool (*each)(void *arg, const struct interval *interval), void *arg,
			   struct error *err);

/* Of several stretches, each lists all attributes with a value in it. */
static ask_intervals *ask_stretch(const struct stretches *stretches)
{
	return stretches->count == 1 ? state_intervals : state_intervals_all;
}

bool stretches_next_parts(struct stretches *stretches,
			  bool (*each)(void *arg, const struct interval *interval), void *arg,
			  struct error *err)
{
	nstime from, to;

	stretches_edges(stretches, &from, &to);
	stretches->next++;
	stretches->cut = to;
	bool ok = from >= to || !stretches->nqueries ||
		  ask_stretch(stretches)(stretches->asked, from, to, INTERVALS_CUT,
					 stretches->queries, stretches->nqueries, each, arg, err);
	join_rest(stretches);
	return ok;
}

bool stretches_next(struct stretches *stretches,
		    bool (*each)(void *arg, const struct interval *interval), void *arg,
		    struct error *err)
{
	struct stretch_output giving = {stretches, NSTIME_MAX, false, each, arg};
	nstime begin, cut;
	bool ok = true;

	stretches_edges(stretches, &begin, &cut);
	unsigned next = ++stretches->next;

	if (stretches->count == 1)
		return state_intervals(stretches->asked, begin, cut, INTERVALS_WHOLE,
				       stretches->queries, stretches->nqueries, each, arg, err);
	if (next < stretches->count)
		giving.cut = cut;
	stretches->cut = cut;
	if (begin < cut)
		ok = state_intervals_all(stretches->asked, begin, cut,
					 is_at_end(stretches) ? INTERVALS_WHOLE : INTERVALS_CUT,
					 stretches->queries, stretches->nqueries, stretches_give,
					 &giving, err);
	if (ok && !giving.stopped)
		give_ended(&giving);
	if (giving.stopped)
		stretches->count = next;
	else
		join_rest(stretches);
	return ok;
}

void stretches_end(struct stretches *stretches)
{
	held_free(stretches->held);
	stretches->held = NULL;
	named_queries_release(&stretches->named);
}
