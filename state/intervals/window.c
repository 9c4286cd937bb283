/*
 * window.c - lists over a window: the attributes to which its events give a value
 *
 *     floor ...|.........[==== window ====].........|... ceil
 *                begin <-  who is written?  -> end
 *
 * The window's lines are evaluated in order, without the state at its begin. What a line reads of
 * that is noted, asked for by one backward pass for all, and the window is evaluated again, until
 * every key is known. Then the attributes are read as if they had been asked for by name (near.c).
 * Nothing is read beyond the horizon.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/planner.h"
#include "state/intervals/intervals.h"
#include "state/replay/cells_internal.h"
#include "state/replay/walk.h"

enum { ROUNDS = 16 /* of asking for what was read */ };
/* A backward pass ends at the horizon: these are for what has none. */
enum { PASS_ROUNDS = 64 };
#define PASS_BYTES ((size_t)1 << 30)

struct finder {
	struct walk walk; /* first: see struct walk_ops */
	struct tracks *tracks;
	struct program *program; /* what writes what is listed, and what that reads */
	struct cells *writes;    /* of the events so far */
	struct number_map reads; /* attribute → 1 + its place below: it was read at the begin */
	struct ask_place *places;
	struct fact *facts; /* of the first `nfacts` places */
	size_t nplaces, places_capacity, nfacts;
};

/* ---- reads ---- */

/* It is not decided what the attribute is. */
static const struct value open_value = {.kind = VALUE_UNKNOWN, .u = 1};

static bool is_open(const struct value *value)
{
	return value->kind == VALUE_UNKNOWN && value->u == open_value.u;
}

/* At the window's begin; NULL: it is not known, and was noted. */
static const struct fact *fact_at_begin(struct finder *finder, uint32_t attr)
{
	nstime begin = finder->tracks->range.begin;
	uint32_t place = number_map_get(&finder->reads, attr);

	if (!place) {
		*mem_push(finder->places, finder->nplaces, finder->places_capacity) =
			(struct ask_place){{begin, begin > NSTIME_MIN}, attr};
		number_map_set(&finder->reads, attr, (uint32_t)finder->nplaces);
		return NULL;
	}
	const struct fact *fact = place <= finder->nfacts ? &finder->facts[place - 1] : NULL;
	return fact && !fact->beyond ? fact : NULL;
}

static enum eval read_value(void *arg, uint32_t attr, struct value *out)
{
	struct finder *finder = arg;
	const struct fact *fact;
	struct cell cell;

	cells_get(finder->writes, attr, &cell);
	if (cell.written) {
		*out = cell.value;
		return is_open(out) ? EVAL_OPEN : EVAL_VALUE;
	}
	fact = fact_at_begin(finder, attr);
	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	return EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct finder *finder = arg;
	uint32_t stream = finder->walk.stream->index;
	const struct fact *fact;

	cells_section(finder->writes, stream, section, out, written);
	if (*written)
		return is_open(out) ? EVAL_OPEN : EVAL_VALUE;
	fact = fact_at_begin(finder,
			     catalog_section(finder->tracks->state->catalog, stream, section));
	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	*written = fact->written;
	return EVAL_VALUE;
}

/* ---- writes ---- */

static void put(struct finder *finder, uint32_t attr, const struct value *value)
{
	struct cell_now *cell = cells_make(finder->writes, attr);

	cell->value = *value;
	cell->since = finder->walk.time;
	cell->named = true;
}

static void name(struct finder *finder, const struct write *write, uint32_t attr)
{
	struct tracks *tracks = finder->tracks;

	if (verb_gives(write->verb) && finder->walk.stream &&
	    (wanted_lists(tracks->state, tracks->wanted, attr) ||
	     wanted_is_source(tracks->state, tracks->wanted,
			      attr_shape(tracks->state->attrs, attr))))
		attr_list_add(&tracks->names, attr, tracks->range.begin);
}

