/*
 * serve.h - a server of traces for viewers: the Trace Server Protocol, and a page of our own
 *
 *     http://127.0.0.1:PORT/TOKEN/            the page
 *     http://127.0.0.1:PORT/TOKEN/tsp/api     for viewers that speak the protocol (version 0.6.0)
 *
 * What it gives is of the traces that the caller opened, and of nothing else on the machine. A
 * request is answered that knows the token, names this machine as its host (DNS rebinding), and
 * comes from a program, from the page itself, or from a page that the caller allowed.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "index/index.h"

enum { SERVE_WORKERS = 4 }; /* requests that are answered at once */

struct rules;

struct serve_trace {
	const char *path;    /* as it was named */
	struct index *index; /* opened; borrowed until serve_close() */
	/*
	 * The rules of its questions, made anew each time, for the server to free. From any of its
	 * threads. NULL: *err.
	 */
	struct rules *(*rules)(void *arg, struct error *err);
	/*
	 * A trace that is being written: whether there is more of it now, asked about once a
	 * second. NULL: it is not followed. Then it is opened anew, while nothing of it is in use;
	 * *out replaces the index before. False: that is still there.
	 */
	bool (*grew)(void *arg);
	bool (*renew)(void *arg, struct index **out);
	void *arg; /* of all three */
};

struct serve_options {
	const struct serve_trace *traces; /* borrowed until serve_close() */
	size_t ntraces;
	const char *address;        /* an IPv4 or IPv6 address; NULL: 127.0.0.1 */
	uint16_t port;              /* 0: any that is free */
	const char *const *origins; /* further pages that may ask: "https://HOST" */
	size_t norigins;
	const char *lua_dir;   /* where analyses are; NULL: as script.h says */
	bool (*stopped)(void); /* asked a few times a second; true: serve_wait() ends */
};

struct server;

/* False: *err; the port may be in use. */
MUST_CHECK bool serve_open(const struct serve_options *options, struct server **out,
			   struct error *err);
const char *serve_url(const struct server *server); /* of the page; ends in '/' */
void serve_wait(struct server *server);             /* until stopped */
void serve_close(struct server *server);            /* NULL is fine */

#endif
