/* stream_cursor_internal.h - what the two directions of a stream's cursor share */
#ifndef INDEX_CURSOR_STREAM_CURSOR_INTERNAL_H
#define INDEX_CURSOR_STREAM_CURSOR_INTERNAL_H

#include "index/tables/record_map.h"
#include "index/cursor/stream_cursor.h"

/* A record that the walk has met and whose packet is not opened yet. */
struct pending {
	nstime key; /* opened when the head gets there: forward its begin, backward its end */
	nstime min;
	uint64_t record;
	bool proved;
};

/* An opened packet next to the head, whose events prove that no unopened packet has an earlier head
 * (backward: a later one). */
struct guard {
	bool set;
	uint64_t record;
	nstime listed; /* its begin in the table */
	nstime seen;   /* forward: the greatest event seen in it, backward: the least */
};

struct cursor_place { /* of an event or a loss, in the order of its stream */
	nstime time;
	uint32_t source, index;
	uint64_t offset;
};

struct opened_packets { /* result of opening a packet */
	bool any, open; /* it has an event; it has wanted events that are still to come */
	nstime least, greatest;
};

struct stream_cursor {
	struct stream_setup *setup;
	const struct stream *stream;
	struct table *table;
	uint32_t generation; /* of the table's numbers */
	struct packet_view view;
	uint64_t count;
	bool only_losses; /* no packet of the stream needs to be opened */

	/* A heap by the next event of each. */
	struct open_packet **open;
	size_t nopen, open_capacity;
	struct open_packet **idle;
	size_t nidle, idle_capacity;

	/* Records from `next` on (backward: below it) have not been looked at. */
	uint64_t next;
	struct pending *pending; /* a heap; the next to open is the first */
	size_t npending, pending_capacity;
	/* By number of the record: */
	struct record_map pending_at; /* indexes into `pending` */
	struct record_map open_at;    /* backward: open packets */
	uint64_t *wide; /* all wide records, rising: the walk over the rest skips them */
	size_t nwide;
	struct guard guard;
	struct guard left; /* backward: the packet opened last, with no event in the range */
	uint64_t bracket;  /* backward: the guard is searched for below this record */
	bool ahead;        /* the next three are of record `next`: */
	bool ahead_some, ahead_exact; /* forward: it exists; its begin is known to be right */
	nstime ahead_time; /* forward: its begin; backward: the latest end of all below it */

	nstime limit; /* the head's packet may go on up to here without a look at other packets */
	nstime last_time;         /* of the event that was returned last */
	struct cursor_place last; /* its place, once its window is used up */
	struct cursor_place last_loss;
	bool given, given_loss, resuming;
	bool taken;    /* a run was taken since the last find_head(), and `last` is not set yet */
	uint8_t *told; /* bit per record whose damage was reported; NULL: none */

	struct losses losses;
	bool loss_next;
};

MUST_CHECK bool stream_get(struct stream_cursor *cursor, uint64_t record, struct packet_info *out,
			   struct error *err);
static inline bool stream_wants(const struct stream_cursor *cursor, const struct packet *rec)
{
	return events_want_packet(cursor->setup->options, cursor->stream, rec);
}
bool stream_is_wide(const struct stream_cursor *cursor, uint64_t record);
MUST_CHECK bool stream_open(struct stream_cursor *cursor, uint64_t record,
			    struct opened_packets *out, struct error *err);

/* Makes wide records that may reach into the range pending, by their begin (backward: their end).
 */
MUST_CHECK bool stream_wait_for_wide(struct stream_cursor *cursor, struct error *err);

static inline struct open_packet *stream_top(const struct stream_cursor *cursor)
{
	return cursor->nopen ? cursor->open[0] : NULL;
}

void pending_push(struct stream_cursor *cursor, struct pending pending);
struct pending pending_pop(struct stream_cursor *cursor);
/* Removes a record from `pending`; false when it is not there. */
bool pending_take(struct stream_cursor *cursor, uint64_t record, struct pending *out);

MUST_CHECK bool forward_begin(struct stream_cursor *cursor, struct error *err);
/* Opens all packets that can have the head, and sets `limit`. */
MUST_CHECK bool forward_find_head(struct stream_cursor *cursor, struct error *err);
MUST_CHECK bool backward_begin(struct stream_cursor *cursor, struct error *err);
MUST_CHECK bool backward_find_head(struct stream_cursor *cursor, struct error *err);

#endif
