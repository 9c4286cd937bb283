/*
 * look.c - the forward look: does a later `was` say what an attribute was?
 *
 * The first event after the moment that touches the attribute decides: with a `was` of a known
 * value whose fill begins in time the attribute was that, else it was unknown. Lines that read
 * state are decided by a backward pass for their own events: the look reads on over a window, asks
 * for all of it at once, and starts again with a window twice as wide.
 */
#include "engine/base/mem.h"
#include "state/answer/ahead.h"
#include "state/answer/ask.h"
#include "state/answer/look.h"

#include <string.h>

#define WIDTH_MAX (UINT64_C(1) << 48) /* a window that wide and still undecided: it will not be */

struct looker {
	struct ahead ahead;
	struct sieve *sieve;
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

struct looker *looker_new(struct state *state, const struct closure *closure, nstime earliest)
{
	struct looker *looker = mem_new(sizeof *looker);

	ahead_begin(&looker->ahead, state, closure, earliest);
	looker->dropped = mem_new_array(state->feed->trace->nstreams, sizeof *looker->dropped);
	return looker;
}

void looker_free(struct looker *looker)
{
	if (!looker)
		return;
	ahead_end(&looker->ahead);
	sieve_free(looker->sieve);
	mem_free(looker->dropped);
	mem_free(looker->classes);
	mem_free(looker->looks);
	mem_free(looker->places.items);
	mem_free(looker->waiting);
	mem_free(looker);
}

enum touch { TOUCH_NOT, TOUCH_FILL, TOUCH_WRITE, TOUCH_OPEN };

/* Does the line, whose target is in looker->ahead.pattern, write? TOUCH_FILL: *value is what was.
 */
static enum touch touch_of(struct looker *looker, const struct line *line, struct value *value)
{
	enum failure why;
	enum truth truth = expr_truth(line->when, &looker->ahead.env, &why);
	enum eval check = EVAL_VALUE;

	if (truth == TRUTH_NO)
		return TOUCH_NOT;
	if (line->verb == VERB_WAS)
		check = expr_eval(line->value, &looker->ahead.env, value, &why);
	else if (line->value)
		check = expr_check(line->value, &looker->ahead.env, &why);
	if (check == EVAL_FAIL)
		return TOUCH_NOT;
	if (truth == TRUTH_OPEN || check == EVAL_OPEN)
		return TOUCH_OPEN;
	if (line->verb != VERB_WAS)
		return TOUCH_WRITE;
	return value->kind == VALUE_UNKNOWN ? TOUCH_NOT : TOUCH_FILL;
}

static bool fill(struct looker *looker, struct look *look, const struct value *value, uint32_t line)
{
	nstime begin;

	if (!ahead_fill_begin(&looker->ahead, look->fact.since, &begin, looker->err))
		return false;
	if (begin > moment_time(look->moment))
		return true;
	look->fact.value = *value;
	attrs_keep(looker->ahead.state->attrs, &look->fact.value);
	look->fact.since = begin;
	look->fact.written = look->fact.named = true;
	look->fact.writer = writer_of(&looker->ahead.item);
	look->fact.writer.line = line;
	return true;
}

static bool touch_look(struct looker *looker, struct look *look, const struct line *line,
		       enum touch touch, const struct value *value)
{
	if (look->done || look->blocked ||
	    order_compare(&looker->ahead.item.order, &look->from) < 0)
		return true;
	if (touch == TOUCH_OPEN) {
		look->blocked = true;
		look->from = looker->ahead.item.order;
		looker->open++;
		return true;
	}
	look->done = true;
	return touch != TOUCH_FILL || fill(looker, look, value, line->id);
}

/* The look of the attribute at the moment in hand; NULL when there is none. */
static struct look *find(const struct looker *looker, uint32_t attr, const struct moment *moment)
{
	uint32_t i = number_map_get(&looker->places, attr);

