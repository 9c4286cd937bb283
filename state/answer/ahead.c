/* ahead.c - see ahead.h */
#include "state/answer/ahead.h"

#include "engine/base/mem.h"
#include "state/answer/ask.h"

static enum eval read_at(struct ahead *ahead, uint32_t attr, struct fact *out)
{
	if (!ahead->pass)
		ahead->pass = pass_over(ahead->state, ahead->closure, ahead->begin);
	if (backward_answer(ahead->pass, backward_ask(ahead->pass, attr, &ahead->read_key), out))
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
	struct ahead *ahead = arg;
	uint32_t attr =
		catalog_section(ahead->closure->catalog, ahead->item.stream->index, section);
	struct fact fact;
	enum eval eval = read_at(ahead, attr, &fact);

	if (eval == EVAL_VALUE) {
		*out = fact.value;
		*written = fact.written;
	}
	return eval;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct ahead *ahead = arg;
	struct error ignored; /* damage: told where it was found; the fields are missing */

	(void)event;
	if (ahead->item.kind != FEED_EVENT ||
	    !feed_fields(&ahead->feed, &ahead->item, &ahead->fields, &ignored))
		return NULL;
	return &ahead->fields;
}

void ahead_begin(struct ahead *ahead, struct state *state, const struct closure *closure,
		 nstime begin)
{
	*ahead = (struct ahead){.state = state, .closure = closure, .begin = begin};
	ahead->env = (struct env){.program = state->program,
				  .decode = decode,
				  .read = read_value,
				  .section = read_section,
				  .arg = ahead,
				  .scratch = arena_new()};
	ahead->bits = mem_new_array(closure->nwords, sizeof *ahead->bits);
}

void ahead_end(struct ahead *ahead)
{
	feed_close(&ahead->feed);
	backward_free(ahead->pass);
	arena_free(ahead->env.scratch);
	mem_free(ahead->bits);
}

bool ahead_lines(struct ahead *ahead, ahead_step *each, void *arg)
{
	enum failure why;
	size_t nplans = 0;

	ahead->env.event = ahead->item.stream ? &ahead->item.event : NULL;
	ahead->env.fields = NULL;
	arena_reset(ahead->env.scratch);
	while (closure_plan(ahead->closure, &ahead->item, nplans))
		nplans++;
	while (nplans-- > 0) {
		const struct plan *plan = closure_plan(ahead->closure, &ahead->item, nplans);

		for (uint32_t i = plan->nevent; i-- > 0;) {
			const struct step_of *step = &plan->steps[i];

			if (!shape_bits_meet(&step->writes, ahead->bits))
				continue;
			ahead->read_key = order_slot(ahead->item.order, step->read_slot);
			if (path_pattern(&step->line->target, &ahead->env, &ahead->pattern, &why) !=
				    EVAL_FAIL &&
			    !each(arg, step))
				return false;
		}
	}
	return true;
}

bool ahead_fill_begin(struct ahead *ahead, nstime since, nstime *out, struct error *err)
{
	const struct feed_item *item = &ahead->item;
	nstime until = NSTIME_MIN;

	if (item->stream &&
	    !feed_last_loss(ahead->state->feed, item->stream, &item->order, &until, err))
		return false;
	if (until > item->event.time)
		until = item->event.time;
	*out = until > since ? until : since;
	return true;
}
