/*
 * sieve_packets.c - a range in windows, and packets that are passed over by their sketches
 *
 *     end                                            begin      of a range that is read backward
 *      |=|==|====|========|==========|============|...
 *        each longer than the one before
 *
 * Each stream's next event must be known before one is given, and few pass: without windows all
 * streams were read to their ends for the one that has it. When many packets were read for nothing,
 * sketches of a window are made before it is read.
 */
#include "engine/base/mem.h"
#include "index/index.h"
#include "index/sweep/sketch_range.h"
#include "state/events/feed.h"
#include "state/events/sieve_internal.h"

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
static nstime width_of(struct sieve *sieve, struct table *table, nstime last)
{
	bool backward = sieve->range->backward;
	nstime edge = backward ? sieve->end : sieve->begin, width;
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

static bool is_read(const struct sieve *sieve, const struct stream *stream)
{
	const uint64_t *streams = sieve->range->streams;

	return stream->has_time &&
	       (!streams || streams[stream->index / 64] >> stream->index % 64 & 1);
}

/* Fills span and width; where nothing is known one window is all. */
static void look_at_streams(struct sieve *sieve)
{
	const struct trace *trace = sieve->trace;
	struct packet_range first, last;
	struct table *table;
	struct error ignored;
	size_t looked = 0;

	sieve->span = (struct packet_range){NSTIME_MAX, NSTIME_MIN};
	sieve->width = NSTIME_MAX;
	for (size_t i = 0; i < trace->nstreams && sieve->index && looked < LOOKED_AT; i++) {
		if (!is_read(sieve, trace->streams[i]) ||
		    !index_table(sieve->index, trace->streams[i], &table, &ignored) ||
		    !(record_span(table, 0, &first) || record_span(table, 1, &first)) ||
		    !record_span(table, table_count(table) - 1, &last))
			continue;
		if (first.least < sieve->span.least)
			sieve->span.least = first.least;
		if (last.greatest > sieve->span.greatest)
			sieve->span.greatest = last.greatest;
		nstime width = width_of(sieve, table, last.greatest);
		sieve->width = width < sieve->width ? width : sieve->width;
		looked++;
	}
}

void sieve_begin(struct sieve *sieve, const struct feed_range *range, nstime begin, nstime end)
{
	sieve->range = range;
	sieve->begin = begin;
	sieve->end = end;
	sieve->at = range->backward ? end : begin;
	sieve->quiet = sieve->given = 0;
	sieve->makes = false;
	look_at_streams(sieve);
}

void sieve_passed(struct sieve *sieve)
{
	sieve->quiet = 0;
}

static bool progress(void *arg, uint64_t done, uint64_t all)
{
	struct sieve *sieve = arg;

	(void)done;
	(void)all;
	return sieve_progress(sieve, sieve->at, sieve->begin, sieve->end);
}

bool sieve_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct sieve *sieve = arg;
	const struct feed *feed = sieve->feed;

	first = sieve->begin > sieve->span.least ? sieve->begin : sieve->span.least;
	last = sieve->end < sieve->span.greatest ? sieve->end : sieve->span.greatest;
	return !feed->progress || feed->progress(feed->progress_arg, at, first, last);
}

/* Where it fails, packets are read one by one, and reading them tells why. */
static void make_sketches(struct sieve *sieve, nstime begin, nstime end)
{
	bool backward = sieve->range->backward;
	struct events_options range = {.begin = sieve->makes || backward ? begin : sieve->begin,
				       .end = sieve->makes || !backward ? end : sieve->end,
				       .streams = sieve->range->streams};
	struct error ignored;

	sieve->makes = true; /* from the first on also what was read one by one */
	sketches_make(sieve->sketches, &range, progress, sieve, &ignored);
}

bool sieve_window(struct sieve *sieve, nstime *begin, nstime *end)
{
	bool backward = sieve->range->backward;
	nstime last = later(sieve->span.greatest, 1);
	nstime edge = backward && sieve->at > last ? last : sieve->at;

	if (!backward && edge < sieve->span.least)
		edge = sieve->span.least;
	*begin = backward ? earlier(edge, sieve->width) : sieve->at;
	*end = backward ? sieve->at : later(edge, sieve->width);
	/* the ends that are known may not be all: what lies beyond is in the last window */
	if (*begin <= sieve->span.least || *begin < sieve->begin)
		*begin = backward ? sieve->begin : *begin;
	if (*end > sieve->span.greatest || *end > sieve->end)
		*end = backward ? *end : sieve->end;
	if (sieve->given && (backward ? sieve->at <= sieve->begin : sieve->at >= sieve->end))
		return false;
	sieve->at = backward ? *begin : *end;
	sieve->width =
		later(sieve->width, sieve->given++ < DOUBLED ? sieve->width : sieve->width / 4 + 1);
	if (sieve->sketches && !sieve->many && (sieve->makes || sieve->quiet > sieve->patience))
		make_sketches(sieve, *begin, *end);
	return true;
}

static enum sketched ask(struct sieve *sieve, const struct sketch_of *packet,
			 struct packet_range *range)
{
	const struct sketch_wanted wanted = {.always = sieve->all,
					     .keyed = sieve->keyed,
					     .hashes = sieve->hashes,
					     .nhashes = sieve->nhashes};

	return sketches_ask(sieve->sketches, packet, &wanted, range);
}

bool sieve_lacks(void *arg, const struct stream *stream, const struct packet_info *info)
{
	struct sieve *sieve = arg;
	const struct sketch_of packet = sketch_of(stream, info);
	struct packet_range ignored;

	return sieve->sketches && !sieve->many &&
	       ask(sieve, &packet, &ignored) == SKETCHED_CANNOT;
}

bool sieve_skips(void *arg, const struct stream *stream, const struct packet_info *info,
		 struct packet_range *range)
{
	struct sieve *sieve = arg;
	const struct sketch_of packet = sketch_of(stream, info);
	enum sketched sketched;

	if (!sieve->sketches || sieve->many)
		return false;
	sketched = ask(sieve, &packet, range);
	sieve->quiet += sketched == SKETCHED_NOT;
	if (sketched == SKETCHED_CANNOT)
		atomic_fetch_add_explicit(&index_trace(sieve->index)->packets_skipped, 1,
					  memory_order_relaxed);
	return sketched == SKETCHED_CANNOT;
}
