/* shard_start.c - see shard_start.h */
#include "state/timelines/shard_start.h"

#include "engine/base/mem.h"
#include "state/answer/planner.h"
#include "state/backward/backward.h"
#include "state/events/event_filter.h"

enum {
	EVENTS_FIRST = 1 << 10, /* before the first pass: values written soon need none, */
	EVENTS_EACH = 1 << 15   /* and between passes: one costs about as much */
};

struct shard_start {
	struct event_source *event_source;
	struct program *program;
	struct catalog *catalog; /* NULL: not made yet */
	nstime begin;
	uint64_t next; /* events of the shard before the next pass */
	bool failed;
	struct error error;
	struct start_value { /* by attribute */
		enum { NOT_ASKED, WANTED, KNOWN, NOT_FOUND } state;
		struct value value;
	} * items;
	size_t count;
	uint32_t *wanted;
	size_t nwanted, capacity;
};

struct shard_start *shard_start_new(struct event_source *event_source, struct program *program,
				    nstime begin, uint32_t first)
{
	struct shard_start *start = mem_new(sizeof *start);

	*start = (struct shard_start){.event_source = event_source,
				      .program = program,
				      .begin = begin,
				      .next = first ? first : EVENTS_FIRST};
	return start;
}

void shard_start_free(struct shard_start *start)
{
	if (!start)
		return;
	catalog_free(start->catalog);
	mem_free(start->items);
	mem_free(start->wanted);
	mem_free(start);
}

static void keep(struct shard_start *start, struct backward *pass)
{
	const struct order key = order_before(start->begin);
	struct fact fact;

	for (size_t i = 0; i < start->nwanted; i++) {
		uint32_t attr = start->wanted[i];
		struct start_value *item = &start->items[attr];
		if (!backward_answer(pass, backward_ask(pass, attr, &key), &fact))
			continue;
		item->state = KNOWN;
		item->value = fact.value;
		attrs_keep(program_attrs(start->program), &item->value);
	}
}

static enum outcome look_back(struct shard_start *start, const struct closure *closure,
			      struct error *err)
{
	struct event_source *source = start->event_source;
	const struct order key = order_before(start->begin);
	const struct backward_options options = {
		.event_source = source,
		.closure = closure,
		.event_filter =
			event_filter_new(closure, source, source->index, source->packet_filters, 0),
		.limits = backward_usual_limits};
	struct backward *pass = backward_new(&options);

	for (size_t i = 0; i < start->nwanted; i++)
		backward_ask(pass, start->wanted[i], &key);
	enum outcome outcome = backward_run(pass, err);
	if (outcome == OUTCOME_DONE)
		keep(start, pass);
	backward_free(pass);
	return outcome;
}

static void look(struct shard_start *start)
{
	struct attrs *attrs = program_attrs(start->program);
	uint32_t *shapes = mem_new_array(start->nwanted, sizeof *shapes);
	struct closure *closure;

	if (!start->catalog)
		start->catalog = catalog_new(start->program, start->event_source->trace);
	for (size_t i = 0; i < start->nwanted; i++) {
		shapes[i] = attr_shape(attrs, start->wanted[i]);
		start->items[start->wanted[i]].state = NOT_FOUND;
	}
	closure = closure_new(start->catalog, shapes, start->nwanted);
	if (looks_back(closure))
		start->failed = look_back(start, closure, &start->error) == OUTCOME_ERROR;
	closure_free(closure);
	mem_free(shapes);
	start->nwanted = 0;
}

bool shard_start_get(struct shard_start *start, uint32_t attr, uint64_t events, struct value *out)
{
	struct start_value *item;

	start->items = mem_reach(start->items, attr, &start->count, sizeof *start->items);
	item = &start->items[attr];
	if (item->state == NOT_ASKED) {
		item->state = WANTED;
		*mem_push(start->wanted, start->nwanted, start->capacity) = attr;
	}
	if (item->state == WANTED && events >= start->next && !start->failed) {
		look(start);
		start->next += start->next < EVENTS_EACH ? start->next : EVENTS_EACH;
	}
	if (item->state == KNOWN)
		*out = item->value;
	return item->state == KNOWN;
}

bool shard_start_failed(const struct shard_start *start, struct error *err)
{
	if (!start || !start->failed)
		return false;
	*err = start->error;
	return true;
}
