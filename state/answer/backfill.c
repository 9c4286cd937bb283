/*
 * backfill.c - see backfill.h
 *
 * The first event after the moment that writes the attribute decides: if it is a `was` with a known
 * value, and its fill begins in time, the attribute had that value; else it was unknown
 * (forward_scan.h).
 */
#include "state/answer/backfill.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"
#include "state/answer/forward_scan.h"

struct backfill_look {
	uint32_t attr;
	uint32_t older; /* 1 + index of the attribute's look before */
	const struct moment *moment;
	struct fact fact;
	bool done;
};

struct backfill {
	struct forward_scan scan;
	struct forward_scan_reader reader;
	struct backfill_look *looks;
	size_t nlooks, looks_capacity;
	struct number_map places;    /* attribute → 1 + index of its newest look */
	const struct moment *moment; /* the present moment, */
	size_t first;                /* and index of its first look */
	size_t nwaiting, looked_for; /* looks not done: now; when the filter was set */
};

/* The look of the attribute at the moment; NULL: there is none. */
static struct backfill_look *find_look(const struct backfill *filler, uint32_t attr,
				       const struct moment *moment)
{
	uint32_t i = number_map_get(&filler->places, attr);

	while (i && filler->looks[i - 1].moment != moment)
		i = filler->looks[i - 1].older;
	return i ? &filler->looks[i - 1] : NULL;
}

static bool is_waiting(void *arg, uint32_t attr)
{
	const struct backfill *filler = arg;
	const struct backfill_look *look = find_look(filler, attr, filler->moment);

	return look && !look->done;
}

static bool fill_before(struct backfill *filler, struct backfill_look *look,
			const struct scan_write *was)
{
	struct forward_scan *scan = &filler->scan;
	nstime begin;

	if (!forward_scan_fill_begin(scan, look->fact.since, &begin))
		return false;
	if (begin > moment_time(look->moment))
		return true;
	look->fact.value = was->value;
	attrs_keep(scan->state->attrs, &look->fact.value);
	look->fact.since = begin;
	look->fact.written = look->fact.named = true;
	look->fact.writer = writer_of(&scan->item);
	look->fact.writer.line = was->line;
	return true;
}

/* Narrows the scan to attributes whose looks are not done. */
static void look_for_waiting(struct backfill *filler)
{
	uint32_t *attrs = mem_new_array(filler->nlooks - filler->first, sizeof *attrs);
	size_t count = 0;

	for (size_t i = filler->first; i < filler->nlooks; i++)
		if (!filler->looks[i].done && filler->looks[i].moment == filler->moment)
			attrs[count++] = filler->looks[i].attr;
	filler->nwaiting = filler->looked_for = count;
	forward_scan_look_for(&filler->scan, attrs, count);
	mem_free(attrs);
}

/* May a later event fill the moment? Streams that had a loss since then do not. */
static bool may_fill(const struct backfill *filler)
{
	nstime at = moment_time(filler->moment);

	return at == NSTIME_MAX || forward_scan_may_fill(&filler->scan, at + 1);
}

static enum step see_item(void *arg, struct scan_write *writes, size_t count)
{
	struct backfill *filler = arg;

	for (size_t i = 0; i < count; i++) {
		const struct scan_write *write = &writes[i];
		struct backfill_look *look = find_look(filler, write->attr, filler->moment);

		if (look->done || (write->was && write->value.kind == VALUE_UNKNOWN && !write->beyond))
			continue;
		look->fact.beyond = write->beyond;
		look->done = true;
		filler->nwaiting--;
		if (write->was && !write->beyond && !fill_before(filler, look, write))
			return STEP_ERROR;
	}
	if (!filler->nwaiting || (filler->scan.item.kind == ITEM_LOSS && !may_fill(filler)))
		return STEP_END;
	if (filler->nwaiting <= filler->looked_for / 2)
		look_for_waiting(filler);
	return STEP_ITEM;
}

struct backfill *backfill_new(struct state *state, const struct closure *closure, nstime earliest)
{
	struct backfill *filler = mem_new(sizeof *filler);

	filler->reader = (struct forward_scan_reader){
		.concerns = is_waiting, .item = see_item, .no_values = true, .arg = filler};
	forward_scan_begin(&filler->scan, state, closure, earliest, &filler->reader);
	return filler;
}

void backfill_free(struct backfill *filler)
{
	if (!filler)
		return;
	forward_scan_end(&filler->scan);
	mem_free(filler->looks);
	mem_free(filler->places.items);
	mem_free(filler);
}

/* Decides all looks of one moment; those that find no fill stay unknown. */
static enum outcome look_from(struct backfill *filler)
{
	const struct horizon *horizon = filler->scan.state->horizon;
	nstime ceil = horizon ? horizon->ceil : NSTIME_MAX;
	enum outcome outcome = OUTCOME_DONE;

	if (filler->scan.visits > filler->scan.state->limits.visits)
		return OUTCOME_GAVE_UP;
	look_for_waiting(filler);
	forward_scan_begins(&filler->scan);
	if (may_fill(filler))
		outcome = forward_scan_run(&filler->scan, moment_order(filler->moment),
					   horizon_end(horizon));
	for (size_t i = filler->first; i < filler->nlooks; i++) {
		struct backfill_look *look = &filler->looks[i];

		if (look->done || look->moment != filler->moment)
			continue;
		look->done = true;
		look->fact.beyond = ceil < NSTIME_MAX && may_fill(filler);
	}
	return outcome;
}

bool backfill_answer(struct backfill *filler, uint32_t attr, const struct moment *moment,
		     struct fact *fact)
{
	const struct state *state = filler->scan.state;
	struct backfill_look *look = find_look(filler, attr, moment);

	if (!catalog_was(state->catalog, attr_shape(state->attrs, attr)))
		return true;
	if (look) {
		if (look->done)
			*fact = look->fact;
		return look->done;
	}
	*mem_push(filler->looks, filler->nlooks, filler->looks_capacity) =
		(struct backfill_look){.attr = attr,
				       .older = number_map_get(&filler->places, attr),
				       .moment = moment,
				       .fact = *fact};
	number_map_set(&filler->places, attr, (uint32_t)filler->nlooks);
	return false;
}

enum outcome backfill_run(struct backfill *filler, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;

	filler->scan.err = err;
	for (size_t i = 0; i < filler->nlooks && outcome == OUTCOME_DONE; i++) {
		if (filler->looks[i].done)
			continue;
		filler->first = i;
		filler->moment = filler->looks[i].moment;
		outcome = look_from(filler);
	}
	return outcome;
}
