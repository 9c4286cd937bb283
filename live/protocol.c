/*
 * protocol.c - the relay's viewer protocol
 *
 * Every value of a reply is checked before it is used as a size or shown: statuses, counts and
 * lengths against their limits, texts for an end, a packet's content against its size. After a bad
 * reply the rest of the connection cannot be decoded, so the connection is given up.
 */
#include "live/protocol.h"

#include "engine/base/cursor.h"

#include <string.h>

enum { VIEWER_COMMANDS = 1 /* the kind of a connection */ };

/* Requests ---------------------------------------------------------------------------------------
 */

static void put_u32(struct buf *out, uint32_t number)
{
	uint8_t bytes[4];

	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(number >> (24 - 8 * i));
	buf_add(out, bytes, sizeof bytes);
}

static void put_u64(struct buf *out, uint64_t number)
{
	put_u32(out, (uint32_t)(number >> 32));
	put_u32(out, (uint32_t)number);
}

static void protocol_put_head(struct buf *out, enum live_command command, uint64_t payload)
{
	put_u64(out, payload);
	put_u32(out, command);
	put_u32(out, 0);
}

void live_ask(struct buf *out, enum live_command command)
{
	protocol_put_head(out, command, 0);
}

void live_ask_of(struct buf *out, enum live_command command, uint64_t id)
{
	protocol_put_head(out, command, 8);
	put_u64(out, id);
}

void live_ask_connect(struct buf *out)
{
	protocol_put_head(out, LIVE_CONNECT, 20);
	put_u64(out, 0);
	put_u32(out, LIVE_MAJOR);
	put_u32(out, LIVE_MINOR_MOST);
	put_u32(out, VIEWER_COMMANDS);
}

void live_ask_attach(struct buf *out, uint64_t session, enum live_seek seek)
{
	protocol_put_head(out, LIVE_ATTACH, 20);
	put_u64(out, session);
	put_u64(out, 0);
	put_u32(out, seek);
}

void live_ask_packet(struct buf *out, uint64_t stream, uint64_t offset, uint32_t size)
{
	protocol_put_head(out, LIVE_PACKET, 20);
	put_u64(out, stream);
	put_u64(out, offset);
	put_u32(out, size);
}

/* Replies ----------------------------------------------------------------------------------------
 */

static bool status_is(uint32_t status, uint32_t most, const char *what, struct error *err)
{
	if (status >= 1 && status <= most)
		return true;
	return error_set(err, ERR_FORMAT, "status %u of a reply to '%s' is none of 1 to %u", status,
			 what, most);
}

bool live_read_connect(const uint8_t *bytes, uint32_t *minor, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_CONNECT_BYTES);

	cursor_u64be(&in); /* the viewer session's id, which is not needed */
	uint32_t major = cursor_u32be(&in);
	*minor = cursor_u32be(&in);
	if (major != LIVE_MAJOR)
		return error_set(err, ERR_FORMAT,
				 "it speaks protocol %u.%u: is it an lttng-relayd, and the port "
				 "that of its viewers?",
				 major, *minor);
	if (*minor < LIVE_MINOR_LEAST)
		return error_set(err, ERR_FORMAT,
				 "it speaks protocol 2.%u, and viewers can attach from 2.%d on",
				 *minor, LIVE_MINOR_LEAST);
	if (*minor > LIVE_MINOR_MOST)
		*minor = LIVE_MINOR_MOST;
	return true;
}

bool live_read_count(const uint8_t *bytes, uint32_t *count, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_COUNT_BYTES);

	*count = cursor_u32be(&in);
	return *count <= LIVE_SESSIONS_MOST ||
	       error_set(err, ERR_FORMAT, "it claims %u sessions", *count);
}

/* Reads a zero-terminated text in a field of fixed size. */
static bool read_field(struct cursor *in, size_t size, char *out, const char *what,
		       struct error *err)
{
	const uint8_t *bytes = cursor_bytes(in, size);

	if (!bytes || !memchr(bytes, 0, size))
		return error_set(err, ERR_FORMAT, "a %s has no end", what);
	memcpy(out, bytes, strlen((const char *)bytes) + 1);
	return true;
}

static void read_numbers(struct cursor *in, struct live_session *out)
{
	*out = (struct live_session){0};
	out->id = cursor_u64be(in);
	out->timer = cursor_u32be(in);
	out->clients = cursor_u32be(in);
	out->streams = cursor_u32be(in);
}

bool live_read_session(const uint8_t *bytes, struct live_session *out, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_SESSION_BYTES);

	read_numbers(&in, out);
	return read_field(&in, 64, out->host, "session's host", err) &&
	       read_field(&in, 255, out->name, "session's name", err);
}

bool live_read_session_head(const uint8_t *bytes, struct live_session_head *out, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_SESSION_HEAD_BYTES);

	read_numbers(&in, &out->session);
	out->host_bytes = cursor_u32be(&in);
	out->name_bytes = cursor_u32be(&in);
	uint32_t format = cursor_u32be(&in);
	if (out->host_bytes > LIVE_TEXT_MOST || out->name_bytes > LIVE_TEXT_MOST)
		return error_set(err, ERR_FORMAT, "a session's host has %u bytes and its name %u",
				 out->host_bytes, out->name_bytes);
	if (format > 1)
		return error_set(err, ERR_FORMAT,
				 "a session's trace format %u is none that is "
				 "known: 0 CTF 1.8, 1 CTF 2",
				 format);
	out->session.ctf2 = format == 1;
	return true;
}

