/*
 * losses.c - see losses.h
 *
 * Records p, q are neighbours in the table's order. What a loss is dated by:
 *
 *     LOST_AT_END        q.lost - p.lost        last good: end of p      whole from: end of q
 *     LOST_AT_FIRST      q.lost - p.lost        begin of p               begin of q
 *     LOST_COUNT_BEFORE  q.lost                 end of p                 begin of q
 *     LOST_SUM_INSIDE    q.lost                 begin of q               end of q
 *     sequence numbers   q.seq - p.seq - 1      end of p                 begin of q
 *     first record       its counter, not 0     its begin                its end; count unknown
 *
 * On demand there are more rows, without counters: the end of a stream (recorded.h), if other
 * streams go on, as a loss that begins one nanosecond behind its last packet and never ends; the
 * last nanosecond of a loss, and the one before a stream that begins later than others; and each
 * loss that is inferred from events (struct inferred).
 *
 * Differences are taken modulo the counter's width. Sequence numbers that step back are ignored,
 * and so is a counter of 32 bits or more that steps back. An end behind the next packet's end is
 * taken to be that.
 *
 * Times are those that headers claim, whether the packet was decoded meanwhile or not: the rows of
 * a trace do not depend on what was read before.
 *
 * A record's rows are those of the gap behind it (and the first row, and sums). Their times are in
 * [min, max] of the record, so rows are found by a search for records; the end of a loss is in the
 * next record, so the search begins one record earlier. Copies of packets are skipped.
 */
#include "index/tables/losses.h"

#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/tables/reach.h"
#include "index/tables/recorded.h"
#include "index/tables/table.h"

#include <string.h>

enum row_kind {
	ROW_FIRST,
	ROW_INSIDE,
	ROW_PACKETS,
	ROW_EVENTS,
	ROW_BEGUN,
	ROW_ENDED,
	ROW_INFERRED,
	ROW_OVER = 16 /* plus the kind of the loss that is over */
};

void losses_init(struct losses *losses, const struct stream *stream, bool backward)
{
	*losses = (struct losses){.stream = stream, .backward = backward};
	losses->counts = stream->lost_kind != LOST_NONE || stream->seq_bits;
}

void losses_release(struct losses *losses)
{
	mem_free(losses->rows);
	mem_free(losses->wide);
	losses->rows = NULL;
	losses->wide = NULL;
}

/* True when `a` comes out before `b`. */
static bool row_before(const struct losses *losses, const struct loss *a, const struct loss *b)
{
	bool less = a->time != b->time       ? a->time < b->time
		    : a->record != b->record ? a->record < b->record
					     : a->kind < b->kind;

	return less != losses->backward;
}

/* One place is free. */
static void losses_settle(struct losses *losses, size_t hole, const struct loss *row)
{
	heap_settle(losses->rows, losses->nrows, hole, *row, a, b, row_before(losses, a, b), place,
		    (void)0);
}

static void put_row(struct losses *losses, const struct loss *row)
{
	if (row->time < losses->begin || row->time >= losses->end)
		return;
	(void)mem_push(losses->rows, losses->nrows, losses->capacity);
	losses_settle(losses, losses->nrows - 1, row);
}

static void losses_add_loss(struct losses *losses, struct loss row, const struct packet *after)
{
	if (row.until < row.time)
		row.until = row.time;
	row.source = after->source;
	row.offset = after->off;
	row.cpu = after->cpu >= 0 ? after->cpu : losses->stream->cpu;
	if (losses->stream->lost_elsewhere) {
		row.lost = row.lost_packets = 0;
		row.unknown = true;
	}
	put_row(losses, &row);
	if (!losses->ends || row.until <= row.time + 1)
		return;
	row.time = row.until - 1;
	row.kind += ROW_OVER;
	row.why = LOSS_OVER;
	put_row(losses, &row);
}

/*
 * Before the stream's first packet, or its first event that tells, where others were recorded
 * already. A recording of tasks has nothing of a CPU until one of them runs there: nothing was lost
 * before.
 */
