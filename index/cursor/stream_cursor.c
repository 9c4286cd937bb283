/*
 * stream_cursor.c - the open packets of a stream, and the runs that are taken from them
 *
 *     table ── pending records ──> open packets, in order ──> runs
 *                                  [ ... | second | top ]
 *
 * Usually one packet is being read, and the one behind it is open with a small batch. Runs are
 * taken from the top packet alone up to `limit`, which stream_forward.c and stream_backward.c
 * compute: the least of the next record's begin, the second packet's head, the guard, and the next
 * loss.
 */
#include "index/cursor/stream_cursor_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/base/prefetch.h"
#include "engine/base/search.h"
#include "index/tables/findings.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* Reports damage of a packet, once, however often the packet is read. */
static void stream_cursor_tell_damage(void *arg, uint64_t record, const struct packet_info *info,
				      const struct error *cause)
{
	struct stream_cursor *cursor = arg;

	if (!cursor->told)
		cursor->told = mem_new((size_t)(cursor->count / 8 + 1));
	if (record < cursor->count) {
		if (cursor->told[record / 8] >> record % 8 & 1)
			return;
		cursor->told[record / 8] |= (uint8_t)(1u << record % 8);
	}
	trace_damage_at(cursor->setup->trace, cursor->stream, info->rec.source, info->rec.off,
			cause);
}

/* Has the stream a wanted class? Otherwise, with only_wanted or skips, no packet is opened. */
static bool has_wanted(const struct stream_setup *setup, const struct stream *stream)
{
	const struct events_options *options = setup->options;
	const struct trace *trace = setup->trace;
	bool wanted = !(options->only_wanted || options->skips) || !options->classes;

	for (size_t c = 0; c < trace->nclasses && !wanted; c++)
		wanted = bitset_has(options->classes, c) &&
			 trace->classes[c]->part == stream->part &&
			 trace->classes[c]->stream_id == stream->id;
	return wanted;
}

struct stream_cursor *stream_cursor_new(struct stream_setup *setup, const struct stream *stream)
{
	const struct events_options *options = setup->options;
	struct stream_cursor *cursor = mem_new(sizeof *cursor);

	cursor->setup = setup;
	cursor->stream = stream;
	cursor->view = (struct packet_view){
		.trace = setup->trace,
		.stream = stream,
		.reader = setup->trace->parts[stream->part]->reader,
		.cache = index_packets(setup->index),
		.head_cache = setup->head_cache,
		.classes = options->classes,
		.select = options->select,
		.select_arg = options->select_arg,
		.backward = options->backward,
		.whole = options->whole_packets,
		.batch_limit = &setup->batch_limit,
		.value_slots = setup->value_slots,
		.scratch = &setup->scratch,
		.room = setup->room,
		.damaged = stream_cursor_tell_damage,
		.arg = cursor,
	};
	cursor->only_losses = !has_wanted(setup, stream);
	losses_init(&cursor->losses, stream, options->backward);
	cursor->losses.index = setup->index;
	cursor->losses.ends = options->ends;
	cursor->losses.inferred = options->inferred;
	cursor->losses.options = options;
	return cursor;
}

void stream_cursor_free(struct stream_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; i < cursor->nopen; i++)
		open_packet_free(cursor->open[i]);
	for (size_t i = 0; i < cursor->nidle; i++)
		open_packet_free(cursor->idle[i]);
	losses_release(&cursor->losses);
	mem_free(cursor->open);
	mem_free(cursor->idle);
	mem_free(cursor->pending);
	record_map_release(&cursor->pending_at);
	record_map_release(&cursor->open_at);
	mem_free(cursor->wide);
	mem_free(cursor->told);
	mem_free(cursor);
}

/* Records */

bool stream_get(struct stream_cursor *cursor, uint64_t record, struct packet_info *out,
		struct error *err)
{
	if (!table_get(cursor->table, record, out, err))
		return error_while(err, "stream %s", cursor->stream->name);
	if (out->rec.max < out->rec.min)
		out->rec.max = out->rec.min;
	return true;
}

