/*
 * forward.c - values at moments by replay, from the start or the newest checkpoint before them
 *
 * At each moment the replay has the state. An unknown value may still be filled by a `was` of a
 * later event, so the run goes on past the last moment until nothing can be filled (no stream fills
 * time before its last loss), or up to a checkpoint with stored fills of an earlier run.
 *
 * For state_at_all() the state at each moment is saved as bytes; attributes that lists have at
 * other moments are read from there. Moments with a checkpoint between them are answered by
 * separate runs.
 */
#include "state/answer/forward.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/context/run.h"

#include <assert.h>
#include <stdlib.h>

struct moment_place { /* a moment, and its index in the question */
	struct moment moment;
	uint32_t asked;
};

struct forward {
	struct state *state;
	struct wanted *wanted;
	struct records *out;
	struct replay *replay;
	const struct cells *cells;   /* the state at place `taken`; NULL: the run's */
	struct buf *states;          /* by place: its state as bytes; NULL: not needed */
	struct moment_place *places; /* by rising moment */
	size_t nplaces, taken;
	struct program *subset; /* statements that the question depends on; NULL: all */
	struct fill *fills;     /* fills that reach back over places */
	size_t nfills, fills_capacity;
	bool *unknown_view; /* by place: a computed attribute read an unknown value */
	nstime told;  /* after the last place: fills from here on are stored; NSTIME_MAX: none */
	bool stopped; /* the run stopped before the trace's end */
	bool second;  /* second run: all fills are known, for computed attributes */
};

static int forward_by_place(const void *a, const void *b)
{
	return moment_compare(&((const struct moment_place *)a)->moment,
			      &((const struct moment_place *)b)->moment);
}

static bool lies_before(const struct moment *moment, nstime next)
{
	return moment->before ? moment->t <= next : moment->t < next;
}

/* Does the fill cover the place? */
static bool reaches(const struct fill *fill, const struct moment_place *place)
{
	return lies_before(&place->moment, fill->at) &&
	       fill->cell.since <= moment_time(&place->moment);
}

/* Finds the places that the fill covers: [*first, returned index). */
static size_t reached(const struct forward *forward, const struct fill *fill, size_t *first)
{
	*first = search_first(i, 0, forward->nplaces,
			      moment_time(&forward->places[i].moment) < fill->cell.since);
	return search_first(i, *first, forward->nplaces,
			    lies_before(&forward->places[i].moment, fill->at));
}

/* Number of fills to apply while places are taken: only in the second run. */
static size_t fills_now(const struct forward *forward)
{
	return forward->second ? forward->nfills : 0;
}

static bool get_now(void *arg, uint32_t attr, struct fact *out)
{
	struct forward *forward = arg;
	struct cell cell;

	cells_get(forward->cells ? forward->cells : replay_cells(forward->replay), attr, &cell);
	fact_of_cell(&cell, out);
	for (size_t i = 0; i < fills_now(forward); i++)
		if (forward->fills[i].attr == attr &&
		    reaches(&forward->fills[i], &forward->places[forward->taken]))
			fact_of_cell(&forward->fills[i].cell, out);
	return true;
}

static struct fact take_fact(struct forward *forward, uint32_t attr)
{
	struct fact fact;

	if (fact_compute(forward->state, attr, get_now, forward, &fact).read_unknown)
		forward->unknown_view[forward->taken] = true;
	return fact;
}

static void record(struct forward *forward, uint32_t attr, const struct fact *fact)
{
	records_add(forward->out, forward->places[forward->taken].asked, attr, fact);
}

/* Adds a computed attribute of a list, if it has a value. */
static void list_view(void *arg, uint32_t attr, const uint32_t *sources, uint32_t count)
{
	struct forward *forward = arg;
	struct fact fact = take_fact(forward, attr);

	(void)sources;
	(void)count;
	if (value_exists(&fact.value))
		record(forward, attr, &fact);
}

/* next_listed() counts cells that lists have, and from FILLS on fills with a value. */
#define FILLS (UINT64_C(1) << 32)

