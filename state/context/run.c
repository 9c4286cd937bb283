/*
 * run.c - a run of replay: where it begins, and which checkpoints and fills it stores
 *
 *     C0 ────────── C1 ───────── C2 ────────── end
 *          x <────── fill ───────────── o            stored with C1 and with C2
 *                        y <─ fill ─ o               stored with C2
 *
 * Checkpoints are whole states, so that the next run begins near its range. A value unknown at a
 * checkpoint may be filled by a `was` of an event after it. A run that saw all such events stores
 * their fills with each checkpoint, so that the next run need not read on. Fills are valid for the
 * trace's present length, checkpoints also when it has grown.
 */
#include "state/context/run.h"
#include "engine/base/mem.h"
#include "engine/timetext.h"
#include "state/context/handover.h"

#include <stdatomic.h>
#include <string.h>

enum { FILLS_MAX = 1 << 20 };

struct runs {
	struct checkpoints *fills; /* keys are ~t: a downward search finds the nearest later one */
	nstime *passed;            /* times of this run's checkpoints, rising */
	size_t npassed, passed_capacity;
	struct fill *items; /* the first `settled` reach over a checkpoint, others may */
	size_t nitems, capacity, settled;
	nstime pruned; /* fills by events before it that reach over no checkpoint were dropped */
	bool lost;     /* there were more than FILLS_MAX fills: none is stored */
	nstime sealed; /* no event after the run fills time at or before it */
	bool partial;  /* the run evaluates a subset of the program, or continues a step */
	bool again;    /* see run_subset(): there was a question about a short range before */
};

struct runs *runs_new(struct index *index, const uint64_t identity[2])
{
	struct runs *runs = mem_new(sizeof *runs);
	uint64_t own[2] = {identity[0], ~identity[1]};

	if (index) {
		const struct trace *trace = index_trace(index);
		for (size_t i = 0; i < trace->nsources; i++)
			own[0] = own[0] * 31 + source_size(trace->sources[i]);
	}
	runs->fills = checkpoints_new(index, own);
	return runs;
}

void runs_free(struct runs *runs)
{
	if (!runs)
		return;
	checkpoints_free(runs->fills);
	mem_free(runs->passed);
	mem_free(runs->items);
	mem_free(runs);
}

void runs_forget(struct runs *runs)
{
	checkpoints_forget(runs->fills);
}

static void pass(struct runs *runs, nstime t)
{
	*mem_push(runs->passed, runs->npassed, runs->passed_capacity) = t;
}

static void restart(struct runs *runs, nstime begin)
{
	runs->npassed = runs->nitems = runs->settled = 0;
	runs->lost = false;
	runs->pruned = runs->sealed = NSTIME_MIN;
	if (begin > NSTIME_MIN)
		pass(runs, begin);
}

/* The run left or met a checkpoint at t: drops fills that reach over none. */
static void prune(struct runs *runs, nstime t, nstime next)
{
	nstime last = runs->npassed ? runs->passed[runs->npassed - 1] : NSTIME_MIN;
	size_t kept = runs->settled;

	if (t < runs->pruned)
		return;
	for (size_t i = runs->settled; i < runs->nitems; i++) {
		const struct fill *item = &runs->items[i];

		if (item->cell.since < last || (item->cell.since < t && item->at >= t))
			runs->items[kept++] = *item;
	}
	runs->nitems = runs->settled = kept;
	runs->pruned = next;
	pass(runs, t);
}

/* ---- checkpoints, spaced by what it costs to replay from one to the next ---- */

/* Measured on generated traces, linux.rules: a head, and an event with its values and lines. */
enum { HEAD_NS = 10, EVENT_NS = 300, LOOKS = 16 /* checks per spacing */ };

static struct run_cost cost_of(const struct state *state, const struct replay *replay)
{
	const struct trace *trace = state->event_source->trace;

	return (struct run_cost){
		.events = replay_events(replay),
		.heads = trace_events_decoded(trace),
		.bytes = trace_bytes_read(trace),
	};
}

/* Loads the newest stored state at or before t; returns its time. NSTIME_MIN: there is none. */
static nstime take_known(struct state *state, const struct program *program, nstime t,
			 struct cells *cells)
{
	nstime at;

	if (state->handover)
		return handover_take(state->handover, state, program, cells, &at) ? at : NSTIME_MIN;
	if (state->options.replay_only || state->force == FORCE_REPLAY || state->runs->partial ||
	    !checkpoints_get(state->checkpoints, t, cells, &at))
		return NSTIME_MIN;
	state->evaluation = "checkpoint";
	return at;
}

struct replay *run_begin(struct state *state, const struct replay_options *options, nstime t,
			 struct order *from)
{
	struct replay_options own = *options;
	struct replay *replay;
	char texts[2][TIME_TEXT_MAX];

	own.by_tree = state->force == FORCE_REPLAY;
	replay = replay_new(&own);
	state->evaluation = "replay";
	state->runs->partial = options->program != state->program || state->handover;
	nstime begin = take_known(state, options->program, t, replay_cells(replay));
	debug_note(&state->options.notices, DEBUG_STATE,
		   "state: replay of %s lines from %s%s, for %s",
		   state->runs->partial ? "some" : "all",
		   begin > NSTIME_MIN ? "the checkpoint at " : "", time_raw(begin, texts[0]),
		   time_raw(t, texts[1]));
	*from = order_before(begin);
	state->checkpoint_time = begin;
	state->checkpoint_cost = cost_of(state, replay);
	state->checkpoint_due = state->runs->partial || state->options.replay_only ||
						state->options.no_checkpoints
					? UINT64_MAX
					: 0;
	restart(state->runs, begin);
	return replay;
}

