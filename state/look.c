/*
 * look.c - the forward look: does a later `was` say what an attribute was?
 *
 * The first event after the moment that touches the attribute decides: with a `was` of a known
 * value whose fill begins in time the attribute was that, else it was unknown. Lines that read
 * state are decided by a backward pass for their own events: the look reads on over a window, asks
 * for all of it at once, and starts again with a window twice as wide.
 */
#include "engine/base/mem.h"
#include "state/state_internal.h"

#include <string.h>

struct looker {
	struct state *state;
	const struct closure *closure;
	struct backward *pass; /* made when a line reads state */
	struct env env;
	struct feed_pass feed;
	struct feed_item item;
	struct fields fields;
	struct pattern pattern;
	uint64_t *classes;
	bool *dropped; /* by stream */
	size_t ndropped;
	uint64_t visits;
	struct order read_key;
	nstime begin; /* no look begins before it */
	bool asked;
	struct error *err;
};

static enum eval read_at(struct looker *looker, uint32_t attr, struct fact *out)
{
	if (!looker->pass)
		looker->pass = pass_over(looker->state, looker->closure, looker->begin);
	if (backward_answer(looker->pass, backward_ask(looker->pass, attr, &looker->read_key), out))
		return EVAL_VALUE;
	looker->asked = true;
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
	struct looker *looker = arg;
	struct fact fact;
	enum eval eval = read_at(
		looker,
		catalog_section(looker->closure->catalog, looker->item.stream->index, section),
		&fact);

	if (eval == EVAL_VALUE) {
		*out = fact.value;
		*written = fact.written;
	}
	return eval;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct looker *looker = arg;
	struct error ignored; /* damage: told where it was found; the fields are missing */

	(void)event;
	if (looker->item.kind != FEED_EVENT ||
	    !feed_fields(&looker->feed, &looker->item, &looker->fields, &ignored))
		return NULL;
	return &looker->fields;
}

struct looker *looker_new(struct state *state, const struct closure *closure, nstime earliest)
{
	struct looker *looker = mem_new(sizeof *looker);

	looker->state = state;
	looker->closure = closure;
	looker->begin = earliest;
	looker->env = (struct env){.program = state->program,
				   .decode = decode,
				   .read = read_value,
				   .section = read_section,
				   .arg = looker,
				   .scratch = arena_new()};
	looker->dropped = mem_new_array(state->feed->trace->nstreams, sizeof *looker->dropped);
	return looker;
}

void looker_free(struct looker *looker)
{
	if (!looker)
		return;
	feed_close(&looker->feed);
	backward_free(looker->pass);
	arena_free(looker->env.scratch);
	mem_free(looker->dropped);
	mem_free(looker->classes);
	mem_free(looker);
}

enum touch { TOUCH_NOT, TOUCH_FILL, TOUCH_WRITE, TOUCH_OPEN };

static bool buries(const struct line *line)
{
	return line->verb == VERB_DELETE || line->verb == VERB_UNKNOWN;
}

/* Does this line touch the attribute at this event? With TOUCH_FILL *value is what it was. */
static enum touch touch_of(struct looker *looker, const struct line *line, uint32_t attr,
			   struct value *value)
{
	enum failure why;
	enum cover cover;
	enum truth truth;
	enum eval check;

	if (path_pattern(&line->target, &looker->env, &looker->pattern, &why) == EVAL_FAIL)
		return TOUCH_NOT;
	cover = pattern_covers(&looker->pattern, looker->state->attrs, attr, buries(line));
	if (cover == COVER_NO)
		return TOUCH_NOT;
	truth = expr_truth(line->when, &looker->env, &why);
	if (truth == TRUTH_NO)
		return TOUCH_NOT;
	check = !line->value             ? EVAL_VALUE
		: line->verb == VERB_WAS ? expr_eval(line->value, &looker->env, value, &why)
					 : expr_check(line->value, &looker->env, &why);
	if (check == EVAL_FAIL)
		return TOUCH_NOT;
	if (cover == COVER_MAYBE || truth == TRUTH_OPEN || check == EVAL_OPEN)
		return TOUCH_OPEN;
	if (line->verb != VERB_WAS)
		return TOUCH_WRITE;
	return value->kind == VALUE_UNKNOWN ? TOUCH_NOT : TOUCH_FILL;
}

/* Lines are looked at from the lowest slot on: `was` lines come first, in file order. */
static enum touch touch_item(struct looker *looker, uint32_t attr, uint32_t bit,
			     struct value *value, uint32_t *line)
{
	const struct plan *plan;
	size_t nplans = 0;
	bool open = false;

	while (closure_plan(looker->closure, &looker->item, nplans))
		nplans++;
	while (nplans-- > 0) {
		plan = closure_plan(looker->closure, &looker->item, nplans);
		for (uint32_t i = plan->nevent; i-- > 0;) {
			const struct step_of *step = &plan->steps[i];
			enum touch touch;

			if (!(step->writes[bit / 64] & UINT64_C(1) << bit % 64))
				continue;
			looker->read_key = order_slot(looker->item.order, step->read_slot);
			touch = touch_of(looker, step->line, attr, value);
			open = open || touch == TOUCH_OPEN;
			*line = step->line->id;
			if (!open && touch != TOUCH_NOT)
				return touch;
		}
	}
	return open ? TOUCH_OPEN : TOUCH_NOT;
}