static bool add_begin(struct losses *losses, struct error *err)
{
	const struct stream *stream = losses->stream;
	struct loss row = {.kind = ROW_BEGUN,
			   .why = LOSS_OVER,
			   .unknown = true,
			   .cpu = losses->stream->cpu,
			   .untold = !losses->stream->tells_end};
	const struct begun *begun = losses->options ? losses->options->begun : NULL;
	struct recorded recorded;
	nstime begin, end;

	if (!losses->ends || !stream->has_time ||
	    index_trace(losses->index)->parts[stream->part]->recording == RECORDING_TASKS)
		return true;
	if (!stream_recorded(losses->index, stream, &recorded, err))
		return false;
	if (recorded.begin > losses->end)
		return true;
	if (begun && !begun->begin(begun->arg, stream, &recorded.begin, err))
		return false;
	if (recorded.begin <= losses->begin || recorded.begin > losses->end)
		return true;
	if (!index_recorded(losses->index, &begin, &end, err))
		return false;
	row.until = recorded.begin;
	row.time = recorded.begin - 1;
	if (begin < recorded.begin)
		put_row(losses, &row);
	return true;
}

/* Adds the row of the stream's end, if other streams go on. */
static bool add_end(struct losses *losses, struct error *err)
{
	struct loss row = {.until = NSTIME_MAX,
			   .record = UINT64_MAX,
			   .kind = ROW_ENDED,
			   .why = LOSS_ENDED,
			   .unknown = true,
			   .cpu = losses->stream->cpu};
	struct recorded recorded;
	nstime begin, end;

	if (!losses->ends || !losses->stream->tells_end)
		return true;
	if (!stream_recorded(losses->index, losses->stream, &recorded, err))
		return false;
	if (!recorded.ended || recorded.end >= losses->end || recorded.end == NSTIME_MAX)
		return true;
	if (!index_recorded(losses->index, &begin, &end, err))
		return false;
	row.time = recorded.end + 1;
	if (recorded.end < end)
		put_row(losses, &row);
	return true;
}

/* The same moment may be found twice. */
static void add_inferred(void *to, const struct inferred_loss *found)
{
	struct losses *losses = to;
	uint64_t place = (uint64_t)found->claimed << 32 ^ (uint64_t)found->told;
	const struct loss row = {.time = found->time,
				 .until = found->time,
				 .offset = place,
				 .record = place,
				 .kind = ROW_INFERRED,
				 .why = LOSS_INFERRED,
				 .unknown = true,
				 .cpu = losses->stream->cpu,
				 .claimed = found->claimed,
				 .told = found->told,
				 .ended = found->ended};

	for (size_t i = losses->nrows; i-- > 0;) {
		const struct loss *has = &losses->rows[i];

		if (has->why == LOSS_INFERRED && has->time == row.time &&
		    has->claimed == row.claimed && has->told == row.told)
			return;
	}
	put_row(losses, &row);
}

