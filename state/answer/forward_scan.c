/* forward_scan.c - see forward_scan.h */
#include "state/answer/forward_scan.h"

#include "engine/base/mem.h"
#include "state/answer/ask.h"

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
}

void forward_scan_end(struct forward_scan *scan)
{
	event_source_close(&scan->event_source);
	backward_free(scan->pass);
	arena_free(scan->env.scratch);
	mem_free(scan->bits);
}

bool forward_scan_lines(struct forward_scan *scan, forward_scan_step *each, void *arg)
{
	enum failure why;
	size_t nplans = 0;

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
