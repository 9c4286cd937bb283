/* feed_index.c - the feed over an index: its time-ordered cursor, with keys made of positions */
#include "state/events/feed.h"

#include "engine/base/mem.h"
#include "index/cursor/read_ahead.h"
#include "index/tables/recorded.h"
#include "state/events/sieve.h"

struct index_feed {
	struct feed feed; /* first: the feed is this */
	struct index *index;
};

struct feed_cursor {
	struct feed_range range;
	struct events *events;
	struct read_ahead *ahead; /* instead; or NULL */
	bool cut;                 /* the range begins or ends inside a nanosecond */
};

/* What it gives is looked at one by one. */
static bool in_items(const struct feed_cursor *cursor)
{
	return cursor->cut || cursor->range.sieve;
}

static bool cursor_open(struct feed *feed, const struct feed_range *range, struct feed_cursor **out,
			struct error *err)
{
	struct index *index = ((struct index_feed *)feed)->index;
	struct feed_cursor *cursor = mem_new(sizeof *cursor);
	struct order first = order_before(range->from.time), whole = order_before(range->to.time);
	struct order last = order_after(range->to.time);
	bool includes = order_compare(&range->to, &whole) > 0; /* some of to.time */
	struct events_options options = {
		.begin = range->from.time,
		.end = range->to.time + (includes && range->to.time < NSTIME_MAX),
		.backward = range->backward,
		.losses = range->losses,
		.ends = true,
		.inferred = range->infers ? feed->inferred : NULL,
		.values = range->values,
		.classes = range->classes,
		.streams = range->streams,
		.sketches = feed->sketches,
		.progress = feed->progress,
		.progress_arg = feed->progress_arg,
	};

	cursor->range = *range;
	if (range->sieve) {
		sieve_begin(range->sieve, &cursor->range, options.begin, options.end);
		sieve_window(range->sieve, &options.begin, &options.end);
		options.progress = feed->progress ? sieve_progress : NULL;
		options.progress_arg = range->sieve;
		options.select = sieve_chooses(range->sieve) ? sieve_select : NULL;
		options.select_arg = range->sieve;
		options.skips = sieve_skips;
		options.lacks = sieve_lacks;
		options.skips_arg = range->sieve;
	}
	cursor->cut = order_compare(&range->from, &first) != 0 ||
		      (includes && order_compare(&range->to, &last) != 0);
	*out = cursor;
	if (range->helper && !range->backward && !in_items(cursor))
		return read_ahead_open(index, &options, range->helper, &cursor->ahead, err);
	return events_open(index, &options, &cursor->events, err);
}

static void cursor_close(struct feed_cursor *cursor)
{
	events_close(cursor->events);
	read_ahead_close(cursor->ahead);
	mem_free(cursor);
}

static void item_order(struct feed_item *item)
{
	const struct event *event = &item->event;

	item->stream = event->stream;
	item->class = event->class;
	item->kind = event->class ? FEED_EVENT : FEED_LOSS;
	item->order = (struct order){
		.time = event->time,
		.rank = event->stream->index + 1,
		.source = event->class ? event->position.source : UINT32_MAX,
		.offset = event->position.offset,
		.index = event->position.index,
	};
}

/* The index cuts at times; what lies at the edges' times is cut here. */
static bool outside(const struct feed_range *range, const struct order *order)
{
	return (order->time <= range->from.time && order_compare(order, &range->from) < 0) ||
	       (order->time >= range->to.time && order_compare(order, &range->to) >= 0);
}

/* The next event of the range, window after window. */
static enum step next_event(struct feed_cursor *cursor, struct event *out, struct error *err)
{
	struct sieve *sieve = cursor->range.sieve;
	nstime begin, end;
	enum step step;

	while ((step = events_next(cursor->events, out, err)) == STEP_END && sieve &&
	       sieve_window(sieve, &begin, &end))
		if (!events_seek(cursor->events, begin, end, err))
			return STEP_ERROR;
	return step;
}

static enum step cursor_next(struct feed_cursor *cursor, struct feed_item *out, struct error *err)
{
	enum step step;

	do {
		step = next_event(cursor, &out->event, err);
		if (step != STEP_ITEM)
			return step;
		item_order(out);
	} while (outside(&cursor->range, &out->order));
	if (cursor->range.sieve && out->class)
		sieve_passed(cursor->range.sieve);
	return STEP_ITEM;
}

void feed_run_item(const struct trace *trace, const struct run *run, uint32_t i,
		   struct feed_item *out)
{
	run_event(trace, run, i, &out->event);
	item_order(out);
}

static enum step cursor_next_run(struct feed_cursor *cursor, struct run *run,
				 struct feed_item *item, struct error *err)
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

static bool cursor_fields(struct feed_cursor *cursor, const struct feed_item *item,
			  struct fields *out, struct error *err)
{
	if (cursor->ahead) /* events come in runs */
		return error_set(err, ERR_QUERY, "a loss has no fields");
	return events_fields(cursor->events, &item->event, out, err);
}

static bool index_span(struct feed *feed, nstime *first, nstime *last, struct error *err)
{
	return events_range(((struct index_feed *)feed)->index, first, last, err);
}

static bool index_begin(struct feed *feed, const struct stream *stream, nstime *out,
			struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(((struct index_feed *)feed)->index, stream, &recorded, err))
		return false;
	*out = recorded.begin;
	return true;
}

static bool recorded(struct feed *feed, nstime *begin, nstime *end, struct error *err)
{
	return index_recorded(((struct index_feed *)feed)->index, begin, end, err);
}

static bool may_be_of_cpu(struct feed *feed, const struct stream *stream, int32_t cpu)
{
	return index_may_be_of_cpu(((struct index_feed *)feed)->index, stream, cpu);
}

static const struct feed_ops index_ops = {
	.open = cursor_open,
	.close = cursor_close,
	.next = cursor_next,
	.next_run = cursor_next_run,
	.fields = cursor_fields,
	.span = index_span,
	.begin = index_begin,
	.recorded = recorded,
	.may_be_of_cpu = may_be_of_cpu,
};

struct feed *feed_over_index(struct index *index)
{
	struct index_feed *feed = mem_new(sizeof *feed);

	feed->feed.ops = &index_ops;
	feed->feed.trace = index_trace(index);
	feed->index = index;
	return &feed->feed;
}

void feed_over_index_free(struct feed *feed)
{
	if (feed)
		mem_free(feed->begins);
	mem_free(feed);
}
