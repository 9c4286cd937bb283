/*
 * forward_fill.c - the forward look: does a later `was` say what an attribute was?
 *
 * The first event after the moment that touches the attribute decides: with a `was` of a known
 * value whose fill begins in time the attribute was that, else it was unknown. Lines that read
 * state are decided by a backward pass for their own events: the look reads on over a window, asks
 * for all of it at once, and starts again with a window twice as wide.
 */
#include "state/answer/forward_fill.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/forward_scan.h"

#include <string.h>

#define WIDTH_MAX (UINT64_C(1) << 48) /* a window that wide and still undecided: it will not be */

struct forward_fill {
	struct forward_scan forward_scan;
	struct event_filter *event_filter;
	uint64_t *classes;
	struct look *looks;
	size_t nlooks, looks_capacity;
	struct number_map places; /* attribute → 1 + number of its newest look */
	/* of the moment in hand */
	const struct moment *moment;
	uint32_t *waiting; /* looks that are not done */
	size_t nwaiting, waiting_capacity;
	bool *dropped; /* by stream */
	size_t ndropped;
	struct order dropped_at; /* where the last of them was */
	uint64_t width, open;    /* of the window: undecided touches */
	uint64_t visits;
	struct error *err;
};

struct look {
	uint32_t attr, bit;
	uint32_t older; /* of the same attribute, 1 + number */
	const struct moment *moment;
	struct fact fact;
	bool done, blocked;
	struct order from; /* nothing before it touches the attribute */
};

struct forward_fill *forward_fill_new(struct state *state, const struct closure *closure,
				      nstime earliest)
{
	struct forward_fill *forward_fill = mem_new(sizeof *forward_fill);

	forward_scan_begin(&forward_fill->forward_scan, state, closure, earliest);
	forward_fill->dropped =
		mem_new_array(state->event_source->trace->nstreams, sizeof *forward_fill->dropped);
	return forward_fill;
}

void forward_fill_free(struct forward_fill *forward_fill)
{
	if (!forward_fill)
		return;
	forward_scan_end(&forward_fill->forward_scan);
	event_filter_free(forward_fill->event_filter);
	mem_free(forward_fill->dropped);
	mem_free(forward_fill->classes);
	mem_free(forward_fill->looks);
	mem_free(forward_fill->places.items);
	mem_free(forward_fill->waiting);
	mem_free(forward_fill);
}

enum touch { TOUCH_NOT, TOUCH_FILL, TOUCH_WRITE, TOUCH_OPEN };

/* Does the line, whose target is in looker->ahead.pattern, write? TOUCH_FILL: *value is what was.
 */
static enum touch touch_of(struct forward_fill *forward_fill, const struct line *line,
			   struct value *value)
{
	enum failure why;
	bool was = line->verb == VERB_WAS;

	switch (line_judge(line, &forward_fill->forward_scan.env, was ? value : NULL, &why)) {
	case EVAL_FAIL:
		return TOUCH_NOT;
	case EVAL_OPEN:
		return TOUCH_OPEN;
	default:
		if (!was)
			return TOUCH_WRITE;
		return value->kind == VALUE_UNKNOWN ? TOUCH_NOT : TOUCH_FILL;
	}
}

static bool fill(struct forward_fill *forward_fill, struct look *look, const struct value *value,
		 uint32_t line)
{
	const struct forward_scan *scan = &forward_fill->forward_scan;
	nstime begin;

	if (!event_source_fill_begin(scan->state->event_source, scan->item.stream,
				     &scan->item.order, look->fact.since, &begin,
				     forward_fill->err))
		return false;
	if (begin > moment_time(look->moment))
		return true;
	look->fact.value = *value;
	attrs_keep(forward_fill->forward_scan.state->attrs, &look->fact.value);
	look->fact.since = begin;
	look->fact.written = look->fact.named = true;
	look->fact.writer = writer_of(&forward_fill->forward_scan.item);
	look->fact.writer.line = line;
	return true;
}

static bool touch_look(struct forward_fill *forward_fill, struct look *look,
		       const struct line *line, enum touch touch, const struct value *value)
{
	if (look->done || look->blocked ||
	    order_compare(&forward_fill->forward_scan.item.order, &look->from) < 0)
		return true;
	if (touch == TOUCH_OPEN) {
		look->blocked = true;
		look->from = forward_fill->forward_scan.item.order;
		forward_fill->open++;
		return true;
	}
	look->done = true;
	return touch != TOUCH_FILL || fill(forward_fill, look, value, line->id);
}

/* The look of the attribute at the moment in hand; NULL when there is none. */
static struct look *find(const struct forward_fill *forward_fill, uint32_t attr,
			 const struct moment *moment)
{
	uint32_t i = number_map_get(&forward_fill->places, attr);

	while (i && forward_fill->looks[i - 1].moment != moment)
		i = forward_fill->looks[i - 1].older;
	return i ? &forward_fill->looks[i - 1] : NULL;
}

