/* event_source.c - adds @start and @end to the items of an event source's cursor */
#include "state/events/event_source.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/cursor/first_events.h"
#include "index/tables/losses.h"

#include <string.h>

static bool within(const struct event_source_range *range, const struct order *order)
{
	return order_compare(order, &range->from) >= 0 && order_compare(order, &range->to) < 0;
}

static void mark_set(struct event_item *mark, enum event_source_kind kind, nstime time,
		     uint32_t rank)
{
	*mark = (struct event_item){.kind = kind, .order = {.time = time, .rank = rank}};
	mark->event.time = time;
	mark->event.cpu = -1;
}

bool event_source_open(struct event_source *source, const struct event_source_range *range,
		       struct event_pass *out, struct error *err)
{
	nstime first, last;

	*out = (struct event_pass){.event_source = source, .range = *range};
	if (source->until) {
		const struct order until = order_before(*source->until);
		if (order_compare(&out->range.to, &until) > 0)
			out->range.to = until;
		if (order_compare(&out->range.from, &until) > 0)
			out->range.from = until;
	}
	mark_set(&out->start, ITEM_START, NSTIME_MIN, RANK_START);
	out->start_due = range->start && within(range, &out->start.order);
	if (range->end) {
		if (!source->ops->span(source, &first, &last, err))
			return false;
		mark_set(&out->end, ITEM_END, last, RANK_END);
		out->end_due = within(range, &out->end.order) && !source->until;
	}
	return source->ops->open(source, &out->range, &out->cursor, err);
}

void event_source_close(struct event_pass *pass)
{
	if (pass->cursor)
		pass->event_source->ops->close(pass->cursor);
	pass->cursor = NULL;
}

static enum step give_mark(bool *due, const struct event_item *mark, struct event_item *out)
{
	*due = false;
	*out = *mark;
	return STEP_ITEM;
}

enum step event_source_next(struct event_pass *pass, struct event_item *out, struct error *err)
{
	bool backward = pass->range.backward;
	enum step step;

	if (!backward && pass->start_due)
		return give_mark(&pass->start_due, &pass->start, out);
	if (backward && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, out);
	step = pass->event_source->ops->next(pass->cursor, out, err);
	if (step != STEP_END)
		return step;
	if (!backward && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, out);
	if (backward && pass->start_due)
		return give_mark(&pass->start_due, &pass->start, out);
	return STEP_END;
}

enum step event_source_next_run(struct event_pass *pass, struct run *run, struct event_item *item,
				struct error *err)
{
	enum step step;

	run->count = 0;
	if (pass->start_due || !pass->event_source->ops->next_run)
		return event_source_next(pass, item, err);
	step = pass->event_source->ops->next_run(pass->cursor, run, item, err);
	if (step == STEP_END && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, item);
	return step;
}

const struct fields *event_source_fields(struct event_pass *pass, const struct event_item *item)
{
	struct error ignored;

	if (item->kind != ITEM_EVENT ||
	    !pass->event_source->ops->fields(pass->cursor, item, &pass->fields, &ignored))
		return NULL;
	return &pass->fields;
}

/* The first item of the range: an event of the stream and class (UINT32_MAX: a loss). */
static enum step first_item(struct event_source *source, struct event_source_range range,
			    const struct stream *stream, uint32_t class_index,
			    struct event_item *out, struct error *err)
{
	uint64_t *streams = bitset_new(source->trace->nstreams);
	uint64_t *classes = bitset_new(source->trace->nclasses);
	struct event_pass pass;
	enum step step = STEP_ERROR;

	bitset_add(streams, stream->index);
	if (class_index != UINT32_MAX)
		bitset_add(classes, class_index);
	range.streams = streams;
	range.classes = classes;
	if (event_source_open(source, &range, &pass, err))
		step = event_source_next(&pass, out, err);
	event_source_close(&pass);
	mem_free(streams);
	mem_free(classes);
	return step;
}

/* The end of the stream's newest loss below `below` that ends behind `low`; NSTIME_MIN: none. */
static bool last_loss(struct event_source *source, const struct stream *stream, nstime low,
		      const struct order *below, nstime *until, struct error *err)
{
	const struct event_source_range range = {
		.from = order_before(source->index ? low : NSTIME_MIN),
		.to = *below,
		.backward = true,
		.losses = true};
	struct event_item item;
	struct lack lack;
	enum step step = first_item(source, range, stream, UINT32_MAX, &item, err);

	*until = step == STEP_ITEM ? item.event.until : NSTIME_MIN;
	if (step == STEP_END && source->index && low > NSTIME_MIN) { /* it began before */
		if (!losses_at(source->index, stream, low, &lack, err))
			return false;
		*until = lack.lacks ? lack.until : NSTIME_MIN;
	}
	return step != STEP_ERROR;
}

/* The first event of the class; for sources in memory. */
static bool first_of(struct event_source *source, const struct stream *stream, uint32_t class_index,
		     nstime *out, struct error *err)
{
	const struct event_source_range range = {.from = order_before(NSTIME_MIN),
						 .to = order_after(NSTIME_MAX)};
	struct event_item item;
	enum step step = first_item(source, range, stream, class_index, &item, err);

	*out = step == STEP_ITEM ? item.event.time : NSTIME_MAX;
	return step != STEP_ERROR;
}

bool event_source_class_begin(struct event_source *source, const struct stream *stream,
			      uint32_t class_index, nstime t, nstime *out, struct error *err)
{
	*out = NSTIME_MIN;
	if (!stream || !stream->late_events || class_index == UINT32_MAX)
		return true;
	if (source->firsts ? !first_events_of(source->firsts, stream, class_index, out, err)
			   : !first_of(source, stream, class_index, out, err))
		return false;
	if (*out > t) /* it is out of order */
		*out = t;
	return true;
}

nstime fill_begin(nstime until, nstime first, nstime time, nstime since)
{
	nstime begin = until > first ? until : first;

	begin = begin < time ? begin : time;
	return begin > since ? begin : since;
}

bool event_source_fill_begin(struct event_source *source, const struct stream *stream,
			     uint32_t class_index, const struct order *event, nstime since,
			     nstime *out, struct error *err)
{
	const struct order whole = order_slot(*event, 0);
	nstime from = source->fills_from ? *source->fills_from : NSTIME_MIN;
	nstime low = since > from ? since : from;
	const nstime *begins;
	nstime until, first;

	*out = since;
	if (!stream)
		return true;
	if (!last_loss(source, stream, low, &whole, &until, err) ||
	    !event_source_begins(source, &begins, err) ||
	    !event_source_class_begin(source, stream, class_index, event->time, &first, err))
		return false;
	if (until < begins[stream->index])
		until = begins[stream->index];
	*out = fill_begin(until > from ? until : from, first, event->time, since);
	return true;
}
