/*
 * connection.h - one connection to a relay: requests out, parts of replies in, never for ever
 *
 * Requests wait in a buffer until connection_send(); several may be sent at once, their replies are
 * read in the same order. Every wait ends: at its time, or when `stopped` says so.
 */
#ifndef LIVE_CONNECTION_H
#define LIVE_CONNECTION_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "live/url.h"

#include <stdint.h>

struct connection_limits {
	unsigned connect_ms;        /* for a connection to be made */
	unsigned reply_ms;          /* for a reply, and a second more for each 16 KB of it */
	bool (*stopped)(void *arg); /* asked now and then; true: give up. NULL: never */
	void *arg;
};

struct connection;

/* Connects. False: *err, which does not say where to. The caller ends it with connection_close().
 */
MUST_CHECK bool connection_open(const struct live_url *url, const struct connection_limits *limits,
				struct connection **out, struct error *err);
/* Over a socket that is open; it is the connection's from then on. */
struct connection *connection_over(int fd, const struct connection_limits *limits);
void connection_close(struct connection *connection); /* NULL is fine */

/* Where requests are put (live_ask_...()). */
struct buf *connection_requests(struct connection *connection);
/* Sends all that wait. */
MUST_CHECK bool connection_send(struct connection *connection, struct error *err);
/*
 * So many bytes of replies are to come, as far as is known: their time begins anew. After
 * connection_send() it is that of a short one.
 */
void connection_expect(struct connection *connection, uint64_t size);
/* Exactly so many bytes of the reply. False: ERR_IO, or ERR_INTERRUPTED. */
MUST_CHECK bool connection_read(struct connection *connection, void *to, size_t size,
				struct error *err);
/*
 * Waits for so many ms while nothing is asked for. False: ERR_INTERRUPTED, or ERR_IO where the
 * relay hung up meanwhile; a NULL connection only waits.
 */
MUST_CHECK bool connection_idle(struct connection *connection,
				const struct connection_limits *limits, unsigned ms,
				struct error *err);

#endif