bool stream_is_wide(const struct stream_cursor *cursor, uint64_t record)
{
	size_t low = search_first(i, 0, cursor->nwide, cursor->wide[i] < record);

	return low < cursor->nwide && cursor->wide[low] == record;
}

/* Pending records: a heap by key, the least first, backward the greatest */

static bool pending_before(const struct stream_cursor *cursor, const struct pending *a,
			   const struct pending *b)
{
	return cursor->view.backward ? a->key > b->key : a->key < b->key;
}

/* One place is free. */
static void pending_settle(struct stream_cursor *cursor, size_t hole, struct pending item)
{
	heap_settle(cursor->pending, cursor->npending, hole, item, a, b,
		    pending_before(cursor, a, b), place,
		    record_map_put(&cursor->pending_at, cursor->pending[place].record, place));
}

void pending_push(struct stream_cursor *cursor, struct pending pending)
{
	(void)mem_push(cursor->pending, cursor->npending, cursor->pending_capacity);
	pending_settle(cursor, cursor->npending - 1, pending);
}

static void pending_remove(struct stream_cursor *cursor, size_t i)
{
	struct pending last = cursor->pending[--cursor->npending];

	record_map_remove(&cursor->pending_at, cursor->pending[i].record);
	if (i < cursor->npending)
		pending_settle(cursor, i, last);
}

struct pending pending_pop(struct stream_cursor *cursor)
{
	struct pending first = cursor->pending[0];

	pending_remove(cursor, 0);
	return first;
}

bool pending_take(struct stream_cursor *cursor, uint64_t record, struct pending *out)
{
	uintptr_t place;

	if (!record_map_get(&cursor->pending_at, record, &place))
		return false;
	*out = cursor->pending[place];
	pending_remove(cursor, place);
	return true;
}

/* Open packets: a heap, the next to come first */

/* Is `a` read before `b`? The order is (time, source, offset), backward the reverse. */
static bool packet_before(const struct open_packet *a, const struct open_packet *b)
{
	const struct packet *p = &a->info.rec, *q = &b->info.rec;
	nstime at = open_packet_time(a), bt = open_packet_time(b);
	bool less = at != bt                 ? at < bt
		    : p->source != q->source ? p->source < q->source
		    : p->off != q->off       ? p->off < q->off
					     : a->record < b->record;

	return less != a->view->backward;
}

static bool comes_before(struct stream_cursor *cursor, const struct open_packet *a,
			 const struct open_packet *b)
{
	cursor->setup->compared++;
	return packet_before(a, b);
}

/* One place is free. */
static void stream_cursor_settle(struct stream_cursor *cursor, size_t hole,
				 struct open_packet *packet)
{
	heap_settle(cursor->open, cursor->nopen, hole, packet, a, b, comes_before(cursor, *a, *b),
		    at, (void)0);
}

static void place(struct stream_cursor *cursor, struct open_packet *packet)
{
	(void)mem_push(cursor->open, cursor->nopen, cursor->open_capacity);
	stream_cursor_settle(cursor, cursor->nopen - 1, packet);
	if (cursor->view.backward)
		record_map_put(&cursor->open_at, packet->record, (uintptr_t)packet);
}

/* Removes the top packet from the heap. */
static void drop_top(struct stream_cursor *cursor)
{
	struct open_packet *last = cursor->open[--cursor->nopen];

	if (cursor->view.backward)
		record_map_remove(&cursor->open_at, cursor->open[0]->record);
	if (cursor->nopen)
		stream_cursor_settle(cursor, 0, last);
}

/* The packet that is read after the top one; NULL: at most one is open. */
static const struct open_packet *second(struct stream_cursor *cursor)
{
	if (cursor->nopen < 2)
		return NULL;
	return cursor->open[1 + (cursor->nopen > 2 && !comes_before(cursor, cursor->open[1], cursor->open[2]))];
}

static void put_idle(struct stream_cursor *cursor, struct open_packet *packet)
{
	*mem_push(cursor->idle, cursor->nidle, cursor->idle_capacity) = packet;
}

static bool is_renumbered(const struct stream_cursor *cursor)
{
	return cursor->generation != table_generation(cursor->table);
}

