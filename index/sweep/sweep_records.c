/*
 * sweep_records.c - which records of a stream can have events of the range
 *
 *                begin                  end
 *     ---- ------|----- ------ ------ --|-- -----      records by listed begin
 *      ^ low     ^ sure                      ^ high
 *
 * Headers can be wrong. As for a cursor (stream_forward.c), packets that are listed outside of the
 * range are decoded until their events prove that nothing lies between. Each event is compared with
 * the range later, so that a record too many only costs time.
 */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"

static bool sweep_records_get(const struct sweep_stream *of, uint64_t i, struct packet_info *out,
			      struct error *err)
{
	return table_get(of->table, i, out, err) || error_while(err, "stream %s", of->stream->name);
}

/* Sets `low`: goes down from the first record in the range to one with an event before the range.
 */
static bool find_low(struct sweeper *sweeper, struct sweep_stream *of, struct sweep_worker *pool,
		     struct error *err)
{
	uint64_t reach = table_reach(of->table), below = 0, i = of->sure;
	bool shown = false;
	struct packet_info info;

	for (; i > 0 && !(shown && below >= reach); i--, below++) {
		nstime least, greatest;
		if (!sweep_records_get(of, i - 1, &info, err))
			return false;
		if (shown || !events_want_packet(sweeper->options, of->stream, &info.rec))
			continue;
		of->sure = i - 1;
		if (table_true_begin(of->table, i - 1, &info.rec, &least) ||
		    sweep_look(pool, of->stream, &info, &least, &greatest))
			shown = least < of->begin;
	}
	of->low = i;
	return true;
}

/* Sets `high`: goes up from the first record behind the range to one with an event behind it. */
static bool find_high(struct sweeper *sweeper, struct sweep_stream *of, struct sweep_worker *pool,
		      struct error *err)
{
	uint64_t count = table_count(of->table);
	struct packet_info info;

	for (bool shown = false; !shown && of->high < count; of->high++) {
		nstime least, greatest;
		if (!sweep_records_get(of, of->high, &info, err))
			return false;
		if (!events_want_packet(sweeper->options, of->stream, &info.rec))
			continue;
		if (info.rec.flags & PACKET_EXACT_MIN ||
		    table_true_begin(of->table, of->high, &info.rec, &least))
			return true;
		shown = sweep_look(pool, of->stream, &info, &least, &greatest) &&
			greatest >= of->end && info.rec.min >= of->end;
	}
	return true;
}

/* Wide records elsewhere that may reach into the range. */
static bool find_more(struct sweeper *sweeper, struct sweep_stream *of, struct error *err)
{
	size_t nwide;
	const uint64_t *wide = table_wide(of->table, &nwide);
	struct packet_info info;

	of->more = mem_new_array(nwide + 1, sizeof *of->more);
	for (size_t i = 0; i < nwide; i++) {
		nstime least;
		if (wide[i] >= of->low && wide[i] < of->high)
			continue;
		if (!sweep_records_get(of, wide[i], &info, err))
			return false;
		bool suspect = info.rec.flags & PACKET_SUSPECT &&
			       !table_true_begin(of->table, wide[i], &info.rec, &least);
		if (events_want_packet(sweeper->options, of->stream, &info.rec) &&
		    (suspect || (info.rec.max >= of->begin && info.rec.min < of->end)))
			of->more[of->nmore++] = wide[i];
	}
	return true;
}

bool sweep_records(struct sweeper *sweeper, struct sweep_stream *of, struct sweep_worker *pool,
		   struct error *err)
{
	uint64_t count = table_count(of->table);

	of->low = of->sure = 0;
	of->high = count;
	if (of->begin >= of->end)
		of->high = 0;
	if (of->high && of->begin > NSTIME_MIN &&
	    !table_lower_bound(of->table, of->begin, &of->sure, err))
		return false;
	if (of->high && of->end < NSTIME_MAX &&
	    !table_lower_bound(of->table, of->end, &of->high, err))
		return false;
	of->low = of->sure;
	if (!count || of->begin >= of->end)
		return true;
	if (of->begin > NSTIME_MIN && !find_low(sweeper, of, pool, err))
		return false;
	if (of->end < NSTIME_MAX && !find_high(sweeper, of, pool, err))
		return false;
	return find_more(sweeper, of, err);
}
