/* state.c - opens states, and answers questions about moments */
#include "state/state.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "index/cursor/first_events.h"
#include "state/answer/ask.h"
#include "state/answer/forward.h"
#include "state/answer/planner.h"
#include "state/context/run.h"
#include "state/intervals/named.h"
#include "state/program/lookup.h"
#include "state/program/mirror_classes.h"
#include "state/timelines/retry.h"
#include "state/timelines/stored.h"

enum { CHECKPOINT_SPACING = 20000000 /* ns of replay */, CHECKPOINT_SHARE = 16 };

bool state_over_source(struct event_source *event_source, const struct state_options *options,
		       struct state **out, struct error *err)
{
	struct state *state = mem_new(sizeof *state);
	struct index *index = event_source->index;
	struct packet_filters *packet_filters = NULL;
	uint64_t identity[2];

	*out = state;
	state->index = index;
	state->event_source = event_source;
	state->options = *options;
	state->spacing = CHECKPOINT_SPACING;
	state->share = CHECKPOINT_SHARE;
	state->limits = backward_usual_limits;
	state->evaluation = "replay";
	event_source->progress = options->progress;
	event_source->progress_arg = options->progress_arg;
	state->stored_looked = options->without != NULL; /* timelines are of all events */
	state->options.without = NULL;
	if (options->without) {
		state->without = bitset_new(event_source->trace->nclasses);
		memcpy(state->without, options->without,
		       (event_source->trace->nclasses / 64 + 1) * sizeof *state->without);
	}
	if (!program_compile_without(options->rules, event_source->trace, state->without,
				     options->without ? NULL : &state->options.notices,
				     &state->program, err))
		return false;
	state->attrs = program_attrs(state->program);
	state->catalog = catalog_new(state->program, event_source->trace);
	rules_identity(options->rules, identity);
	identity[0] ^= options->without ? 1 : 0; /* stored checkpoints have seen all events */
	state->checkpoints = checkpoints_new(index, identity);
	state->runs = runs_new(index, identity);
	state->failures = mem_new_array((size_t)program_statements(state->program) * FAILURE_COUNT,
					sizeof *state->failures);
	if (!index)
		return true;
	if (!options->replay_only)
		packet_filters = state_packet_filters(state);
	if (!options->no_checkpoints) /* without checkpoints nothing is stored */
		event_source->packet_filters = packet_filters;
	state->firsts = first_events_new(index, mirror_telling(state->program));
	event_source->firsts = state->firsts;
	state->gaps = gaps_new(index, state->program, state->firsts);
	program_set_gaps(state->program, state->gaps);
	state->found = contradictions_new(index, state->program, packet_filters);
	event_source->inferred = contradictions_inferred(state->found);
	return true;
}

bool state_open(struct index *index, const struct state_options *options, struct state **out,
		struct error *err)
{
	bool ok = state_over_source(event_source_over_index(index), options, out, err);

	if (!ok)
		state_close(*out);
	return ok;
}

bool state_open_without(const struct state *like, const uint64_t *without, struct state **out,
			struct error *err)
{
	struct state_options options = like->options;

	options.without = without;
	options.no_checkpoints = true;
	if (!state_open(like->index, &options, out, err))
		return false;
	(*out)->lists = like->lists;
	(*out)->lists_packets = like->lists_packets;
	return true;
}

void state_close(struct state *state)
{
	if (!state)
		return;
	if (state->index && state->runs) /* nothing is stored of a trace in disorder */
		retry_forget(state);
	state_close(state->part);
	mem_free(state->without);
	stored_close(state->stored);
	temporary_folder_end(state->own_folder, state->own_noted);
	cells_free(state->base);
	checkpoints_free(state->checkpoints);
	runs_free(state->runs);
	catalog_free(state->catalog);
	contradictions_free(state->found);
	gaps_free(state->gaps);
	first_events_free(state->firsts);
	packet_filters_free(state->packet_filters);
	program_free(state->program);
	arena_free(state->scratch);
	mem_free(state->looked);
	mem_free(state->nobody);
	mem_free(state->failures);
	if (state->index)
		event_source_over_index_free(state->event_source);
	mem_free(state);
}

/* False: *err. *done false: the backward pass gave up, and replay must answer. */
static bool backward_at(struct state *state, const struct choice *choice,
			const struct moment *moments, size_t nmoments, struct wanted *wanted,
			struct records *records, bool *done, struct error *err)
{
	enum outcome outcome = ask_at(state, choice->closure, moments, nmoments, wanted,
				      choice->listed, choice->nlisted, records, err);