static bool next_listed(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr)
{
	const struct forward *forward = arg;
	const struct attrs *attrs = forward->state->attrs;
	const struct cells *cells = replay_cells(forward->replay);
	struct cell cell;

	for (*attr = (uint32_t)*at; *at < FILLS && cells_next(cells, attr);) {
		*at = *attr;
		if (attr_shape(attrs, *attr) != shape)
			continue;
		cells_get(cells, *attr, &cell);
		if (cell.named && value_exists(&cell.value))
			return true;
	}
	for (*at = *at < FILLS ? FILLS : *at; *at - FILLS < fills_now(forward);) {
		const struct fill *fill = &forward->fills[(*at)++ - FILLS];

		*attr = fill->attr;
		if (attr_shape(attrs, fill->attr) == shape && value_exists(&fill->cell.value) &&
		    reaches(fill, &forward->places[forward->taken]))
			return true;
	}
	return false;
}

static void list_now(struct forward *forward)
{
	struct state *state = forward->state;
	struct cells *cells = replay_cells(forward->replay);
	const struct named_attrs named = {next_listed, list_view, forward};
	struct cell cell;
	struct fact fact;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		if (!wanted_lists(state, forward->wanted, a))
			continue;
		cells_get(cells, a, &cell);
		if (!cell.named || cell.value.kind == VALUE_NONE)
			continue;
		fact_of_cell(&cell, &fact);
		record(forward, a, &fact);
	}
	wanted_views(state, forward->wanted, &named);
}

/* Adds the answers at place `taken`, whose state the replay has. */
static void take_place(struct forward *forward)
{
	const struct wanted *wanted = forward->wanted;
	const struct wanted_attrs attrs = wanted_at(wanted, forward->places[forward->taken].asked);

	if (forward->states) {
		buf_clear(&forward->states[forward->taken]);
		cells_write(replay_cells(forward->replay), &forward->states[forward->taken]);
	}
	for (size_t i = 0; i < attrs.count; i++) {
		struct fact fact = take_fact(forward, attrs.items[i]);
		record(forward, attrs.items[i], &fact);
	}
	if (wanted->lists)
		list_now(forward);
}

/* The last time whose events count at the last place. */
static nstime last_time(const struct forward *forward)
{
	const struct moment *last = &forward->places[forward->nplaces - 1].moment;

	return moment_time(last);
}

/* May a later `was` still fill the last moment? */
static bool awaits_fills(const struct forward *forward)
{
	if (forward->second || !catalog_has_was(forward->state->catalog))
		return false;
	return replay_may_fill(forward->replay, last_time(forward));
}

/* Is a wanted value unknown at the last moment? */
static bool misses_some(const struct forward *forward)
{
	struct cell cell;

	if (forward->wanted->lists || forward->unknown_view[forward->nplaces - 1])
		return true;
	for (size_t i = 0; i < forward->wanted->nattrs; i++) {
		cells_get(replay_cells(forward->replay), forward->wanted->attrs[i], &cell);
		if (cell.value.kind == VALUE_UNKNOWN)
			return true;
	}
	return false;
}

static void add_fill(struct forward *forward, nstime at, uint32_t attr, const struct cell *cell)
{
	const struct fill fill = {at, attr, *cell};

	if (!forward->taken || !reaches(&fill, &forward->places[forward->taken - 1]))
		return;
	*mem_push(forward->fills, forward->nfills, forward->fills_capacity) = fill;
}

/* Adds a stored fill by events from `told` on. */
static void add_told(void *arg, uint32_t attr, const struct cell *cell)
{
	struct forward *forward = arg;

	add_fill(forward, forward->told, attr, cell);
}

static bool at_moment(void *arg, nstime next)
{
	struct forward *forward = arg;
	bool all = forward->taken == forward->nplaces;

	while (forward->taken < forward->nplaces &&
	       lies_before(&forward->places[forward->taken].moment, next)) {
		take_place(forward);
		forward->taken++;
	}
	run_passes(forward->state, forward->replay, next);
	if (forward->taken < forward->nplaces)
		return true;
	if (!awaits_fills(forward)) {
		run_seals(forward->state, last_time(forward));
		return !(forward->stopped = true);
	}
	if (!all)
		forward->told = run_told(forward->state, last_time(forward));
	forward->stopped = !misses_some(forward) ||
			   (next >= forward->told &&
			    run_fills(forward->state, forward->told, add_told, forward));
	return !forward->stopped;
}