/* Stores the times that decoding found for a record, unless records were renumbered. */
static void correct(struct stream_cursor *cursor, uint64_t record, nstime least, nstime greatest)
{
	if (is_renumbered(cursor))
		return;
	findings_correct(cursor->setup->findings, cursor->stream, &cursor->table, record, least,
			 greatest);
	cursor->losses.table = cursor->table;
}

/* If the packet was read to its end, tells the table whether its record is right. */
static void tell_table(struct stream_cursor *cursor, const struct open_packet *packet)
{
	const struct packet_facts *facts = &packet->facts;

	if (facts->fell && !cursor->view.falls) {
		cursor->view.falls = true;
		findings_set_falls(cursor->setup->findings, cursor->stream);
		if (!(packet->info.rec.flags & (PACKET_UNSORTED | PACKET_DESCENDING)) &&
		    !open_packet_looks_on(packet))
			atomic_fetch_add(&cursor->setup->trace->strayed, 1);
	}
	if (facts->whole && facts->any)
		correct(cursor, packet->record, facts->least, facts->greatest);
}

/* Skips a packet without wanted events by its packet filter; *out is as if it had been opened. */
static bool skip(struct stream_cursor *cursor, uint64_t record, const struct packet_info *info,
		 struct opened_packets *out)
{
	const struct events_options *options = cursor->setup->options;
	struct packet_range range;

	if (!options->skips || !options->skips(options->skips_arg, cursor->stream, info, &range) ||
	    range.least < info->rec.min || range.greatest > info->rec.max)
		return false; /* it contradicts its record: only reading it may find that out */
	*out = (struct opened_packets){true, false, range.least, range.greatest};
	cursor->left = (struct guard){true, record, info->rec.min, range.least};
	correct(cursor, record, range.least, range.greatest);
	return true;
}

bool stream_open(struct stream_cursor *cursor, uint64_t record, struct opened_packets *out,
		 struct error *err)
{
	struct stream_setup *setup = cursor->setup;
	struct packet_info info;
	struct open_packet *packet;

	if (!stream_get(cursor, record, &info, err))
		return false;
	if (setup->boundary && !setup->boundary(setup->arg, info.rec.min, err))
		return false;
	if (setup->options->skips) {
		if (skip(cursor, record, &info, out))
			return true;
		if (!stream_get(cursor, record, &info, err)) /* its extents may be gone */
			return false;
	}
	packet = cursor->nidle ? cursor->idle[--cursor->nidle] : open_packet_new(&cursor->view);
	out->open = open_packet_begin(packet, record, &info);
	out->any = packet->facts.any;
	out->least = packet->facts.least;
	out->greatest = packet->facts.greatest;
	tell_table(cursor, packet);
	if (out->open)
		place(cursor, packet);
	else
		put_idle(cursor, packet);
	if (!out->open && out->any)
		cursor->left = (struct guard){true, record, info.rec.min, out->least};
	return true;
}

/* After a run was taken: moves the top packet to its next window, removes it, or re-sorts it. */
static void put_in_order(struct stream_cursor *cursor)
{
	struct open_packet *top = stream_top(cursor);

	if (!top)
		return;
	if (top->pos == top->end) {
		bool was_whole = top->facts.whole, more = open_packet_more(top);
		if (!was_whole)
			tell_table(cursor, top);
		if (!more) {
			drop_top(cursor);
			put_idle(cursor, top);
			return;
		}
	}
	stream_cursor_settle(cursor, 0, top);
}

/* Range and head */

static void copy_wide(struct stream_cursor *cursor)
{
	const uint64_t *wide = table_wide(cursor->table, &cursor->nwide);

	cursor->wide = mem_resize(cursor->wide, cursor->nwide + 1, sizeof *cursor->wide);
	if (cursor->nwide)
		memcpy(cursor->wide, wide, cursor->nwide * sizeof *cursor->wide);
}

static void close_all(struct stream_cursor *cursor)
{
	while (cursor->nopen) {
		struct open_packet *packet = cursor->open[--cursor->nopen];
		open_packet_leave(packet);
		put_idle(cursor, packet);
	}
	record_map_clear(&cursor->open_at);
}

