/* matches.c - see matches.h; conditions that need no state are evaluated inside the cursor */
#include "serve/matches.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/condition.h"

struct matching {
	const struct matches_asked *asked;
	const struct trace *trace;
	struct condition condition;
	uint64_t *classes; /* NULL: all */
};

static bool prepare(struct served_request *request, struct matching *matching)
{
	const struct notices quiet = {0};
	const struct trace *trace = matching->trace;

	if (!matching->asked->where)
		return true;
	struct state *state = request_state(request, 0);
	if (!state || !condition_open(&matching->asked->where, 1, state, &quiet, false,
				      &matching->condition, &request->err))
		return false;
	matching->classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < trace->nclasses; i++)
		bitset_add(matching->classes, i);
	condition_classes(&matching->condition, trace, matching->classes);
	return true;
}

/* Passes an event to each(); false: no more events are wanted. */
static bool matches_give(const struct matching *matching, const struct run *run, uint32_t i)
{
	struct error ignored; /* damage: an event without fields */
	struct fields fields;
	struct match match = {0};

	run_event(matching->trace, run, i, &match.event);
	if (matching->asked->fields &&
	    run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored))
		match.fields = &fields;
	return matching->asked->each(matching->asked->arg, &match);
}

static bool give_run(struct matching *matching, const struct run *run)
{
	uint16_t entries[BATCH_MAX];
	uint32_t count = 0;

	if (matching->condition.by_state)
		count = where_select_by_state(matching->condition.by_state, run, entries);
	else
		for (uint32_t i = run->first; i < run->first + run->count; i++)
			entries[count++] = (uint16_t)i;
	for (uint32_t i = 0; i < count; i++)
		if (!matches_give(matching, run, entries[i]))
			return false;
	return true;
}

static bool read_events(struct served_request *request, struct matching *matching)
{
	struct events_options options = {.begin = matching->asked->begin,
					 .end = matching->asked->end,
					 .classes = matching->classes,
					 .progress = worker_goes_on,
					 .progress_arg = request->worker};
	struct error *err = &request->err;
	struct events *events;
	struct run run;
	enum step step;

	if (matching->condition.where)
		where_range(matching->condition.where, &options.begin, &options.end);
	interval_window_within(matching->condition.window, options.begin, options.end);
	if (options.begin >= options.end)
		return true;
	if (matching->condition.pass) {
		options.select = where_select;
		options.select_arg = matching->condition.pass;
	}
	if (!events_open(request->served->index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM)
		if (!give_run(matching, &run))
			break;
	events_close(events);
	return step != STEP_ERROR && (!matching->condition.window ||
				      !interval_window_failed(matching->condition.window, err));
}

bool matches_each(struct served_request *request, const struct matches_asked *asked)
{
	struct matching matching = {.asked = asked, .trace = index_trace(request->served->index)};
	bool good = prepare(request, &matching) && read_events(request, &matching);

	condition_release(&matching.condition);
	mem_free(matching.classes);
	return good;
}