static void set(void *arg, const struct write *write, uint32_t attr, struct value *value)
{
	struct finder *finder = arg;

	if (!write->interned)
		attrs_keep(finder->tracks->state->attrs, value);
	if (value->kind == VALUE_UNKNOWN)
		value->u = 0;
	put(finder, attr, value);
	name(finder, write, attr);
}

static void set_section(void *arg, const struct line *line, enum eval eval, struct value *value)
{
	struct finder *finder = arg;
	struct value own = eval == EVAL_OPEN ? open_value : *value;

	attrs_keep(finder->tracks->state->attrs, &own);
	cells_set_section(finder->writes, finder->walk.stream->index, line->section, &own);
}

static void was(void *arg, const struct write *write)
{
	struct finder *finder = arg;
	struct value now, value = write->value;

	if (read_value(finder, write->attr, &now) != EVAL_VALUE || now.kind != VALUE_UNKNOWN)
		return;
	attrs_keep(finder->tracks->state->attrs, &value);
	put(finder, write->attr, &value);
}

static void bury(void *arg, const struct write *write, const struct pattern *pattern,
		 enum value_kind kind)
{
	struct finder *finder = arg;

	cells_bury(finder->writes, pattern, kind, finder->walk.time,
		   walk_writer(&finder->walk, write->line), NULL, NULL);
}

/* Its value or condition is not decided: it may write. */
static void defer(void *arg, const struct write *write)
{
	struct finder *finder = arg;

	if (write->attr == ATTR_ABSENT || verb_buries(write->verb))
		return;
	put(finder, write->attr, &open_value);
	name(finder, write, write->attr);
}

static void loss(void *arg, const struct event *event)
{
	(void)arg;
	(void)event;
}

static bool moment(void *arg, nstime next)
{
	struct finder *finder = arg;

	(void)next;
	cells_settle(finder->writes, NULL, NULL);
	return true;
}

static const struct walk_ops ops = {.read = read_value,
				    .section = read_section,
				    .set_section = set_section,
				    .set = set,
				    .was = was,
				    .bury = bury,
				    .defer = defer,
				    .loss = loss,
				    .moment = moment};

/* ---- what is evaluated ---- */

struct shapes {
	const struct finder *finder;
	uint32_t *items;
	size_t count, capacity;
};

static bool is_wanted(const struct finder *finder, uint32_t shape)
{
	const struct tracks *tracks = finder->tracks;

	return wanted_is_source(tracks->state, tracks->wanted, shape) ||
	       wanted_lists_shape(tracks->state, tracks->wanted, shape);
}

static void add_target(void *arg, const struct line *line)
{
	struct shapes *shapes = arg;
	const struct finder *finder = shapes->finder;
	uint32_t shape = line->target.shape, values = shape;

	if (line->flags & LINE_SECTION || verb_buries(line->verb))
		return;
	if (verb_stacks(line->verb))
		values = shape_key(finder->tracks->state->attrs, shape);
	if (is_wanted(finder, shape) || is_wanted(finder, values))
		*mem_push(shapes->items, shapes->count, shapes->capacity) = shape;
}

/* The closure of what may be listed; NULL: it cannot be read backward. */
static struct closure *closure_of_lists(const struct finder *finder)
{
	const struct state *state = finder->tracks->state;
	struct shapes shapes = {.finder = finder};
	struct closure *closure;

	catalog_lines(state->catalog, add_target, &shapes);
	closure = closure_new(state->catalog, shapes.items, shapes.count);
	mem_free(shapes.items);
	if (looks_back(closure))
		return closure;
	closure_free(closure);
	return NULL;
}

/* ---- rounds ---- */

static bool evaluate(struct finder *finder, struct error *err)
{
	const struct range *range = &finder->tracks->range;
	struct order from = order_before(range->begin);
	struct order to = range->end == NSTIME_MAX ? order_after(NSTIME_MAX)
						   : order_before(range->end);
	bool ok;

	cells_clear(finder->writes);
	walk_init(&finder->walk, finder->tracks->state->event_source, finder->program, &ops);
	ok = walk_run(&finder->walk, &from, &to, err);
	walk_release(&finder->walk);
	return ok;
}

