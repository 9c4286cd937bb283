/*
 * protocol.h - the relay's viewer protocol: encodes requests, decodes replies
 *
 * All integers are big-endian. A request is a head (payload size, command, version 0) and its
 * payload. A reply has no head: its size follows from the request and from its content, so it is
 * read in parts, and each part here has a fixed size. docs/live.md has the table.
 */
#ifndef LIVE_PROTOCOL_H
#define LIVE_PROTOCOL_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdint.h>

enum { LIVE_MAJOR = 2, LIVE_MINOR_LEAST = 4, LIVE_MINOR_MOST = 15 };

/* Bytes of parts of replies. */
enum {
	LIVE_CONNECT_BYTES = 20,
	LIVE_COUNT_BYTES = 4,         /* of sessions */
	LIVE_SESSION_BYTES = 339,     /* below minor 15 */
	LIVE_SESSION_HEAD_BYTES = 32, /* from minor 15 on; then two texts */
	LIVE_STATUS_BYTES = 4,        /* create */
	LIVE_STREAMS_BYTES = 8,       /* attach, new streams: status and count */
	LIVE_STREAM_BYTES = 4371,
	LIVE_METADATA_BYTES = 12, /* before the bytes */
	LIVE_INDEX_BYTES = 64,
	LIVE_PACKET_BYTES = 12 /* before the bytes */
};

/* Limits of what a reply may claim; more is an error. */
enum {
	LIVE_SESSIONS_MOST = 65536,
	LIVE_STREAMS_MOST = 65536,
	LIVE_TEXT_MOST = 255,
	LIVE_PIECE_MOST = 1 << 20 /* of a packet, which is requested in pieces */
};
#define LIVE_METADATA_MOST (UINT64_C(256) << 20) /* of a trace, all together */
#define LIVE_PACKET_MOST (UINT64_C(1) << 30)     /* of one packet */

enum live_command {
	LIVE_CONNECT = 1,
	LIVE_SESSIONS,
	LIVE_ATTACH,
	LIVE_INDEX,
	LIVE_PACKET,
	LIVE_METADATA,
	LIVE_STREAMS,
	LIVE_CREATE
};
enum live_create { LIVE_CREATE_OK = 1, LIVE_CREATE_ERROR };
enum live_seek { LIVE_SEEK_BEGINNING = 1, LIVE_SEEK_LAST };
enum live_attach {
	LIVE_ATTACH_OK = 1,
	LIVE_ATTACH_ALREADY,
	LIVE_ATTACH_UNKNOWN,
	LIVE_ATTACH_NOT_LIVE,
	LIVE_ATTACH_SEEK,
	LIVE_ATTACH_NO_VIEWER
};
enum live_streams_status {
	LIVE_STREAMS_OK = 1,
	LIVE_STREAMS_NONE,
	LIVE_STREAMS_ERROR,
	LIVE_STREAMS_HANG_UP
};
enum live_metadata_status { LIVE_METADATA_OK = 1, LIVE_METADATA_NONE, LIVE_METADATA_ERROR };
enum live_index_status {
	LIVE_INDEX_OK = 1,
	LIVE_INDEX_RETRY,
	LIVE_INDEX_HANG_UP,
	LIVE_INDEX_ERROR,
	LIVE_INDEX_INACTIVE, /* no event will come up to `end` */
	LIVE_INDEX_EOF
};
enum live_packet_status {
	LIVE_PACKET_OK = 1,
	LIVE_PACKET_RETRY,
	LIVE_PACKET_ERROR,
	LIVE_PACKET_EOF
};
enum live_flags { LIVE_NEW_METADATA = 1, LIVE_NEW_STREAMS = 2 };

struct live_session {
	uint64_t id;
	uint32_t timer; /* us; 0: not live */
	uint32_t clients, streams;
	bool ctf2;
	char host[LIVE_TEXT_MOST + 1], name[LIVE_TEXT_MOST + 1];
};

struct live_session_head {           /* of an entry from minor 15 on */
	struct live_session session; /* without texts */
	uint32_t host_bytes, name_bytes;
};

struct live_stream {
	uint64_t id, trace;
	bool metadata;
	char path[4096], channel[256]; /* as the relay says: not to be trusted */
};

struct live_index {
	uint64_t offset; /* bytes in the stream's file */
	uint64_t packet_bits, content_bits;
	uint64_t begin, end; /* cycles of the trace's clock */
	uint64_t discarded, stream_class;
	enum live_index_status status;
	uint32_t flags;
};

struct live_count {
	uint32_t status, count;
};

struct live_bytes { /* before the bytes of metadata or of a packet */
	uint64_t size;
	uint32_t status, flags;
};

/* Append a request to *out. */
void live_ask(struct buf *out, enum live_command command); /* for sessions and create */
/* For new streams of the session `id`; metadata or the next index of the stream `id`. */
void live_ask_of(struct buf *out, enum live_command command, uint64_t id);
void live_ask_connect(struct buf *out);
void live_ask_attach(struct buf *out, uint64_t session, enum live_seek seek);
void live_ask_packet(struct buf *out, uint64_t stream, uint64_t offset, uint32_t size);

/*
 * Decode a part of a reply; `bytes` has the size given above. False, ERR_FORMAT: no relay sends
 * this. *minor: the protocol version that both sides speak.
 */
MUST_CHECK bool live_read_connect(const uint8_t *bytes, uint32_t *minor, struct error *err);
MUST_CHECK bool live_read_count(const uint8_t *bytes, uint32_t *count, struct error *err);
MUST_CHECK bool live_read_session(const uint8_t *bytes, struct live_session *out,
				  struct error *err);
MUST_CHECK bool live_read_session_head(const uint8_t *bytes, struct live_session_head *out,
				       struct error *err);
/* One of the two texts after the head, without a zero byte. */
MUST_CHECK bool live_read_text(const uint8_t *bytes, uint32_t size, char out[LIVE_TEXT_MOST + 1],
			       struct error *err);
MUST_CHECK bool live_read_create(const uint8_t *bytes, struct error *err);
/* To LIVE_ATTACH or LIVE_STREAMS. */
MUST_CHECK bool live_read_streams(const uint8_t *bytes, enum live_command command,
				  struct live_count *out, struct error *err);
MUST_CHECK bool live_read_stream(const uint8_t *bytes, struct live_stream *out, struct error *err);
/* `have`: bytes of the trace's metadata that came before. */
MUST_CHECK bool live_read_metadata(const uint8_t *bytes, uint64_t have, struct live_bytes *out,
				   struct error *err);
MUST_CHECK bool live_read_index(const uint8_t *bytes, struct live_index *out, struct error *err);
/* `asked`: how many bytes were requested. */
MUST_CHECK bool live_read_packet(const uint8_t *bytes, uint32_t asked, struct live_bytes *out,
				 struct error *err);

#endif
