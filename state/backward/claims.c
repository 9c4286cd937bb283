/*
 * claims.c - lines at events: refused, proved, or waiting
 *
 * A line is refused when it surely fails or its condition is surely not true. It is proved when its
 * target is known, its condition true, and its right side cannot fail. Everything else waits for
 * the questions that it asks at its own event, and is looked at again when one is answered.
 */
#include "engine/base/mem.h"
#include "state/backward/internal.h"

#include <string.h>

bool claim_may_write(const struct backward *pass, const struct claim *claim, uint32_t attr)
{
	if (!claim->pattern)
		return claim->attr == attr;
	return pattern_covers(claim->pattern, pass->attrs, attr,
			      verb_buries(claim->step->line->verb)) != COVER_NO;
}

/*
 * The newest undecided claim with low < key < the question's that may write its attribute. Claims
 * of later rounds do not matter: the question's own round has looked at their lines.
 */
struct claim *claim_between(const struct backward *pass, const struct question *question,
			    const struct order *low)
{
	for (struct claim *c = pass->newest; c; c = c->older) {
		if (order_compare(&c->key, low) <= 0)
			return NULL;
		if (order_compare(&c->key, &question->key) < 0 && c->round <= question->round &&
		    claim_may_write(pass, c, question->attr))
			return c;
	}
	return NULL;
}

/* False: one of that key waits already. */
static bool claims_insert(struct backward *pass, struct claim *claim)
{
	struct claim *above = pass->oldest;

	while (above && order_compare(&above->key, &claim->key) < 0)
		above = above->newer;
	if (above && order_compare(&above->key, &claim->key) == 0)
		return false;
	claim->newer = above;
	claim->older = above ? above->older : pass->newest;
	*(claim->newer ? &claim->newer->older : &pass->newest) = claim;
	*(claim->older ? &claim->older->newer : &pass->oldest) = claim;
	if (++pass->nclaims > pass->statistics.most_claims)
		pass->statistics.most_claims = pass->nclaims;
	return true;
}

void claims_remove(struct backward *pass, struct claim *claim)
{
	*(claim->newer ? &claim->newer->older : &pass->newest) = claim->older;
	*(claim->older ? &claim->older->newer : &pass->oldest) = claim->newer;
	pass->nclaims--;
}

/* From now on reads are those of this claim's line. */
static void read_as(struct backward *pass, const struct capture *event,
		    const struct order *read_key, struct claim *asker)
{
	const struct feed_item *item = event ? &event->item : &pass->item;

	pass->reading = item;
	pass->read_key = *read_key;
	pass->asker = (struct waiter){.claim = asker};
	pass->env.event = item->stream ? &item->event : NULL;
	pass->env.fields = NULL;
	if (event && event->has_fields)
		pass->env.fields = &event->fields;
	else if (!event && pass->decoded)
		pass->env.fields = &pass->fields;
}

static void capture(struct backward *pass, struct claim *claim)
{
	const struct fields *fields = NULL;

	if (claim->event)
		return;
	if (!pass->captured) {
		if (pass->item.kind == FEED_EVENT)
			fields = pass->decoded ? &pass->fields
					       : pass->env.decode(pass, &pass->item.event);
		pass->captured = arena_alloc(pass->arena, sizeof *pass->captured);
		if (!capture_item(&pass->item, fields, pass->arena, pass->captured))
			pass->gave_up = true;
	}
	claim->event = pass->captured;
}

static bool ask_read(void *arg, uint32_t attr, uint32_t section)
{
	struct backward *pass = arg;

	if (attr == ATTR_ABSENT)
		attr = catalog_section(pass->closure->catalog, pass->reading->stream->index,
				       section);
	if (!question_fact(pass, attr, &pass->read_key))
		question_wait(pass, question_ask(pass, attr, &pass->read_key), pass->asker);
	return true;
}

struct verdict {
	enum claim_state state;
	bool when_open, target_open, value_open;
};

/* The condition and the right side; the target is in pass->pattern. */
static struct verdict judge(struct backward *pass, const struct line *line)
{
	struct verdict verdict = {.state = CLAIM_DEAD};
	enum failure why = FAILURE_NONE;
	enum truth truth = expr_truth(line->when, &pass->env, &why);
	enum eval check = EVAL_VALUE;

