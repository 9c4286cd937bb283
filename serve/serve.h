/*
 * serve.h - a server of traces for viewers: the Trace Server Protocol, and a page of our own
 *
 *     http://127.0.0.1:PORT/TOKEN/            the page
 *     http://127.0.0.1:PORT/TOKEN/tsp/api     for viewers that speak the protocol (version 0.6.0)
 *
 * It serves the traces that the caller opened, and nothing else of the machine. A request is
 * answered if it has the token, names this machine as its host (against DNS rebinding), and comes
 * from a program, from the page itself, or from a page that the caller allowed.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "index/index.h"

enum { SERVE_WORKERS = 4 }; /* threads that answer requests */

struct rules;

struct serve_trace {
	const char *path;    /* as the user wrote it */
	struct index *index; /* borrowed until serve_close() */
	/*
	 * Returns new rules for queries on the trace; the server frees them. Any of its threads may
	 * call it. NULL: *err.
	 */
	struct rules *(*rules)(void *arg, struct error *err);
	/*
	 * For a trace that is being written; NULL: it is not followed. grew(), called about once a
	 * second: is there more of it? Then renew() opens it anew, while no thread uses it; *out
	 * replaces the index before. False: the old index stays open.
	 */
	bool (*grew)(void *arg);
	bool (*renew)(void *arg, struct index **out);
	void *arg; /* argument of all three functions */
};

struct serve_options {
	const struct serve_trace *traces; /* borrowed until serve_close() */
	size_t ntraces;
	const char *address;        /* an IPv4 or IPv6 address; NULL: 127.0.0.1 */
	uint16_t port;              /* 0: any that is free */
	const char *const *origins; /* origins of further pages that may send requests */
	size_t norigins;
	const char *lua_dir;   /* folder of analyses; NULL: the default of script.h */
	bool (*stopped)(void); /* called several times a second; true: serve_wait() returns */
};

struct server;

/* Starts the server. False: *err, for example if the port is in use. */
MUST_CHECK bool serve_open(const struct serve_options *options, struct server **out,
			   struct error *err);
const char *serve_url(const struct server *server); /* URL of the page; ends in '/' */
void serve_wait(struct server *server);             /* returns when stopped() is true */
void serve_close(struct server *server);            /* NULL is fine */

#endif
