/* matches.c - see matches.h; what needs no state is selected inside the cursor */
#include "serve/matches.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/filter/where.h"
#include "state/interval_window.h"
#include "state/program/program.h"
#include "state/state.h"

struct matching {
	const struct matches_asked *asked;
	const struct trace *trace;
	struct where *where; /* NULL: there is no condition */
	struct program *program;
	struct where_pass *pass, *by_state; /* NULL: it need not be asked */
	struct interval_window *window;
	struct where_reads reads; /* of `window` */
	uint64_t *classes;
};

static void release_matching(struct matching *matching)
{
	where_pass_free(matching->by_state);
	where_pass_free(matching->pass);
	interval_window_free(matching->window);
	where_free(matching->where);
	program_free(matching->program);
	mem_free(matching->classes);
}

static void set_classes(struct matching *matching)
{
	const struct trace *trace = matching->trace;

	matching->classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < trace->nclasses; i++)
		if (where_class(matching->where, trace->classes[i]))
			bitset_add(matching->classes, i);
}

static bool prepare(struct served *served, struct worker *worker, struct matching *matching,
		    struct error *err)
{
	const struct notices quiet = {0};

	if (!matching->asked->where)
		return true;
	struct state *state = served_state(served, worker, 0, err);
	if (!state || !where_parse(matching->asked->where, &matching->where, err))
		return false;
	struct rules *rules = state_rules(state);
	if (where_reads_state(matching->where) &&
	    !program_compile(rules, matching->trace, &quiet, &matching->program, err))
		return false;
	if (!where_compile(matching->where, rules, matching->trace, matching->program, err) ||
	    !where_lookup(matching->where, err) || !where_condition(matching->where, err))
		return false;
	set_classes(matching);
	if (where_selects(matching->where))
		matching->pass = where_pass_new(matching->where, NULL);
	if (where_selects_by_state(matching->where)) {
		matching->window = interval_window_new(state, matching->program, false);
		matching->reads = interval_window_reads(matching->window);
		matching->by_state = where_pass_new(matching->where, &matching->reads);
	}
	return true;
}

/* False: no more. */
static bool give(const struct matching *matching, const struct run *run, uint32_t i)
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

	if (matching->by_state)
		count = where_select_by_state(matching->by_state, run, entries);
	else
		for (uint32_t i = run->first; i < run->first + run->count; i++)
			entries[count++] = (uint16_t)i;
	for (uint32_t i = 0; i < count; i++)
		if (!give(matching, run, entries[i]))
			return false;
	return true;
}

static bool read_events(struct served *served, struct worker *worker, struct matching *matching,
			struct error *err)
{
	struct events_options options = {.begin = matching->asked->begin,
					 .end = matching->asked->end,
					 .classes = matching->classes,
					 .progress = worker_goes_on,
					 .progress_arg = worker};
	struct events *events;
	struct run run;
	enum step step;

	if (matching->where)
		where_range(matching->where, &options.begin, &options.end);
	if (options.begin >= options.end)
		return true;
	if (matching->pass) {
		options.select = where_select;
		options.select_arg = matching->pass;
	}
	if (!events_open(served->index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM)
		if (!give_run(matching, &run))
			break;
	events_close(events);
	return step != STEP_ERROR &&
	       (!matching->window || !interval_window_failed(matching->window, err));
}

bool matches_each(struct served *served, struct worker *worker, const struct matches_asked *asked,
		  struct error *err)
{
	struct matching matching = {.asked = asked, .trace = index_trace(served->index)};
	bool good = prepare(served, worker, &matching, err) &&
		    read_events(served, worker, &matching, err);

	release_matching(&matching);
	return good;
}
