/*
 * event_filter_packets.c - a range in windows, and packets that are passed over by their packet
 * filters
 *
 *     end                                            begin      of a range that is read backward
 *      |=|==|====|========|==========|============|...
 *        each longer than the one before
 *
 * Each stream's next event must be known before one is given, and few pass: without windows all
 * streams were read to their ends for the one that has it. When many packets were read for nothing,
 * packet filters of a window are made before it is read.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/index.h"
#include "index/sweep/sweep.h"
#include "state/events/event_filter_internal.h"
#include "state/events/event_source.h"

#include <stdatomic.h>

enum {
	LOOKED_AT = 16,  /* streams at most: what they say only has to be about right */
	PACKETS = 2,     /* of the stream that has most of them */
	DOUBLED = 10,    /* windows; the others are a quarter longer than the one before */
	DOUBLED_FEW = 2, /* where few packets may be opened: a window is to be less than these */
};

/* The record's begin and end; those that hold from the start have none. */
static bool record_span(struct table *table, uint64_t i, struct packet_range *out)
{
	struct packet_info info;
	struct error ignored; /* reading the packet reports it */

	if (i >= table_count(table) || !table_get(table, i, &info, &ignored) ||
	    info.rec.flags & PACKET_BEFORE_ALL)
		return false;
	*out = (struct packet_range){info.rec.min, info.rec.max};
	return true;
}

/* How long some packets take beside the edge where the range's reading begins. */
static nstime width_of(struct event_filter *filter, struct table *table, nstime last)
{
	bool backward = filter->range->backward;
	nstime edge = backward ? filter->end : filter->begin, width;
	struct packet_range span;
	struct error ignored;
	uint64_t i;

	edge = edge > last ? last : edge;
	if (!table_lower_bound(table, edge, &i, &ignored) || (backward && i < PACKETS) ||
	    !record_span(table, backward ? i - PACKETS : i + PACKETS, &span))
		return NSTIME_MAX;
	width = backward ? span.least : span.greatest;
	if (__builtin_sub_overflow(backward ? edge : width, backward ? width : edge, &width))
		return NSTIME_MAX;
	return width > 0 ? width : 1;
}

static bool is_read(const struct event_filter *filter, const struct stream *stream)
{
	return stream->has_time && (!filter->streams || bitset_has(filter->streams, stream->index));
}

/* Fills span and width; where nothing is known one window is all. */
static void look_at_streams(struct event_filter *filter)
{
	const struct trace *trace = filter->trace;
	struct packet_range first, last;
	struct table *table;
	struct error ignored;
	size_t looked = 0;

	filter->span = (struct packet_range){NSTIME_MAX, NSTIME_MIN};
	filter->width = NSTIME_MAX;
	if (filter->index)
		index_expect_range(filter->index, filter->streams,
				   filter->range->backward ? NSTIME_MIN : filter->begin,
				   filter->range->backward ? filter->end : NSTIME_MAX);
	for (size_t i = 0; i < trace->nstreams && filter->index && looked < LOOKED_AT; i++) {
		if (!is_read(filter, trace->streams[i]) ||
		    !index_table(filter->index, trace->streams[i], &table, &ignored) ||
		    !(record_span(table, 0, &first) || record_span(table, 1, &first)) ||
		    !record_span(table, table_count(table) - 1, &last))
			continue;
		if (first.least < filter->span.least)
			filter->span.least = first.least;
		if (last.greatest > filter->span.greatest)
			filter->span.greatest = last.greatest;
		nstime width = width_of(filter, table, last.greatest);
		filter->width = width < filter->width ? width : filter->width;
		looked++;
	}
}

/*
 * The range's streams, without those that cannot write what was added. A forward reading needs
 * their losses, too: it asks what they may fill.
 */
static const uint64_t *choose_streams(struct event_filter *filter)
{
	const uint64_t *streams = filter->range->streams;

	if (filter->any_stream || !filter->range->backward)
		return streams;
	for (size_t i = 0; i < filter->trace->nstreams / 64 + 1; i++)
		filter->own_streams[i] = filter->of_cpus[i] & (streams ? streams[i] : UINT64_MAX);
	return filter->own_streams;
}

void event_filter_begin(struct event_filter *filter, const struct event_source_range *range,
			nstime begin, nstime end)
{
	filter->range = range;
	filter->begin = begin;
	filter->end = end;
	filter->at = range->backward ? end : begin;
	filter->quiet = filter->given = 0;
	filter->makes = false;
	filter->streams = choose_streams(filter);
	for (size_t i = 0; i < filter->trace->nclasses / 64 + 1; i++) {
		filter->passing[i] = filter->all_of_cpus[i] | filter->keyed[i];
		if (range->classes)
			filter->passing[i] &= range->classes[i];
	}
	look_at_streams(filter);
}

