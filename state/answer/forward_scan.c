/* forward_scan.c - see forward_scan.h */
#include "state/answer/forward_scan.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"

#include <string.h>

#define WIDTH_MAX (UINT64_C(1) << 48) /* a window that wide and still undecided: it will not be */

static enum eval read_at(struct forward_scan *scan, uint32_t attr, struct fact *out)
{
	if (!scan->pass)
		scan->pass = pass_over(scan->state, scan->closure, scan->begin);
	if (backward_answer(scan->pass, backward_ask(scan->pass, attr, &scan->read_key), out))
		return EVAL_VALUE;
	return EVAL_OPEN;
}

static enum eval read_value(void *arg, uint32_t attr, struct value *out)
{
	struct fact fact;
	enum eval eval = read_at(arg, attr, &fact);

	if (eval == EVAL_VALUE)
		*out = fact.value;
	return eval;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct forward_scan *scan = arg;
	uint32_t attr = catalog_section(scan->closure->catalog, scan->item.stream->index, section);
	struct fact fact;
	enum eval eval = read_at(scan, attr, &fact);

	if (eval == EVAL_VALUE) {
		*out = fact.value;
		*written = fact.written;
	}
	return eval;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct forward_scan *scan = arg;

	(void)event;
	return event_source_fields(&scan->event_source, &scan->item);
}

static size_t class_words(const struct forward_scan *scan)
{
	return scan->state->event_source->trace->nclasses / 64 + 1;
}

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin)
{
	*scan = (struct forward_scan){.state = state, .closure = closure, .begin = begin};
	scan->env = (struct env){.program = state->program,
				 .decode = decode,
				 .read = read_value,
				 .section = read_section,
				 .arg = scan,
				 .scratch = arena_new()};
	scan->bits = mem_new_array(closure->nwords, sizeof *scan->bits);
	scan->classes = mem_new_array(class_words(scan), sizeof *scan->classes);
}

void forward_scan_end(struct forward_scan *scan)
{
	event_source_close(&scan->event_source);
	event_filter_free(scan->event_filter);
	backward_free(scan->pass);
	arena_free(scan->env.scratch);
	mem_free(scan->bits);
	mem_free(scan->classes);
}

void forward_scan_look_for(struct forward_scan *scan, const uint32_t *attrs, size_t count)
{
	const struct closure *closure = scan->closure;

	memset(scan->bits, 0, closure->nwords * sizeof *scan->bits);
	memset(scan->classes, 0, class_words(scan) * sizeof *scan->classes);
	if (!scan->event_filter)
		scan->event_filter = state_event_filter(scan->state, closure);
	event_filter_clear(scan->event_filter);
	for (size_t i = 0; i < count; i++) {
		uint32_t bit = closure_bit(closure, attr_shape(scan->state->attrs, attrs[i]));

		bitset_add(scan->bits, bit);
		event_filter_add(scan->event_filter, attrs[i]);
	}
	closure_writers(closure, scan->bits, scan->classes);
}

enum outcome forward_scan_run(struct forward_scan *scan, struct order from, struct order to,
			      forward_scan_read *read, void *arg, struct error *err)
{
	struct event_source_range range = {.from = from,
					   .to = to,
					   .losses = true,
					   .infers = scan->closure->infers,
					   .end = scan->closure->end,
					   .classes = scan->classes,
					   .event_filter = scan->event_filter};
	enum outcome outcome = OUTCOME_DONE;

	for (uint64_t width = 16; outcome == OUTCOME_DONE && width <= WIDTH_MAX; width *= 2) {
		enum scanned scanned = SCAN_ERROR;

		if (event_source_open(scan->state->event_source, &range, &scan->event_source, err))
			scanned = read(arg, &range.from, width);
		event_source_close(&scan->event_source);
		if (scanned != SCAN_OPEN)
			return scanned == SCAN_OVER ? OUTCOME_DONE : OUTCOME_ERROR;
		if (scan->visits > scan->state->limits.visits)
			return OUTCOME_GAVE_UP;
		if (scan->pass)
			outcome = backward_run(scan->pass, err);
	}
	return outcome == OUTCOME_DONE ? OUTCOME_GAVE_UP : outcome;
}

bool forward_scan_lines(struct forward_scan *scan, forward_scan_step *each, void *arg)
{
	enum failure why;
	size_t nplans = 0;

	scan->visits++;
	scan->env.event = scan->item.stream ? &scan->item.event : NULL;
	scan->env.fields = NULL;
	arena_reset(scan->env.scratch);
	while (closure_plan(scan->closure, &scan->item, nplans))
		nplans++;
	while (nplans-- > 0) {
		const struct plan *plan = closure_plan(scan->closure, &scan->item, nplans);

		for (uint32_t i = plan->nevent; i-- > 0;) {
			const struct step_of *step = &plan->steps[i];

			if (!step_writes_some(step, scan->bits))
				continue;
			scan->read_key = order_slot(scan->item.order, step->read_slot);
			if (path_pattern(&step->line->target, &scan->env, &scan->pattern, &why) !=
				    EVAL_FAIL &&
			    !each(arg, step))
				return false;
		}
	}
	return true;
}
