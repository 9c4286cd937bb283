/*
 * connection.c - sockets with time limits
 *
 * The socket never blocks; poll(2) waits in short slices, between which `stopped` is called.
 * Replies are many and small, so received bytes go through a buffer.
 *
 * A relay that sends a byte every now and then would defeat a limit on silence. So the time limit
 * for a whole reply is set as soon as its size is known.
 *
 * A relay sends a reply in two parts, and the second waits until the first is acknowledged (Nagle).
 * The kernel delays acknowledgements by up to 40 ms. TCP_QUICKACK prevents that, but the kernel
 * resets it, so it is set again and again.
 */
#include "live/connection.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 1 << 16, SLICE_MS = 200, BYTES_PER_MS = 16 };

struct connection {
	int fd;
	struct connection_limits limits;
	int64_t until; /* clock_ms() at which the expected reply must have come */
	struct buf requests;
	size_t at, end; /* unread bytes of `in` */
	uint8_t in[IN_BYTES];
};

static bool is_stopped(const struct connection_limits *limits)
{
	return limits->stopped && limits->stopped(limits->arg);
}

/*
 * Waits for one of `events`, until `until` (clock_ms()). False: ERR_INTERRUPTED, or ERR_IO with the
 * text `late`. `late` NULL: true when the time is over.
 */
static bool wait_for(int fd, short events, int64_t until, const struct connection_limits *limits,
		     const char *late, struct error *err)
{
	for (;;) {
		struct pollfd ready = {.fd = fd, .events = events};
		int64_t left = until - clock_ms();

		if (is_stopped(limits))
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (left <= 0)
			return !late || error_set(err, ERR_IO, "%s", late);
		int n = poll(&ready, 1, left < SLICE_MS ? (int)left : SLICE_MS);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return error_set(err, ERR_IO, "waiting: %s", strerror(errno));
	}
}

/* Opening ----------------------------------------------------------------------------------------
 */

static bool finish_connect(int fd, const struct connection_limits *limits, struct error *err)
{
	socklen_t size = sizeof(int);
	int cause = 0;

	if (!wait_for(fd, POLLOUT, clock_ms() + limits->connect_ms, limits, "it does not answer",
		      err))
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &size) != 0)
		cause = errno;
	return !cause || error_set(err, ERR_IO, "%s", strerror(cause));
}

/* Returns a connected socket, or -1 with *err. */
static int connect_to(const struct addrinfo *to, const struct connection_limits *limits,
		      struct error *err)
{
	int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
			to->ai_protocol);

	if (fd < 0) {
		error_set(err, ERR_IO, "%s", strerror(errno));
		return -1;
	}
	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return fd;
	if (errno != EINPROGRESS)
		error_set(err, ERR_IO, "%s", strerror(errno));
	else if (finish_connect(fd, limits, err))
		return fd;
	close(fd);
	return -1;
}

struct connection *connection_over(int fd, const struct connection_limits *limits)
{
	struct connection *connection = mem_new(sizeof *connection);
	int flags = fcntl(fd, F_GETFL), on = 1;

	(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	connection->fd = fd;
	connection->limits = *limits;
	return connection;
}

bool connection_open(const struct live_url *url, const struct connection_limits *limits,
		     struct connection **out, struct error *err)
{
	struct addrinfo hints = {.ai_family = url->family, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int fd = -1, cause = getaddrinfo(url->host, url->port, &hints, &found);

	if (cause)
		return error_set(err, ERR_IO, "%s",
				 cause == EAI_SYSTEM ? strerror(errno) : gai_strerror(cause));
	for (struct addrinfo *to = found; to && fd < 0; to = to->ai_next) {
		fd = connect_to(to, limits, err);
		if (fd < 0 && err->kind == ERR_INTERRUPTED)
			break;
	}
	freeaddrinfo(found);
	if (fd < 0)
		return false;
	*out = connection_over(fd, limits);
	return true;
}

void connection_close(struct connection *connection)
{
	if (!connection)
		return;
	close(connection->fd);
	buf_release(&connection->requests);
	mem_free(connection);
}

/* Sending ----------------------------------------------------------------------------------------
 */

struct buf *connection_requests(struct connection *connection)
{
	return &connection->requests;
}

bool connection_send(struct connection *connection, struct error *err)
{
	int64_t until = clock_ms() + connection->limits.reply_ms;
	struct buf *out = &connection->requests;

	for (size_t done = 0; done < out->len;) {
		ssize_t n = send(connection->fd, out->data + done, out->len - done, MSG_NOSIGNAL);
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return error_set(err, ERR_IO, "%s", strerror(errno));
		if (!wait_for(connection->fd, POLLOUT, until, &connection->limits,
			      "it takes no requests", err))
			return false;
	}
	buf_clear(out);
	connection_expect(connection, 0);
	return true;
}

/* Receiving --------------------------------------------------------------------------------------
 */

static void acknowledge_at_once(const struct connection *connection)
{
	int on = 1;

	(void)setsockopt(connection->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

/* Receives at least one byte. */
static bool receive(struct connection *connection, void *to, size_t most, size_t *size,
		    struct error *err)
{
	for (;;) {
		ssize_t n = recv(connection->fd, to, most, 0);
		if (n > 0) {
			*size = (size_t)n;
			return true;
		}
		if (n == 0)
			return error_set(err, ERR_IO, "the relay closed the connection");
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return error_set(err, ERR_IO, "%s", strerror(errno));
		acknowledge_at_once(connection);
		if (!wait_for(connection->fd, POLLIN, connection->until, &connection->limits,
			      "a reply, or the rest of one, does not come", err))
			return false;
	}
}

/* Returns buffered bytes, or receives directly into `to` if much is wanted. */
static bool take_some(struct connection *connection, uint8_t *to, size_t most, size_t *size,
		      struct error *err)
{
	if (connection->at == connection->end && most >= IN_BYTES)
		return receive(connection, to, most, size, err);
	if (connection->at == connection->end) {
		connection->at = 0;
		connection->end = 0;
		if (!receive(connection, connection->in, IN_BYTES, &connection->end, err))
			return false;
	}
	size_t have = connection->end - connection->at;
	*size = have < most ? have : most;
	memcpy(to, connection->in + connection->at, *size);
	connection->at += *size;
	return true;
}

void connection_expect(struct connection *connection, uint64_t size)
{
	connection->until =
		clock_ms() + connection->limits.reply_ms + (int64_t)(size / BYTES_PER_MS);
}

bool connection_read(struct connection *connection, void *to, size_t size, struct error *err)
{
	uint8_t *at = to;

	while (size) {
		size_t n;
		if (!take_some(connection, at, size, &n, err))
			return false;
		at += n;
		size -= n;
	}
	return true;
}

bool connection_idle(struct connection *connection, const struct connection_limits *limits,
		     unsigned ms, struct error *err)
{
	int64_t until = clock_ms() + ms;
	char byte;

	if (!wait_for(connection ? connection->fd : -1, POLLIN, until, limits, NULL, err))
		return false;
	if (!connection)
		return true;
	ssize_t n = recv(connection->fd, &byte, 1, MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return true;
	if (n == 0)
		return error_set(err, ERR_IO, "the relay closed the connection");
	if (n < 0)
		return error_set(err, ERR_IO, "%s", strerror(errno));
	return error_set(err, ERR_FORMAT, "the relay sends what was not asked for");
}
