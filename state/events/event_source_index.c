/* event_source_index.c - the event source over an index, with keys from positions of events */
#include "state/events/event_source.h"

#include "engine/base/mem.h"
#include "index/cursor/first_events.h"
#include "index/cursor/read_ahead.h"
#include "index/tables/recorded.h"
#include "state/events/event_filter.h"

struct event_source_cursor {
	struct event_source_range range;
	struct events *events;
	struct read_ahead *ahead; /* used instead of `events`; or NULL */
	bool cut;                 /* the range begins or ends inside a nanosecond */
};

/* Must items be checked one by one? */
static bool in_items(const struct event_source_cursor *cursor)
{
	return cursor->cut || cursor->range.event_filter;
}

static bool cursor_open(struct event_source *source, const struct event_source_range *range,
			struct event_source_cursor **out, struct error *err)
{
	struct event_source_cursor *cursor = mem_new(sizeof *cursor);
	struct order first = order_before(range->from.time), whole = order_before(range->to.time);
	struct order last = order_after(range->to.time);
	bool includes = order_compare(&range->to, &whole) > 0; /* some of to.time */
	struct events_options options = {
		.begin = range->from.time,
		.end = range->to.time + (includes && range->to.time < NSTIME_MAX),
		.backward = range->backward,
		.losses = range->losses,
		.ends = true,
		.inferred = range->infers ? source->inferred : NULL,
		.begun = source->firsts ? &source->begun : NULL,
		.values = range->values,
		.whole_packets = source->whole_packets,
		.classes = range->classes,
		.streams = range->streams,
		.packet_filters = source->packet_filters,
		.findings = source->findings,
		.progress = source->progress,
		.progress_arg = source->progress_arg,
	};

	cursor->range = *range;
	if (range->event_filter)
		event_filter_open(range->event_filter, &cursor->range, &options);
	cursor->cut = order_compare(&range->from, &first) != 0 ||
		      (includes && order_compare(&range->to, &last) != 0);
	*out = cursor;
	if (range->helper && !range->backward && !in_items(cursor))
		return read_ahead_open(source->index, &options, range->helper, &cursor->ahead, err);
	return events_open(source->index, &options, &cursor->events, err);
}

static void cursor_close(struct event_source_cursor *cursor)
{
	events_close(cursor->events);
	read_ahead_close(cursor->ahead);
	mem_free(cursor);
}

static void item_order(struct event_item *item)
{
	const struct event *event = &item->event;

	item->stream = event->stream;
	item->class = event->class;
	item->kind = event->class ? ITEM_EVENT : ITEM_LOSS;
	item->order = (struct order){
		.time = event->time,
		.rank = event->stream->index + 1,
		.source = event->class ? event->position.source : UINT32_MAX,
		.offset = event->position.offset,
		.index = event->position.index,
	};
}

/* Is the item outside of the range? The index cuts only by time, so the edges are checked here. */
static bool outside(const struct event_source_range *range, const struct order *order)
{
	return (order->time <= range->from.time && order_compare(order, &range->from) < 0) ||
	       (order->time >= range->to.time && order_compare(order, &range->to) >= 0);
}

/* The next event of the range, window after window. */
static enum step next_event(struct event_source_cursor *cursor, struct event *out,
			    struct error *err)
{
	struct event_filter *event_filter = cursor->range.event_filter;
	nstime begin, end;
	enum step step;

	while ((step = events_next(cursor->events, out, err)) == STEP_END && event_filter &&
	       event_filter_window(event_filter, &begin, &end))
		if (!events_seek(cursor->events, begin, end, err))
			return STEP_ERROR;
	return step;
}

static enum step cursor_next(struct event_source_cursor *cursor, struct event_item *out,
			     struct error *err)
{
	enum step step;

