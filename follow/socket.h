/*
 * socket.h - sockets that bring a trace: datagrams, or the bytes of one connection
 *
 *     udp://HOST:PORT  each datagram is kept with its length
 *     tcp://HOST:PORT  the first connection that somebody makes
 *
 * HOST is an address of this machine, [ADDRESS] for IPv6. Without one it is the loopback,
 * 127.0.0.1, which other machines cannot reach. Port 0: any free one.
 */
#ifndef FOLLOW_SOCKET_H
#define FOLLOW_SOCKET_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum socket_kind { SOCKET_NO, SOCKET_DATAGRAMS, SOCKET_CONNECTION };

enum socket_kind socket_kind_of(const char *path); /* SOCKET_NO: no such URL */
/* Binds a socket; the caller closes *fd. *where: its address and port, as text. */
MUST_CHECK bool socket_bind_url(const char *url, int *fd, struct buf *where, struct error *err);

#endif