static bool touch_line(void *arg, const struct step_of *step)
{
	struct forward_fill *forward_fill = arg;
	const struct line *line = step->line;
	const struct pattern *pattern = &forward_fill->forward_scan.pattern;
	bool buries = verb_buries(line->verb);
	struct look *only = NULL;
	enum touch touch;
	struct value value;

	if (pattern->attr != ATTR_ABSENT && !buries) {
		only = find(forward_fill, pattern->attr, forward_fill->moment);
		if (!only || only->done)
			return true;
	}
	touch = touch_of(forward_fill, line, &value);
	if (touch == TOUCH_NOT)
		return true;
	if (only)
		return touch_look(forward_fill, only, line, touch, &value);
	for (size_t i = 0; i < forward_fill->nwaiting; i++) {
		struct look *look = &forward_fill->looks[forward_fill->waiting[i]];
		enum cover cover;

		if (look->done || look->blocked || !step_writes(step, look->bit))
			continue;
		cover = pattern_covers(pattern, forward_fill->forward_scan.state->attrs, look->attr,
				       buries);
		if (cover != COVER_NO &&
		    !touch_look(forward_fill, look, line, cover == COVER_MAYBE ? TOUCH_OPEN : touch,
				&value))
			return false;
	}
	return true;
}

/* Classes that have lines which may write one of the shapes. */
static void find_classes(struct forward_fill *forward_fill)
{
	size_t words = forward_fill->forward_scan.state->event_source->trace->nclasses / 64 + 1;

	mem_free(forward_fill->classes);
	forward_fill->classes = mem_new_array(words, sizeof *forward_fill->classes);
	closure_writers(forward_fill->forward_scan.closure, forward_fill->forward_scan.bits,
			forward_fill->classes);
}

static void see_loss(struct forward_fill *forward_fill)
{
	const struct event_item *item = &forward_fill->forward_scan.item;

	if (item->kind != ITEM_LOSS || item->event.loss_kind == LOSS_INFERRED ||
	    forward_fill->dropped[item->stream->index] ||
	    item->event.until <= moment_time(forward_fill->moment))
		return;
	forward_fill->dropped[item->stream->index] = true;
	forward_fill->ndropped++;
	if (order_compare(&item->order, &forward_fill->dropped_at) > 0)
		forward_fill->dropped_at = item->order;
}

/* No stream fills anything behind the last of their losses: the item is that one, or later. */
static bool all_dropped(const struct forward_fill *forward_fill, bool later)
{
	return forward_fill->ndropped ==
		       forward_fill->forward_scan.state->event_source->trace->nstreams &&
	       !forward_fill->forward_scan.closure->end &&
	       order_compare(&forward_fill->forward_scan.item.order, &forward_fill->dropped_at) >=
		       later;
}

/* Drops looks that are done from those that wait; all that are not blocked go on at `from`. */
static void sort_out(struct forward_fill *forward_fill, const struct order *from)
{
	size_t kept = 0;

	for (size_t i = 0; i < forward_fill->nwaiting; i++) {
		struct look *look = &forward_fill->looks[forward_fill->waiting[i]];

		if (!look->done && !look->blocked) {
			look->done = !from;
			if (from)
				look->from = *from;
		}
		look->blocked = false;
		if (!look->done)
			forward_fill->waiting[kept++] = forward_fill->waiting[i];
	}
	forward_fill->nwaiting = kept;
}

/* Forgets looks that are done; false: none goes on. */
static bool some_look_on(struct forward_fill *forward_fill)
{
	size_t kept = 0;
	bool on = false;

	for (size_t i = 0; i < forward_fill->nwaiting; i++) {
		const struct look *look = &forward_fill->looks[forward_fill->waiting[i]];

		if (look->done)
			continue;
		on = on || !look->blocked;
		forward_fill->waiting[kept++] = forward_fill->waiting[i];
	}
	forward_fill->nwaiting = kept;
	return on;
}

static bool scan(struct forward_fill *forward_fill)
{
	size_t left = forward_fill->nwaiting;
	enum step step;

	while ((step = event_source_next(&forward_fill->forward_scan.event_source,
					 &forward_fill->forward_scan.item, forward_fill->err)) ==
	       STEP_ITEM) {
		if (all_dropped(forward_fill, true))
			break;
		if (forward_fill->open >= forward_fill->width) {
			sort_out(forward_fill, &forward_fill->forward_scan.item.order);
			return true;
		}
		forward_fill->visits++;
		if (!forward_scan_lines(&forward_fill->forward_scan, touch_line, forward_fill))
			return false;
		see_loss(forward_fill);
		if (all_dropped(forward_fill, false))
			break;
		if (--left == 0) { /* now and then */
			if (!some_look_on(forward_fill))
				break;
			left = forward_fill->nwaiting;
		}
	}
	if (step == STEP_ERROR)
		return false;
	sort_out(forward_fill, NULL);
	return true;
}