	if (truth == TRUTH_NO)
		return verdict;
	if (line->value)
		check = expr_check(line->value, &pass->env, &why);
	if (check == EVAL_FAIL)
		return verdict;
	verdict.when_open = truth == TRUTH_OPEN;
	verdict.value_open = check == EVAL_OPEN;
	verdict.target_open = pass->pattern.open;
	verdict.state = verdict.when_open || verdict.value_open || verdict.target_open
				? CLAIM_OPEN
				: CLAIM_PROVED;
	return verdict;
}

/* Fills pass->pattern; false: the target surely fails. */
static bool aim(struct backward *pass, const struct line *line)
{
	enum failure why;

	if (line->flags & LINE_SECTION) {
		pass->pattern.open = pass->pattern.any = pass->pattern.below = false;
		pass->pattern.natoms = 0;
		pass->pattern.attr = catalog_section(pass->closure->catalog,
						     pass->reading->stream->index, line->section);
		return true;
	}
	return path_pattern(&line->target, &pass->env, &pass->pattern, &why) != EVAL_FAIL;
}

static bool simple(const struct backward *pass, const struct step_of *step)
{
	return pass->pattern.attr != ATTR_ABSENT && !verb_buries(step->line->verb);
}

/* It has met a certain write above `key`; so has every open question above it. */
static bool shadows(const struct question *question, const struct order *key)
{
	return (question->state == QUESTION_CLOSED || question->state == QUESTION_DONE) &&
	       order_compare(&question->closed, key) > 0;
}

/* Is there an open question that the line may answer? */
static bool wanted(struct backward *pass, const struct step_of *step, const struct order *key)
{
	if (simple(pass, step)) {
		for (struct question *q = question_from(pass, pass->pattern.attr, key); q;
		     q = q->same) {
			if (q->state == QUESTION_OPEN)
				return true;
			if (shadows(q, key))
				return false;
		}
		return false;
	}
	if (pass->pattern.attr != ATTR_ABSENT)
		return pass->pattern.attr < pass->nopen_below &&
		       pass->open_below[pass->pattern.attr] > 0;
	for (size_t i = 0; i < pass->nlive; i++) {
		const struct question *q = pass->live[i];

		if (q->state == QUESTION_OPEN && order_compare(&q->key, key) > 0 &&
		    shape_bits_have(&step->writes, q->bit) &&
		    pattern_covers(&pass->pattern, pass->attrs, q->attr,
				   verb_buries(step->line->verb)) != COVER_NO)
			return true;
	}
	return false;
}

static void remember_target(struct backward *pass, struct claim *claim)
{
	size_t size = offsetof(struct pattern, atoms) +
		      pass->pattern.natoms * sizeof pass->pattern.atoms[0];

	claim->attr = pass->pattern.attr;
	claim->pattern = NULL;
	if (simple(pass, claim->step))
		return;
	claim->pattern = arena_alloc(pass->arena, size);
	memcpy(claim->pattern, &pass->pattern, size);
}

static void ask(struct backward *pass, struct claim *claim, const struct verdict *verdict)
{
	const struct line *line = claim->step->line;

	if (verdict->target_open)
		path_reads(&line->target, &pass->env, ask_read, pass);
	if (verdict->when_open)
		expr_reads(line->when, &pass->env, ask_read, pass);
	if (verdict->value_open)
		expr_reads(line->value, &pass->env, ask_read, pass);
}

/* ---- proof ---- */

static bool scanned(const struct backward *pass, const struct order *key)
{
	if (pass->standing && same_event(key, &pass->item.order))
		return key->slot >= pass->slot;
	return order_compare(key, &pass->reached) >= 0;
}

/*
 * A `was` with nothing undecided above it, met where the pass stands, and of a value known now: the
 * question keeps it and stays open.
 */
static bool keep_was(struct backward *pass, struct question *question, struct claim *claim)
{
	if (claim->event || !claim->has_value || claim_between(pass, question, &claim->key))
		return false;
	if (claim->value.kind != VALUE_UNKNOWN)
		question->was = claim;
	return true;
}

static bool offer(struct backward *pass, struct question *question, struct claim *claim)
{
	if (order_compare(&question->key, &claim->key) <= 0)
		return false;
	if (question->state == QUESTION_OPEN) {
		if (!scanned(pass, &claim->key))
			return false;
		if (claim->step->line->verb == VERB_WAS && keep_was(pass, question, claim))
			return false;
	} else if (question->state != QUESTION_CLOSED || question->round < claim->round ||
		   order_compare(&question->fact.low, &claim->key) >= 0) {
		return false;
	}
	question_close(pass, question, claim);
	return true;
}

