/*
 * questions.c - the table of questions, and when two of them can be merged
 *
 * Questions of one attribute are ordered by key. As the pass reads down, new ones have the least
 * keys, so most insertions are at one end.
 */
#include "engine/base/bitset.h"
#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/backward/internal.h"
#include "state/events/event_filter.h"

#include <string.h>

size_t list_add(struct question_list *list, struct question *question)
{
	*mem_push(list->items, list->count, list->capacity) = question;
	return list->count - 1;
}

/* Number of questions with a key of at least `key`; they come first. */
static size_t at_or_above(const struct question_list *asked, const struct order *key)
{
	const size_t count = asked->count;

	if (count && order_compare(&asked->items[count - 1]->key, key) >= 0)
		return count;
	return search_first(i, 0, count, order_compare(&asked->items[i]->key, key) >= 0);
}

static struct asked_questions *asked_of(struct backward *pass, uint32_t attr)
{
	uint32_t place = number_map_get(&pass->asked_of, attr);

	return place ? &pass->asked[place - 1] : NULL;
}

struct upward questions_from(struct backward *pass, uint32_t attr, const struct order *key)
{
	const struct asked_questions *asked = asked_of(pass, attr);

	if (!asked)
		return (struct upward){NULL, 0};
	return (struct upward){asked->begun.items, at_or_above(&asked->begun, key)};
}

/* Inserts in order of keys. */
static void insert(struct question_list *list, struct question *question)
{
	size_t i = at_or_above(list, &question->key), last = list_add(list, question);

	memmove(&list->items[i + 1], &list->items[i], (last - i) * sizeof *list->items);
	list->items[i] = question;
}

static void add_asked(struct backward *pass, struct question *question)
{
	if (!asked_of(pass, question->attr)) {
		*mem_push(pass->asked, pass->nasked, pass->asked_capacity) =
			(struct asked_questions){0};
		number_map_set(&pass->asked_of, question->attr, (uint32_t)pass->nasked);
	}
	insert(&asked_of(pass, question->attr)->all, question);
}

static bool is_begun(enum question_state state)
{
	return state != QUESTION_LATER && state != QUESTION_MERGED;
}

static void set_state(struct backward *pass, struct question *question, enum question_state state)
{
	struct question_list *begun = &asked_of(pass, question->attr)->begun;
	bool was = is_begun(question->state), is = is_begun(state);

	question->state = state;
	if (is && !was) {
		insert(begun, question);
	} else if (was && !is) {
		size_t i = at_or_above(begun, &question->key);

		begun->count--;
		memmove(&begun->items[i - 1], &begun->items[i],
			(begun->count + 1 - i) * sizeof *begun->items);
	}
}

struct question *question_final(struct question *question)
{
	while (question->state == QUESTION_MERGED) {
		if (question->merged->state == QUESTION_MERGED)
			question->merged = question->merged->merged;
		question = question->merged;
	}
	return question;
}

/*
 * Does the question have a write at or above `key`? Then no question further up has the answer at
 * `key`.
 */
static bool is_wall(const struct question *question, const struct order *key)
{
	return (question->state == QUESTION_CLOSED || question->state == QUESTION_DONE) &&
	       order_compare(&question->fact.low, key) >= 0;
}

/*
 * Going up from `key`: returns a DONE question with the same answer as one at `key`, since nothing
 * was written in between; NULL: none.
 */
static struct question *done_above(struct upward walk, const struct order *key)
{
	for (struct question *q; (q = upward_next(&walk)) && !is_wall(q, key);)
		if (q->state == QUESTION_DONE)
			return q;
	return NULL;
}

/*
 * The same for a question, not `self`, that is OPEN or BEYOND, if nothing may have been written in
 * between.
 */
static struct question *open_above(struct backward *pass, struct upward walk,
				   const struct question *self, const struct order *key)
{
	for (struct question *q; (q = upward_next(&walk)) && !is_wall(q, key);)
		if (q != self && (q->state == QUESTION_OPEN || q->state == QUESTION_BEYOND))
			return q->was || pending_between(pass, q, key) ? NULL : q;
	return NULL;
}

struct question *question_above(struct backward *pass, uint32_t attr, const struct order *key)
{
	return open_above(pass, questions_from(pass, attr, key), NULL, key);
}

const struct fact *question_fact(struct backward *pass, uint32_t attr, const struct order *key)
{
	const struct question *done = done_above(questions_from(pass, attr, key), key);

	return done ? &done->fact : NULL;
}

struct order base_order(const struct backward *pass)
{
	return order_before(pass->options.has_base ? pass->options.base_time : pass->floor);
}