bool live_read_text(const uint8_t *bytes, uint32_t size, char out[LIVE_TEXT_MOST + 1],
		    struct error *err)
{
	if (size > LIVE_TEXT_MOST || memchr(bytes, 0, size))
		return error_set(err, ERR_FORMAT, "a session's name has a zero inside");
	memcpy(out, bytes, size);
	out[size] = 0;
	return true;
}

bool live_read_create(const uint8_t *bytes, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_STATUS_BYTES);
	uint32_t status = cursor_u32be(&in);

	if (!status_is(status, LIVE_CREATE_ERROR, "create viewer session", err))
		return false;
	return status == LIVE_CREATE_OK ||
	       error_set(err, ERR_IO, "the relay could not create a viewer session");
}

bool live_read_streams(const uint8_t *bytes, enum live_command command, struct live_count *out,
		       struct error *err)
{
	bool attach = command == LIVE_ATTACH;
	struct cursor in = cursor_over(bytes, LIVE_STREAMS_BYTES);

	out->status = cursor_u32be(&in);
	out->count = cursor_u32be(&in);
	if (!status_is(out->status, attach ? LIVE_ATTACH_NO_VIEWER : LIVE_STREAMS_HANG_UP,
		       attach ? "attach" : "new streams", err))
		return false;
	if (out->status != 1)
		out->count = 0; /* no stream follows, whatever is said */
	return out->count <= LIVE_STREAMS_MOST ||
	       error_set(err, ERR_FORMAT, "it claims %u streams", out->count);
}

bool live_read_stream(const uint8_t *bytes, struct live_stream *out, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_STREAM_BYTES);

	out->id = cursor_u64be(&in);
	out->trace = cursor_u64be(&in);
	out->metadata = cursor_u32be(&in) != 0;
	return read_field(&in, 4096, out->path, "stream's path", err) &&
	       read_field(&in, 255, out->channel, "stream's channel", err);
}

bool live_read_metadata(const uint8_t *bytes, uint64_t have, struct live_bytes *out,
			struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_METADATA_BYTES);

	*out = (struct live_bytes){.size = cursor_u64be(&in)};
	out->status = cursor_u32be(&in);
	if (!status_is(out->status, LIVE_METADATA_ERROR, "metadata", err))
		return false;
	/* bytes follow an error, too: a relay that cannot read its file sends as many zeros */
	return (out->size <= LIVE_METADATA_MOST && have <= LIVE_METADATA_MOST - out->size) ||
	       error_set(err, ERR_FORMAT, "it claims %llu bytes of metadata behind %llu",
			 (unsigned long long)out->size, (unsigned long long)have);
}

bool live_read_index(const uint8_t *bytes, struct live_index *out, struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_INDEX_BYTES);

	*out = (struct live_index){.offset = cursor_u64be(&in)};
	out->packet_bits = cursor_u64be(&in);
	out->content_bits = cursor_u64be(&in);
	out->begin = cursor_u64be(&in);
	out->end = cursor_u64be(&in);
	out->discarded = cursor_u64be(&in);
	out->stream_class = cursor_u64be(&in);
	uint32_t status = cursor_u32be(&in);
	out->flags = cursor_u32be(&in);
	if (!status_is(status, LIVE_INDEX_EOF, "next index", err))
		return false;
	out->status = (enum live_index_status)status;
	if (out->status != LIVE_INDEX_OK)
		return true;
	if (!out->packet_bits || out->packet_bits % 8 || out->content_bits > out->packet_bits)
		return error_set(err, ERR_FORMAT, "it tells of a packet with %llu of %llu bits",
				 (unsigned long long)out->content_bits,
				 (unsigned long long)out->packet_bits);
	if (out->packet_bits / 8 > LIVE_PACKET_MOST || out->offset > INT64_MAX - LIVE_PACKET_MOST)
		return error_set(err, ERR_FORMAT, "it tells of a packet of %llu bytes at %llu",
				 (unsigned long long)out->packet_bits / 8,
				 (unsigned long long)out->offset);
	return true;
}

bool live_read_packet(const uint8_t *bytes, uint32_t asked, struct live_bytes *out,
		      struct error *err)
{
	struct cursor in = cursor_over(bytes, LIVE_PACKET_BYTES);

	*out = (struct live_bytes){.status = cursor_u32be(&in)};
	out->size = cursor_u32be(&in);
	out->flags = cursor_u32be(&in);
	if (!status_is(out->status, LIVE_PACKET_EOF, "packet", err))
		return false;
	if (out->status != LIVE_PACKET_OK)
		out->size = 0;
	else if (!out->size || out->size > asked)
		return error_set(err, ERR_FORMAT,
				 "it gives %llu bytes of a packet where %u were "
				 "asked for",
				 (unsigned long long)out->size, asked);
	return true;
}