static uint64_t modulo(uint64_t value, uint8_t bits)
{
	return bits == 0 || bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static uint64_t counter_steps(uint64_t from, uint64_t to, uint8_t bits)
{
	uint64_t steps = modulo(to - from, bits);
	unsigned width = bits == 0 || bits > 64 ? 64 : bits;

	if (width >= 32 && steps >> (width - 1))
		return 0;
	return steps;
}

enum { NUMBERS_NEAR = 8 };

static bool is_counter(enum lost_kind kind)
{
	return kind == LOST_AT_END || kind == LOST_AT_FIRST;
}

static nstime end_of(const struct packet *rec)
{
	return rec->max > rec->min ? rec->max : rec->min;
}

/* Adds rows of losses before the first record, or inside record i. */
static void add_own_rows(struct losses *losses, uint64_t i, bool first, const struct packet *rec)
{
	bool unknown = rec->flags & PACKET_LOST_UNKNOWN;
	uint64_t lost = rec->lost == PACKET_NONE ? 0 : rec->lost;
	enum lost_kind kind = losses->stream->lost_kind;
	struct loss row = {.time = rec->min, .until = end_of(rec), .record = i, .lost = lost};

	if (kind == LOST_SUM_INSIDE && (lost || unknown)) {
		row.kind = ROW_INSIDE;
		row.unknown = unknown;
		losses_add_loss(losses, row, rec);
	} else if (first && kind != LOST_NONE && (lost || unknown)) {
		row.kind = ROW_FIRST;
		row.unknown = unknown || is_counter(kind);
		if (kind != LOST_AT_END)
			row.until = rec->min;
		losses_add_loss(losses, row, rec);
	}
}

static void add_event_gap(struct losses *losses, uint64_t i, const struct packet *p,
			  const struct packet *q)
{
	enum lost_kind kind = losses->stream->lost_kind;
	bool known = p->lost != PACKET_NONE && q->lost != PACKET_NONE;
	nstime p_end = end_of(p), q_end = end_of(q);
	struct loss row = {.time = p_end < q_end ? p_end : q_end,
			   .until = kind == LOST_AT_END ? q_end : q->min,
			   .record = i,
			   .kind = ROW_EVENTS};

	if (is_counter(kind))
		row.lost = known ? counter_steps(p->lost, q->lost, losses->stream->lost_bits) : 0;
	else if (kind == LOST_COUNT_BEFORE)
		row.lost = q->lost == PACKET_NONE ? 0 : q->lost;
	else
		return;
	if (kind == LOST_AT_FIRST)
		row.time = p->min;
	row.unknown = q->flags & PACKET_LOST_UNKNOWN;
	if (row.lost || row.unknown)
		losses_add_loss(losses, row, q);
}

/*
 * Of q, behind record i: steps from the number that comes next before its own, among the records
 * near it, which differ from those beside it where times and numbers are not in one order. *seq is
 * that number; 0: it is not known.
 */
static bool steps_before(struct losses *losses, uint64_t i, const struct packet *q, uint64_t *seq,
			 int64_t *steps, struct error *err)
{
	uint8_t bits = losses->stream->seq_bits;
	uint64_t left = losses->count - i;
	uint64_t to = left > NUMBERS_NEAR ? i + NUMBERS_NEAR : losses->count;
	struct packet rec;

	*steps = 0;
	for (uint64_t k = i > NUMBERS_NEAR ? i - NUMBERS_NEAR : 0; k < to; k++) {
		if (!table_listed(losses->table, k, &rec, err))
			return false;
		int64_t own = rec.seq == PACKET_NONE ? 0 : packet_steps(rec.seq, q->seq, bits);
		if (own <= 0 || (*steps && own >= *steps))
			continue;
		*steps = own;
		*seq = rec.seq;
	}
	return true;
}

static bool add_packet_gap(struct losses *losses, uint64_t i, const struct packet *p,
			   const struct packet *q, struct error *err)
{
	nstime p_end = end_of(p), q_end = end_of(q);
	uint64_t after = p->seq;

	if (!losses->stream->seq_bits || p->seq == PACKET_NONE || q->seq == PACKET_NONE)
		return true;
	int64_t steps = packet_steps(p->seq, q->seq, losses->stream->seq_bits);
	if (steps == 0 || steps == 1)
		return true;
	if (!steps_before(losses, i, q, &after, &steps, err))
		return false;
	if (steps <= 1)
		return true;
	losses_add_loss(losses,
			(struct loss){.time = p_end < q_end ? p_end : q_end,
				      .until = q->min,
				      .lost_packets = (uint64_t)steps - 1,
				      .after = after,
				      .record = i,
				      .kind = ROW_PACKETS},
			q);
	return true;
}

/* From *i to the next record that is no copy of another; losses->count when there is none. */
static bool next_record(struct losses *losses, uint64_t *i, struct packet *next, struct error *err)
{
	while (++*i < losses->count) {
		if (!table_listed(losses->table, *i, next, err))
			return false;
		if (!(next->flags & PACKET_DOUBLED))
			break;
	}
	return true;
}

/* From *i to the record before it that is no copy; 0 when there is none. */
static bool record_before(struct losses *losses, uint64_t *i, struct error *err)
{
	struct packet rec = {.flags = PACKET_DOUBLED};

	while (*i > 0 && rec.flags & PACKET_DOUBLED)
		if (!table_listed(losses->table, --*i, &rec, err))
			return false;
	return true;
}

static bool add_rows_of(struct losses *losses, uint64_t i, struct error *err)
{
	struct packet rec, next, last = {0};
	uint64_t behind = i;

	if (!table_listed(losses->table, i, &rec, err) ||
	    (i > 0 && !table_listed(losses->table, i - 1, &last, err)))
		return false;
	if (rec.flags & (PACKET_OTHER | PACKET_DOUBLED)) /* the former come before all others */
		return true;
	add_own_rows(losses, i, i == 0 || last.flags & PACKET_OTHER, &rec);
	if (!next_record(losses, &behind, &next, err))
		return false;
	if (behind >= losses->count)
		return true;
	if (!add_packet_gap(losses, i, &rec, &next, err))
		return false;
	add_event_gap(losses, i, &rec, &next);
	return true;
}

/*
 * Records that the run over [from, to) would not meet, or, backward, too late. The table's list may
 * grow while we read, so that the run needs a copy.
 */
static bool add_wide_rows(struct losses *losses, uint64_t from, struct error *err)
{
	size_t nwide;
	const uint64_t *wide = table_wide(losses->table, &nwide);

	losses->wide = mem_resize(losses->wide, nwide + 1, sizeof *losses->wide);
	losses->nwide = nwide;
	if (nwide)
		memcpy(losses->wide, wide, nwide * sizeof *wide);
	for (size_t w = 0; w < nwide; w++)
		if ((losses->backward || losses->wide[w] < from) &&
		    !add_rows_of(losses, losses->wide[w], err))
			return false;
	return true;
}

static bool is_wide(const struct losses *losses, uint64_t record)
{
	size_t low = search_first(i, 0, losses->nwide, losses->wide[i] < record);

	return low < losses->nwide && losses->wide[low] == record;
}

/* The time up to which rows of both kinds were made: forward the lesser, backward the greater. */
static nstime both_reached(const struct losses *losses)
{
	bool less = losses->counted < losses->verified;

	return less != losses->backward ? losses->counted : losses->verified;
}

/* Rows of records from next on have times >= the begin of that record. */
static bool read_forward(struct losses *losses, nstime horizon, struct error *err)
{
	struct packet rec;

	while (losses->next < losses->count) {
		if (!table_listed(losses->table, losses->next, &rec, err))
			return false;
		losses->counted = rec.min;
		if (rec.min > horizon || rec.min >= losses->end)
			return true;
		if (!add_rows_of(losses, losses->next++, err))
			return false;
	}
	losses->counted = NSTIME_MAX;
	return true;
}

/* A plain record ends before the begin of the one `reach` places on; a row is before its end. */
static bool read_backward(struct losses *losses, nstime horizon, struct error *err)
{
	uint64_t reach = table_reach(losses->table);
	struct packet rec;

	while (losses->next > 0) {
		uint64_t bound = losses->next - 1;
		if (losses->ends && !next_record(losses, &bound, &rec, err))
			return false;
		bound += reach;
		losses->counted = NSTIME_MAX;
		while (bound < losses->count && is_wide(losses, bound))
			bound++;
		if (bound < losses->count) {
			if (!table_listed(losses->table, bound, &rec, err))
				return false;
			losses->counted = rec.min;
		}
		if (losses->counted < horizon || losses->counted < losses->begin)
			return true;
		losses->next--;
		if (!is_wide(losses, losses->next) && !add_rows_of(losses, losses->next, err))
			return false;
	}
	losses->counted = NSTIME_MIN;
	return true;
}

/*
 * Packets that lack what is looked for are not opened, and what is inferred there is left out:
 * unless it began in the last packet before them that tells, or ends in the next one, and that does
 * not lack it; or none tells behind them, since what is inferred of a stream's end may concern all.
 */
enum { LOOK_AROUND = 16 };

static bool lacks(const struct losses *losses, const struct packet_info *info)
{
	const struct events_options *options = losses->options;

	return options->lacks(options->skips_arg, losses->stream, info);
}

/* Record i, or the nearest one in that direction that tells, or the stream's end. */
static bool concerns_from(struct losses *losses, uint64_t i, bool backward)
{
	const struct inferred *inferred = losses->inferred;
	uint64_t count = table_count(losses->table), most = backward ? i : count - 1 - i;
	struct packet_info info;
	struct error ignored; /* the cursor that reads the packets reports it */

	for (uint64_t far = 0; far <= most; far++) {
		if (far == LOOK_AROUND ||
		    !table_get(losses->table, backward ? i - far : i + far, &info, &ignored) ||
		    !lacks(losses, &info))
			return true;
		if (far > 0 && inferred->tells(inferred->arg, losses->stream, &info))
			return false;
	}
	return !backward;
}

static bool concerns(struct losses *losses, uint64_t i)
{
	size_t nwide;

	table_wide(losses->table, &nwide);
	if (!losses->options || !losses->options->lacks || nwide ||
	    table_reach(losses->table) > REACH_FIRST)
		return true; /* packets that overlap more than by their ends have no "before" */
	return concerns_from(losses, i, true) || concerns_from(losses, i, false);
}

/* Of the times [begin, end), which lie in one packet or between two. */
static bool find_inferred(struct losses *losses, nstime begin, nstime end, struct error *err)
{
	const struct inferred *inferred = losses->inferred;

	return begin >= end || inferred->find(inferred->arg, losses->stream, begin, end,
					      losses->backward, add_inferred, losses, err);
}

/* The begin of record i, or the end of the range, whichever comes first. */
static bool losses_begin_of(struct losses *losses, uint64_t i, nstime *out, struct error *err)
{
	struct packet_info info;

	*out = losses->end;
	if (i >= table_count(losses->table))
		return true;
	if (!table_get(losses->table, i, &info, err))
		return false;
	if (info.rec.min < *out)
		*out = info.rec.min;
	return true;
}

/*
 * Packet by packet, to the end of the one that holds the horizon. The order is that of listed
 * begins: a packet that was read may begin earlier, and no time is looked at twice.
 */
static bool verify_forward(struct losses *losses, nstime horizon, struct error *err)
{
	nstime next;
	uint64_t i;

	while (losses->verified <= horizon && losses->verified < losses->end) {
		bool early = false;

		if (!table_lower_bound(losses->table, losses->verified + 1, &i, err) ||
		    !losses_begin_of(losses, i, &next, err))
			return false;
		for (; next <= losses->verified; early = true)
			if (!losses_begin_of(losses, ++i, &next, err))
				return false;
		if (i > 0 && (early || concerns(losses, i - 1)) &&
		    !find_inferred(losses, losses->verified, next, err))
			return false;
		losses->verified = next;
	}
	if (losses->verified >= losses->end)
		losses->verified = NSTIME_MAX;
	return true;
}

/*
 * The last nanosecond of a range that is read backward, before the cursor opens a packet: what
 * tells on either side of it is read, and the cursor finds these packets in the cache.
 */
static bool verify_last(struct losses *losses, struct error *err)
{
	nstime end = losses->end;
	uint64_t i;

	if (!losses->backward || end == NSTIME_MAX || losses->verified != end - 1)
		return true;
	if (!table_lower_bound(losses->table, end, &i, err))
		return false;
	if (!i || !concerns(losses, i - 1))
		return true;
	losses->verified = end - 1 > losses->begin ? end - 2 : NSTIME_MIN;
	return find_inferred(losses, end - 1, end, err);
}

/*
 * Down to the horizon, since one event may be all that is asked for; and from the second time on
 * packet by packet, down to the begin of the one that holds the horizon.
 */
static bool verify_backward(struct losses *losses, nstime horizon, struct error *err)
{
	nstime high = losses->verified + 1, low = high;
	nstime least = losses->looked_down || horizon < losses->begin ? losses->begin : horizon;
	struct packet_info info;
	uint64_t i;

	losses->looked_down = true;
	if (!table_lower_bound(losses->table, high, &i, err))
		return false;
	while (i-- > 0 && low > horizon && low > losses->begin) {
		if (!table_get(losses->table, i, &info, err))
			return false;
		low = info.rec.min > least ? info.rec.min : least;
		if (concerns(losses, i) && !find_inferred(losses, low, high, err))
			return false;
		high = low < high ? low : high;
	}
	if (low > horizon) /* before the first packet there is nothing */
		low = losses->begin;
	losses->verified = low > losses->begin ? low - 1 : NSTIME_MIN;
	return true;
}

bool losses_begin(struct losses *losses, nstime begin, nstime end, struct error *err)
{
	uint64_t lb = 0, ub, reach = table_reach(losses->table);
	bool watched = losses->inferred &&
		       losses->inferred->watches(losses->inferred->arg, losses->stream);

	losses->begin = begin;
	losses->end = end;
	losses->nrows = 0;
	losses->next = 0;
	losses->count = losses->counts ? table_count(losses->table) : 0;
	losses->counted = losses->verified = losses->backward ? NSTIME_MIN : NSTIME_MAX;
	if (watched && begin < end)
		losses->verified = losses->backward ? end - 1 : begin;
	losses->looked_down = false;
	if (!add_begin(losses, err) || !add_end(losses, err) ||
	    (watched && begin < end && !verify_last(losses, err)))
		return false;
	losses->reached = both_reached(losses);
	if (!losses->count)
		return true;
	ub = losses->count;
	if (begin > NSTIME_MIN && !table_lower_bound(losses->table, begin, &lb, err))
		return false;
	if (end < NSTIME_MAX && !table_lower_bound(losses->table, end, &ub, err))
		return false;
	lb = lb > reach ? lb - reach : 0;
	if (losses->ends && !record_before(losses, &lb, err))
		return false;
	losses->next = losses->backward ? ub : lb;
	losses->counted = losses->backward ? NSTIME_MAX : NSTIME_MIN;
	losses->reached = both_reached(losses);
	return add_wide_rows(losses, lb, err);
}

bool losses_read(struct losses *losses, nstime horizon, struct error *err)
{
	bool backward = losses->backward, good = true;

	if (backward ? losses->reached < horizon : losses->reached > horizon)
		return true;
	if (backward ? losses->counted >= horizon : losses->counted <= horizon)
		good = backward ? read_backward(losses, horizon, err)
				: read_forward(losses, horizon, err);
	if (good && (backward ? losses->verified >= horizon && losses->verified > NSTIME_MIN
			      : losses->verified <= horizon && losses->verified < NSTIME_MAX))
		good = backward ? verify_backward(losses, horizon, err)
				: verify_forward(losses, horizon, err);
	losses->reached = both_reached(losses);
	return good;
}

struct event loss_event(const struct stream *stream, const struct loss *loss)
{
	return (struct event){.time = loss->time,
			      .stream = stream,
			      .cpu = loss->cpu,
			      .position = {.stream = stream->index,
					   .source = loss->source,
					   .offset = loss->offset,
					   .index = loss->kind},
			      .lost = loss->lost,
			      .lost_packets = loss->lost_packets,
			      .lost_unknown = loss->unknown,
			      .loss_kind = loss->why,
			      .untold = loss->untold,
			      .claimed = loss->claimed,
			      .told = loss->told,
			      .ended = loss->ended,
			      .until = loss->until};
}

const struct loss *losses_head(const struct losses *losses)
{
	return losses->nrows ? losses->rows : NULL;
}

void losses_drop(struct losses *losses)
{
	losses_settle(losses, 0, &losses->rows[--losses->nrows]);
}

nstime losses_reached(const struct losses *losses)
{
	return losses->reached;
}

/* ---- of one moment ---- */

/* Records on either side of those that may matter: they tell for how long the answer holds. */
enum { LACK_AROUND = 64 };

static void losses_narrow(struct lack *lack, nstime t, nstime begin, nstime end)
{
	if (end <= begin)
		return;
	if (t >= begin && t < end) {
		lack->from = !lack->lacks || begin > lack->from ? begin : lack->from;
		lack->until = !lack->lacks || end < lack->until ? end : lack->until;
		lack->lacks = true;
	} else if (!lack->lacks) {
		if (end <= t && end > lack->from)
			lack->from = end;
		if (begin > t && begin < lack->until)
			lack->until = begin;
	}
}

/* Rows of the records near t, into losses->rows; they are all that matters from *from on, before
 * *until. */
static bool row_near(struct losses *losses, nstime t, struct lack *out, struct error *err)
{
	uint64_t reach = table_reach(losses->table) + 1, first, low, high;
	struct packet_info info;

	if (!table_lower_bound(losses->table, t + 1, &first, err))
		return false;
	low = first > reach + LACK_AROUND ? first - reach - LACK_AROUND : 0;
	high = losses->count - first > LACK_AROUND ? first + LACK_AROUND : losses->count;
	table_expect(losses->table, low, high + 1);
	if (low > 0 && !table_get(losses->table, low + reach, &info, err))
		return false;
	out->from = low > 0 ? info.rec.min : NSTIME_MIN;
	if (high < losses->count && !table_get(losses->table, high, &info, err))
		return false;
	out->until = high < losses->count ? info.rec.min : NSTIME_MAX;
	if (!add_wide_rows(losses, 0, err))
		return false;
	for (uint64_t i = low; i < high; i++)
		if (!is_wide(losses, i) && !add_rows_of(losses, i, err))
			return false;
	return true;
}

/* Before the stream began and after it ended, where the recording goes on. */
static bool narrow_to_recorded(struct losses *losses, nstime t, struct lack *out, struct error *err)
{
	const struct stream *stream = losses->stream;
	struct recorded recorded;
	nstime begin, end;

	if (!stream->tells_end || !stream->has_time)
		return true;
	if (!stream_recorded(losses->index, stream, &recorded, err) ||
	    !index_recorded(losses->index, &begin, &end, err))
		return false;
	if (recorded.begin == NSTIME_MIN)
		return true;
	losses_narrow(out, t, begin, recorded.begin);
	if (recorded.ended && recorded.end < end)
		losses_narrow(out, t, recorded.end + 1, NSTIME_MAX);
	return true;
}

/* Rows of the records near t, of which *out is as of row_near(). The caller ends *losses. */
static bool read_near(struct losses *losses, struct index *index, const struct stream *stream,
		      nstime t, struct lack *out, struct error *err)
{
	*out = (struct lack){.from = NSTIME_MIN, .until = NSTIME_MAX};
	losses_init(losses, stream, true); /* wide records are read at once */
	losses->index = index;
	losses->begin = NSTIME_MIN;
	losses->end = NSTIME_MAX;
	if (!index_table(index, stream, &losses->table, err))
		return false;
	losses->count = losses->counts ? table_count(losses->table) : 0;
	return !losses->count || row_near(losses, t, out, err);
}

bool losses_at(struct index *index, const struct stream *stream, nstime t, struct lack *out,
	       struct error *err)
{
	struct losses losses;
	struct lack whole;
	bool good = read_near(&losses, index, stream, t, &whole, err);

	*out = whole;
	for (size_t i = 0; good && i < losses.nrows; i++)
		losses_narrow(out, t, losses.rows[i].time, losses.rows[i].until);
	good = good && narrow_to_recorded(&losses, t, out, err);
	if (out->from < whole.from)
		out->from = whole.from;
	if (out->until > whole.until)
		out->until = whole.until;
	losses_release(&losses);
	return good;
}

bool losses_around(struct index *index, const struct stream *stream, nstime t,
		   void (*each)(void *arg, const struct loss *loss), void *arg, struct error *err)
{
	struct losses losses;
	struct lack ignored;
	bool good = read_near(&losses, index, stream, t, &ignored, err);

	for (size_t i = 0; good && i < losses.nrows; i++)
		if (losses.rows[i].time <= t && t < losses.rows[i].until)
			each(arg, &losses.rows[i]);
	losses_release(&losses);
	return good;
}