static void work_add(struct backward *pass, struct waiter who)
{
	struct waiters *work = &pass->work;
	bool *queued = who.question ? &who.question->queued : &who.pending->queued;

	if (*queued)
		return;
	*queued = true;
	*mem_push(work->items, work->count, work->capacity) = who;
}

void wake(struct backward *pass, struct waiter **list)
{
	for (struct waiter *w = *list; w; w = w->next)
		work_add(pass, *w);
	*list = NULL;
}

void wait_for(struct backward *pass, struct waiter **list, struct waiter who)
{
	if (*list && (*list)->pending == who.pending && (*list)->question == who.question)
		return;
	who.next = *list;
	*list = arena_copy(pass->arena, &who, 1, sizeof who);
}

/*
 * Counts an open question more (1) or less (-1), also at each attribute above, for deletes of
 * subtrees.
 */
static void count_open(struct backward *pass, const struct question *question, int more)
{
	uint32_t bit = question->bit, attr = question->attr;

	pass->open_below =
		mem_reach(pass->open_below, attr, &pass->nopen_below, sizeof *pass->open_below);
	for (; attr != ATTR_ABSENT; attr = attr_parent(pass->attrs, attr))
		pass->open_below[attr] += (uint32_t)more;
	pass->nopen += (size_t)more;
	pass->open_per_bit[bit] += (uint32_t)more;
	if (pass->open_per_bit[bit])
		bitset_add(pass->open_bits, bit);
	else
		bitset_remove(pass->open_bits, bit);
}

/* For pruning: notes the least key of the questions that stay open. */
static void note_opened(struct backward *pass, const struct question *question)
{
	struct order *least = &pass->opened[question->bit];

	if (order_compare(&question->key, least) < 0)
		*least = question->key;
}

static void live_remove(struct backward *pass, struct question *question)
{
	struct question *last = pass->live.items[--pass->live.count];

	pass->live.items[question->place] = last;
	last->place = question->place;
}

static void question_open(struct backward *pass, struct question *question)
{
	set_state(pass, question, QUESTION_OPEN);
	question->round = pass->round;
	question->place = (uint32_t)list_add(&pass->live, question);
	count_open(pass, question, 1);
}

/* At a round's end: open questions become LATER, and begin again in another round. */
void questions_suspend(struct backward *pass)
{
	for (size_t i = pass->live.count; i-- > 0;) {
		struct question *question = pass->live.items[i];

		if (question->state != QUESTION_OPEN)
			continue;
		count_open(pass, question, -1);
		live_remove(pass, question);
		set_state(pass, question, QUESTION_LATER);
		question->was = NULL;
		question_later(pass, question);
	}
}

void question_beyond(struct backward *pass, struct question *question)
{
	if (question->state == QUESTION_OPEN) {
		count_open(pass, question, -1);
		live_remove(pass, question);
	}
	set_state(pass, question, QUESTION_BEYOND);
}

void question_close(struct backward *pass, struct question *question, struct pending_write *best)
{
	if (question->state == QUESTION_OPEN)
		count_open(pass, question, -1);
	set_state(pass, question, QUESTION_CLOSED);
	question->best = best;
	question->fact.low = best ? best->key : base_order(pass);
	work_add(pass, (struct waiter){.question = question});
}

void question_done(struct backward *pass, struct question *question)
{
	live_remove(pass, question);
	set_state(pass, question, QUESTION_DONE);
	wake(pass, &question->waiters);
}

static void merge_into(struct backward *pass, struct question *question, struct question *into)
{
	while (question->waiters) {
		struct waiter *waiter = question->waiters;

		question->waiters = waiter->next;
		wait_for(pass, &into->waiters, *waiter);
	}
	question->merged = into;
	set_state(pass, question, QUESTION_MERGED);
}

/* Opens a question at the present event, whose lines above it may not be evaluated yet. */
static void open_fresh(struct backward *pass, struct question *question)
{
	question_open(pass, question);
	list_add(&pass->fresh, question);
}

/* Begins a question: the pass has reached its key. */
void question_begin(struct backward *pass, struct question *question)
{
	struct upward walk = questions_from(pass, question->attr, &question->key);
	struct question *q;

	if (pass->entering && same_event(&question->key, &pass->item.order)) {
		open_fresh(pass, question);
		return;
	}
	q = done_above(walk, &question->key);
	if (!q)
		q = open_above(pass, walk, question, &question->key);
	if (!q) {
		question_open(pass, question);
		note_opened(pass, question);
		return;
	}
	merge_into(pass, question, q);
	if (q->state == QUESTION_DONE)
		wake(pass, &q->waiters);
}