	*done = outcome == OUTCOME_DONE;
	records->count = *done ? records->count : 0;
	if (outcome == OUTCOME_GAVE_UP && state->force == FORCE_BACKWARD)
		return error_set(err, ERR_RANGE, "the backward pass gave up");
	return outcome != OUTCOME_ERROR;
}

/* Timelines are the quickest way, but do not have the event that wrote a value (--why). */
static bool uses_stored(struct state *state, const struct moment *moments, size_t nmoments,
			bool why)
{
	return !why && (state->force == FORCE_NONE || state->force == FORCE_SLICES) &&
	       !state->options.replay_only && stored_takes(moments, nmoments) &&
	       stored_of(state) != NULL;
}

/* Adds, at each moment, the attributes that timelines listed at other moments only. */
static bool stored_missing(struct state *state, const struct moment *moments, size_t nmoments,
			   struct records *records, struct error *err)
{
	size_t count;
	struct record_place *missing = records_missing(records, nmoments, &count);
	bool ok = true;

	for (uint32_t m = 0; m < nmoments && ok; m++) {
		struct records found = {0};
		struct wanted names = {0};

		for (size_t i = 0; i < count; i++)
			if (missing[i].moment == m)
				wanted_add(&names, missing[i].attr);
		ok = !names.nattrs || stored_at(state->stored, &moments[m], 1, &names, &found, err);
		for (size_t i = 0; i < found.count; i++)
			records_add(records, m, found.items[i].attr, &found.items[i].fact);
		mem_free(found.items);
		wanted_release(&names);
	}
	mem_free(missing);
	return ok;
}

static bool state_answer(struct state *state, const struct moment *moments, size_t nmoments,
			 struct wanted *wanted, bool why, struct records *records,
			 struct error *err)
{
	struct choice choice = {0};
	bool done = false, ok;

	if (uses_stored(state, moments, nmoments, why)) {
		ok = stored_at(state->stored, moments, nmoments, wanted, records, err) &&
		     (!wanted->all_moments ||
		      stored_missing(state, moments, nmoments, records, err));
		done = true;
	} else {
		ok = choose_at(state, wanted, &choice, err);
	}
	if (ok && choice.backward && nmoments)
		ok = backward_at(state, &choice, moments, nmoments, wanted, records, &done, err);
	if (ok && !done && nmoments)
		ok = forward_at(state, moments, nmoments, wanted, records, err);
	choice_release(&choice);
	return ok;
}

/* The value outside of the recording, for attributes that a query without wildcards wants. */
static struct fact never_known(void)
{
	return (struct fact){.value = {.kind = VALUE_UNKNOWN},
			     .since = NSTIME_MIN,
			     .writer = {.class_index = UINT32_MAX, .line = UINT32_MAX}};
}

static void record_unknown(const struct wanted *wanted, uint32_t moment, struct records *records)
{
	const struct wanted_attrs attrs = wanted_at(wanted, moment);
	const struct fact unknown = never_known();

	for (size_t i = 0; i < attrs.count; i++)
		records_add(records, moment, attrs.items[i], &unknown);
}

/* Adds attributes listed inside of the recording, as unknown, at the moments outside of it. */
static void record_missing(struct records *records, size_t nmoments)
{
	const struct fact unknown = never_known();
	size_t count;
	struct record_place *missing = records_missing(records, nmoments, &count);

	for (size_t i = 0; i < count; i++)
		records_add(records, missing[i].moment, missing[i].attr, &unknown);
	mem_free(missing);
}

bool state_recorded(struct state *state, nstime *begin, nstime *end, struct error *err)
{
	return event_source_recorded(state->event_source, begin, end, err);
}

bool state_contradictions(struct state *state, const struct stream *stream,
			  void (*each)(void *arg, const struct contradiction *found), void *arg,
			  struct error *err)
{
	retry_forget(state);
	return !state->found || contradictions_of(state->found, stream, each, arg, err);
}

static bool lies_outside(const struct moment *moment, nstime begin, nstime end)
{
	nstime at = moment_time(moment);

	return at < begin || at > end;
}

/* Evaluates only the moments inside of the recording. */
static bool answer_inside(struct state *state, const struct moment *moments, size_t nmoments,
			  struct wanted *wanted, bool why, struct records *records,
			  struct error *err)
{
	struct moment *inside = mem_new_array(nmoments + 1, sizeof *inside);
	uint32_t *asked = mem_new_array(nmoments + 1, sizeof *asked);
	struct wanted_attrs *all = wanted->at, *at = mem_new_array(nmoments + 1, sizeof *at);
	size_t ninside = 0;
	nstime begin, end;
	bool ok = event_source_recorded(state->event_source, &begin, &end, err);

