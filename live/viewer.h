/*
 * viewer.h - what a viewer asks a relay: requests with their whole replies
 *
 * After an error of the kind ERR_FORMAT or ERR_IO the connection is of no more use: what follows on
 * it could be anything.
 */
#ifndef LIVE_VIEWER_H
#define LIVE_VIEWER_H

#include "live/connection.h"
#include "live/protocol.h"

#include <stddef.h>

struct viewer_sessions { /* end it with viewer_sessions_release() */
	struct live_session *items;
	size_t count, capacity;
};

/* Called with each stream of a reply; it is borrowed. False: *err. */
typedef bool viewer_each_stream(void *arg, const struct live_stream *stream, struct error *err);

/* The first request of a connection. *minor: what both speak. */
MUST_CHECK bool viewer_connect(struct connection *connection, uint32_t *minor, struct error *err);
MUST_CHECK bool viewer_sessions(struct connection *connection, uint32_t minor,
				struct viewer_sessions *out, struct error *err);
void viewer_sessions_release(struct viewer_sessions *sessions);
/* Once, before anything is attached to. */
MUST_CHECK bool viewer_create(struct connection *connection, struct error *err);
/*
 * LIVE_ATTACH: from the beginning; *status is enum live_attach. LIVE_STREAMS: those that were not
 * told yet; it is enum live_streams_status.
 */
MUST_CHECK bool viewer_streams(struct connection *connection, enum live_command command,
			       uint64_t session, viewer_each_stream *each, void *arg,
			       uint32_t *status, struct error *err);
/* *status is enum live_metadata_status; bytes go behind what *out holds. `have`: as for the cap. */
MUST_CHECK bool viewer_metadata(struct connection *connection, uint64_t stream, uint64_t have,
				struct buf *out, uint32_t *status, struct error *err);
/* The next index of each of `count` streams, at most VIEWER_AT_ONCE, in one turn. */
enum { VIEWER_AT_ONCE = 64 };
MUST_CHECK bool viewer_indexes(struct connection *connection, const uint64_t *streams, size_t count,
			       struct live_index *out, struct error *err);
/*
 * A piece of a packet, in two steps, so that pieces of several streams can be asked for in one
 * turn: first all are asked for, then each is read, in that order.
 */
void viewer_ask_piece(struct connection *connection, uint64_t stream, uint64_t offset,
		      uint32_t size);
/* `bytes` has room for what was asked for. out->status is enum live_packet_status. */
MUST_CHECK bool viewer_read_piece(struct connection *connection, uint32_t asked, uint8_t *bytes,
				  struct live_bytes *out, struct error *err);

#endif
