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
	struct forward_scan scan;
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
	struct forward_fill *filler = mem_new(sizeof *filler);

	forward_scan_begin(&filler->scan, state, closure, earliest);
	filler->dropped =
		mem_new_array(state->event_source->trace->nstreams, sizeof *filler->dropped);
	return filler;
}

void forward_fill_free(struct forward_fill *filler)
{
	if (!filler)
		return;
	forward_scan_end(&filler->scan);
	event_filter_free(filler->event_filter);
	mem_free(filler->dropped);
	mem_free(filler->classes);
	mem_free(filler->looks);
	mem_free(filler->places.items);
	mem_free(filler->waiting);
	mem_free(filler);
}

enum touch { TOUCH_NOT, TOUCH_FILL, TOUCH_WRITE, TOUCH_OPEN };

/* Does the line, whose target is in looker->ahead.pattern, write? TOUCH_FILL: *value is what was.
 */
static enum touch touch_of(struct forward_fill *filler, const struct line *line,
			   struct value *value)
{
	enum failure why;
	bool was = line->verb == VERB_WAS;

	switch (line_judge(line, &filler->scan.env, was ? value : NULL, &why)) {
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

static bool fill(struct forward_fill *filler, struct look *look, const struct value *value,
		 uint32_t line)
{
	const struct forward_scan *scan = &filler->scan;
	nstime begin;

	if (!event_source_fill_begin(scan->state->event_source, scan->item.stream,
				     &scan->item.order, look->fact.since, &begin, filler->err))
		return false;
	if (begin > moment_time(look->moment))
		return true;
	look->fact.value = *value;
	attrs_keep(filler->scan.state->attrs, &look->fact.value);
	look->fact.since = begin;
	look->fact.written = look->fact.named = true;
	look->fact.writer = writer_of(&filler->scan.item);
	look->fact.writer.line = line;
	return true;
}

static bool touch_look(struct forward_fill *filler, struct look *look, const struct line *line,
		       enum touch touch, const struct value *value)
{
	if (look->done || look->blocked || order_compare(&filler->scan.item.order, &look->from) < 0)
		return true;
	if (touch == TOUCH_OPEN) {
		look->blocked = true;
		look->from = filler->scan.item.order;
		filler->open++;
		return true;
	}
	look->done = true;
	return touch != TOUCH_FILL || fill(filler, look, value, line->id);
}

/* The look of the attribute at the moment in hand; NULL when there is none. */
static struct look *find(const struct forward_fill *filler, uint32_t attr,
			 const struct moment *moment)
{
	uint32_t i = number_map_get(&filler->places, attr);

	while (i && filler->looks[i - 1].moment != moment)
		i = filler->looks[i - 1].older;
	return i ? &filler->looks[i - 1] : NULL;
}

static bool touch_line(void *arg, const struct step_of *step)
{
	struct forward_fill *filler = arg;
	const struct line *line = step->line;
	const struct pattern *pattern = &filler->scan.pattern;
	bool buries = verb_buries(line->verb);
	struct look *only = NULL;
	enum touch touch;
	struct value value;

	if (pattern->attr != ATTR_ABSENT && !buries) {
		only = find(filler, pattern->attr, filler->moment);
		if (!only || only->done)
			return true;
	}
	touch = touch_of(filler, line, &value);
	if (touch == TOUCH_NOT)
		return true;
	if (only)
		return touch_look(filler, only, line, touch, &value);
	for (size_t i = 0; i < filler->nwaiting; i++) {
		struct look *look = &filler->looks[filler->waiting[i]];
		enum cover cover;

		if (look->done || look->blocked || !step_writes(step, look->bit))
			continue;
		cover = pattern_covers(pattern, filler->scan.state->attrs, look->attr, buries);
		if (cover != COVER_NO &&
		    !touch_look(filler, look, line, cover == COVER_MAYBE ? TOUCH_OPEN : touch,
				&value))
			return false;
	}
	return true;
}

/* Classes that have lines which may write one of the shapes. */
static void find_classes(struct forward_fill *filler)
{
	size_t words = filler->scan.state->event_source->trace->nclasses / 64 + 1;

	mem_free(filler->classes);
	filler->classes = mem_new_array(words, sizeof *filler->classes);
	closure_writers(filler->scan.closure, filler->scan.bits, filler->classes);
}

static void see_loss(struct forward_fill *filler)
{
	const struct event_item *item = &filler->scan.item;

	if (item->kind != ITEM_LOSS || item->event.loss_kind == LOSS_INFERRED ||
	    filler->dropped[item->stream->index] ||
	    item->event.until <= moment_time(filler->moment))
		return;
	filler->dropped[item->stream->index] = true;
	filler->ndropped++;
	if (order_compare(&item->order, &filler->dropped_at) > 0)
		filler->dropped_at = item->order;
}

/* No stream fills anything behind the last of their losses: the item is that one, or later. */
static bool all_dropped(const struct forward_fill *filler, bool later)
{
	return filler->ndropped == filler->scan.state->event_source->trace->nstreams &&
	       !filler->scan.closure->end &&
	       order_compare(&filler->scan.item.order, &filler->dropped_at) >= later;
}

/* Drops looks that are done from those that wait; all that are not blocked go on at `from`. */
static void sort_out(struct forward_fill *filler, const struct order *from)
{
	size_t kept = 0;

	for (size_t i = 0; i < filler->nwaiting; i++) {
		struct look *look = &filler->looks[filler->waiting[i]];

		if (!look->done && !look->blocked) {
			look->done = !from;
			if (from)
				look->from = *from;
		}
		look->blocked = false;
		if (!look->done)
			filler->waiting[kept++] = filler->waiting[i];
	}
	filler->nwaiting = kept;
}

/* Forgets looks that are done; false: none goes on. */
static bool some_look_on(struct forward_fill *filler)
{
	size_t kept = 0;
	bool on = false;

	for (size_t i = 0; i < filler->nwaiting; i++) {
		const struct look *look = &filler->looks[filler->waiting[i]];

		if (look->done)
			continue;
		on = on || !look->blocked;
		filler->waiting[kept++] = filler->waiting[i];
	}
	filler->nwaiting = kept;
	return on;
}

static bool scan(struct forward_fill *filler)
{
	size_t left = filler->nwaiting;
	enum step step;

	while ((step = event_source_next(&filler->scan.event_source, &filler->scan.item,
					 filler->err)) == STEP_ITEM) {
		if (all_dropped(filler, true))
			break;
		if (filler->open >= filler->width) {
			sort_out(filler, &filler->scan.item.order);
			return true;
		}
		filler->visits++;
		if (!forward_scan_lines(&filler->scan, touch_line, filler))
			return false;
		see_loss(filler);
		if (all_dropped(filler, false))
			break;
		if (--left == 0) { /* now and then */
			if (!some_look_on(filler))
				break;
			left = filler->nwaiting;
		}
	}
	if (step == STEP_ERROR)
		return false;
	sort_out(filler, NULL);
	return true;
}

static bool open_event_source(struct forward_fill *filler)
{
	struct event_source_range range = {.from = order_after(NSTIME_MAX),
					   .to = order_after(NSTIME_MAX),
					   .losses = true,
					   .infers = filler->scan.closure->infers,
					   .end = filler->scan.closure->end,
					   .classes = filler->classes};

	if (!filler->event_filter)
		filler->event_filter = state_event_filter(filler->scan.state, filler->scan.closure);
	range.event_filter = filler->event_filter;
	event_filter_clear(range.event_filter);
	for (size_t i = 0; i < filler->nwaiting; i++) {
		const struct look *look = &filler->looks[filler->waiting[i]];

		event_filter_add(range.event_filter, look->attr);
		if (order_compare(&look->from, &range.from) < 0)
			range.from = look->from;
	}
	event_source_close(&filler->scan.event_source);
	return event_source_open(filler->scan.state->event_source, &range,
				 &filler->scan.event_source, filler->err);
}

/* All looks of one moment. */
static enum outcome look_from(struct forward_fill *filler)
{
	const struct trace *trace = filler->scan.state->event_source->trace;
	nstime at = moment_time(filler->moment);
	const nstime *begins;
	enum outcome outcome;

	if (!event_source_begins(filler->scan.state->event_source, &begins, filler->err))
		return OUTCOME_ERROR;
	filler->width = 16;
	filler->ndropped = 0;
	filler->dropped_at = order_before(NSTIME_MIN);
	for (size_t i = 0; i < trace->nstreams; i++) { /* those that had not begun fill nothing */
		filler->dropped[i] = begins[i] > at;
		filler->ndropped += filler->dropped[i];
	}
	while (filler->nwaiting) {
		filler->open = 0;
		if (!open_event_source(filler) || !scan(filler))
			return OUTCOME_ERROR;
		if (filler->visits > filler->scan.state->limits.visits)
			return OUTCOME_GAVE_UP;
		if (filler->nwaiting && filler->scan.pass) {
			outcome = backward_run(filler->scan.pass, filler->err);
			if (outcome != OUTCOME_DONE)
				return outcome;
		}
		filler->width *= 2;
		if (filler->width > WIDTH_MAX)
			return OUTCOME_GAVE_UP;
	}
	return OUTCOME_DONE;
}

bool forward_fill_answer(struct forward_fill *filler, uint32_t attr, const struct moment *moment,
			 struct fact *fact)
{
	uint32_t bit =
		closure_bit(filler->scan.closure, attr_shape(filler->scan.state->attrs, attr));
	struct look *look = find(filler, attr, moment);

	if (bit == ATTR_ABSENT || !closure_was(filler->scan.closure, bit))
		return true;
	if (look) {
		if (look->done)
			*fact = look->fact;
		return look->done;
	}
	filler->looks = mem_grow(filler->looks, filler->nlooks, &filler->looks_capacity,
				 sizeof *filler->looks);
	filler->looks[filler->nlooks++] =
		(struct look){.attr = attr,
			      .bit = bit,
			      .older = number_map_get(&filler->places, attr),
			      .moment = moment,
			      .fact = *fact,
			      .from = moment_order(moment)};
	number_map_set(&filler->places, attr, (uint32_t)filler->nlooks);
	filler->scan.bits[bit / 64] |= UINT64_C(1) << bit % 64;
	return false;
}

enum outcome forward_fill_run(struct forward_fill *filler, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	filler->err = err;
	find_classes(filler);
	for (size_t i = 0; i < filler->nlooks && outcome == OUTCOME_DONE; i++) {
		if (filler->looks[i].done)
			continue;
		filler->moment = filler->looks[i].moment;
		for (size_t j = i; j < filler->nlooks; j++) {
			if (filler->looks[j].done || filler->looks[j].moment != filler->moment)
				continue;
			filler->waiting =
				mem_grow(filler->waiting, filler->nwaiting,
					 &filler->waiting_capacity, sizeof *filler->waiting);
			filler->waiting[filler->nwaiting++] = (uint32_t)j;
		}
		outcome = look_from(filler);
	}
	event_source_close(&filler->scan.event_source);
	return outcome;
}
