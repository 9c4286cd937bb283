/* changes.c - a replay that passes each change to the caller's functions */
#include "state/changes.h"

#include "state/context/run.h"
#include "state/program/internal.h"
#include "state/replay/replay.h"

static struct change_place change_place_of(const struct event_item *item)
{
	return (struct change_place){
		.time = item->order.time,
		.stream = item->stream,
		.packet = item->order.offset,
		.at = item->event.position.at,
		.loss = item->kind == ITEM_LOSS,
	};
}

static void tell_change(void *arg, const struct change *change)
{
	const struct changes_sink *sink = arg;
	struct change_place place = change_place_of(change->item);
	struct told_change told = {
		.attr = change->attr,
		.value = &change->after->value,
		.since = change->fill ? change->after->since : change->time,
		.fill = change->fill,
		.place = &place,
	};

	sink->change(sink->arg, &told);
}

static void tell_contradiction(void *arg, uint32_t attr, const struct value *had,
			       const struct value *says, const struct event_item *item)
{
	const struct changes_sink *sink = arg;
	struct change_place place = change_place_of(item);

	if (sink->contradiction)
		sink->contradiction(sink->arg, attr, had, says, &place);
}

struct attrs *state_attrs(struct state *state)
{
	return state->attrs;
}

bool state_has_hosts(const struct state *state)
{
	return trace_has_hosts(state->event_source->trace);
}

const struct inferred *state_inferred(const struct state *state)
{
	return state->event_source->inferred;
}

bool state_changes(struct state *state, const struct changes_sink *sink, struct error *err)
{
	struct changes_sink own = *sink;
	struct replay_options options = {.event_source = state->event_source,
					 .program = state->program,
					 .change = tell_change,
					 .contradiction = tell_contradiction,
					 .arg = &own};
	struct order from = order_before(NSTIME_MIN), to = order_after(NSTIME_MAX);
	struct replay *replay = replay_new(&options);
	bool ok = replay_run(replay, &from, &to, err);

	state->evaluation = "replay";
	run_end(state, replay);
	return ok;
}
