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
#include "engine/base/mem.h"
#include "index/index.h"
#include "index/sweep/filter_range.h"
#include "state/events/event_filter_internal.h"
#include "state/events/event_source.h"

#include <stdatomic.h>

enum {
	LOOKED_AT = 16, /* streams at most: what they say only has to be about right */
	PACKETS = 2,    /* of the stream that has most of them */
	DOUBLED = 10,   /* windows; the others are a quarter longer than the one before */
};

static nstime later(nstime t, nstime by)
{
	return __builtin_add_overflow(t, by, &t) ? NSTIME_MAX : t;
}

static nstime earlier(nstime t, nstime by)
{
	return __builtin_sub_overflow(t, by, &t) ? NSTIME_MIN : t;
}

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
static nstime width_of(struct event_filter *event_filter, struct table *table, nstime last)
{
	bool backward = event_filter->range->backward;
	nstime edge = backward ? event_filter->end : event_filter->begin, width;
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

static bool is_read(const struct event_filter *event_filter, const struct stream *stream)
{
	const uint64_t *streams = event_filter->range->streams;

	return stream->has_time &&
	       (!streams || streams[stream->index / 64] >> stream->index % 64 & 1);
}

/* Fills span and width; where nothing is known one window is all. */
static void look_at_streams(struct event_filter *event_filter)
{
	const struct trace *trace = event_filter->trace;
	struct packet_range first, last;
	struct table *table;
	struct error ignored;
	size_t looked = 0;

	event_filter->span = (struct packet_range){NSTIME_MAX, NSTIME_MIN};
	event_filter->width = NSTIME_MAX;
	for (size_t i = 0; i < trace->nstreams && event_filter->index && looked < LOOKED_AT; i++) {
		if (!is_read(event_filter, trace->streams[i]) ||
		    !index_table(event_filter->index, trace->streams[i], &table, &ignored) ||
		    !(record_span(table, 0, &first) || record_span(table, 1, &first)) ||
		    !record_span(table, table_count(table) - 1, &last))
			continue;
		if (first.least < event_filter->span.least)
			event_filter->span.least = first.least;
		if (last.greatest > event_filter->span.greatest)
			event_filter->span.greatest = last.greatest;
		nstime width = width_of(event_filter, table, last.greatest);
		event_filter->width = width < event_filter->width ? width : event_filter->width;
		looked++;
	}
}

void event_filter_begin(struct event_filter *event_filter, const struct event_source_range *range,
			nstime begin, nstime end)
{
	event_filter->range = range;
	event_filter->begin = begin;
	event_filter->end = end;
	event_filter->at = range->backward ? end : begin;
	event_filter->quiet = event_filter->given = 0;
	event_filter->makes = false;
	look_at_streams(event_filter);
}

void event_filter_passed(struct event_filter *event_filter)
{
	event_filter->quiet = 0;
}

static bool progress(void *arg, uint64_t done, uint64_t all)
{
	struct event_filter *event_filter = arg;

	(void)done;
	(void)all;
	return event_filter_progress(event_filter, event_filter->at, event_filter->begin,
				     event_filter->end);
}

bool event_filter_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct event_filter *event_filter = arg;
	const struct event_source *event_source = event_filter->event_source;

	first = event_filter->begin > event_filter->span.least ? event_filter->begin
							       : event_filter->span.least;
	last = event_filter->end < event_filter->span.greatest ? event_filter->end
							       : event_filter->span.greatest;
	return !event_source->progress ||
	       event_source->progress(event_source->progress_arg, at, first, last);
}

/* Where it fails, packets are read one by one, and reading them tells why. */
static void make_packet_filters(struct event_filter *event_filter, nstime begin, nstime end)
{
	bool backward = event_filter->range->backward;
	struct events_options range = {
		.begin = event_filter->makes || backward ? begin : event_filter->begin,
		.end = event_filter->makes || !backward ? end : event_filter->end,
		.streams = event_filter->range->streams};
	struct error ignored;

	event_filter->makes = true; /* from the first on also what was read one by one */
	MAY_FAIL(packet_filters_make(event_filter->packet_filters, &range, progress, event_filter,
				     &ignored));
}

bool event_filter_window(struct event_filter *event_filter, nstime *begin, nstime *end)
{
	bool backward = event_filter->range->backward;
	nstime last = later(event_filter->span.greatest, 1);
	nstime edge = backward && event_filter->at > last ? last : event_filter->at;

	if (!backward && edge < event_filter->span.least)
		edge = event_filter->span.least;
	*begin = backward ? earlier(edge, event_filter->width) : event_filter->at;
	*end = backward ? event_filter->at : later(edge, event_filter->width);
	/* the ends that are known may not be all: what lies beyond is in the last window */
	if (*begin <= event_filter->span.least || *begin < event_filter->begin)
		*begin = backward ? event_filter->begin : *begin;
	if (*end > event_filter->span.greatest || *end > event_filter->end)
		*end = backward ? *end : event_filter->end;
	if (event_filter->given && (backward ? event_filter->at <= event_filter->begin
					     : event_filter->at >= event_filter->end))
		return false;
	event_filter->at = backward ? *begin : *end;
	event_filter->width = later(event_filter->width, event_filter->given++ < DOUBLED
								 ? event_filter->width
								 : event_filter->width / 4 + 1);
	if (event_filter->packet_filters && !event_filter->many &&
	    (event_filter->makes || event_filter->quiet > event_filter->patience))
		make_packet_filters(event_filter, *begin, *end);
	return true;
}

static enum filtered_by_packet ask(struct event_filter *event_filter,
				   const struct packet_filter_of *packet,
				   struct packet_range *range)
{
	const struct packet_filter_wanted wanted = {.always = event_filter->all,
						    .keyed = event_filter->keyed,
						    .hashes = event_filter->hashes,
						    .nhashes = event_filter->nhashes};

	return packet_filters_ask(event_filter->packet_filters, packet, &wanted, range);
}

bool event_filter_lacks(void *arg, const struct stream *stream, const struct packet_info *info)
{
	struct event_filter *event_filter = arg;
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	struct packet_range ignored;

	return event_filter->packet_filters && !event_filter->many &&
	       ask(event_filter, &packet, &ignored) == FILTERED_CANNOT;
}

bool event_filter_skips(void *arg, const struct stream *stream, const struct packet_info *info,
			struct packet_range *range)
{
	struct event_filter *event_filter = arg;
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	enum filtered_by_packet filtered_by_packet;

	if (!event_filter->packet_filters || event_filter->many)
		return false;
	filtered_by_packet = ask(event_filter, &packet, range);
	event_filter->quiet += filtered_by_packet == FILTERED_NOT;
	if (filtered_by_packet == FILTERED_CANNOT)
		atomic_fetch_add_explicit(&index_trace(event_filter->index)->packets_skipped, 1,
					  memory_order_relaxed);
	return filtered_by_packet == FILTERED_CANNOT;
}
