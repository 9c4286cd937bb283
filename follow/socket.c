/* socket.c - see socket.h */
#include "follow/socket.h"

#include "engine/base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SCHEME = 6 /* "udp://" */,
	RECEIVE_BYTES = 8 << 20 /* requested; the system may grant less */
};

enum socket_kind socket_kind_of(const char *path)
{
	if (!strncmp(path, "udp://", SCHEME))
		return SOCKET_DATAGRAMS;
	return strncmp(path, "tcp://", SCHEME) ? SOCKET_NO : SOCKET_CONNECTION;
}

/* Splits a URL into host and port; *host is "" if there is none. The caller frees both. */
static bool split(const char *url, char **host, char **port, struct error *err)
{
	const char *from = url + SCHEME, *colon = strrchr(from, ':');
	size_t len = colon ? (size_t)(colon - from) : 0;
	bool bracketed = len >= 2 && from[0] == '[' && from[len - 1] == ']';
	struct buf text = {0};

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strtoul(colon + 1, NULL, 10) > UINT16_MAX || (!bracketed && memchr(from, ':', len)))
		return error_set(err, ERR_QUERY,
				 "%s: want %.6sHOST:PORT, such as %.6s127.0.0.1:5000", url, url,
				 url);
	buf_add(&text, from + bracketed, len - 2 * (size_t)bracketed);
	*host = mem_strdup(buf_text(&text));
	*port = mem_strdup(colon + 1);
	buf_release(&text);
	return true;
}

/* Binds to the first usable address. -1: *number is the errno. */
static int bind_one(const struct addrinfo *all, enum socket_kind kind, int *number)
{
	const int on = 1, bytes = RECEIVE_BYTES;

	*number = EADDRNOTAVAIL;
	for (const struct addrinfo *one = all; one; one = one->ai_next) {
		int fd = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
		if (fd < 0) {
			*number = errno;
			continue;
		}
		if (kind == SOCKET_CONNECTION)
			(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		else /* buffers datagrams while others are written to the copy */
			(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
		if (bind(fd, one->ai_addr, one->ai_addrlen) == 0 &&
		    (kind == SOCKET_DATAGRAMS || listen(fd, 1) == 0))
			return fd;
		*number = errno;
		close(fd);
	}
	return -1;
}

static void add_address(int fd, struct buf *out)
{
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		buf_printf(out, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

bool socket_bind_url(const char *url, int *fd, struct buf *where, struct error *err)
{
	enum socket_kind kind = socket_kind_of(url);
	struct addrinfo hints = {.ai_socktype = kind == SOCKET_DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM,
				 .ai_flags = AI_NUMERICSERV},
			*all;
	char *host = NULL, *port = NULL;
	int number;

	if (!split(url, &host, &port, err))
		return false;
	if (!*host)
		hints.ai_family = AF_INET;
	int failed = getaddrinfo(*host ? host : NULL, port, &hints, &all);
	mem_free(host);
	mem_free(port);
	if (failed)
		return error_set(err, ERR_IO, "%s: %s", url, gai_strerror(failed));
	*fd = bind_one(all, kind, &number);
	freeaddrinfo(all);
	if (*fd < 0)
		return error_set(err, ERR_IO, "%s: %s", url, strerror(number));
	add_address(*fd, where);
	return true;
}
