/* recorded.c - see recorded.h */
#include "index/tables/recorded.h"

#include "index/tables/internal.h"

static bool first_begin(struct table *table, nstime *begin, struct error *err)
{
	struct packet rec;

	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_listed(table, i, &rec, err))
			return false;
		if (rec.flags & PACKET_BEFORE_ALL)
			continue;
		*begin = rec.min;
		return true;
	}
	return true;
}

/* Record i, if it lies in time: is its end the greatest so far? */
static bool see_end(struct table *table, uint64_t i, struct recorded *out, bool *timed,
		    struct error *err)
{
	const uint32_t open = PACKET_PIECE | PACKET_MENDED | PACKET_SUSPECT;
	struct packet rec;

	if (!table_listed(table, i, &rec, err))
		return false;
	*timed = !(rec.flags & PACKET_BEFORE_ALL);
	if (!*timed || rec.max < out->end)
		return true;
	out->end = rec.max;
	out->ended = !(rec.flags & open);
	return true;
}

/* Records that end last are among the last `reach`, or are wide. */
static bool last_end(struct table *table, struct recorded *out, struct error *err)
{
	uint64_t left = table_reach(table);
	size_t nwide;
	const uint64_t *wide = table_wide(table, &nwide);
	bool timed;

	left = left ? left : 1;
	for (uint64_t i = table_count(table); left && i-- > 0; left -= timed)
		if (!see_end(table, i, out, &timed, err))
			return false;
	for (size_t w = 0; w < nwide; w++)
		if (!see_end(table, wide[w], out, &timed, err))
			return false;
	return true;
}

static bool read_stream(struct index *index, const struct stream *stream, struct recorded *out,
			struct error *err)
{
	struct table *table;

	*out = (struct recorded){.begin = NSTIME_MIN, .end = NSTIME_MIN};
	if (!index_table(index, stream, &table, err))
		return false;
	if (!first_begin(table, &out->begin, err) || !last_end(table, out, err))
		return error_while(err, "stream %s", stream->name);
	out->ended = out->ended && stream->tells_end && !index->trace->grows;
	return true;
}

/* Under recorded_lock. */
static bool recall_stream(struct index *index, const struct stream *stream, struct recorded *out,
			  struct error *err)
{
	struct index_slot *slot = &index->slots[stream->index];

	if (!slot->has_recorded && !read_stream(index, stream, &slot->recorded, err))
		return false;
	slot->has_recorded = true;
	*out = slot->recorded;
	return true;
}

bool stream_recorded(struct index *index, const struct stream *stream, struct recorded *out,
		     struct error *err)
{
	bool good;

	pthread_mutex_lock(&index->recorded_lock);
	good = recall_stream(index, stream, out, err);
	pthread_mutex_unlock(&index->recorded_lock);
	return good;
}

static bool read_recorded(struct index *index, bool has_time, nstime *begin, nstime *end,
			  struct error *err)
{
	const struct trace *trace = index->trace;
	struct recorded recorded;

	*begin = NSTIME_MAX;
	*end = NSTIME_MIN;
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (trace->streams[i]->has_time != has_time)
			continue;
		if (!recall_stream(index, trace->streams[i], &recorded, err))
			return false;
		if (recorded.end == NSTIME_MIN)
			continue;
		*begin = recorded.begin < *begin ? recorded.begin : *begin;
		*end = recorded.end > *end ? recorded.end : *end;
	}
	return true;
}

bool index_recorded(struct index *index, nstime *begin, nstime *end, struct error *err)
{
	bool good = true;

	pthread_mutex_lock(&index->recorded_lock);
	if (!index->recorded) {
		good = read_recorded(index, true, &index->begin, &index->end, err);
		if (good && index->begin > index->end)
			good = read_recorded(index, false, &index->begin, &index->end, err);
		index->recorded = good;
	}
	*begin = index->begin;
	*end = index->end;
	pthread_mutex_unlock(&index->recorded_lock);
	return good;
}
