/*
 * resolve.c - answers questions whose newest certain write is known
 *
 * If pending writes above that write are undecided, the question waits for the newest of them. Then
 * it may wait for the written value and, for a `was`, for the value before it. If the write was
 * only nearly certain and has failed, the question gets the answer of one below it.
 */
#include "state/backward/internal.h"

static void bottom(struct backward *pass, const struct question *question, struct fact *fact)
{
	const struct cells *base = pass->base;
	uint32_t stream, section;
	struct cell cell;

	fact->since = NSTIME_MIN;
	fact->writer.class_index = fact->writer.line = UINT32_MAX;
	fact->value = (struct value){.kind = VALUE_UNKNOWN};
	if (catalog_section_of(pass->closure->catalog, question->attr, &stream, &section)) {
		if (base)
			cells_section(base, stream, section, &fact->value, &fact->written);
		return;
	}
	if (!base) {
		if (!program_initial(pass->program, question->attr, &fact->value))
			fact->value.kind = VALUE_UNKNOWN;
		return;
	}
	cells_get(base, question->attr, &cell);
	fact->value = cell.value;
	fact->since = cell.since;
	fact->written = cell.written;
	fact->named = cell.named;
	fact->writer = cell.writer;
}

static void fill_fact(struct backward *pass, const struct pending_write *was, struct fact *fact)
{
	if (fact->value.kind != VALUE_UNKNOWN || was->value.kind == VALUE_UNKNOWN)
		return;
	fact->value = was->value;
	if (!event_source_fill_begin(pass->options.event_source, was->stream,
				     was->writer.class_index, &was->key, fact->since, &fact->since,
				     pass->err))
		pass->failed = true;
	fact->written = fact->named = true;
	fact->writer = was->writer;
}

/* The value just before `best`; false: not known yet. */
static bool below(struct backward *pass, struct question *question, struct fact *fact)
{
	struct pending_write *best = question->best;
	const struct fact *found = question_fact(pass, question->attr, &best->key);

	if (!found) {
		wait_for(pass, &question_ask(pass, question->attr, &best->key)->waiters,
			 (struct waiter){.question = question});
		return false;
	}
	*fact = *found;
	return true;
}

/* The value before a `was` or, if that is unknown, the one that the `was` fills in. */
static bool below_was(struct backward *pass, struct question *question, struct fact *fact)
{
	struct order low = fact->low;

	if (!below(pass, question, fact))
		return false;
	fact->low = low;
	fill_fact(pass, question->best, fact);
	return true;
}

static bool of_best(struct backward *pass, struct question *question, struct fact *fact)
{
	struct pending_write *best = question->best;

	if (!best) {
		bottom(pass, question, fact);
		return true;
	}
	if (best->state == PENDING_DEAD)
		return below(pass, question, fact);
	if (best->state == PENDING_OPEN || !pending_value(pass, best)) {
		wait_for(pass, &best->watchers, (struct waiter){.question = question});
		return false;
	}
	if (best->step->line->verb == VERB_WAS)
		return below_was(pass, question, fact);
	fact->value = best->value;
	if (best->step->line->verb == VERB_DELETE)
		fact->value.kind = VALUE_NONE;
	fact->since = best->key.time;
	fact->written = true;
	fact->named = best->step->line->value != NULL;
	fact->writer = best->writer;
	return true;
}

static void resolve(struct backward *pass, struct question *question)
{
	struct fact fact = {.low = question->fact.low};
	struct pending_write *pending;

	if (question->state != QUESTION_CLOSED)
		return;
	pending = pending_between(pass, question, &question->fact.low);
	if (pending) {
		wait_for(pass, &pending->watchers, (struct waiter){.question = question});
		return;
	}
	if (!of_best(pass, question, &fact))
		return;
	if (question->was && fact.value.kind == VALUE_UNKNOWN) {
		fill_fact(pass, question->was, &fact);
		fact.low = question->was->key;
	}
	question->fact = fact;
	question_done(pass, question);
}

void resolve_all(struct backward *pass)
{
	while (pass->work.count && !pass->gave_up && !pass->failed) {
		struct waiter next = pass->work.items[--pass->work.count];

		if (next.question) {
			next.question->queued = false;
			resolve(pass, next.question);
		} else {
			next.pending->queued = false;
			pending_again(pass, next.pending);
		}
	}
}
