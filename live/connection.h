/*
 * connection.h - a connection to a relay: sends requests, receives replies, and never waits for
 * ever
 *
 * Requests wait in a buffer until connection_send(). Several may be sent at once; read their
 * replies in the same order. Every wait ends: by its time limit, or when `stopped` returns true.
 */
#ifndef LIVE_CONNECTION_H
#define LIVE_CONNECTION_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "live/url.h"

#include <stdint.h>

struct connection_limits {
	unsigned connect_ms;        /* to connect */
	unsigned reply_ms;          /* for a reply, plus a second for each 16 KB of it */
	bool (*stopped)(void *arg); /* called regularly; true: give up. NULL: never */
	void *arg;
};

struct connection;

/*
 * Connects to the relay. False: *err, without the address. The caller frees it with
 * connection_close().
 */
MUST_CHECK bool connection_open(const struct live_url *url, const struct connection_limits *limits,
				struct connection **out, struct error *err);
/* Makes a connection of an open socket, and owns the socket. */
struct connection *connection_over(int fd, const struct connection_limits *limits);
void connection_close(struct connection *connection); /* NULL is fine */

/* The buffer to which live_ask_...() append requests. */
struct buf *connection_requests(struct connection *connection);
/* Sends all waiting requests. */
MUST_CHECK bool connection_send(struct connection *connection, struct error *err);
/*
 * Restarts the time limit for `size` bytes of replies. connection_send() sets that of a short
 * reply.
 */
void connection_expect(struct connection *connection, uint64_t size);
/* Reads exactly `size` bytes of the reply. False: ERR_IO, or ERR_INTERRUPTED. */
MUST_CHECK bool connection_read(struct connection *connection, void *to, size_t size,
				struct error *err);
/*
 * Waits `ms` milliseconds; no reply may be outstanding. False: ERR_INTERRUPTED, or ERR_IO if the
 * relay closed the connection meanwhile; with a NULL connection it only waits.
 */
MUST_CHECK bool connection_idle(struct connection *connection,
				const struct connection_limits *limits, unsigned ms,
				struct error *err);

#endif