static void at_change(void *arg, const struct change *change)
{
	struct forward *forward = arg;

	run_changes(forward->state, change);
	if (change->fill && !forward->second)
		add_fill(forward, change->time, change->attr, change->after);
}

static bool run_forward(struct forward *forward, struct error *err)
{
	struct state *state = forward->state;
	struct replay_options options = {.event_source = state->event_source,
					 .program =
						 forward->subset ? forward->subset : state->program,
					 .change = at_change,
					 .moment = at_moment,
					 .arg = forward};
	struct order from, to = order_after(NSTIME_MAX);
	nstime first = forward->places[0].moment.t;
	bool ok;

	forward->taken = 0;
	forward->stopped = false;
	forward->replay =
		run_begin(state, &options,
			  first - (first > NSTIME_MIN && forward->places[0].moment.before), &from);
	ok = replay_run(forward->replay, &from, &to, err);
	if (ok && !forward->stopped)
		run_seals(state, NSTIME_MAX);
	for (; ok && forward->taken < forward->nplaces; forward->taken++)
		take_place(forward);
	run_end(state, forward->replay);
	forward->replay = NULL;
	return ok;
}

/* Replaces the unknown value by the fill's; adds an attribute that lists have only by the fill. */
static void apply_fill(struct forward *forward, const struct fill *fill, uint32_t asked,
		       size_t count)
{
	struct records *records = forward->out;
	struct record *found = records_find(records, count, asked, fill->attr);
	struct fact fact;

	fact_of_cell(&fill->cell, &fact);
	if (found)
		found->fact = fact;
	else if (wanted_lists(forward->state, forward->wanted, fill->attr) &&
		 fact.value.kind != VALUE_NONE)
		records_add(records, asked, fill->attr, &fact);
}

static void apply_fills(struct forward *forward)
{
	struct records *records = forward->out;
	size_t count = records->count, kept = 0, p, end;

	if (forward->nfills)
		records_sort(records);
	for (size_t i = 0; i < forward->nfills; i++)
		for (end = reached(forward, &forward->fills[i], &p); p < end; p++)
			apply_fill(forward, &forward->fills[i], forward->places[p].asked, count);
	for (size_t i = 0; i < records->count; i++) /* lists leave out VALUE_NONE */
		if (records->items[i].fact.value.kind != VALUE_NONE ||
		    wanted_by_name(forward->wanted, records->items[i].attr))
			records->items[kept++] = records->items[i];
	records->count = kept;
}

static bool views_need_fills(const struct forward *forward)
{
	const struct program *program = forward->state->program;
	size_t p, end;

	for (uint32_t i = 0; i < program_views(program) && forward->nfills; i++)
		if (wanted_lists_shape(forward->state, forward->wanted,
				       program_view(program, i)->path.shape))
			return true;
	for (size_t i = 0; i < forward->nfills; i++)
		for (end = reached(forward, &forward->fills[i], &p); p < end; p++)
			if (forward->unknown_view[p])
				return true;
	return false;
}

/* Runs again with all fills known: which computed attributes a list has depends on them. */
static bool run_again(struct forward *forward, struct error *err)
{
	forward->second = true;
	forward->out->count = 0;
	return run_forward(forward, err);
}

/* Answers all places by one run, or two. */
static bool forward_answer(struct forward *forward, struct error *err)
{
	bool ok;

	forward->unknown_view = mem_new_array(forward->nplaces, sizeof *forward->unknown_view);
	if (forward->wanted->lists && forward->wanted->all_moments)
		forward->states = mem_new_array(forward->nplaces, sizeof *forward->states);
	ok = run_forward(forward, err);
	if (ok && views_need_fills(forward))
		ok = run_again(forward, err);
	if (ok)
		apply_fills(forward);
	return ok;
}

