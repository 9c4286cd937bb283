/*
 * viewer.h - exchanges with a relay: sends a request and reads its whole reply
 *
 * After ERR_FORMAT or ERR_IO the connection is unusable: the position in the reply is lost.
 */
#ifndef LIVE_VIEWER_H
#define LIVE_VIEWER_H

#include "live/connection.h"
#include "live/protocol.h"

#include <stddef.h>

struct viewer_sessions { /* free it with viewer_sessions_release() */
	struct live_session *items;
	size_t count, capacity;
};

/* Called with each stream of a reply; it is borrowed. False: *err. */
typedef bool viewer_each_stream(void *arg, const struct live_stream *stream, struct error *err);

/* The first request of a connection. *minor: the protocol version that both sides speak. */
MUST_CHECK bool viewer_connect(struct connection *connection, uint32_t *minor, struct error *err);
MUST_CHECK bool viewer_sessions(struct connection *connection, uint32_t minor,
				struct viewer_sessions *out, struct error *err);
void viewer_sessions_release(struct viewer_sessions *sessions);
/* Creates the viewer session; call it once, before attaching. */
MUST_CHECK bool viewer_create(struct connection *connection, struct error *err);
/*
 * LIVE_ATTACH: attaches from the session's beginning; *status is enum live_attach. LIVE_STREAMS:
 * lists new streams; *status is enum live_streams_status.
 */
MUST_CHECK bool viewer_streams(struct connection *connection, enum live_command command,
			       uint64_t session, viewer_each_stream *each, void *arg,
			       uint32_t *status, struct error *err);
/*
 * Requests metadata and appends it to *out. `have`: bytes received before, for the limit. *status
 * is enum live_metadata_status.
 */
MUST_CHECK bool viewer_metadata(struct connection *connection, uint64_t stream, uint64_t have,
				struct buf *out, uint32_t *status, struct error *err);
/* Requests the next index of `count` streams, at most VIEWER_AT_ONCE, in one turn. */
enum { VIEWER_AT_ONCE = 64 };
MUST_CHECK bool viewer_indexes(struct connection *connection, const uint64_t *streams, size_t count,
			       struct live_index *out, struct error *err);
/*
 * Requests a piece of a packet, in two steps, so that pieces of several streams come in one turn:
 * request all, connection_send(), then read each in the same order.
 */
void viewer_ask_piece(struct connection *connection, uint64_t stream, uint64_t offset,
		      uint32_t size);
/* `bytes` has room for `asked` bytes. out->status is enum live_packet_status. */
MUST_CHECK bool viewer_read_piece(struct connection *connection, uint32_t asked, uint8_t *bytes,
				  struct live_bytes *out, struct error *err);

#endif
