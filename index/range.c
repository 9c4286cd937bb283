/* range.c - when a trace begins and ends, and how many events it has, from as little as possible */
#include "engine/base/mem.h"
#include "index/events.h"

/*
 * The end that records tell exactly. *exact false: some record near the end is only a bound, and
 * its stream must be decoded there.
 */
static bool stream_first(struct table *table, nstime *first, bool *exact, struct error *err)
{
	struct packet_info info;

	*exact = true;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.flags & (PACKET_EMPTY | PACKET_BEFORE_ALL))
			continue;
		size_t nwide;
		table_wide(table, &nwide);
		*first = info.rec.min;
		*exact = info.rec.flags & PACKET_EXACT_MIN && nwide == 0;
		return true;
	}
	return true;
}

static bool stream_last(struct table *table, nstime *last, bool *exact, struct error *err)
{
	uint64_t left = table_reach(table);
	struct packet_info info;
	size_t nwide;

	table_wide(table, &nwide);
	*exact = nwide == 0;
	for (uint64_t i = table_count(table); *exact && left && i-- > 0;) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.flags & (PACKET_EMPTY | PACKET_BEFORE_ALL))
			continue;
		*exact = info.rec.flags & PACKET_EXACT_MAX;
		*last = info.rec.max > *last ? info.rec.max : *last;
		left--;
	}
	return true;
}

/* The first event in either direction of the streams in `streams`. */
static bool decode_end(struct index *index, const uint64_t *streams, bool backward, nstime *time,
		       struct error *err)
{
	struct events_options options = {.begin = NSTIME_MIN + 1,
					 .end = NSTIME_MAX,
					 .backward = backward,
					 .streams = streams};
	struct events *events;
	struct event event;

	if (!events_open(index, &options, &events, err))
		return false;
	enum step step = events_next(events, &event, err);
	if (step == STEP_ITEM && (backward ? event.time > *time : event.time < *time))
		*time = event.time;
	events_close(events);
	return step != STEP_ERROR;
}

static bool find_end(struct index *index, bool has_time, bool backward, nstime *time,
		     struct error *err)
{
	const struct trace *trace = index_trace(index);
	uint64_t *inexact = mem_new_array(trace->nstreams / 64 + 1, sizeof *inexact);
	bool good = true, any = false;

	*time = backward ? NSTIME_MIN : NSTIME_MAX;
	for (size_t i = 0; good && i < trace->nstreams; i++) {
		nstime end = *time;
		struct table *table;
		bool exact = true;
		if (trace->streams[i]->has_time != has_time)
			continue;
		good = index_table(index, trace->streams[i], &table, err) &&
		       (backward ? stream_last(table, &end, &exact, err)
				 : stream_first(table, &end, &exact, err));
		if (!exact)
			inexact[i / 64] |= UINT64_C(1) << i % 64;
		else if (backward ? end > *time : end < *time)
			*time = end;
		any |= !exact;
	}
	good = good && (!any || decode_end(index, inexact, backward, time, err));
	mem_free(inexact);
	return good;
}

bool events_range(struct index *index, nstime *first, nstime *last, struct error *err)
{
	const struct trace *trace = index_trace(index);
	bool has_time = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		has_time |= trace->streams[i]->has_time;
	return find_end(index, has_time, false, first, err) &&
	       find_end(index, has_time, true, last, err);
}

bool events_counted(struct index *index, uint64_t *count)
{
	const struct trace *trace = index_trace(index);
	struct error err;

	*count = 0;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct packet_info info;
		struct table *table;
		if (!index_table(index, trace->streams[i], &table, &err))
			return false;
		for (uint64_t k = 0; k < table_count(table); k++) {
			if (!table_get(table, k, &info, &err))
				return false;
			if (info.rec.flags & PACKET_EMPTY)
				continue;
			if (info.rec.events == UINT32_MAX)
				return false;
			*count += info.rec.events;
		}
	}
	return true;
}