/* Adds the values of attributes that lists have at other moments only, from the saved states. */
static void answer_missing(struct forward *forward, const struct record_place *missing,
			   size_t nmissing)
{
	struct state *state = forward->state;
	struct cells *cells =
		cells_new(state->program, state->event_source->trace->nstreams, false);

	forward->second = true; /* apply all fills */
	for (size_t p = 0; p < forward->nplaces; p++) {
		const struct buf *written = &forward->states[p];
		bool good = cells_read(cells, written->data, written->len);

		assert(good); /* it was written here */
		forward->cells = cells;
		forward->taken = p;
		for (size_t i = 0; i < nmissing; i++) {
			struct fact fact;
			if (missing[i].moment != forward->places[p].asked)
				continue;
			fact = take_fact(forward, missing[i].attr);
			record(forward, missing[i].attr, &fact);
		}
	}
	cells_free(cells);
}

/* Is there a checkpoint between the two places, to begin another run at? */
static bool begins_apart(struct state *state, const struct moment_place *before,
			 const struct moment_place *place)
{
	nstime found;

	return checkpoints_get(state->checkpoints, place->moment.t - place->moment.before, NULL,
			       &found) &&
	       found > before->moment.t;
}

static void forward_release(struct forward *forward)
{
	for (size_t i = 0; forward->states && i < forward->nplaces; i++)
		buf_release(&forward->states[i]);
	mem_free(forward->states);
	mem_free(forward->unknown_view);
	mem_free(forward->fills);
}

/* Answers all moments in one run or several; then adds what lists have at other moments only. */
static bool answer_all(const struct forward *all, struct error *err)
{
	struct state *state = all->state;
	struct records *out = all->out;
	size_t nplaces = all->nplaces;
	struct forward *runs = mem_new_array(nplaces, sizeof *runs);
	size_t nruns = 0, nmissing;
	bool ok = true;

	for (size_t i = 0; i < nplaces && ok; i++) {
		size_t first = i;
		struct forward *forward = &runs[nruns++];

		while (i + 1 < nplaces &&
		       (all->subset || !begins_apart(state, &all->places[i], &all->places[i + 1])))
			i++;
		*forward = *all;
		forward->out = mem_new(sizeof *forward->out);
		forward->places += first;
		forward->nplaces = i + 1 - first;
		ok = forward_answer(forward, err);
		for (size_t r = 0; r < forward->out->count && ok; r++)
			*mem_push(out->items, out->count, out->capacity) = forward->out->items[r];
		mem_free(forward->out->items);
		mem_free(forward->out);
		forward->out = out;
	}
	struct record_place *missing = ok ? records_missing(out, nplaces, &nmissing) : NULL;
	for (size_t i = 0; i < nruns; i++) {
		if (missing)
			answer_missing(&runs[i], missing, nmissing);
		forward_release(&runs[i]);
	}
	mem_free(missing);
	mem_free(runs);
	return ok;
}

/* The statements that the question depends on; NULL: all. */
static struct program *subset_of(const struct forward *forward)
{
	const struct moment_place *places = forward->places;
	struct closure *closure = wanted_closure(forward->state, forward->wanted);
	struct program *subset = run_subset(forward->state, closure, places[0].moment.t,
					    places[forward->nplaces - 1].moment.t);

	closure_free(closure);
	return subset;
}

bool forward_at(struct state *state, const struct moment *moments, size_t nmoments,
		struct wanted *wanted, struct records *out, struct error *err)
{
	struct forward forward = {
		.state = state, .wanted = wanted, .out = out, .nplaces = nmoments};
	struct moment_place *places = mem_new_array(nmoments, sizeof *places);
	bool ok;

	for (size_t i = 0; i < nmoments; i++)
		places[i] = (struct moment_place){moments[i], (uint32_t)i};
	qsort(places, nmoments, sizeof *places, forward_by_place);
	forward.places = places;
	if (state->force == FORCE_NONE && !state->options.replay_only)
		forward.subset = subset_of(&forward);
	if (wanted->lists && wanted->all_moments) {
		ok = answer_all(&forward, err);
	} else {
		ok = forward_answer(&forward, err);
		forward_release(&forward);
	}
	program_subset_free(forward.subset);
	mem_free(places);
	return ok;
}
