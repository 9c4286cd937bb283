/*
 * one_file.h - one file for a page in a browser, once, over HTTP on this machine
 *
 *     one_file_open()   one_file_wait() ── GET /NAME ── all of it was sent ──> one_file_close()
 *
 * It listens at 127.0.0.1 alone. A page may ask that is of `origin` (CORS), and programs, which
 * name none; other pages are refused. So are requests that name another host, which a page could
 * have made point here (DNS rebinding). Browsers ask first whether a page of the network may reach
 * this machine (OPTIONS, Private Network Access). Everything else is not found.
 */
#ifndef SERVE_ONE_FILE_H
#define SERVE_ONE_FILE_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct one_file {
	int fd; /* read from its begin; the owner closes it behind one_file_close() */
	uint64_t size;
	const char *name;   /* of letters, digits and . - _ */
	const char *origin; /* "https://HOST" */
	uint16_t port;
	bool (*stopped)(void *arg); /* asked now and then; true: give up */
	void *arg;
};

struct one_file_server;

/* *file is borrowed. False: *err, the port may be in use. */
MUST_CHECK bool one_file_open(const struct one_file *file, struct one_file_server **out,
			      struct error *err);
/* Until the file was fetched whole. False: ERR_INTERRUPTED, or what the system says. */
MUST_CHECK bool one_file_wait(struct one_file_server *server, struct error *err);
void one_file_close(struct one_file_server *server); /* NULL is fine */

#endif