	for (size_t i = 0; ok && i < nmoments; i++) {
		if (lies_outside(&moments[i], begin, end))
			continue;
		at[ninside] = wanted_at(wanted, i);
		asked[ninside] = (uint32_t)i;
		inside[ninside++] = moments[i];
	}
	wanted->at = all ? at : NULL;
	ok = ok && state_answer(state, inside, ninside, wanted, why, records, err);
	wanted->at = all;
	for (size_t i = 0; ok && i < records->count; i++)
		records->items[i].moment = asked[records->items[i].moment];
	for (size_t i = 0; ok && i < nmoments; i++)
		if (lies_outside(&moments[i], begin, end))
			record_unknown(wanted, (uint32_t)i, records);
	if (ok && wanted->all_moments && ninside < nmoments)
		record_missing(records, nmoments);
	mem_free(inside);
	mem_free(asked);
	mem_free(at);
	return ok;
}

/* The same, repeated if reading showed that the trace is in disorder. */
static bool answer_surely(struct state *state, const struct moment *moments, size_t nmoments,
			  struct wanted *wanted, bool why, struct records *records,
			  struct error *err)
{
	struct retry retry = retry_begin(state);
	bool ok;

	do {
		records->count = 0;
		ok = answer_inside(state, moments, nmoments, wanted, why, records, err);
	} while (retry_wanted(state, &retry));
	return ok;
}

static bool paths_at(struct state *state, const struct moment *moments, size_t nmoments,
		     const struct query *const *queries, size_t nqueries, bool why,
		     bool all_moments, struct answers *out, struct error *err)
{
	struct records records = {0};
	struct wanted wanted;
	bool ok;

	wanted_init(state, queries, nqueries, &wanted);
	wanted.all_moments = all_moments;
	ok = answer_surely(state, moments, nmoments, &wanted, why, &records, err);
	if (ok)
		records_finish(state, &records, moments, why, out);
	mem_free(records.items);
	wanted_release(&wanted);
	return ok;
}

static bool threads_at(struct state *state, const struct moment *moments, size_t nmoments,
		       const struct query *const *queries, size_t nqueries, bool why,
		       bool all_moments, struct answers *out, struct error *err)
{
	nstime first = NSTIME_MAX, last = NSTIME_MIN;
	struct named_queries named;

	if (!nmoments || !state_names_threads(state, queries, nqueries))
		return paths_at(state, moments, nmoments, queries, nqueries, why, all_moments, out,
				err);
	for (size_t i = 0; i < nmoments; i++) {
		nstime at = moment_time(&moments[i]);
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	*out = (struct answers){0};
	bool ok = state_named_told(state, first, last < NSTIME_MAX ? last + 1 : last, queries, nqueries,
			      &named, err);
	if (ok && named.count)
		ok = paths_at(state, moments, nmoments, named.items, named.count, why, all_moments,
			      out, err);
	named_queries_release(&named);
	return ok;
}

bool state_at(struct state *state, const struct moment *moments, size_t nmoments,
	      const struct query *const *queries, size_t nqueries, bool why, struct answers *out,
	      struct error *err)
{
	return threads_at(state, moments, nmoments, queries, nqueries, why, false, out, err);
}

bool state_at_all(struct state *state, const struct moment *moments, size_t nmoments,
		  const struct query *const *queries, size_t nqueries, struct answers *out,
		  struct error *err)
{
	return threads_at(state, moments, nmoments, queries, nqueries, false, true, out, err);
}

/* ---- values at places ---- */

bool state_attribute(struct state *state, const char *path, uint32_t *attr, struct error *err)
{
	struct query *query;

	if (!query_parse(path, &query, err))
		return false;
	*attr = query_attr(query, state->attrs);
	query_free(query);
	return true;
}

bool state_may_be_known(struct state *state, uint32_t attr)
{
	uint32_t shape = attr_shape(state->attrs, attr);
	struct closure *closure;
	struct event_filter *filter;
	struct value ignored;
	bool may;

	if (program_views_shape(state->program, shape) ||
	    program_initial(state->program, attr, &ignored))
		return true;
	closure = closure_new(state->catalog, &shape, 1);
	filter = event_filter_new(closure, state->event_source, NULL, NULL, 0);
	event_filter_clear(filter);
	event_filter_add(filter, attr);
	may = !event_filter_is_empty(filter);
	for (size_t i = 0; i < closure->nsteps && !may; i++) {
		const struct step_of *step = &closure->steps[i];

		may = step->class_index == NO_CLASS && step->line->verb != VERB_UNKNOWN &&
		      step_writes(step, closure_bit(closure, shape));
	}
	event_filter_free(filter);
	closure_free(closure);
	return may;
}

/*
 * Makes the answer of each place from the record of its attribute and moment (groups[i]); without a
 * record it is unknown.
 */
static void finish_places(struct state *state, struct records *records,
			  const struct state_place *places, const uint32_t *groups, size_t count,
			  struct answers *out)
{
	records_sort(records);
	*out = (struct answers){.count = count, .arena = arena_new()};
	out->items = arena_array(out->arena, count + 1, sizeof *out->items);
	for (size_t i = 0; i < count; i++) {
		const struct record unknown = {groups[i], places[i].attr, never_known()};
		const struct record *found =
			records_find(records, records->count, unknown.moment, unknown.attr);
		record_answer(state, found ? found : &unknown, &places[i].moment, false, out->arena,
			      &out->items[i]);
	}
}

bool state_at_places(struct state *state, const struct state_place *places, size_t count, bool some,
		     struct answers *out, struct error *err)
{
	struct moment *moments = mem_new_array(count + 1, sizeof *moments);
	uint32_t *attrs = mem_new_array(count + 1, sizeof *attrs);
	uint32_t *groups = mem_new_array(count + 1, sizeof *groups);
	struct wanted wanted = {.at = mem_new_array(count + 1, sizeof *wanted.at), .some = some};
	struct records records = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < count; i++) {
		attrs[i] = places[i].attr;
		if (!i || moment_compare(&places[i].moment, &places[i - 1].moment)) {
			wanted.at[n].items = &attrs[i];
			moments[n++] = places[i].moment;
		}
		groups[i] = n - 1;
		wanted.at[n - 1].count++;
		wanted_add(&wanted, attrs[i]);
	}
	bool ok = answer_surely(state, moments, n, &wanted, false, &records, err);
	if (ok)
		finish_places(state, &records, places, groups, count, out);
	mem_free(records.items);
	mem_free(wanted.at);
	wanted_release(&wanted);
	mem_free(groups);
	mem_free(attrs);
	mem_free(moments);
	return ok;
}

