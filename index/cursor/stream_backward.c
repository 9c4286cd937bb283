/*
 * stream_backward.c - which packets must be open so that a stream's greatest head is known
 *
 *                                end
 *     ----- ------ ------ -------|--- -----  records by listed begin
 *        ^ next  ^ bracket  ^ top       ^ right
 *
 * At the start, packets right of `end` are opened until one has an event at or after `end`. A walk
 * down the records, as far as by the table's reach they can have events at the head, makes them
 * pending; each is opened when the head comes down to its end. In addition, going down from the
 * last record that begins before the head, packets whose times are not proved are opened until one
 * has an event before the head.
 */
#include "index/cursor/stream_cursor_internal.h"

/* Opens packets whose headers have a begin after the range, until one proves to be right. */
static bool open_right(struct stream_cursor *cursor, uint64_t from, struct error *err)
{
	struct packet_info info;
	struct opened_packets opened;

	for (uint64_t i = from; i < cursor->count; i++) {
		if (!stream_get(cursor, i, &info, err))
			return false;
		if (!stream_wants(cursor, &info.rec) || stream_is_wide(cursor, i))
			continue;
		if (info.rec.flags & PACKET_EXACT_MIN || table_proved(cursor->table, i))
			return true;
		if (!stream_open(cursor, i, &opened, err))
			return false;
		if (opened.any && opened.greatest >= cursor->view.end)
			return true;
	}
	return true;
}

bool backward_begin(struct stream_cursor *cursor, struct error *err)
{
	uint64_t past = cursor->count;

	if (cursor->view.end < NSTIME_MAX &&
	    !table_lower_bound(cursor->table, cursor->view.end, &past, err))
		return error_while(err, "stream %s", cursor->stream->name);
	cursor->next = cursor->bracket = past;
	return stream_wait_for_wide(cursor, err) && open_right(cursor, past, err);
}

/* Makes record next - 1 pending; wide ones are pending already. */
static bool walk_down(struct stream_cursor *cursor, struct error *err)
{
	struct packet_info info;
	uint64_t record = --cursor->next;

	nstime min;

	cursor->ahead = false;
	if (!stream_get(cursor, record, &info, err))
		return false;
	if (!stream_wants(cursor, &info.rec) || stream_is_wide(cursor, record))
		return true;
	bool proved = table_true_begin(cursor->table, record, &info.rec, &min);
	pending_push(cursor,
		     (struct pending){
			     .key = info.rec.max, .min = min, .record = record, .proved = proved});
	return true;
}

/*
 * Records below `next` end at or before *bound: the begin of the one `reach` places on. A wide one
 * there may have been corrected and not stand in its place, so the next plain one is taken.
 */
static bool walk_bound(struct stream_cursor *cursor, nstime *bound, struct error *err)
{
	uint64_t i = cursor->next - 1 + table_reach(cursor->table);
	struct packet_info info;

	if (!cursor->ahead) {
		cursor->ahead_time = NSTIME_MAX;
		while (i < cursor->count && stream_is_wide(cursor, i))
			i++;
		if (i < cursor->count) {
			if (!stream_get(cursor, i, &info, err))
				return false;
			cursor->ahead_time = info.rec.min;
		}
		cursor->ahead = true;
	}
	*bound = cursor->ahead_time;
	return true;
}

static nstime greatest_waiting(const struct stream_cursor *cursor)
{
	nstime begin = cursor->view.begin;

	return cursor->npending && cursor->pending[0].key > begin ? cursor->pending[0].key : begin;
}

static nstime after(nstime t)
{
	return t < NSTIME_MAX ? t + 1 : t;
}

static void raise_limit(struct stream_cursor *cursor, nstime t)
{
	if (t > cursor->limit)
		cursor->limit = t;
}

/* Walks down until no record below `next` can have an event at or after the head. */
static bool walk_to_head(struct stream_cursor *cursor, struct error *err)
{
	while (cursor->next > 0) {
		const struct open_packet *top = stream_top(cursor);
		nstime bound, head = top ? open_packet_time(top) : greatest_waiting(cursor);
		if (!walk_bound(cursor, &bound, err))
			return false;
		if (bound < head) {
			raise_limit(cursor, after(bound));
			return true;
		}
		if (!walk_down(cursor, err))
			return false;
	}
	return true;
}

static const struct open_packet *find_open(const struct stream_cursor *cursor, uint64_t record)
{
	uintptr_t open;

	return record_map_get(&cursor->open_at, record, &open) ? (const struct open_packet *)open
							       : NULL;
}

/*
 * Handles record bracket - 1. *done: it proves the head; *opened: its packet was opened, and the
 * head may have changed. Otherwise moves the bracket down by one.
 */
static bool look_below(struct stream_cursor *cursor, nstime head, bool *done, bool *opened,
		       struct error *err)
{
	uint64_t record = cursor->bracket - 1;
	struct packet_info info;
	struct opened_packets found;
	struct pending waiting;

	while (cursor->next > record)
		if (!walk_down(cursor, err))
			return false;
	if (!stream_get(cursor, record, &info, err))
		return false;
	const struct open_packet *open = info.rec.min <= head ? find_open(cursor, record) : NULL;
	if (open) {
		*done = open->facts.least < head;
		cursor->guard = (struct guard){*done, record, info.rec.min, open->facts.least};
	} else if (info.rec.min <= head && pending_take(cursor, record, &waiting)) {
		if (!waiting.proved) {
			*opened = true;
			return stream_open(cursor, record, &found, err);
		}
		*done = waiting.min < head;
		cursor->guard = (struct guard){*done, record, info.rec.min, waiting.min};
		pending_push(cursor, waiting);
	} else if (info.rec.min <= head && cursor->left.set && cursor->left.record == record) {
		*done = cursor->left.seen < head;
		cursor->guard = (struct guard){*done, record, info.rec.min, cursor->left.seen};
	}
	if (!*done)
		cursor->bracket--;
	return true;
}

/* True in *opened: look again. */
static bool look_left(struct stream_cursor *cursor, nstime head, bool *opened, struct error *err)
{
	const struct guard *guard = &cursor->guard;
	bool done = guard->set && guard->listed <= head && guard->seen < head;

	while (!done && !*opened && cursor->bracket > 0)
		if (!look_below(cursor, head, &done, opened, err))
			return false;
	if (done) {
		raise_limit(cursor, guard->listed);
		raise_limit(cursor, after(guard->seen));
	}
	return true;
}

bool backward_find_head(struct stream_cursor *cursor, struct error *err)
{
	for (;;) {
		struct opened_packets found;
		bool opened = false;

		cursor->limit = NSTIME_MIN;
		if (!walk_to_head(cursor, err))
			return false;
		const struct open_packet *top = stream_top(cursor);
		nstime head = top ? open_packet_time(top) : cursor->view.begin;
		if (cursor->npending && cursor->pending[0].key >= head) {
			if (!stream_open(cursor, pending_pop(cursor).record, &found, err))
				return false;
			continue;
		}
		if (!look_left(cursor, head, &opened, err))
			return false;
		if (opened)
			continue;
		if (cursor->npending)
			raise_limit(cursor, after(cursor->pending[0].key));
		return true;
	}
}