void questions_merge_fresh(struct backward *pass)
{
	for (size_t i = 0; i < pass->fresh.count; i++) {
		struct question *question = pass->fresh.items[i], *into = NULL;

		if (question->state == QUESTION_OPEN && !question->was &&
		    question->key.slot >= pass->merge_slot)
			into = open_above(pass,
					  questions_from(pass, question->attr, &question->key),
					  question, &question->key);
		if (!into) {
			note_opened(pass, question);
			continue;
		}
		count_open(pass, question, -1);
		live_remove(pass, question);
		merge_into(pass, question, into);
	}
	pass->fresh.count = 0;
}

bool same_event(const struct order *a, const struct order *b)
{
	return a->time == b->time && a->rank == b->rank && a->source == b->source &&
	       a->offset == b->offset && a->index == b->index;
}

/* Is the key within the present event, above the lines that are not evaluated yet? */
static bool begins_here(const struct backward *pass, const struct order *key)
{
	return pass->standing && same_event(key, &pass->item.order) && key->slot <= pass->slot;
}

/* Were all lines above `key` evaluated? */
static bool looked_above(const struct backward *pass, const struct order *key)
{
	if (pass->standing && same_event(key, &pass->item.order))
		return pass->merging;
	return order_compare(key, &pass->reached) >= 0;
}

static bool above(const struct question *a, const struct question *b)
{
	return order_compare(&a->key, &b->key) > 0;
}

/* Sifts a question into the heap, from a free place. */
static void questions_settle(struct question_list *later, size_t hole, struct question *question)
{
	heap_settle(later->items, later->count, hole, question, a, b, above(*a, *b), place,
		    (void)0);
}

void question_later(struct backward *pass, struct question *question)
{
	const struct order *stand = pass->standing ? &pass->item.order : &pass->reached;

	pass->spent = false;
	if (order_compare(&question->key, stand) > 0) {
		list_add(&pass->missed, question);
		return;
	}
	questions_settle(&pass->later, list_add(&pass->later, question), question);
}

/* Removes the question with the greatest key. */
struct question *question_take(struct backward *pass)
{
	struct question **heap = pass->later.items, *first = heap[0];

	questions_settle(&pass->later, 0, heap[--pass->later.count]);
	return first;
}

static struct question *question_new(struct backward *pass, uint32_t attr, uint32_t bit,
				     const struct order *key)
{
	struct question *question = arena_alloc(pass->arena, sizeof *question);

	question->attr = attr;
	if (bit == ATTR_ABSENT)
		pass->gave_up = true; /* the pass was not made for this shape */
	else
		question->bit = bit;
	question->key = *key;
	add_asked(pass, question);
	if (pass->event_source.range.event_filter && pass->event_source.cursor &&
	    !event_filter_has(pass->event_source.range.event_filter, attr)) {
		event_filter_add(pass->event_source.range.event_filter, attr);
		pass->wider = true;
	}
	if (begins_here(pass, key)) {
		open_fresh(pass, question);
		return question;
	}
	question_later(pass, question);
	return question;
}

struct question *question_ask(struct backward *pass, uint32_t attr, const struct order *key)
{
	uint32_t bit = closure_bit(pass->closure, attr_shape(pass->attrs, attr));
	const struct asked_questions *asked = asked_of(pass, attr);
	size_t count = asked ? at_or_above(&asked->all, key) : 0;
	struct upward walk = questions_from(pass, attr, key);
	struct question *q = count ? asked->all.items[count - 1] : NULL;

	if (q && order_compare(&q->key, key) == 0)
		return question_final(q);
	q = done_above(walk, key);
	if (!q && looked_above(pass, key))
		q = open_above(pass, walk, NULL, key);
	return q ? q : question_new(pass, attr, bit, key);
}

void questions_release(struct backward *pass)
{
	for (size_t i = 0; i < pass->nasked; i++) {
		mem_free(pass->asked[i].all.items);
		mem_free(pass->asked[i].begun.items);
	}
	mem_free(pass->asked);
	mem_free(pass->asked_of.items);
	mem_free(pass->open_below);
	mem_free(pass->live.items);
	mem_free(pass->later.items);
	mem_free(pass->missed.items);
	mem_free(pass->fresh.items);
	mem_free(pass->roots.items);
	mem_free(pass->new_pending);
	mem_free(pass->of_line);
	mem_free(pass->work.items);
	mem_free(pass->open_per_bit);
	mem_free(pass->pending_per_bit);
	mem_free(pass->open_bits);
	mem_free(pass->opened);
	mem_free(pass->failing);
}
