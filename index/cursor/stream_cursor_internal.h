/* stream_cursor_internal.h - what the two directions of a stream's cursor share */
#ifndef INDEX_CURSOR_STREAM_CURSOR_INTERNAL_H
#define INDEX_CURSOR_STREAM_CURSOR_INTERNAL_H

#include "index/tables/record_map.h"
#include "index/cursor/stream_cursor.h"

/* A record that is known to the cursor and not opened yet. */
struct pending {
	nstime key; /* opened when the head gets here: forward its begin, backward its end */
	nstime min;
	uint64_t record;
	bool proved;
};

/* The packet beside the head that proves where the stream goes on. */
struct guard {
	bool set;
	uint64_t record;
	nstime listed; /* begin as the table has it */
	nstime seen;   /* forward: the greatest event seen in it, backward: the least */
};

struct cursor_place { /* of an event or a loss, in the order of its stream */
	nstime time;
	uint32_t source, index;
	uint64_t offset;
};

struct opened_packets { /* what was found in a packet that was opened */
	bool any, open; /* any event at all; some of them are still to come */
	nstime least, greatest;
};

struct stream_cursor {
	struct stream_setup *setup;
	const struct stream *stream;
	struct table *table;
	uint32_t generation; /* of the table's numbers */
	struct packet_view view;
	uint64_t count;
	bool only_losses; /* no packet of the stream is to be opened */

	/* A heap: the next to come is the first of these. */
	struct open_packet **open;
	size_t nopen, open_capacity;
	struct open_packet **idle;
	size_t nidle, idle_capacity;

	/* Records from `next` on (backward: below it) have not been looked at. */
	uint64_t next;
	struct pending *pending; /* a heap; the next to open is the first */
	size_t npending, pending_capacity;
	/* Some are asked for by the number of their record: */
	struct record_map pending_at; /* places in `pending` */
	struct record_map open_at;    /* backward: open packets */
	uint64_t *wide; /* all wide records, rising: the walk over the rest skips them */
	size_t nwide;
	struct guard guard;
	struct guard left;            /* backward: opened last, and nothing in it is in the range */
	uint64_t bracket;             /* backward: the guard is sought below this record */
	bool ahead;                   /* what `next` says was looked up: */
	bool ahead_some, ahead_exact; /* forward: there is a record; its begin is right */
	nstime ahead_time;            /* forward: its begin; backward: the reach of all below it */

	nstime limit; /* how far the head's packet may go before anything else must be looked at */
	nstime last_time;  /* of the event given last */
	struct cursor_place last; /* its place, when its window is left */
	struct cursor_place last_loss;
	bool given, given_loss, resuming;
	bool taken;    /* since the last find_head(); `last` is not kept yet */
	uint8_t *told; /* bit per record whose damage was told; NULL: none */

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

/* Wide records that may reach into the range wait: for their begin, backward for their end. */
MUST_CHECK bool stream_wait_for_wide(struct stream_cursor *cursor, struct error *err);

static inline struct open_packet *stream_top(const struct stream_cursor *cursor)
{
	return cursor->nopen ? cursor->open[0] : NULL;
}

void pending_push(struct stream_cursor *cursor, struct pending pending);
struct pending pending_pop(struct stream_cursor *cursor);
/* Takes a record out; false when it is not there. */
bool pending_take(struct stream_cursor *cursor, uint64_t record, struct pending *out);

MUST_CHECK bool forward_begin(struct stream_cursor *cursor, struct error *err);
/* Opens what must be open for the head to be right, and sets `limit`. */
MUST_CHECK bool forward_find_head(struct stream_cursor *cursor, struct error *err);
MUST_CHECK bool backward_begin(struct stream_cursor *cursor, struct error *err);
MUST_CHECK bool backward_find_head(struct stream_cursor *cursor, struct error *err);

#endif
