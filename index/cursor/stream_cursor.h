/*
 * stream_cursor.h - the events and losses of one stream in order, forward or backward
 *
 * A packet's record can have wrong times. So the search starts from them, and then reads packets on
 * either side until decoded events prove that no other event lies between.
 */
#ifndef INDEX_CURSOR_STREAM_CURSOR_H
#define INDEX_CURSOR_STREAM_CURSOR_H

#include "index/events.h"
#include "index/packets/open_packet.h"
#include "index/tables/losses.h"

/* State that all streams of one cursor share. */
struct stream_setup {
	struct index *index;
	struct trace *trace;
	const struct events_options *options;
	struct findings *findings;         /* of the question */
	struct head_cache_set *head_cache; /* heads of the wanted classes; NULL: none are */
	uint32_t batch_limit, value_slots;
	struct batch *scratch;
	struct filter_room *room; /* NULL: no packet filters are made */
	/* Called before a packet is opened; false: interrupted. */
	bool (*boundary)(void *arg, nstime at, struct error *err);
	void *arg;
	uint64_t compared; /* see events_compared() */
};

struct stream_cursor;

/* *setup is borrowed. */
struct stream_cursor *stream_cursor_new(struct stream_setup *setup, const struct stream *stream);
void stream_cursor_free(struct stream_cursor *cursor);
/* Drops the pointer to the question's own table, which may be freed. */
void stream_cursor_forget(struct stream_cursor *cursor);
/* Moves the cursor to [begin, end); call stream_cursor_find_head() next. */
MUST_CHECK bool stream_cursor_begin(struct stream_cursor *cursor, nstime begin, nstime end,
				    struct error *err);

/* Finds the head, the next event or loss; STEP_END: none is left. */
MUST_CHECK enum step stream_cursor_find_head(struct stream_cursor *cursor, struct error *err);
/*
 * Takes the head and those events behind it in the same batch that are known to come next. *run is
 * borrowed until the next stream_cursor_find_head(); until then the caller must use up all of it.
 */
void stream_cursor_take(struct stream_cursor *cursor, struct run *run);

/*
 * Prefetches the memory that stream_cursor_find_head() will read. Call it when 5, 4, 3, 2 and 1
 * entries are left of the run that was taken: each call follows the pointers that the call before
 * has prefetched.
 */
void stream_cursor_prefetch(const struct stream_cursor *cursor, uint32_t left);

/* Fetches packets on a server that cursors will read first in [begin, end); see expect.c. */
void cursors_expect(struct stream_cursor *const *cursors, size_t count, nstime begin, nstime end);

#endif
