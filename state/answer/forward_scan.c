/* forward_scan.c - see forward_scan.h */
#include "state/answer/forward_scan.h"

#include "engine/base/mem.h"
#include "state/answer/ask.h"

static enum eval read_at(struct forward_scan *forward_scan, uint32_t attr, struct fact *out)
{
	if (!forward_scan->pass)
		forward_scan->pass =
			pass_over(forward_scan->state, forward_scan->closure, forward_scan->begin);
	if (backward_answer(forward_scan->pass,
			    backward_ask(forward_scan->pass, attr, &forward_scan->read_key), out))
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
	struct forward_scan *forward_scan = arg;
	uint32_t attr = catalog_section(forward_scan->closure->catalog,
					forward_scan->item.stream->index, section);
	struct fact fact;
	enum eval eval = read_at(forward_scan, attr, &fact);

	if (eval == EVAL_VALUE) {
		*out = fact.value;
		*written = fact.written;
	}
	return eval;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct forward_scan *forward_scan = arg;

	(void)event;
	return event_source_fields(&forward_scan->event_source, &forward_scan->item);
}

void forward_scan_begin(struct forward_scan *forward_scan, struct state *state,
			const struct closure *closure, nstime begin)
{
	*forward_scan = (struct forward_scan){.state = state, .closure = closure, .begin = begin};
	forward_scan->env = (struct env){.program = state->program,
					 .decode = decode,
					 .read = read_value,
					 .section = read_section,
					 .arg = forward_scan,
					 .scratch = arena_new()};
	forward_scan->bits = mem_new_array(closure->nwords, sizeof *forward_scan->bits);
}

void forward_scan_end(struct forward_scan *forward_scan)
{
	event_source_close(&forward_scan->event_source);
	backward_free(forward_scan->pass);
	arena_free(forward_scan->env.scratch);
	mem_free(forward_scan->bits);
}

bool forward_scan_lines(struct forward_scan *forward_scan, forward_scan_step *each, void *arg)
{
	enum failure why;
	size_t nplans = 0;

	forward_scan->env.event = forward_scan->item.stream ? &forward_scan->item.event : NULL;
	forward_scan->env.fields = NULL;
	arena_reset(forward_scan->env.scratch);
	while (closure_plan(forward_scan->closure, &forward_scan->item, nplans))
		nplans++;
	while (nplans-- > 0) {
		const struct plan *plan =
			closure_plan(forward_scan->closure, &forward_scan->item, nplans);

		for (uint32_t i = plan->nevent; i-- > 0;) {
			const struct step_of *step = &plan->steps[i];

			if (!step_writes_some(step, forward_scan->bits))
				continue;
			forward_scan->read_key =
				order_slot(forward_scan->item.order, step->read_slot);
			if (path_pattern(&step->line->target, &forward_scan->env,
					 &forward_scan->pattern, &why) != EVAL_FAIL &&
			    !each(arg, step))
				return false;
		}
	}
	return true;
}
