/*
 * pending.c - decides whether lines at events write: refused, proved, or pending
 *
 * A line is refused if it certainly fails or its condition is certainly false. It is proved if its
 * target is known, its condition true, and its right side cannot fail. Any other line is pending:
 * it waits for the values that it reads at its own event, and is checked again when one of them is
 * known.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/backward/internal.h"

#include <stddef.h>

static bool may_write(const struct backward *pass, const struct pending_write *pending,
		      uint32_t attr)
{
	if (!pending->pattern)
		return pending->attr == attr;
	return pattern_covers(pending->pattern, pass->attrs, attr,
			      verb_buries(pending->step->line->verb)) != COVER_NO;
}

/*
 * Returns the newest undecided pending write, with low < key < the question's key, that may write
 * the question's attribute; NULL: none. Pending writes of later rounds do not count: the question's
 * own round has evaluated their lines.
 */
struct pending_write *pending_between(const struct backward *pass, const struct question *question,
				      const struct order *low)
{
	uint32_t bit = closure_bit(pass->closure, attr_shape(pass->attrs, question->attr));

	if (bit != ATTR_ABSENT && !pass->pending_per_bit[bit] && !pass->npending_wide)
		return NULL;
	for (struct pending_write *c = pass->newest; c; c = c->older) {
		if (order_compare(&c->key, low) <= 0)
			return NULL;
		if (order_compare(&c->key, &question->key) < 0 && c->round <= question->round &&
		    may_write(pass, c, question->attr))
			return c;
	}
	return NULL;
}

/* The counter of pending writes that counts this one. */
static uint32_t *pending_count(struct backward *pass, const struct pending_write *pending)
{
	const struct line *line = pending->step->line;
	uint32_t bit = verb_buries(line->verb) || line->target.below
			       ? ATTR_ABSENT
			       : closure_bit(pass->closure, line->target.shape);

	return bit == ATTR_ABSENT ? &pass->npending_wide : &pass->pending_per_bit[bit];
}

/* Inserts by key. False: there is one with this key. */
static bool pending_insert(struct backward *pass, struct pending_write *pending)
{
	struct pending_write *above = pass->oldest;

	while (above && order_compare(&above->key, &pending->key) < 0)
		above = above->newer;
	if (above && order_compare(&above->key, &pending->key) == 0)
		return false;
	pending->newer = above;
	pending->older = above ? above->older : pass->newest;
	*(pending->newer ? &pending->newer->older : &pass->newest) = pending;
	*(pending->older ? &pending->older->newer : &pass->oldest) = pending;
	pass->npending++;
	*pending_count(pass, pending) += 1;
	return true;
}

void pending_remove(struct backward *pass, struct pending_write *pending)
{
	*(pending->newer ? &pending->newer->older : &pass->newest) = pending->older;
	*(pending->older ? &pending->older->newer : &pass->oldest) = pending->newer;
	pass->npending--;
	*pending_count(pass, pending) -= 1;
}

/* Sets up evaluation at an event (NULL: the present one): reads are those of asker's line. */
static void read_as(struct backward *pass, const struct capture *event,
		    const struct order *read_key, struct pending_write *asker)
{
	const struct event_item *item = event ? &event->item : &pass->item;

	pass->reading = item;
	pass->read_key = *read_key;
	pass->asker = (struct waiter){.pending = asker};
	pass->env.event = item->stream ? &item->event : NULL;
	pass->env.fields = pass->fields;
	if (event)
		pass->env.fields = event->has_fields ? &event->fields : NULL;
}

static void capture(struct backward *pass, struct pending_write *pending)
{
	const struct fields *fields = NULL;

	if (pending->event)
		return;
	if (!pass->captured) {
		fields = pass->fields ? pass->fields : pass->env.decode(pass, &pass->item.event);
		pass->captured = arena_alloc(pass->arena, sizeof *pass->captured);
		if (!capture_item(&pass->item, fields, pass->arena, pass->captured))
			pass->gave_up = true;
	}
	pending->event = pass->captured;
}

struct verdict {
	enum pending_state state;
	bool when_open, target_open, value_open;
};

/* Evaluates condition and right side; the target is in pass->pattern. */
static struct verdict pending_judge(struct backward *pass, const struct line *line)
{
	struct verdict verdict = {.state = PENDING_DEAD};
	enum eval holds = expr_holds(line->when, &pass->env), gives;

	if (holds == EVAL_FAIL)
		return verdict;
	gives = line_gives(line, &pass->env, NULL);
	if (gives == EVAL_FAIL)
		return verdict;
	verdict.when_open = holds == EVAL_OPEN;
	verdict.value_open = gives == EVAL_OPEN;
	verdict.target_open = pass->pattern.open;
	verdict.state = verdict.when_open || verdict.value_open || verdict.target_open
				? PENDING_OPEN
				: PENDING_PROVED;
	return verdict;
}