	while (i && looker->looks[i - 1].moment != moment)
		i = looker->looks[i - 1].older;
	return i ? &looker->looks[i - 1] : NULL;
}

static bool touch_line(void *arg, const struct step_of *step)
{
	struct looker *looker = arg;
	const struct line *line = step->line;
	const struct pattern *pattern = &looker->ahead.pattern;
	bool buries = verb_buries(line->verb);
	struct look *only = NULL;
	enum touch touch;
	struct value value;

	if (pattern->attr != ATTR_ABSENT && !buries) {
		only = find(looker, pattern->attr, looker->moment);
		if (!only || only->done)
			return true;
	}
	touch = touch_of(looker, line, &value);
	if (touch == TOUCH_NOT)
		return true;
	if (only)
		return touch_look(looker, only, line, touch, &value);
	for (size_t i = 0; i < looker->nwaiting; i++) {
		struct look *look = &looker->looks[looker->waiting[i]];
		enum cover cover;

		if (look->done || look->blocked || !shape_bits_have(&step->writes, look->bit))
			continue;
		cover = pattern_covers(pattern, looker->ahead.state->attrs, look->attr, buries);
		if (cover != COVER_NO &&
		    !touch_look(looker, look, line, cover == COVER_MAYBE ? TOUCH_OPEN : touch,
				&value))
			return false;
	}
	return true;
}

/* Classes that have lines which may write one of the shapes. */
static void find_classes(struct looker *looker)
{
	size_t words = looker->ahead.state->feed->trace->nclasses / 64 + 1;

	mem_free(looker->classes);
	looker->classes = mem_new_array(words, sizeof *looker->classes);
	closure_writers(looker->ahead.closure, looker->ahead.bits, looker->classes);
}

static void see_loss(struct looker *looker)
{
	const struct feed_item *item = &looker->ahead.item;

	if (item->kind != FEED_LOSS || item->event.loss_kind == LOSS_INFERRED ||
	    looker->dropped[item->stream->index] ||
	    item->event.until <= moment_time(looker->moment))
		return;
	looker->dropped[item->stream->index] = true;
	looker->ndropped++;
	if (order_compare(&item->order, &looker->dropped_at) > 0)
		looker->dropped_at = item->order;
}

/* No stream fills anything behind the last of their losses: the item is that one, or later. */
static bool all_dropped(const struct looker *looker, bool later)
{
	return looker->ndropped == looker->ahead.state->feed->trace->nstreams &&
	       !looker->ahead.closure->end &&
	       order_compare(&looker->ahead.item.order, &looker->dropped_at) >= later;
}

/* Drops looks that are done from those that wait; all that are not blocked go on at `from`. */
static void sort_out(struct looker *looker, const struct order *from)
{
	size_t kept = 0;

	for (size_t i = 0; i < looker->nwaiting; i++) {
		struct look *look = &looker->looks[looker->waiting[i]];

		if (!look->done && !look->blocked) {
			look->done = !from;
			if (from)
				look->from = *from;
		}
		look->blocked = false;
		if (!look->done)
			looker->waiting[kept++] = looker->waiting[i];
	}
	looker->nwaiting = kept;
}

/* Forgets looks that are done; false: none goes on. */
static bool some_look_on(struct looker *looker)
{
	size_t kept = 0;
	bool on = false;

	for (size_t i = 0; i < looker->nwaiting; i++) {
		const struct look *look = &looker->looks[looker->waiting[i]];

		if (look->done)
			continue;
		on = on || !look->blocked;
		looker->waiting[kept++] = looker->waiting[i];
	}
	looker->nwaiting = kept;
	return on;
}

static bool scan(struct looker *looker)
{
	size_t left = looker->nwaiting;
	enum step step;

	while ((step = feed_next(&looker->ahead.feed, &looker->ahead.item, looker->err)) ==
	       STEP_ITEM) {
		if (all_dropped(looker, true))
			break;
		if (looker->open >= looker->width) {
			sort_out(looker, &looker->ahead.item.order);
			return true;
		}
		looker->visits++;
		if (!ahead_lines(&looker->ahead, touch_line, looker))
			return false;
		see_loss(looker);
		if (all_dropped(looker, false))
			break;
		if (--left == 0) { /* now and then */
			if (!some_look_on(looker))
				break;
			left = looker->nwaiting;
		}
	}
	if (step == STEP_ERROR)
		return false;
	sort_out(looker, NULL);
	return true;
}

static bool open_feed(struct looker *looker)
{
	struct feed_range range = {.from = order_after(NSTIME_MAX),
				   .to = order_after(NSTIME_MAX),
				   .losses = true,
				   .infers = looker->ahead.closure->infers,
				   .end = looker->ahead.closure->end,
				   .classes = looker->classes};

	if (!looker->sieve)
		looker->sieve = state_sieve(looker->ahead.state, looker->ahead.closure);
	range.sieve = looker->sieve;
	sieve_clear(range.sieve);
	for (size_t i = 0; i < looker->nwaiting; i++) {
		const struct look *look = &looker->looks[looker->waiting[i]];

		sieve_add(range.sieve, look->attr);
		if (order_compare(&look->from, &range.from) < 0)
			range.from = look->from;
	}
	feed_close(&looker->ahead.feed);
	return feed_open(looker->ahead.state->feed, &range, &looker->ahead.feed, looker->err);
}

/* All looks of one moment. */
static enum outcome look_from(struct looker *looker)
{
	const struct trace *trace = looker->ahead.state->feed->trace;
	nstime at = moment_time(looker->moment);
	const nstime *begins;
	enum outcome outcome;