void event_filter_limit(struct event_filter *filter, uint64_t packets)
{
	filter->most = packets;
}

bool event_filter_is_spent(const struct event_filter *filter)
{
	return filter->spent;
}

void event_filter_passed(struct event_filter *filter)
{
	filter->quiet = 0;
}

static bool progress(void *arg, uint64_t done, uint64_t all)
{
	struct event_filter *filter = arg;

	(void)done;
	(void)all;
	return event_filter_progress(filter, filter->at, filter->begin, filter->end);
}

bool event_filter_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct event_filter *filter = arg;
	const struct event_source *event_source = filter->event_source;

	first = filter->begin > filter->span.least ? filter->begin : filter->span.least;
	last = filter->end < filter->span.greatest ? filter->end : filter->span.greatest;
	return !event_source->progress ||
	       event_source->progress(event_source->progress_arg, at, first, last);
}

/* Where it fails, packets are read one by one, and reading them tells why. */
static void make_packet_filters(struct event_filter *filter, nstime begin, nstime end)
{
	bool backward = filter->range->backward;
	struct events_options range = {.begin = filter->makes || backward ? begin : filter->begin,
				       .end = filter->makes || !backward ? end : filter->end,
				       .streams = filter->streams};
	struct error ignored;

	filter->makes = true; /* from the first on also what was read one by one */
	MAY_FAIL(packet_filters_make(filter->packet_filters, &range, progress, filter, &ignored));
}

bool event_filter_window(struct event_filter *filter, nstime *begin, nstime *end)
{
	bool backward = filter->range->backward;
	nstime last = time_later(filter->span.greatest, 1);
	nstime edge = backward && filter->at > last ? last : filter->at;

	if (!backward && edge < filter->span.least)
		edge = filter->span.least;
	*begin = backward ? time_earlier(edge, filter->width) : filter->at;
	*end = backward ? filter->at : time_later(edge, filter->width);
	/* the ends that are known may not be all: what lies beyond is in the last window */
	if (*begin <= filter->span.least || *begin < filter->begin)
		*begin = backward ? filter->begin : *begin;
	if (*end > filter->span.greatest || *end > filter->end)
		*end = backward ? *end : filter->end;
	filter->spent = filter->most && filter->opened > filter->most;
	if (filter->spent)
		return false;
	if (filter->given && (backward ? filter->at <= filter->begin : filter->at >= filter->end))
		return false;
	filter->at = backward ? *begin : *end;
	if (!filter->most || filter->given < DOUBLED_FEW)
		filter->width =
			time_later(filter->width,
				   filter->given < DOUBLED ? filter->width : filter->width / 4 + 1);
	filter->given++;
	if (filter->packet_filters && !filter->many && !filter->most &&
	    (filter->makes || filter->quiet > filter->patience))
		make_packet_filters(filter, *begin, *end);
	return true;
}

static enum filtered_by_packet ask_filters(struct event_filter *filter, const struct stream *stream,
					   const struct packet_info *info,
					   struct packet_range *range)
{
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	bool of_cpus = bitset_has(filter->of_cpus, stream->index);
	const struct packet_filter_wanted wanted = {.always = of_cpus ? filter->all_of_cpus
								      : filter->all,
						    .keyed = filter->keyed,
						    .hashes = filter->hashes,
						    .nhashes = filter->nhashes};

	if (!filter->packet_filters || filter->many)
		return FILTERED_NOT;
	return packet_filters_ask(filter->packet_filters, &packet, &wanted, range);
}

bool event_filter_lacks(void *arg, const struct stream *stream, const struct packet_info *info)
{
	struct packet_range ignored;

	return ask_filters(arg, stream, info, &ignored) == FILTERED_CANNOT;
}

bool event_filter_skips(void *arg, const struct stream *stream, const struct packet_info *info,
			struct packet_range *range)
{
	struct event_filter *filter = arg;
	enum filtered_by_packet filtered = ask_filters(filter, stream, info, range);

	filter->quiet += filtered == FILTERED_NOT;
	filter->opened += filtered != FILTERED_CANNOT;
	if (filtered == FILTERED_CANNOT)
		atomic_fetch_add_explicit(&index_trace(filter->index)->packets_skipped, 1,
					  memory_order_relaxed);
	return filtered == FILTERED_CANNOT;
}
