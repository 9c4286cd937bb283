/*
 * socket.h - sockets that bring a trace: datagrams, or the bytes of one connection
 *
 *     udp://HOST:PORT  each datagram is kept with its length
 *     tcp://HOST:PORT  the first connection that somebody makes
 *
 * HOST is an address of this machine, [ADDRESS] of IPv6; without one it is the loopback, 127.0.0.1,
 * which nobody else reaches. PORT 0 is any that is free.
 */
#ifndef FOLLOW_SOCKET_H
#define FOLLOW_SOCKET_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum socket_kind { SOCKET_NO, SOCKET_DATAGRAMS, SOCKET_CONNECTION };

enum socket_kind socket_kind_of(const char *path); /* SOCKET_NO: it is no such URL */
/* A socket that is bound, the caller's; *where is the address and port that it has. */
MUST_CHECK bool socket_bind_url(const char *url, int *fd, struct buf *where, struct error *err);

#endif