	if (!feed_begins(looker->ahead.state->feed, &begins, looker->err))
		return OUTCOME_ERROR;
	looker->width = 16;
	looker->ndropped = 0;
	looker->dropped_at = order_before(NSTIME_MIN);
	for (size_t i = 0; i < trace->nstreams; i++) { /* those that had not begun fill nothing */
		looker->dropped[i] = begins[i] > at;
		looker->ndropped += looker->dropped[i];
	}
	while (looker->nwaiting) {
		looker->open = 0;
		if (!open_feed(looker) || !scan(looker))
			return OUTCOME_ERROR;
		if (looker->visits > looker->ahead.state->limits.visits)
			return OUTCOME_GAVE_UP;
		if (looker->nwaiting && looker->ahead.pass) {
			outcome = backward_run(looker->ahead.pass, looker->err);
			if (outcome != OUTCOME_DONE)
				return outcome;
		}
		looker->width *= 2;
		if (looker->width > WIDTH_MAX)
			return OUTCOME_GAVE_UP;
	}
	return OUTCOME_DONE;
}

bool look_answer(struct looker *looker, uint32_t attr, const struct moment *moment,
		 struct fact *fact)
{
	uint32_t bit =
		closure_bit(looker->ahead.closure, attr_shape(looker->ahead.state->attrs, attr));
	struct look *look = find(looker, attr, moment);

	if (bit == ATTR_ABSENT || !closure_was(looker->ahead.closure, bit))
		return true;
	if (look) {
		if (look->done)
			*fact = look->fact;
		return look->done;
	}
	looker->looks = mem_grow(looker->looks, looker->nlooks, &looker->looks_capacity,
				 sizeof *looker->looks);
	looker->looks[looker->nlooks++] =
		(struct look){.attr = attr,
			      .bit = bit,
			      .older = number_map_get(&looker->places, attr),
			      .moment = moment,
			      .fact = *fact,
			      .from = moment_order(moment)};
	number_map_set(&looker->places, attr, (uint32_t)looker->nlooks);
	looker->ahead.bits[bit / 64] |= UINT64_C(1) << bit % 64;
	return false;
}

enum outcome look_run(struct looker *looker, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	looker->err = err;
	find_classes(looker);
	for (size_t i = 0; i < looker->nlooks && outcome == OUTCOME_DONE; i++) {
		if (looker->looks[i].done)
			continue;
		looker->moment = looker->looks[i].moment;
		for (size_t j = i; j < looker->nlooks; j++) {
			if (looker->looks[j].done || looker->looks[j].moment != looker->moment)
				continue;
			looker->waiting =
				mem_grow(looker->waiting, looker->nwaiting,
					 &looker->waiting_capacity, sizeof *looker->waiting);
			looker->waiting[looker->nwaiting++] = (uint32_t)j;
		}
		outcome = look_from(looker);
	}
	feed_close(&looker->ahead.feed);
	return outcome;
}