void stream_cursor_forget(struct stream_cursor *cursor)
{
	close_all(cursor);
	if (cursor->table)
		cursor->table = cursor->losses.table = table_shared(cursor->table);
}

/* Gets the best table so far; its record numbers may differ from those of an older one. */
static bool find_table(struct stream_cursor *cursor, struct error *err)
{
	struct table *table;

	if (!findings_table(cursor->setup->findings, cursor->stream, &table, err))
		return false;
	uint32_t generation = table_generation(table);
	if (!cursor->table || !table_has_numbers_of(table, cursor->table) ||
	    generation != cursor->generation) {
		mem_free(cursor->told);
		cursor->told = NULL;
	}
	cursor->table = cursor->losses.table = table;
	cursor->generation = generation;
	cursor->count = table_count(table);
	cursor->view.falls = findings_falls(cursor->setup->findings, cursor->stream);
	copy_wide(cursor);
	return true;
}

bool stream_wait_for_wide(struct stream_cursor *cursor, struct error *err)
{
	const struct packet_view *view = &cursor->view;
	struct packet_info info;

	for (size_t i = 0; i < cursor->nwide; i++) {
		uint64_t record = cursor->wide[i];
		if (!stream_get(cursor, record, &info, err))
			return false;
		const struct packet *rec = &info.rec;
		nstime min, key;
		bool proved = table_true_begin(cursor->table, record, rec, &min);
		bool suspect = rec->flags & PACKET_SUSPECT && !proved;
		bool outside = view->backward ? rec->min >= view->end : rec->max < view->begin;
		if (!stream_wants(cursor, rec) || (outside && !suspect))
			continue;
		if (view->backward) {
			key = suspect ? NSTIME_MAX : rec->max;
			min = rec->min;
		} else {
			key = suspect ? NSTIME_MIN : rec->min;
		}
		pending_push(cursor, (struct pending){key, min, record, proved});
	}
	return true;
}

static bool begin_once(struct stream_cursor *cursor, nstime begin, nstime end, struct error *err)
{
	close_all(cursor);
	cursor->view.begin = begin;
	cursor->view.end = end;
	cursor->npending = 0;
	record_map_clear(&cursor->pending_at);
	cursor->next = cursor->bracket = 0;
	cursor->guard = cursor->left = (struct guard){0};
	cursor->loss_next = cursor->ahead = false;
	if (!find_table(cursor, err))
		return false;
	if (cursor->setup->options->losses && !losses_begin(&cursor->losses, begin, end, err))
		return false;
	if (cursor->only_losses)
		cursor->next = cursor->view.backward ? 0 : cursor->count;
	if (cursor->count == 0 || begin >= end || cursor->only_losses)
		return true;
	return cursor->view.backward ? backward_begin(cursor, err) : forward_begin(cursor, err);
}

static bool begin_range(struct stream_cursor *cursor, nstime begin, nstime end, struct error *err)
{
	bool good;

	do
		good = begin_once(cursor, begin, end, err);
	while (is_renumbered(cursor));
	return good;
}

bool stream_cursor_begin(struct stream_cursor *cursor, nstime begin, nstime end, struct error *err)
{
	cursor->given = cursor->given_loss = cursor->resuming = cursor->taken = false;
	return begin_range(cursor, begin, end, err);
}

/* After records were renumbered: begins again at the event returned last, which is then skipped. */
static bool resume(struct stream_cursor *cursor, struct error *err)
{
	nstime begin = cursor->view.begin, end = cursor->view.end;

	cursor->resuming = cursor->given || cursor->given_loss;
	if (cursor->given && !cursor->view.backward && cursor->last.time > begin)
		begin = cursor->last.time;
	if (cursor->given && cursor->view.backward && cursor->last.time < end - 1)
		end = cursor->last.time + 1;
	return begin_range(cursor, begin, end, err);
}