static bool open_event_source(struct forward_fill *forward_fill)
{
	struct event_source_range range = {.from = order_after(NSTIME_MAX),
					   .to = order_after(NSTIME_MAX),
					   .losses = true,
					   .infers = forward_fill->forward_scan.closure->infers,
					   .end = forward_fill->forward_scan.closure->end,
					   .classes = forward_fill->classes};

	if (!forward_fill->event_filter)
		forward_fill->event_filter = state_event_filter(forward_fill->forward_scan.state,
								forward_fill->forward_scan.closure);
	range.event_filter = forward_fill->event_filter;
	event_filter_clear(range.event_filter);
	for (size_t i = 0; i < forward_fill->nwaiting; i++) {
		const struct look *look = &forward_fill->looks[forward_fill->waiting[i]];

		event_filter_add(range.event_filter, look->attr);
		if (order_compare(&look->from, &range.from) < 0)
			range.from = look->from;
	}
	event_source_close(&forward_fill->forward_scan.event_source);
	return event_source_open(forward_fill->forward_scan.state->event_source, &range,
				 &forward_fill->forward_scan.event_source, forward_fill->err);
}

/* All looks of one moment. */
static enum outcome look_from(struct forward_fill *forward_fill)
{
	const struct trace *trace = forward_fill->forward_scan.state->event_source->trace;
	nstime at = moment_time(forward_fill->moment);
	const nstime *begins;
	enum outcome outcome;

	if (!event_source_begins(forward_fill->forward_scan.state->event_source, &begins,
				 forward_fill->err))
		return OUTCOME_ERROR;
	forward_fill->width = 16;
	forward_fill->ndropped = 0;
	forward_fill->dropped_at = order_before(NSTIME_MIN);
	for (size_t i = 0; i < trace->nstreams; i++) { /* those that had not begun fill nothing */
		forward_fill->dropped[i] = begins[i] > at;
		forward_fill->ndropped += forward_fill->dropped[i];
	}
	while (forward_fill->nwaiting) {
		forward_fill->open = 0;
		if (!open_event_source(forward_fill) || !scan(forward_fill))
			return OUTCOME_ERROR;
		if (forward_fill->visits > forward_fill->forward_scan.state->limits.visits)
			return OUTCOME_GAVE_UP;
		if (forward_fill->nwaiting && forward_fill->forward_scan.pass) {
			outcome = backward_run(forward_fill->forward_scan.pass, forward_fill->err);
			if (outcome != OUTCOME_DONE)
				return outcome;
		}
		forward_fill->width *= 2;
		if (forward_fill->width > WIDTH_MAX)
			return OUTCOME_GAVE_UP;
	}
	return OUTCOME_DONE;
}

bool forward_fill_answer(struct forward_fill *forward_fill, uint32_t attr,
			 const struct moment *moment, struct fact *fact)
{
	uint32_t bit = closure_bit(forward_fill->forward_scan.closure,
				   attr_shape(forward_fill->forward_scan.state->attrs, attr));
	struct look *look = find(forward_fill, attr, moment);

	if (bit == ATTR_ABSENT || !closure_was(forward_fill->forward_scan.closure, bit))
		return true;
	if (look) {
		if (look->done)
			*fact = look->fact;
		return look->done;
	}
	forward_fill->looks = mem_grow(forward_fill->looks, forward_fill->nlooks,
				       &forward_fill->looks_capacity, sizeof *forward_fill->looks);
	forward_fill->looks[forward_fill->nlooks++] =
		(struct look){.attr = attr,
			      .bit = bit,
			      .older = number_map_get(&forward_fill->places, attr),
			      .moment = moment,
			      .fact = *fact,
			      .from = moment_order(moment)};
	number_map_set(&forward_fill->places, attr, (uint32_t)forward_fill->nlooks);
	forward_fill->forward_scan.bits[bit / 64] |= UINT64_C(1) << bit % 64;
	return false;
}

enum outcome forward_fill_run(struct forward_fill *forward_fill, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	forward_fill->err = err;
	find_classes(forward_fill);
	for (size_t i = 0; i < forward_fill->nlooks && outcome == OUTCOME_DONE; i++) {
		if (forward_fill->looks[i].done)
			continue;
		forward_fill->moment = forward_fill->looks[i].moment;
		for (size_t j = i; j < forward_fill->nlooks; j++) {
			if (forward_fill->looks[j].done ||
			    forward_fill->looks[j].moment != forward_fill->moment)
				continue;
			forward_fill->waiting = mem_grow(
				forward_fill->waiting, forward_fill->nwaiting,
				&forward_fill->waiting_capacity, sizeof *forward_fill->waiting);
			forward_fill->waiting[forward_fill->nwaiting++] = (uint32_t)j;
		}
		outcome = look_from(forward_fill);
	}
	event_source_close(&forward_fill->forward_scan.event_source);
	return outcome;
}
