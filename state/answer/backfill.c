/*
 * backfill.c - does a later `was` say what an attribute was?
 *
 * The first event after the moment that touches the attribute decides: with a `was` of a known
 * value whose fill begins in time the attribute was that, else it was unknown. Lines that read
 * state are decided by a backward pass for their own events (forward_scan.h).
 */
#include "state/answer/backfill.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/forward_scan.h"

struct backfill {
	struct forward_scan scan;
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
	uint64_t open;           /* undecided touches of the window */
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

struct backfill *backfill_new(struct state *state, const struct closure *closure, nstime earliest)
{
	struct backfill *filler = mem_new(sizeof *filler);

	forward_scan_begin(&filler->scan, state, closure, earliest);
	filler->dropped =
		mem_new_array(state->event_source->trace->nstreams, sizeof *filler->dropped);
	return filler;
}

void backfill_free(struct backfill *filler)
{
	if (!filler)
		return;
	forward_scan_end(&filler->scan);
	mem_free(filler->dropped);
	mem_free(filler->looks);
	mem_free(filler->places.items);
	mem_free(filler->waiting);
	mem_free(filler);
}

enum touch { TOUCH_NOT, TOUCH_FILL, TOUCH_WRITE, TOUCH_OPEN };

/* Does the line, whose target is in filler->scan.pattern, write? TOUCH_FILL: *value is what was. */
static enum touch touch_of(struct backfill *filler, const struct line *line, struct value *value)
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

static bool fill(struct backfill *filler, struct look *look, const struct value *value,
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

static bool touch_look(struct backfill *filler, struct look *look, const struct line *line,
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
static struct look *find(const struct backfill *filler, uint32_t attr, const struct moment *moment)
{
	uint32_t i = number_map_get(&filler->places, attr);

	while (i && filler->looks[i - 1].moment != moment)
		i = filler->looks[i - 1].older;
	return i ? &filler->looks[i - 1] : NULL;
}

static bool touch_line(void *arg, const struct step_of *step)
{
	struct backfill *filler = arg;
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

static void see_loss(struct backfill *filler)
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
static bool all_dropped(const struct backfill *filler, bool later)
{
	return filler->ndropped == filler->scan.state->event_source->trace->nstreams &&
	       !filler->scan.closure->end &&
	       order_compare(&filler->scan.item.order, &filler->dropped_at) >= later;
}

/* Drops looks that are done from those that wait; all that are not blocked go on at `from`. */
static void sort_out(struct backfill *filler, const struct order *from)
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
static bool some_look_on(struct backfill *filler)
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

/* What waits is looked for from *from on. */
static void look_for_waiting(struct backfill *filler, struct order *from)
{
	uint32_t *attrs = mem_new_array(filler->nwaiting + 1, sizeof *attrs);

	*from = order_after(NSTIME_MAX);
	for (size_t i = 0; i < filler->nwaiting; i++) {
		const struct look *look = &filler->looks[filler->waiting[i]];

		attrs[i] = look->attr;
		if (order_compare(&look->from, from) < 0)
			*from = look->from;
	}
	forward_scan_look_for(&filler->scan, attrs, filler->nwaiting);
	mem_free(attrs);
}

static enum scanned scan(void *arg, struct order *from, size_t width)
{
	struct backfill *filler = arg;
	const struct order *next = NULL; /* where all that waits goes on, if not at the end */
	size_t left = filler->nwaiting;
	enum step step;

	filler->open = 0;
	while ((step = event_source_next(&filler->scan.event_source, &filler->scan.item,
					 filler->err)) == STEP_ITEM) {
		if (all_dropped(filler, true))
			break;
		if (filler->open >= width) {
			next = &filler->scan.item.order;
			break;
		}
		if (!forward_scan_lines(&filler->scan, touch_line, filler))
			return SCAN_ERROR;
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
		return SCAN_ERROR;
	sort_out(filler, next);
	if (!filler->nwaiting)
		return SCAN_OVER;
	look_for_waiting(filler, from);
	return SCAN_OPEN;
}

/* All looks of one moment. */
static enum outcome look_from(struct backfill *filler)
{
	const struct trace *trace = filler->scan.state->event_source->trace;
	nstime at = moment_time(filler->moment);
	const nstime *begins;
	struct order from;

	if (!event_source_begins(filler->scan.state->event_source, &begins, filler->err))
		return OUTCOME_ERROR;
	if (filler->scan.visits > filler->scan.state->limits.visits)
		return OUTCOME_GAVE_UP;
	filler->ndropped = 0;
	filler->dropped_at = order_before(NSTIME_MIN);
	for (size_t i = 0; i < trace->nstreams; i++) { /* those that had not begun fill nothing */
		filler->dropped[i] = begins[i] > at;
		filler->ndropped += filler->dropped[i];
	}
	look_for_waiting(filler, &from);
	return forward_scan_run(&filler->scan, from, order_after(NSTIME_MAX), scan, filler,
				filler->err);
}

bool backfill_answer(struct backfill *filler, uint32_t attr, const struct moment *moment,
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
	*mem_push(filler->looks, filler->nlooks, filler->looks_capacity) =
		(struct look){.attr = attr,
			      .bit = bit,
			      .older = number_map_get(&filler->places, attr),
			      .moment = moment,
			      .fact = *fact,
			      .from = moment_order(moment)};
	number_map_set(&filler->places, attr, (uint32_t)filler->nlooks);
	return false;
}

enum outcome backfill_run(struct backfill *filler, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	filler->err = err;
	for (size_t i = 0; i < filler->nlooks && outcome == OUTCOME_DONE; i++) {
		if (filler->looks[i].done)
			continue;
		filler->moment = filler->looks[i].moment;
		for (size_t j = i; j < filler->nlooks; j++) {
			if (filler->looks[j].done || filler->looks[j].moment != filler->moment)
				continue;
			*mem_push(filler->waiting, filler->nwaiting, filler->waiting_capacity) =
				(uint32_t)j;
		}
		outcome = look_from(filler);
	}
	return outcome;
}