	do {
		step = next_event(cursor, &out->event, err);
		if (step != STEP_ITEM)
			return step;
		item_order(out);
	} while (outside(&cursor->range, &out->order));
	if (cursor->range.event_filter && out->class)
		event_filter_passed(cursor->range.event_filter);
	return STEP_ITEM;
}

void event_source_run_item(const struct trace *trace, const struct run *run, uint32_t i,
			   struct event_item *out)
{
	run_event(trace, run, i, &out->event);
	item_order(out);
}

static enum step cursor_next_run(struct event_source_cursor *cursor, struct run *run,
				 struct event_item *item, struct error *err)
{
	enum step step;

	if (in_items(cursor))
		return cursor_next(cursor, item, err);
	step = cursor->ahead ? read_ahead_next_run(cursor->ahead, run, err)
			     : events_next_run(cursor->events, run, err);
	if (step == STEP_ITEM && !run->count) {
		item->event = run->loss;
		item_order(item);
	}
	return step;
}

static bool cursor_fields(struct event_source_cursor *cursor, const struct event_item *item,
			  struct fields *out, struct error *err)
{
	if (cursor->ahead) /* only losses are given as items */
		return error_set(err, ERR_QUERY, "a loss has no fields");
	return events_fields(cursor->events, &item->event, out, err);
}

static bool index_span(struct event_source *source, nstime *first, nstime *last, struct error *err)
{
	return events_range(source->index, first, last, err);
}

static const struct event_source_ops index_ops = {
	.open = cursor_open,
	.close = cursor_close,
	.next = cursor_next,
	.next_run = cursor_next_run,
	.fields = cursor_fields,
	.span = index_span,
};

static bool stream_begin(void *arg, const struct stream *stream, nstime *out, struct error *err)
{
	const struct event_source *source = arg;
	struct recorded recorded;

	if (source->firsts)
		return first_events_begin(source->firsts, stream, out, err);
	if (!stream_recorded(source->index, stream, &recorded, err))
		return false;
	*out = recorded.begin;
	return true;
}

struct event_source *event_source_over_index(struct index *index)
{
	struct event_source *source = mem_new(sizeof *source);

	*source = (struct event_source){.ops = &index_ops,
					.trace = index_trace(index),
					.index = index,
					.findings = findings_new(index),
					.begun = {stream_begin, source}};
	return source;
}

void event_source_over_index_free(struct event_source *source)
{
	if (!source)
		return;
	mem_free(source->begins);
	findings_drop(source->findings);
	mem_free(source);
}

/* ---- from the index; without one all of time counts as recorded ---- */

bool event_source_begins(struct event_source *source, const nstime **out, struct error *err)
{
	const struct trace *trace = source->trace;
	nstime *begins = source->begins;

	*out = begins;
	if (begins)
		return true;
	begins = mem_new_array(trace->nstreams, sizeof *begins);
	for (size_t i = 0; i < trace->nstreams; i++) {
		begins[i] = NSTIME_MIN;
		if (source->index && !stream_begin(source, trace->streams[i], &begins[i], err)) {
			mem_free(begins);
			return false;
		}
	}
	*out = source->begins = begins;
	return true;
}

bool event_source_recorded(struct event_source *source, nstime *begin, nstime *end,
			   struct error *err)
{
	*begin = NSTIME_MIN;
	*end = NSTIME_MAX;
	return !source->index || index_recorded(source->index, begin, end, err);
}

void event_source_forget(struct event_source *source)
{
	if (!source->index || !findings_any(source->findings))
		return;
	findings_drop(source->findings);
	source->findings = findings_new(source->index);
}

void event_source_add_cpu(struct event_source *source, int32_t cpu, uint64_t *streams)
{
	for (size_t s = 0; s < source->trace->nstreams; s++) {
		const struct stream *stream = source->trace->streams[s];

		if (stream->cpu < 0 || stream->cpu == cpu ||
		    (source->index && index_may_be_of_cpu(source->index, stream, cpu)))
			bitset_add(streams, s);
	}
}