/* Evaluates the target into pass->pattern; false: it certainly fails. */
static bool aim(struct backward *pass, const struct line *line)
{
	if (line->flags & LINE_SECTION) {
		pass->pattern.open = pass->pattern.any = pass->pattern.below = false;
		pass->pattern.natoms = 0;
		pass->pattern.attr = catalog_section(pass->closure->catalog,
						     pass->reading->stream->index, line->section);
		return true;
	}
	return path_pattern(&line->target, &pass->env, &pass->pattern) != EVAL_FAIL;
}

static bool simple(const struct backward *pass, const struct step_of *step)
{
	return pass->pattern.attr != ATTR_ABSENT && !verb_buries(step->line->verb);
}

/*
 * Has the question a certain write above `key`, so that no line below matters? So then has every
 * open question above it.
 */
static bool shadows(const struct question *question, const struct order *key)
{
	const struct pending_write *best = question->best; /* set if CLOSED or DONE */

	return best && best->state == PENDING_PROVED && best->step->line->verb != VERB_WAS &&
	       order_compare(&best->key, key) > 0;
}

/* Is there an open question that the line may answer? */
static bool wanted(struct backward *pass, const struct step_of *step, const struct order *key)
{
	if (simple(pass, step)) {
		struct upward walk = questions_from(pass, pass->pattern.attr, key);
		for (const struct question *q; (q = upward_next(&walk));) {
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
	for (size_t i = 0; i < pass->live.count; i++) {
		const struct question *q = pass->live.items[i];

		if (q->state == QUESTION_OPEN && order_compare(&q->key, key) > 0 &&
		    step_writes(step, q->bit) &&
		    pattern_covers(&pass->pattern, pass->attrs, q->attr,
				   verb_buries(step->line->verb)) != COVER_NO)
			return true;
	}
	return false;
}

static void remember_target(struct backward *pass, struct pending_write *pending)
{
	size_t size = offsetof(struct pattern, atoms) +
		      pass->pattern.natoms * sizeof pass->pattern.atoms[0];

	pending->attr = pass->pattern.attr;
	pending->pattern = NULL;
	if (simple(pass, pending->step))
		return;
	pending->pattern = arena_copy(pass->arena, &pass->pattern, 1, size);
}

/* Asks questions for open values that the right side reads. */
static void ask_value(struct backward *pass, const struct line *line)
{
	struct value value;

	pass->asks = true;
	line_gives(line, &pass->env, &value);
	pass->asks = false;
}

static void ask_reads(struct backward *pass, const struct line *line, const struct verdict *verdict)
{
	pass->asks = true;
	if (verdict->target_open)
		aim(pass, line);
	if (verdict->when_open)
		expr_holds(line->when, &pass->env);
	pass->asks = false;
	if (verdict->value_open)
		ask_value(pass, line);
}

/* ---- proof ---- */

static bool scanned(const struct backward *pass, const struct order *key)
{
	if (pass->standing && same_event(key, &pass->item.order))
		return key->slot >= pass->slot;
	return order_compare(key, &pass->reached) >= 0;
}

/*
 * Stores a `was` as question->was, if nothing above it is undecided, it is at the present event,
 * and its value is known. The question then stays open. False: it does not.
 */
static bool keep_was(struct backward *pass, struct question *question,
		     struct pending_write *pending)
{
	if (pending->event || !pending->has_value || pending_between(pass, question, &pending->key))
		return false;
	if (pending->value.kind != VALUE_UNKNOWN)
		question->was = pending;
	return true;
}

static bool offer(struct backward *pass, struct question *question, struct pending_write *pending)
{
	if (order_compare(&question->key, &pending->key) <= 0)
		return false;
	if (question->state == QUESTION_OPEN) {
		if (!scanned(pass, &pending->key))
			return false;
		if (pending->step->line->verb == VERB_WAS && keep_was(pass, question, pending))
			return false;
	} else if (question->state != QUESTION_CLOSED || question->round < pending->round ||
		   order_compare(&question->fact.low, &pending->key) >= 0) {
		return false;
	}
	question_close(pass, question, pending);
	return true;
}

static bool offer_all(struct backward *pass, struct pending_write *pending)
{
	bool taken = false;

	if (pending->pattern) {
		for (size_t i = 0; i < pass->live.count; i++)
			if (pattern_covers(pending->pattern, pass->attrs, pass->live.items[i]->attr,
					   true) == COVER_YES)
				taken = offer(pass, pass->live.items[i], pending) || taken;
		return taken;
	}
	struct upward walk = questions_from(pass, pending->attr, &pending->key);
	for (struct question *q; (q = upward_next(&walk));) {
		if (shadows(q, &pending->key))
			break;
		taken = offer(pass, q, pending) || taken;
	}
	return taken;
}

static bool try_value(struct backward *pass, struct pending_write *pending)
{
	if (pending->has_value || !pending->step->line->value)
		return true;
	read_as(pass, pending->event, &pending->read_key, pending);
	if (line_gives(pending->step->line, &pass->env, &pending->value) != EVAL_VALUE)
		return false;
	pending->value = value_copy(pass->arena, &pending->value);
	pending->has_value = true;
	return true;
}

/* Evaluates the right side of a proved write. False: it is open, and questions were asked. */
bool pending_value(struct backward *pass, struct pending_write *pending)
{
	if (try_value(pass, pending))
		return true;
	capture(pass, pending);
	ask_value(pass, pending->step->line);
	return false;
}

static void prove(struct backward *pass, struct pending_write *pending)
{
	pending->state = PENDING_PROVED;
	if (pending->step->line->verb == VERB_WAS)
		try_value(pass, pending);
	if (offer_all(pass, pending))
		pending_value(pass, pending);
}

/* ---- the two ways to a verdict ---- */

static struct pending_write *pending_new(struct backward *pass, const struct step_of *step)
{
	struct pending_write *pending = arena_alloc(pass->arena, sizeof *pending);

	pending->step = step;
	pending->round = pass->round;
	pending->key = order_slot(pass->item.order, step->slot);
	pending->read_key = order_slot(pass->item.order, step->read_slot);
	pending->stream = pass->item.stream;
	pending->writer = writer_of(&pass->item);
	pending->writer.line = step->line->id;
	remember_target(pass, pending);
	return pending;
}

/*
 * For a line with known target and true condition, whose right side may still fail, which is rare:
 * closes the questions that it would answer, so that nothing older is searched. If it fails, they
 * continue below it.
 */
static void expect_value(struct backward *pass, struct pending_write *pending)
{
	struct upward walk = questions_from(pass, pending->attr, &pending->key);

	for (struct question *q; (q = upward_next(&walk));)
		if (q->state == QUESTION_OPEN)
			question_close(pass, q, pending);
}

/* False if lines depend on each other in a cycle: the line could wait for itself. */
static bool may_expect(const struct backward *pass, const struct pending_write *pending,
		       const struct verdict *verdict)
{
	const struct line *line = pending->step->line;

	return !pass->closure->cyclic && !verdict->target_open && !verdict->when_open &&
	       !pending->pattern && line->verb != VERB_WAS && !bitset_has(pass->failing, line->id);
}

/* Evaluates a line at the present event. */
void pending_look(struct backward *pass, const struct step_of *step)
{
	struct order key = order_slot(pass->item.order, step->slot);
	struct order read_key = order_slot(pass->item.order, step->read_slot);
	struct verdict verdict;
	struct pending_write *pending;

	read_as(pass, NULL, &read_key, NULL);
	if (!aim(pass, step->line) || !wanted(pass, step, &key))
		return;
	verdict = pending_judge(pass, step->line);
	if (verdict.state == PENDING_DEAD)
		return;
	bool certain = !verdict.when_open && !verdict.value_open && step->line->verb != VERB_WAS;
	if (verdict.target_open && certain && pending_is_lost(pass, step, &key, &read_key))
		return;
	pending = pending_new(pass, step);
	pass->asker.pending = pending;
	if (verdict.state == PENDING_PROVED) {
		prove(pass, pending);
		return;
	}
	if (!pending_insert(pass, pending))
		return;
	capture(pass, pending);
	ask_reads(pass, step->line, &verdict);
	if (may_expect(pass, pending, &verdict))
		expect_value(pass, pending);
	if (certain)
		pending_keys(pass, pending);
	*mem_push(pass->new_pending, pass->nnew_pending, pass->new_pending_capacity) = pending;
}

static void decided(struct backward *pass, struct pending_write *pending, enum pending_state state)
{
	pending->state = state;
	pending_remove(pass, pending);
	if (state == PENDING_PROVED)
		prove(pass, pending);
	else
		bitset_add(pass->failing, pending->step->line->id);
	wake(pass, &pending->watchers);
}

/* Checks a pending write again, after one of its questions was answered. */
void pending_again(struct backward *pass, struct pending_write *pending)
{
	struct verdict verdict = {.state = PENDING_DEAD};

	if (pending->state == PENDING_DEAD)
		return;
	if (pending->state == PENDING_PROVED) {
		if (pending_value(pass, pending))
			wake(pass, &pending->watchers);
		return;
	}
	read_as(pass, pending->event, &pending->read_key, pending);
	if (aim(pass, pending->step->line))
		verdict = pending_judge(pass, pending->step->line);
	pending->prunes = false; /* fewer keys may be open now */
	if (verdict.state != PENDING_DEAD)
		remember_target(pass, pending);
	if (verdict.state == PENDING_OPEN)
		ask_reads(pass, pending->step->line, &verdict);
	else
		decided(pass, pending, verdict.state);
}
