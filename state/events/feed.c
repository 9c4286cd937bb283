/* feed.c - puts @start and @end around what a feed's own cursor gives */
#include "state/events/feed.h"

#include "engine/base/mem.h"

#include <string.h>

static bool within(const struct feed_range *range, const struct order *order)
{
	return order_compare(order, &range->from) >= 0 && order_compare(order, &range->to) < 0;
}

static void mark_set(struct feed_item *mark, enum feed_kind kind, nstime time, uint32_t rank)
{
	*mark = (struct feed_item){.kind = kind, .order = {.time = time, .rank = rank}};
	mark->event.time = time;
	mark->event.cpu = -1;
}

bool feed_open(struct feed *feed, const struct feed_range *range, struct feed_pass *out,
	       struct error *err)
{
	nstime first, last;

	*out = (struct feed_pass){.feed = feed, .range = *range};
	mark_set(&out->start, FEED_START, NSTIME_MIN, RANK_START);
	out->start_due = range->start && within(range, &out->start.order);
	if (range->end) {
		if (!feed->ops->span(feed, &first, &last, err))
			return false;
		mark_set(&out->end, FEED_END, last, RANK_END);
		out->end_due = within(range, &out->end.order);
	}
	return feed->ops->open(feed, range, &out->cursor, err);
}

void feed_close(struct feed_pass *pass)
{
	if (pass->cursor)
		pass->feed->ops->close(pass->cursor);
	pass->cursor = NULL;
}

static enum step give_mark(bool *due, const struct feed_item *mark, struct feed_item *out)
{
	*due = false;
	*out = *mark;
	return STEP_ITEM;
}

enum step feed_next(struct feed_pass *pass, struct feed_item *out, struct error *err)
{
	bool backward = pass->range.backward;
	enum step step;

	if (!backward && pass->start_due)
		return give_mark(&pass->start_due, &pass->start, out);
	if (backward && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, out);
	step = pass->feed->ops->next(pass->cursor, out, err);
	if (step != STEP_END)
		return step;
	if (!backward && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, out);
	if (backward && pass->start_due)
		return give_mark(&pass->start_due, &pass->start, out);
	return STEP_END;
}

enum step feed_next_run(struct feed_pass *pass, struct run *run, struct feed_item *item,
			struct error *err)
{
	enum step step;

	run->count = 0;
	if (pass->start_due || !pass->feed->ops->next_run)
		return feed_next(pass, item, err);
	step = pass->feed->ops->next_run(pass->cursor, run, item, err);
	if (step == STEP_END && pass->end_due)
		return give_mark(&pass->end_due, &pass->end, item);
	return step;
}

bool feed_fields(struct feed_pass *pass, const struct feed_item *item, struct fields *out,
		 struct error *err)
{
	return pass->feed->ops->fields(pass->cursor, item, out, err);
}

bool feed_begins(struct feed *feed, const nstime **out, struct error *err)
{
	size_t count = feed->trace->nstreams;
	bool good = true;

	if (!feed->begins) {
		nstime *begins = mem_new_array(count + 1, sizeof *begins);

		for (size_t i = 0; i < count && good; i++) {
			begins[i] = NSTIME_MIN;
			if (feed->ops->begin)
				good = feed->ops->begin(feed, feed->trace->streams[i], &begins[i],
							err);
		}
		if (!good) {
			mem_free(begins);
			return false;
		}
		feed->begins = begins;
	}
	*out = feed->begins;
	return true;
}

bool feed_recorded(struct feed *feed, nstime *begin, nstime *end, struct error *err)
{
	*begin = NSTIME_MIN;
	*end = NSTIME_MAX;
	return !feed->ops->recorded || feed->ops->recorded(feed, begin, end, err);
}

bool feed_may_be_of_cpu(struct feed *feed, const struct stream *stream, int32_t cpu)
{
	return stream->cpu < 0 || stream->cpu == cpu ||
	       (feed->ops->may_be_of_cpu && feed->ops->may_be_of_cpu(feed, stream, cpu));
}

bool feed_last_loss(struct feed *feed, const struct stream *stream, const struct order *below,
		    nstime *until, struct error *err)
{
	uint64_t *streams = mem_new_array(feed->trace->nstreams / 64 + 1, sizeof *streams);
	uint64_t *classes = mem_new_array(feed->trace->nclasses / 64 + 1, sizeof *classes);
	struct feed_range range = {.from = order_before(NSTIME_MIN),
				   .to = *below,
				   .backward = true,
				   .losses = true,
				   .classes = classes,
				   .streams = streams};
	struct feed_item item;
	struct feed_pass pass;
	enum step step = STEP_ERROR;
	const nstime *begins;

	streams[stream->index / 64] = UINT64_C(1) << stream->index % 64;
	if (feed_open(feed, &range, &pass, err)) {
		step = feed_next(&pass, &item, err);
		*until = step == STEP_ITEM ? item.event.until : NSTIME_MIN;
	}
	feed_close(&pass);
	mem_free(streams);
	mem_free(classes);
	if (step == STEP_ERROR || !feed_begins(feed, &begins, err))
		return false;
	if (*until < begins[stream->index])
		*until = begins[stream->index];
	return true;
}