/* What was read and not asked for yet. */
static enum outcome ask(struct finder *finder, struct error *err)
{
	struct state *state = finder->tracks->state;
	size_t first = finder->nfacts, count = finder->nplaces - first;
	uint32_t *shapes = mem_new_array(count + 1, sizeof *shapes);
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct closure *closure;

	finder->facts = mem_resize(finder->facts, finder->nplaces, sizeof *finder->facts);
	for (size_t i = 0; i < count; i++)
		shapes[i] = attr_shape(state->attrs, finder->places[first + i].attr);
	closure = closure_new(state->catalog, shapes, count);
	mem_free(shapes);
	if (looks_back(closure))
		outcome = ask_reads(state, closure, finder->places + first, count,
				     finder->facts + first, err);
	closure_free(closure);
	for (size_t i = first; i < finder->nplaces && outcome == OUTCOME_DONE; i++)
		if (finder->facts[i].value.kind == VALUE_UNKNOWN)
			finder->facts[i].value.u = 0;
	finder->nfacts = finder->nplaces;
	return outcome;
}

static enum outcome find_names(struct finder *finder, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;
	size_t asked;
	int round = 0;

	do {
		asked = finder->nfacts;
		attr_list_clear(&finder->tracks->names);
		if (!evaluate(finder, err))
			return OUTCOME_ERROR;
		if (finder->nplaces > asked)
			outcome = ask(finder, err);
	} while (outcome == OUTCOME_DONE && finder->nfacts > asked && ++round < ROUNDS);
	return round == ROUNDS ? OUTCOME_GAVE_UP : outcome;
}

static enum outcome find(struct tracks *tracks, struct error *err)
{
	struct state *state = tracks->state;
	struct finder finder = {.tracks = tracks};
	enum outcome outcome = OUTCOME_GAVE_UP;
	struct closure *closure;

	closure = closure_of_lists(&finder);
	if (closure) {
		uint64_t *statements = closure_statements(closure);

		finder.program = program_subset(state->program, statements);
		finder.writes = cells_new(finder.program, state->event_source->trace->nstreams, false);
		outcome = find_names(&finder, err);
		cells_free(finder.writes);
		program_subset_free(finder.program);
		mem_free(statements);
	}
	closure_free(closure);
	mem_free(finder.reads.items);
	mem_free(finder.places);
	mem_free(finder.facts);
	return outcome;
}

/* ---- the window ---- */

bool tracks_name_known(struct tracks *tracks, struct error *err)
{
	struct attr_list *names = &tracks->names;
	uint32_t *attrs;
	size_t count;

	if (!wanted_enumerate_some(tracks->state, tracks->wanted, &attrs, &count, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		attr_list_add(names, attrs[i], tracks->range.begin);
		names->items[number_map_get(&names->places, attrs[i]) - 1].listed = true;
	}
	mem_free(attrs);
	return true;
}

static enum outcome read_window(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = find(tracks, err);

	if (outcome == OUTCOME_DONE && !tracks_name_known(tracks, err))
		outcome = OUTCOME_ERROR;
	return outcome == OUTCOME_DONE ? tracks_compute_window(tracks, err) : outcome;
}

enum outcome tracks_window(struct tracks *tracks, uint64_t packets, struct error *err)
{
	struct state *state = tracks->state;
	const struct backward_limits limits = state->limits;
	enum outcome outcome = OUTCOME_ERROR;
	struct horizon horizon;

	if (state->options.replay_only || state->force != FORCE_NONE)
		return OUTCOME_GAVE_UP;
	if (horizon_find(state->event_source, tracks->range.begin, tracks->range.end, packets,
			 &horizon, err)) {
		state->horizon = &horizon;
		state->limits.visits = state->limits.questions = UINT32_MAX;
		state->limits.rounds = PASS_ROUNDS;
		state->limits.pendings = UINT32_MAX;
		state->limits.bytes = PASS_BYTES;
		outcome = read_window(tracks, err);
		state->limits = limits;
		state->horizon = NULL;
	}
	horizon_release(&horizon);
	return outcome;
}
