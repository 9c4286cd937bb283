/* range.c - first and last event time of a trace, and its number of events, with few reads */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/events.h"

#include <stdlib.h>

/*
 * The first time of a stream by its records. *exact false: some record near it is only a bound, and
 * packets must be decoded there.
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

/* A stream whose records are not exact at this end. */
struct unsure {
	nstime listed;
	const struct stream *stream;
};

struct range_ends {
	bool backward, trusting;
	bool found;
	nstime time; /* of the first (backward: last) event that is known so far */
	struct unsure *unsure;
	size_t nunsure;
};

static void note_end(struct range_ends *ends, nstime time)
{
	if (!ends->found || (ends->backward ? time > ends->time : time < ends->time))
		ends->time = time;
	ends->found = true;
}

/* Decodes the stream's first (backward: last) event, if it is outside of the range known so far. */
static bool decode_end(struct index *index, const struct stream *stream, struct range_ends *ends,
		       struct error *err)
{
	struct events_options options = {.begin = NSTIME_MIN + 1,
					 .end = NSTIME_MAX,
					 .backward = ends->backward,
					 .trusting = ends->trusting,
					 .only = stream};
	struct events *events;
	struct event event;

	if (ends->found && ends->backward)
		options.begin = ends->time < NSTIME_MAX ? ends->time + 1 : NSTIME_MAX;
	else if (ends->found)
		options.end = ends->time;
	bool good = events_open(index, &options, &events, err);
	if (good) {
		enum step step = events_next(events, &event, err);
		if (step == STEP_ITEM)
			note_end(ends, event.time);
		good = step != STEP_ERROR;
		events_close(events);
	}
	return good;
}

static int by_listed(const void *a, const void *b)
{
	const struct unsure *x = a, *y = b;

	return three_way(x->listed, y->listed) ?: three_way(x->stream->index, y->stream->index);
}

/* Outermost first, so that of most streams the rest only shows that it begins further in. */
static const struct unsure *unsure_at(const struct range_ends *ends, size_t i)
{
	return &ends->unsure[ends->backward ? ends->nunsure - 1 - i : i];
}

static bool find_end(struct index *index, bool has_time, struct range_ends ends, nstime *time,
		     struct error *err)
{
	const struct trace *trace = index_trace(index);
	bool backward = ends.backward;
	nstime none = backward ? NSTIME_MIN : NSTIME_MAX;
	bool good = true;

	ends.time = none;
	ends.unsure = mem_new_array(trace->nstreams + 1, sizeof *ends.unsure);
	for (size_t i = 0; good && i < trace->nstreams; i++) {
		nstime end = none;
		struct table *table;
		bool exact = true;
		if (trace->streams[i]->has_time != has_time)
			continue;
		good = index_table(index, trace->streams[i], &table, err) &&
		       (backward ? stream_last(table, &end, &exact, err)
				 : stream_first(table, &end, &exact, err));
		if (!exact)
			ends.unsure[ends.nunsure++] = (struct unsure){end, trace->streams[i]};
		else if (end != none)
			note_end(&ends, end);
	}
	qsort(ends.unsure, ends.nunsure, sizeof *ends.unsure, by_listed);
	for (size_t i = 0; good && i < ends.nunsure; i++)
		good = decode_end(index, unsure_at(&ends, i)->stream, &ends, err);
	*time = ends.time;
	mem_free(ends.unsure);
	return good;
}

static bool any_timed(const struct index *index)
{
	const struct trace *trace = index_trace(index);
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any |= trace->streams[i]->has_time;
	return any;
}

bool events_first(struct index *index, nstime *first, struct error *err)
{
	return find_end(index, any_timed(index), (struct range_ends){0}, first, err);
}

bool events_start(struct index *index, nstime *first, struct error *err)
{
	return find_end(index, any_timed(index), (struct range_ends){.trusting = true}, first, err);
}

bool events_range(struct index *index, nstime *first, nstime *last, struct error *err)
{
	return events_first(index, first, err) &&
	       find_end(index, any_timed(index), (struct range_ends){.backward = true}, last, err);
}

/* Decodes a packet only to report its damage. */
static void tell_damaged(struct trace *trace, const struct stream *stream,
			 const struct packet_info *info)
{
	const struct reader *reader = trace->parts[stream->part]->reader;
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	enum step step = STEP_ERROR;
	struct error cause;

	batch->capacity = BATCH_MAX;
	if (reader->decoder_open(decoder, info, &cause))
		while ((step = reader->decoder_next(decoder, batch, &cause)) == STEP_ITEM)
			;
	if (step == STEP_ERROR)
		trace_damage_at(trace, stream, info->rec.source, info->rec.off, &cause);
	batch_free(batch);
	reader->decoder_free(decoder);
}

bool events_tell_damaged(struct index *index, struct error *err)
{
	struct trace *trace = index_trace(index);

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct packet_info info;
		struct table *table;
		if (!index_table(index, trace->streams[i], &table, err))
			return false;
		for (uint64_t k = 0; k < table_count(table); k++) {
			if (!table_get(table, k, &info, err))
				return false;
			if (info.rec.flags & PACKET_DAMAGED)
				tell_damaged(trace, trace->streams[i], &info);
		}
	}
	return true;
}

bool events_counted(struct index *index, uint64_t *count)
{
	struct trace *trace = index_trace(index);
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
			if (info.rec.flags & PACKET_DAMAGED)
				tell_damaged(trace, trace->streams[i], &info);
			if (info.rec.events == UINT32_MAX)
				return false;
			*count += info.rec.events;
		}
	}
	return true;
}