struct index *state_index(const struct state *state)
{
	return state->index;
}

struct rules *state_rules(const struct state *state)
{
	return state->options.rules;
}

uint64_t state_changes_read(const struct state *state)
{
	return state->changes_read;
}

const char *state_evaluation(const struct state *state)
{
	return state->evaluation;
}

bool state_explain(struct state *state, const struct moment *moment,
		   const struct query *const *queries, size_t nqueries, bool why,
		   struct state_plan *out, struct error *err)
{
	struct choice choice;
	struct wanted wanted;

	*out = (struct state_plan){.checkpoint = NSTIME_MIN};
	if (uses_stored(state, moment, 1, why)) {
		out->evaluation = "slices";
		out->reason = "timelines were stored";
		out->stored = true;
		return true;
	}
	wanted_init(state, queries, nqueries, &wanted);
	bool ok = choose_at(state, &wanted, &choice, err);
	if (ok) {
		out->backward = choice.backward;
		out->evaluation = choice.backward ? "backward" : "forward";
		out->reason = choice.reason;
		out->attributes = wanted.nattrs + choice.nlisted;
		if (state->options.replay_only ||
		    !checkpoints_get(state->checkpoints, moment->t, NULL, &out->checkpoint))
			out->checkpoint = NSTIME_MIN;
	}
	choice_release(&choice);
	wanted_release(&wanted);
	return ok;
}

/* Scripts and joins look up the same few paths again and again. */
static void remember(struct state *state, uint32_t attr)
{
	state->looked = mem_reach(state->looked, attr, &state->nlooked, 1);
	state->looked[attr] = 1;
}

static bool look_up_path(struct state *state, const struct query *query, struct buf *note,
			 struct error *err)
{
	uint32_t attr = query_attr(query, state->attrs);
	size_t said = note ? note->len : 0;

	if (attr < state->nlooked && state->looked[attr])
		return true;
	if (!lookup_path(state->program, state->index, query, note, err))
		return false;
	if (attr != ATTR_ABSENT && note && note->len == said)
		remember(state, attr);
	return true;
}

bool state_lookup(struct state *state, const struct query *query, const struct value *value,
		  struct buf *note, struct error *err)
{
	return look_up_path(state, query, note, err) &&
	       (!value || lookup_value(state->program, query, value, note, err));
}

void state_failed_lines(const struct state *state,
			bool (*each)(void *arg, const struct rule_error *line, uint64_t count),
			void *arg)
{
	bool more = true;

	for (size_t i = 0; i < (size_t)program_statements(state->program) * FAILURE_COUNT && more;
	     i++) {
		struct rule_error line;
		if (!state->failures[i])
			continue;
		program_line(state->program, (uint32_t)(i / FAILURE_COUNT), &line);
		line.text = failure_text((enum failure)(i % FAILURE_COUNT));
		more = each(arg, &line, state->failures[i]);
	}
}