/* Classes that have lines which may write the shape. */
static void find_classes(struct looker *looker, uint32_t bit)
{
	const struct trace *trace = looker->state->feed->trace;

	mem_free(looker->classes);
	looker->classes = mem_new_array(trace->nclasses / 64 + 1, sizeof *looker->classes);
	for (size_t s = 0; s < trace->nstreams; s++)
		for (size_t c = 0; c < trace->nclasses; c++) {
			struct feed_item item = {.stream = trace->streams[s],
						 .class = trace->classes[c]};
			const struct plan *plan = closure_plan(looker->closure, &item, 0);

			if (plan && plan->nsteps &&
			    plan->writes[bit / 64] & UINT64_C(1) << bit % 64)
				looker->classes[c / 64] |= UINT64_C(1) << c % 64;
		}
}

/* A stream that loses events until after the moment cannot fill it any more. */
static void see_loss(struct looker *looker, nstime last)
{
	uint32_t stream;

	if (looker->item.kind != FEED_LOSS)
		return;
	stream = looker->item.stream->index;
	if (looker->item.event.until > last && !looker->dropped[stream]) {
		looker->dropped[stream] = true;
		looker->ndropped++;
	}
}

static enum outcome fill(struct looker *looker, const struct value *value, uint32_t line,
			 nstime last, struct fact *fact)
{
	nstime until = NSTIME_MIN;

	if (looker->item.stream &&
	    !feed_last_loss(looker->state->feed, looker->item.stream, NSTIME_MIN,
			    &looker->item.order, &until, looker->err))
		return OUTCOME_ERROR;
	if (until > looker->item.event.time)
		until = looker->item.event.time;
	if (until < fact->since)
		until = fact->since;
	if (until > last)
		return OUTCOME_DONE;
	fact->value = *value;
	attrs_keep(looker->state->attrs, &fact->value);
	fact->since = until;
	fact->written = fact->named = true;
	fact->writer = writer_of(&looker->item);
	fact->writer.line = line;
	return OUTCOME_DONE;
}

struct window {
	struct order from; /* the first item that is not decided */
	uint64_t width;    /* undecided items to be asked for at once */
	uint64_t open;     /* of them, so far */
};

/* True: *outcome is the end of the look. False: what was asked for must be answered first. */
static bool scan(struct looker *looker, uint32_t attr, uint32_t bit, nstime last,
		 struct window *window, struct fact *fact, enum outcome *outcome)
{
	enum step step = STEP_END;

	*outcome = OUTCOME_DONE;
	/* @end is of no stream: nothing that was lost limits it */
	while ((looker->ndropped < looker->state->feed->trace->nstreams || looker->closure->end) &&
	       window->open < window->width &&
	       (step = feed_next(&looker->feed, &looker->item, looker->err)) == STEP_ITEM) {
		struct value value;
		enum touch touch;
		uint32_t line = 0;

		looker->visits++;
		looker->env.event = looker->item.stream ? &looker->item.event : NULL;
		looker->env.fields = NULL;
		arena_reset(looker->env.scratch);
		touch = touch_item(looker, attr, bit, &value, &line);
		if (touch == TOUCH_NOT) {
			if (window->open == 0) /* else it is seen again */
				see_loss(looker, last);
			continue;
		}
		if (touch == TOUCH_OPEN) {
			if (window->open++ == 0)
				window->from = looker->item.order;
			continue;
		}
		if (window->open)
			return false; /* an older one may decide before it */
		if (touch == TOUCH_FILL)
			*outcome = fill(looker, &value, line, last, fact);
		return true;
	}
	if (step == STEP_ERROR)
		*outcome = OUTCOME_ERROR;
	return step == STEP_ERROR || window->open == 0;
}

static bool open_at(struct looker *looker, const struct order *from)
{
	struct feed_range range = {.from = *from,
				   .to = order_after(NSTIME_MAX),
				   .losses = true,
				   .end = looker->closure->end,
				   .classes = looker->classes};

	feed_close(&looker->feed);
	return feed_open(looker->state->feed, &range, &looker->feed, looker->err);
}

enum outcome look_ahead(struct looker *looker, uint32_t attr, const struct moment *moment,
			struct fact *fact, struct error *err)
{
	uint32_t bit = closure_bit(looker->closure, attr_shape(looker->state->attrs, attr));
	struct window window = {.from = moment_order(moment), .width = 16};
	enum outcome outcome = OUTCOME_DONE;

	if (bit == ATTR_ABSENT || !closure_was(looker->closure, bit))
		return OUTCOME_DONE;
	looker->err = err;
	looker->ndropped = 0;
	memset(looker->dropped, 0, looker->state->feed->trace->nstreams * sizeof *looker->dropped);
	find_classes(looker, bit);
	for (;;) {
		if (!open_at(looker, &window.from))
			return OUTCOME_ERROR;
		if (scan(looker, attr, bit, moment->t - moment->before, &window, fact, &outcome))
			break;
		outcome = backward_run(looker->pass, err);
		if (outcome != OUTCOME_DONE)
			break;
		if (looker->visits > looker->state->limits.visits)
			return OUTCOME_GAVE_UP;
		window.width *= 2;
		window.open = 0;
	}
	feed_close(&looker->feed);
	return outcome;
}
