/* horizon.c - see horizon.h */
#include "state/events/horizon.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"

struct event_window {
	nstime begin, end;
	uint64_t packets;
};

/* For traces in memory, which have no packets. */
static bool horizon_by_time(struct event_source *source, const struct event_window *window,
			    nstime *floor, nstime *ceil, struct error *err)
{
	nstime first, last;

	if (!source->ops->span(source, &first, &last, err))
		return false;
	*floor = NSTIME_MIN;
	*ceil = NSTIME_MAX;
	if (window->begin > first && time_span(first, window->begin) > window->packets)
		*floor = window->begin - (nstime)window->packets;
	if (window->end <= last && time_span(window->end, last) >= window->packets)
		*ceil = window->end + (nstime)window->packets;
	return true;
}

static bool by_packets(struct index *index, const struct stream *stream,
		       const struct event_window *window, nstime *floor, nstime *ceil,
		       struct error *err)
{
	struct packet record;
	struct table *table;
	uint64_t before, behind;

	if (!index_table(index, stream, &table, err) ||
	    !table_lower_bound(table, window->begin, &before, err) ||
	    !table_lower_bound(table, window->end, &behind, err))
		return false;
	*floor = NSTIME_MIN;
	*ceil = NSTIME_MAX;
	if (before > window->packets) {
		if (!table_listed(table, before - window->packets, &record, err))
			return false;
		*floor = record.min;
	}
	if (window->packets < table_count(table) - behind) {
		if (!table_listed(table, behind + window->packets, &record, err))
			return false;
		*ceil = record.min;
	}
	return true;
}

bool horizon_find(struct event_source *source, nstime begin, nstime end, uint64_t packets,
		  struct horizon *out, struct error *err)
{
	const struct event_window window = {begin, end, packets};
	const struct trace *trace = source->trace;

	*out = (struct horizon){.floors = mem_new_array(trace->nstreams + 1, sizeof(nstime)),
				.floor = NSTIME_MIN,
				.ceil = NSTIME_MAX};
	if (source->index)
		index_expect_range(source->index, NULL, begin, end);
	for (size_t i = 0; i < trace->nstreams; i++) {
		nstime *floor = &out->floors[i], ceil = NSTIME_MAX;

		*floor = NSTIME_MIN;
		if (!trace->streams[i]->has_time)
			continue;
		if (source->index ? !by_packets(source->index, trace->streams[i], &window, floor,
						&ceil, err)
				  : !horizon_by_time(source, &window, floor, &ceil, err))
			return false;
		out->floor = *floor > out->floor ? *floor : out->floor;
		out->ceil = ceil < out->ceil ? ceil : out->ceil;
	}
	return true;
}

bool horizon_packets(struct event_source *source, nstime begin, nstime end, uint64_t *in,
		     uint64_t *all, struct error *err)
{
	const struct trace *trace = source->trace;

	*in = *all = 0;
	for (size_t i = 0; i < trace->nstreams && source->index; i++) {
		uint64_t first, behind;
		struct table *table;

		if (!trace->streams[i]->has_time)
			continue;
		if (!index_table(source->index, trace->streams[i], &table, err) ||
		    !table_lower_bound(table, begin, &first, err) ||
		    !table_lower_bound(table, end, &behind, err))
			return false;
		*in += behind - first + (first > 0);
		*all += table_count(table);
	}
	return true;
}

void horizon_release(struct horizon *horizon)
{
	mem_free(horizon->floors);
	*horizon = (struct horizon){0};
}

nstime horizon_floor(const struct horizon *horizon, const uint64_t *streams, size_t nstreams)
{
	nstime floor = NSTIME_MIN;

	if (!horizon)
		return NSTIME_MIN;
	if (!streams)
		return horizon->floor;
	for (size_t i = 0; i < nstreams; i++)
		if (bitset_has(streams, i) && horizon->floors[i] > floor)
			floor = horizon->floors[i];
	return floor;
}
