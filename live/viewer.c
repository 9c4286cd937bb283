/* viewer.c - see viewer.h */
#include "live/viewer.h"

#include "engine/base/mem.h"

enum {
	AT_ONCE_BYTES =
		1 << 16 /* of metadata: memory grows by what has come, not by what is claimed */
};

bool viewer_connect(struct connection *connection, uint32_t *minor, struct error *err)
{
	uint8_t bytes[LIVE_CONNECT_BYTES];

	live_ask_connect(connection_requests(connection));
	return connection_send(connection, err) &&
	       connection_read(connection, bytes, sizeof bytes, err) &&
	       live_read_connect(bytes, minor, err);
}

static bool read_session_new(struct connection *connection, struct live_session *out,
			     struct error *err)
{
	uint8_t bytes[LIVE_SESSION_HEAD_BYTES], text[2 * LIVE_TEXT_MOST];
	struct live_session_head head;

	if (!connection_read(connection, bytes, sizeof bytes, err) ||
	    !live_read_session_head(bytes, &head, err) ||
	    !connection_read(connection, text, head.host_bytes + head.name_bytes, err))
		return false;
	*out = head.session;
	return live_read_text(text, head.host_bytes, out->host, err) &&
	       live_read_text(text + head.host_bytes, head.name_bytes, out->name, err);
}

static bool read_session_old(struct connection *connection, struct live_session *out,
			     struct error *err)
{
	uint8_t bytes[LIVE_SESSION_BYTES];

	return connection_read(connection, bytes, sizeof bytes, err) &&
	       live_read_session(bytes, out, err);
}

bool viewer_sessions(struct connection *connection, uint32_t minor, struct viewer_sessions *out,
		     struct error *err)
{
	uint8_t bytes[LIVE_COUNT_BYTES];
	uint32_t count;

	*out = (struct viewer_sessions){0};
	live_ask(connection_requests(connection), LIVE_SESSIONS);
	if (!connection_send(connection, err) ||
	    !connection_read(connection, bytes, sizeof bytes, err) ||
	    !live_read_count(bytes, &count, err))
		return false;
	connection_expect(connection, (uint64_t)count * LIVE_SESSION_BYTES);
	for (uint32_t i = 0; i < count; i++) {
		struct live_session session;
		if (!(minor >= 15 ? read_session_new : read_session_old)(connection, &session,
									 err)) {
			viewer_sessions_release(out);
			return false;
		}
		*mem_push(out->items, out->count, out->capacity) = session;
	}
	return true;
}

void viewer_sessions_release(struct viewer_sessions *sessions)
{
	mem_free(sessions->items);
	*sessions = (struct viewer_sessions){0};
}

bool viewer_create(struct connection *connection, struct error *err)
{
	uint8_t bytes[LIVE_STATUS_BYTES];

	live_ask(connection_requests(connection), LIVE_CREATE);
	return connection_send(connection, err) &&
	       connection_read(connection, bytes, sizeof bytes, err) &&
	       live_read_create(bytes, err);
}

bool viewer_streams(struct connection *connection, enum live_command command, uint64_t session,
		    viewer_each_stream *each, void *arg, uint32_t *status, struct error *err)
{
	uint8_t head[LIVE_STREAMS_BYTES], bytes[LIVE_STREAM_BYTES];
	struct live_count counted;
	struct live_stream stream;

	if (command == LIVE_ATTACH)
		live_ask_attach(connection_requests(connection), session, LIVE_SEEK_BEGINNING);
	else
		live_ask_of(connection_requests(connection), command, session);
	if (!connection_send(connection, err) ||
	    !connection_read(connection, head, sizeof head, err) ||
	    !live_read_streams(head, command, &counted, err))
		return false;
	*status = counted.status;
	connection_expect(connection, (uint64_t)counted.count * LIVE_STREAM_BYTES);
	for (uint32_t i = 0; i < counted.count; i++)
		if (!connection_read(connection, bytes, sizeof bytes, err) ||
		    !live_read_stream(bytes, &stream, err) || !each(arg, &stream, err))
			return false;
	return true;
}

bool viewer_metadata(struct connection *connection, uint64_t stream, uint64_t have, struct buf *out,
		     uint32_t *status, struct error *err)
{
	uint8_t bytes[LIVE_METADATA_BYTES];
	size_t before = out->len;
	struct live_bytes head;

	live_ask_of(connection_requests(connection), LIVE_METADATA, stream);
	if (!connection_send(connection, err) ||
	    !connection_read(connection, bytes, sizeof bytes, err) ||
	    !live_read_metadata(bytes, have, &head, err))
		return false;
	connection_expect(connection, head.size);
	for (uint64_t left = head.size; left;) {
		size_t n = left < AT_ONCE_BYTES ? (size_t)left : AT_ONCE_BYTES;
		if (!connection_read(connection, buf_room(out, n), n, err))
			return error_while(err, "%llu bytes of metadata",
					   (unsigned long long)head.size);
		out->len += n;
		left -= n;
	}
	*status = head.status;
	if (head.status != LIVE_METADATA_OK)
		out->len = before;
	return true;
}

bool viewer_indexes(struct connection *connection, const uint64_t *streams, size_t count,
		    struct live_index *out, struct error *err)
{
	uint8_t bytes[LIVE_INDEX_BYTES];

	for (size_t i = 0; i < count; i++)
		live_ask_of(connection_requests(connection), LIVE_INDEX, streams[i]);
	if (!connection_send(connection, err))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!connection_read(connection, bytes, sizeof bytes, err) ||
		    !live_read_index(bytes, &out[i], err))
			return false;
	return true;
}

void viewer_ask_piece(struct connection *connection, uint64_t stream, uint64_t offset,
		      uint32_t size)
{
	live_ask_packet(connection_requests(connection), stream, offset, size);
}

bool viewer_read_piece(struct connection *connection, uint32_t asked, uint8_t *bytes,
		       struct live_bytes *out, struct error *err)
{
	uint8_t head[LIVE_PACKET_BYTES];

	connection_expect(connection, asked);
	if (!connection_read(connection, head, sizeof head, err) ||
	    !live_read_packet(head, asked, out, err))
		return false;
	return !out->size || connection_read(connection, bytes, (size_t)out->size, err);
}