/* Is it far enough from the last checkpoint, and its size small beside what was read since? */
static bool run_is_due(const struct state *state, struct replay *replay,
		       const struct run_cost *cost)
{
	const struct run_cost *last = &state->checkpoint_cost;
	size_t size = cells_count(replay_cells(replay)) * sizeof(struct cell) / 8;

	size = size > state->checkpoint_size ? size : state->checkpoint_size;
	return (cost->events - last->events) * EVENT_NS + (cost->heads - last->heads) * HEAD_NS >=
		       state->spacing &&
	       cost->bytes - last->bytes >= size * state->share;
}

/* A stored checkpoint since the last one will do. */
void run_passes(struct state *state, struct replay *replay, nstime next)
{
	struct run_cost cost;
	nstime found;

	if (next == NSTIME_MIN || replay_events(replay) < state->checkpoint_due)
		return;
	state->checkpoint_due = replay_events(replay) + state->spacing / EVENT_NS / LOOKS;
	cost = cost_of(state, replay);
	if (!run_is_due(state, replay, &cost))
		return;
	state->checkpoint_cost = cost;
	if (!checkpoints_get(state->checkpoints, next, NULL, &found) ||
	    found <= state->checkpoint_time) {
		state->checkpoint_size =
			checkpoints_put(state->checkpoints, next, replay_cells(replay));
		found = next;
	}
	state->checkpoint_time = found;
	prune(state->runs, found, next);
}

/* Measured on generated traces, linux.rules. */
enum {
	ALL_RULES = 3, /* evaluating all rules takes so many times as long as a subset */
	LONG_PART = 8  /* a long range is at least 1/8 of the trace's time */
};

/* Is it worth evaluating all rules, to begin at a checkpoint or leave some? */
static bool pays(struct state *state, nstime begin, nstime end)
{
	nstime first, last, found;
	struct error ignored;
	bool again = state->runs->again;

	if (!state->event_source->ops->span(state->event_source, &first, &last, &ignored))
		return false;
	begin = begin < first ? first : begin > last ? last : begin;
	end = end < begin ? begin : end > last ? last : end;
	if (checkpoints_get(state->checkpoints, begin, NULL, &found) && found > first &&
	    time_span(found, end) * ALL_RULES < time_span(first, end))
		return true;
	if (time_span(begin, end) * LONG_PART >= time_span(first, last))
		return false;
	state->runs->again = true;
	return again;
}

struct program *run_subset(struct state *state, const struct closure *closure, nstime begin,
			   nstime end)
{
	bool all = !state->options.no_checkpoints &&
		   (closure_is_most(closure) || pays(state, begin, end));

	return all ? NULL : closure_program(closure);
}

bool run_went_on(struct state *state, nstime t)
{
	nstime found;

	return checkpoints_get(state->checkpoints, NSTIME_MAX, NULL, &found) && found > t;
}

static bool keeps_fills(const struct state *state)
{
	return !state->options.replay_only && !state->options.no_checkpoints &&
	       state->force != FORCE_REPLAY && !state->runs->partial;
}

void run_changes(struct state *state, const struct change *change)
{
	struct runs *runs = state->runs;

	if (!change->fill || runs->lost || !keeps_fills(state))
		return;
	runs->lost = runs->nitems == FILLS_MAX;
	if (runs->lost)
		return;
	*mem_push(runs->items, runs->nitems, runs->capacity) =
		(struct fill){change->time, change->attr, *change->after};
}

void run_seals(struct state *state, nstime t)
{
	state->runs->sealed = t;
}

/*
 * Stores the fills from before t by events at t and later. An attribute has at most one: it is
 * unknown from the fill's begin to its event.
 */
static void store_fills(struct state *state, nstime t)
{
	const struct runs *runs = state->runs;
	struct cells *cells;
	nstime found;

	if (checkpoints_get(runs->fills, ~t, NULL, &found) && found == ~t)
		return;
	cells = cells_new(state->program, state->event_source->trace->nstreams, false);
	for (size_t i = 0; i < runs->nitems; i++)
		if (runs->items[i].cell.since < t && runs->items[i].at >= t)
			cells_set(cells, runs->items[i].attr, &runs->items[i].cell);
	checkpoints_put(runs->fills, ~t, cells);
	cells_free(cells);
}

nstime run_told(struct state *state, nstime t)
{
	nstime found;

	if (t == NSTIME_MAX || !keeps_fills(state) ||
	    !checkpoints_get(state->runs->fills, ~(t + 1), NULL, &found))
		return NSTIME_MAX;
	return ~found;
}

bool run_fills(struct state *state, nstime t, run_filled *each, void *arg)
{
	struct cells *cells =
		cells_new(state->program, state->event_source->trace->nstreams, false);
	struct cell cell;
	nstime found;
	bool told = checkpoints_get(state->runs->fills, ~t, cells, &found) && found == ~t;

	for (uint32_t a = ATTR_ROOT; told && cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		each(arg, a, &cell);
	}
	cells_free(cells);
	return told;
}

void run_end(struct state *state, struct replay *replay)
{
	size_t count = (size_t)program_statements(state->program) * FAILURE_COUNT;
	const struct runs *runs = state->runs;

	for (size_t i = 0; i < runs->npassed && !runs->lost && keeps_fills(state); i++)
		if (runs->passed[i] <= runs->sealed)
			store_fills(state, runs->passed[i]);
	checkpoints_store(state->checkpoints);
	checkpoints_store(runs->fills);
	state->last_run = replay_events(replay);
	if (!state->runs->partial && replay_events(replay) >= state->failures_events) {
		memcpy(state->failures, replay_failures(replay), count * sizeof *state->failures);
		state->failures_events = replay_events(replay);
		state->contradictions = replay_contradictions(replay);
	}
	replay_free(replay);
}
