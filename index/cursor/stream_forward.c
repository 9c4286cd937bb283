/*
 * stream_forward.c - which packets must be open so that a stream's least head is known
 *
 *                 begin
 *     ----- ------|----- ------ ------ ----- records by listed begin
 *       ^ left      ^ top  ^ guard  ^ next
 *
 * At the start, packets are opened that may reach `begin` and, going down from there, those whose
 * times are not proved, until one has an event before `begin`. Later, record `next` is opened when
 * the head comes to its listed begin. One further packet is opened as a guard, until a packet with
 * a later listed begin proves to have an event after the head.
 */
#include "index/cursor/stream_cursor_internal.h"

/*
 * Reads losses first: inferring them reads the packet at the moment and leaves it in the packet
 * cache, so that it need not be read again when it is opened afterwards.
 */
static bool read_losses(struct stream_cursor *cursor, nstime moment, struct error *err)
{
	const struct events_options *options = cursor->setup->options;

	return !options->losses || !options->inferred || moment >= cursor->view.end ||
	       losses_read(&cursor->losses, moment, err);
}

static bool open_at_begin(struct stream_cursor *cursor, uint64_t record, bool *before,
			  struct error *err)
{
	struct opened_packets opened;

	if (!stream_open(cursor, record, &opened, err))
		return false;
	*before = opened.any && opened.least < cursor->view.begin;
	return true;
}

/*
 * Goes down from the last record that begins before the range. Within the table's reach, opens each
 * packet that may have events in the range; below it, only packets that the proof needs.
 */
static bool open_left(struct stream_cursor *cursor, struct error *err)
{
	nstime begin = cursor->view.begin;
	uint64_t reach = table_reach(cursor->table), below = 0;
	/* a proved packet has an event before the range */
	bool shown = cursor->setup->options->trusting;
	struct packet_info info;

	for (uint64_t i = cursor->next; i-- > 0 && !(shown && below >= reach); below++) {
		if (!stream_get(cursor, i, &info, err))
			return false;
		if (!stream_wants(cursor, &info.rec))
			continue;
		nstime min;
		bool proved = table_true_begin(cursor->table, i, &info.rec, &min), before = false;
		struct pending taken;
		bool waits = stream_is_wide(cursor, i) && pending_take(cursor, i, &taken);
		if (waits || info.rec.max >= begin || (!proved && !shown)) {
			if (!open_at_begin(cursor, i, &before, err))
				return false;
		} else if (proved) {
			before = min < begin;
		}
		shown |= before;
	}
	return true;
}

bool forward_begin(struct stream_cursor *cursor, struct error *err)
{
	cursor->next = 0;
	if (cursor->view.begin > NSTIME_MIN &&
	    !table_lower_bound(cursor->table, cursor->view.begin, &cursor->next, err))
		return error_while(err, "stream %s", cursor->stream->name);
	return stream_wait_for_wide(cursor, err) && read_losses(cursor, cursor->view.begin, err) &&
	       open_left(cursor, err);
}

/* Sets the `ahead` fields for record `next`, once for each record. */
static bool look_ahead(struct stream_cursor *cursor, struct error *err)
{
	struct packet_info info;

	if (cursor->ahead)
		return true;
	cursor->ahead_some = false;
	for (; cursor->next < cursor->count; cursor->next++) {
		if (!stream_get(cursor, cursor->next, &info, err))
			return false;
		if (stream_wants(cursor, &info.rec) && !stream_is_wide(cursor, cursor->next))
			break;
	}
	cursor->ahead = true;
	cursor->ahead_some = cursor->next < cursor->count;
	if (!cursor->ahead_some)
		return true;
	cursor->ahead_time = info.rec.min;
	cursor->ahead_exact = cursor->setup->options->trusting ||
			      info.rec.flags & PACKET_EXACT_MIN ||
			      table_proved(cursor->table, cursor->next);
	return true;
}

static nstime before(nstime t)
{
	return t > NSTIME_MIN ? t - 1 : t;
}

/* True when no further packet needs to be opened while the head is at most *limit. */
static bool is_proved(const struct stream_cursor *cursor, nstime head, nstime *limit)
{
	const struct guard *guard = &cursor->guard;

	*limit = NSTIME_MAX;
	if (!cursor->ahead_some)
		return true;
	*limit = before(cursor->ahead_time);
	if (cursor->ahead_time <= head)
		return false;
	if (cursor->ahead_exact)
		return true;
	if (!guard->set || guard->listed <= head || guard->seen <= head)
		return false;
	if (before(guard->listed) < *limit)
		*limit = before(guard->listed);
	if (before(guard->seen) < *limit)
		*limit = before(guard->seen);
	return true;
}

static bool open_next(struct stream_cursor *cursor, struct error *err)
{
	uint64_t record = cursor->next++;
	struct opened_packets opened;

	cursor->ahead = false;
	if (!read_losses(cursor, cursor->ahead_time, err) ||
	    !stream_open(cursor, record, &opened, err))
		return false;
	if (opened.any)
		cursor->guard = (struct guard){true, record, cursor->ahead_time, opened.greatest};
	return true;
}

bool forward_find_head(struct stream_cursor *cursor, struct error *err)
{
	struct opened_packets opened;

	for (;;) {
		const struct open_packet *top = stream_top(cursor);
		nstime head = top ? open_packet_time(top) : cursor->view.end - 1;
		if (cursor->npending && cursor->pending[0].key <= head) {
			if (!stream_open(cursor, pending_pop(cursor).record, &opened, err))
				return false;
			continue;
		}
		if (!look_ahead(cursor, err))
			return false;
		if (!is_proved(cursor, head, &cursor->limit)) {
			if (!open_next(cursor, err))
				return false;
			continue;
		}
		if (cursor->npending && before(cursor->pending[0].key) < cursor->limit)
			cursor->limit = before(cursor->pending[0].key);
		return true;
	}
}
