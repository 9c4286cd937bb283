/*
 * one_file.h - serves one file once, over HTTP on this machine, to a page in a browser
 *
 *     one_file_open()   one_file_wait() ── GET /NAME ── all of it was sent ──> one_file_close()
 *
 * It listens at 127.0.0.1 alone. Pages of `origin` (CORS) and programs, which send no origin, may
 * fetch the file; other pages are refused. So are requests whose Host is not this machine (DNS
 * rebinding). OPTIONS is answered: browsers first check whether a page of the network may reach
 * this machine (Private Network Access). All other paths are not found.
 */
#ifndef SERVE_ONE_FILE_H
#define SERVE_ONE_FILE_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct one_file {
	int fd; /* read from its begin; the caller closes it after one_file_close() */
	uint64_t size;
	const char *name;   /* letters, digits and . - _ only */
	const char *origin; /* "https://HOST" */
	uint16_t port;
	bool (*stopped)(void *arg); /* called regularly; true: stop waiting */
	void *arg;
};

struct one_file_server;

/* Starts the server; *file is borrowed. False: *err, for example if the port is in use. */
MUST_CHECK bool one_file_open(const struct one_file *file, struct one_file_server **out,
			      struct error *err);
/* Serves until the whole file was fetched. False: ERR_INTERRUPTED, or an error of the system. */
MUST_CHECK bool one_file_wait(struct one_file_server *server, struct error *err);
void one_file_close(struct one_file_server *server); /* NULL is fine */

#endif