static bool offer_all(struct backward *pass, struct claim *claim)
{
	bool taken = false;
	struct question *next;

	if (claim->pattern) {
		for (size_t i = 0; i < pass->nlive; i++)
			if (pattern_covers(claim->pattern, pass->attrs, pass->live[i]->attr,
					   true) == COVER_YES)
				taken = offer(pass, pass->live[i], claim) || taken;
		return taken;
	}
	for (struct question *q = question_from(pass, claim->attr, &claim->key); q; q = next) {
		next = q->same;
		if (shadows(q, &claim->key))
			break;
		taken = offer(pass, q, claim) || taken;
	}
	return taken;
}

static bool try_value(struct backward *pass, struct claim *claim)
{
	enum failure why;

	if (claim->has_value || !claim->step->line->value)
		return true;
	read_as(pass, claim->event, &claim->read_key, claim);
	if (expr_eval(claim->step->line->value, &pass->env, &claim->value, &why) != EVAL_VALUE)
		return false;
	if (claim->value.kind == VALUE_STRING)
		claim->value.text = arena_strndup(pass->arena, claim->value.text, claim->value.len);
	claim->has_value = true;
	return true;
}

/* The right side of a proved claim; false: it was asked for what it reads. */
bool claim_value(struct backward *pass, struct claim *claim)
{
	if (try_value(pass, claim))
		return true;
	capture(pass, claim);
	expr_reads(claim->step->line->value, &pass->env, ask_read, pass);
	return false;
}

static void prove(struct backward *pass, struct claim *claim)
{
	claim->state = CLAIM_PROVED;
	if (claim->step->line->verb == VERB_WAS)
		try_value(pass, claim);
	if (offer_all(pass, claim))
		claim_value(pass, claim);
}

/* ---- the two ways to a verdict ---- */

static struct claim *claim_new(struct backward *pass, const struct step_of *step)
{
	struct claim *claim = arena_alloc(pass->arena, sizeof *claim);

	claim->step = step;
	claim->round = pass->round;
	claim->key = order_slot(pass->item.order, step->slot);
	claim->read_key = order_slot(pass->item.order, step->read_slot);
	claim->stream = pass->item.stream;
	claim->writer = writer_of(&pass->item);
	claim->writer.line = step->line->id;
	remember_target(pass, claim);
	return claim;
}

/* A line at the event where the pass stands. */
void claim_look(struct backward *pass, const struct step_of *step)
{
	struct order key = order_slot(pass->item.order, step->slot);
	struct order read_key = order_slot(pass->item.order, step->read_slot);
	struct verdict verdict;
	struct claim *claim;

	read_as(pass, NULL, &read_key, NULL);
	if (!aim(pass, step->line) || !wanted(pass, step, &key))
		return;
	verdict = judge(pass, step->line);
	if (verdict.state == CLAIM_DEAD)
		return;
	claim = claim_new(pass, step);
	pass->asker.claim = claim;
	if (verdict.state == CLAIM_PROVED) {
		prove(pass, claim);
		return;
	}
	if (!claims_insert(pass, claim))
		return;
	capture(pass, claim);
	ask(pass, claim, &verdict);
	if (!verdict.when_open && !verdict.value_open && step->line->verb != VERB_WAS)
		claim_keys(pass, claim);
	pass->new_claims = mem_grow(pass->new_claims, pass->nnew_claims, &pass->new_claims_capacity,
				    sizeof(struct claim *));
	pass->new_claims[pass->nnew_claims++] = claim;
}

static void decided(struct backward *pass, struct claim *claim, enum claim_state state)
{
	claim->state = state;
	claims_remove(pass, claim);
	if (state == CLAIM_PROVED)
		prove(pass, claim);
	wake(pass, &claim->watchers);
}

/* One of its questions was answered. */
void claim_again(struct backward *pass, struct claim *claim)
{
	struct verdict verdict = {.state = CLAIM_DEAD};

	if (claim->state == CLAIM_DEAD)
		return;
	if (claim->state == CLAIM_PROVED) {
		if (claim_value(pass, claim))
			wake(pass, &claim->watchers);
		return;
	}
	read_as(pass, claim->event, &claim->read_key, claim);
	if (aim(pass, claim->step->line))
		verdict = judge(pass, claim->step->line);
	claim->prunes = false; /* it may know more of its keys now */
	if (verdict.state != CLAIM_DEAD)
		remember_target(pass, claim);
	if (verdict.state == CLAIM_OPEN)
		ask(pass, claim, &verdict);
	else
		decided(pass, claim, verdict.state);
}