/* < 0: `a` is before `b` in the order of time. */
static int place_compare(const struct cursor_place *a, const struct cursor_place *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool was_given(const struct stream_cursor *cursor, const struct cursor_place *place,
		      const struct cursor_place *last)
{
	int order = place_compare(place, last);

	return cursor->view.backward ? order >= 0 : order <= 0;
}

static struct cursor_place place_of_entry(const struct open_packet *packet, uint32_t i)
{
	return (struct cursor_place){packet->batch->time[i], packet->info.rec.source,
				     open_packet_index(packet, i), packet->info.rec.off};
}

static struct cursor_place place_of_loss(const struct loss *loss)
{
	return (struct cursor_place){loss->time, loss->source, loss->kind, loss->offset};
}

/* The second of the open packets ends the top's run. */
static void limit_by_second(struct stream_cursor *cursor)
{
	const struct open_packet *top = stream_top(cursor), *next = second(cursor);

	if (!next)
		return;
	const struct packet *p = &top->info.rec, *q = &next->info.rec;
	bool first = p->source != q->source ? p->source < q->source
		     : p->off != q->off     ? p->off < q->off
					    : top->record < next->record;
	nstime time = open_packet_time(next);
	if (!cursor->view.backward) {
		if (!first && time > NSTIME_MIN)
			time--;
		cursor->limit = time < cursor->limit ? time : cursor->limit;
	} else {
		if (first && time < NSTIME_MAX)
			time++;
		cursor->limit = time > cursor->limit ? time : cursor->limit;
	}
}

/* A loss comes after its stream's events of the same time; backward before them. */
static bool find_loss(struct stream_cursor *cursor, struct error *err)
{
	const struct open_packet *top = stream_top(cursor);
	struct losses *losses = &cursor->losses;
	const struct loss *loss;

	if (!cursor->view.backward) {
		nstime horizon = top ? open_packet_time(top) : cursor->view.end - 1;
		if (!losses_read(losses, horizon, err))
			return false;
		loss = losses_head(losses);
		cursor->loss_next = loss && (!top || loss->time < open_packet_time(top));
		if (loss && loss->time < cursor->limit)
			cursor->limit = loss->time;
		if (losses_reached(losses) < cursor->limit)
			cursor->limit = losses_reached(losses);
		return true;
	}
	if (!losses_read(losses, top ? open_packet_time(top) : cursor->view.begin, err))
		return false;
	loss = losses_head(losses);
	cursor->loss_next = loss && (!top || loss->time >= open_packet_time(top));
	if (loss && loss->time >= cursor->limit)
		cursor->limit = loss->time + 1;
	if (losses_reached(losses) >= cursor->limit && losses_reached(losses) > NSTIME_MIN)
		cursor->limit = losses_reached(losses) + 1;
	return true;
}

/* The last run was the top's: the entry beside its window is the one that was given last. */
static void keep_place(struct stream_cursor *cursor)
{
	const struct open_packet *top = stream_top(cursor);

	if (!cursor->taken || !top)
		return;
	cursor->last = place_of_entry(top, cursor->view.backward ? top->end : top->pos - 1);
	cursor->taken = false;
}

/* Finds the head. An error is none when the records were renumbered meanwhile. */
static bool find_head(struct stream_cursor *cursor, struct error *err)
{
	keep_place(cursor);
	put_in_order(cursor);
	if (!(cursor->view.backward ? backward_find_head(cursor, err)
				    : forward_find_head(cursor, err)))
		return false;
	limit_by_second(cursor);
	return !cursor->setup->options->losses || find_loss(cursor, err);
}

/* After resuming: true when the head was given before, and is dropped. */
static bool drop_given(struct stream_cursor *cursor)
{
	struct open_packet *top = stream_top(cursor);

	if (cursor->loss_next) {
		struct cursor_place place = place_of_loss(losses_head(&cursor->losses));
		if (!cursor->given_loss || !was_given(cursor, &place, &cursor->last_loss))
			return false;
		losses_drop(&cursor->losses);
		cursor->loss_next = false;
		return true;
	}
	if (!top || !cursor->given)
		return false;
	struct cursor_place place =
		place_of_entry(top, cursor->view.backward ? top->end - 1 : top->pos);
	if (!was_given(cursor, &place, &cursor->last))
		return false;
	if (cursor->view.backward)
		top->end--;
	else
		top->pos++;
	return true;
}

enum step stream_cursor_find_head(struct stream_cursor *cursor, struct error *err)
{
	if (cursor->count == 0 || cursor->view.begin >= cursor->view.end)
		return STEP_END;
	do {
		bool good = find_head(cursor, err);
		while (is_renumbered(cursor))
			good = resume(cursor, err) && find_head(cursor, err);
		if (!good)
			return STEP_ERROR;
	} while (cursor->resuming && drop_given(cursor));
	cursor->resuming = false;
	return cursor->loss_next || stream_top(cursor) ? STEP_ITEM : STEP_END;
}

/* Taking */

static void take_loss(struct stream_cursor *cursor, struct run *run)
{
	const struct loss *loss = losses_head(&cursor->losses);

	run->count = 0;
	run->cpu = loss->cpu;
	run->loss = loss_event(cursor->stream, loss);
	cursor->last_loss = place_of_loss(loss);
	cursor->given_loss = true;
	losses_drop(&cursor->losses);
	cursor->loss_next = false;
}

/* Notes that an event came after a later one: its packet's record is too wrong for the search. */
static void tell_late(struct stream_cursor *cursor, nstime time)
{
	atomic_fetch_add(&cursor->setup->trace->late, 1);
	if (!findings_tell_late(cursor->setup->findings, cursor->stream))
		return;
	notice(&cursor->setup->trace->notices, NOTICE_WARNING,
	       "stream %s: an event at %" PRId64
	       " ns was found late: packets do not tell their times",
	       cursor->stream->name, time);
}

/* First entry of [from, to) from which on all times are >= t; searches from the end. */
static uint32_t run_begin(const nstime *time, uint32_t from, uint32_t to, nstime t)
{
	uint32_t step = 1, high = to;

	while (high - from > step && time[high - step] >= t) {
		high -= step;
		step *= 2;
	}
	return times_lower_bound(time, high - from > step ? high - step : from, high, t);
}

void stream_cursor_take(struct stream_cursor *cursor, struct run *run)
{
	run->stream = cursor->stream;
	run->reader = cursor->view.reader;
	if (cursor->loss_next) {
		take_loss(cursor, run);
		return;
	}
	struct open_packet *top = stream_top(cursor);
	const nstime *time = top->batch->time;
	nstime limit = cursor->limit, head = open_packet_time(top);
	uint32_t pos = top->pos, end = top->end;
	bool late;

	if (!cursor->view.backward) {
		late = cursor->given && head < cursor->last_time;
		if (time[end - 1] > limit)
			end = times_lower_bound(time, pos + 1, end, limit + 1);
		cursor->last_time = time[end - 1];
		top->pos = end;
	} else {
		late = cursor->given && head > cursor->last_time;
		if (time[pos] < limit)
			pos = run_begin(time, pos, end - 1, limit);
		cursor->last_time = time[pos];
		top->end = pos;
	}
	cursor->given = cursor->taken = true;
	if (late)
		tell_late(cursor, head);
	run->cpu = top->info.rec.cpu >= 0 ? top->info.rec.cpu : cursor->stream->cpu;
	run->batch = top->batch;
	run->first = pos;
	run->count = end - pos;
	run->decoder = top->decoder;
	run->packet = &top->info;
	run->index = top->indexed ? top->index : NULL;
}

/* Prefetching */

void stream_cursor_prefetch(const struct stream_cursor *cursor, uint32_t left)
{
	enum { DECODER = 512 /* bytes; how many it has is its format's affair */ };
	const struct open_packet *top;

	if (left == 5) {
		prefetch_bytes(cursor, sizeof *cursor);
		return;
	}
	if (!cursor->nopen)
		return;
	if (left == 4) {
		__builtin_prefetch(cursor->table);
		__builtin_prefetch(cursor->open);
		return;
	}
	top = stream_top(cursor);
	if (left == 3) {
		prefetch_bytes(top, sizeof *top);
		if (cursor->nopen > 1)
			prefetch_bytes(cursor->open[1], sizeof *top);
	} else if (left == 2) {
		prefetch_bytes(top->known, sizeof *top->known);
		prefetch_bytes(top->decoder, DECODER);
	} else {
		open_packet_prefetch(top);
	}
}
