/*
 * request.h - HTTP requests, many at once, on one thread
 *
 *     request_start() ──> queue ──> up to 64 under way ──> request.done(), on that thread
 *
 * A request is tried up to four times if its failure may be temporary (no connection, 5xx, 408,
 * 429, a body that is cut short). Redirections are followed to the same host and scheme only.
 * Credentials come from the environment: YORE_HTTP_TOKEN has a token for "Authorization: Bearer",
 * YORE_NETRC the path of a netrc file; S3 uses AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 * AWS_SESSION_TOKEN, AWS_REGION. Messages never show them.
 */
#ifndef REMOTE_REQUEST_H
#define REMOTE_REQUEST_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct request {
	/* set by the caller */
	struct buf url; /* messages show it without the query */
	bool s3;        /* sign the request for S3 */
	bool head;      /* send HEAD: no body */
	bool ranged;    /* `count` bytes from `first`; the reply must be 206 */
	bool shorter;   /* with `ranged`: fewer if the object ends earlier; it may be empty */
	uint64_t first, count;
	size_t most; /* longest body without `ranged` */
	void (*done)(struct request *request);
	void *arg;

	/* set before done() */
	bool good;
	struct error err; /* unless `good` */
	bool absent;      /* the reply was 404 or 410 */
	struct buf body;
	uint64_t total; /* size of the object; UINT64_MAX: not known */
	struct buf tag; /* its ETag, else Last-Modified, else empty */

	/* private */
	struct buf shown;
	void *handle, *headers;
	unsigned tries, redirections;
	int64_t due; /* clock_ms() of the next try */
	bool under_way, has_range;
	uint64_t got_first, got_last;
	char text[256]; /* libcurl's error text */
	struct request *next;
};

void request_release(struct request *request);

/*
 * Queues a request; it is borrowed until done() is called. False: *err, and done() is not called.
 */
MUST_CHECK bool request_start(struct request *request, struct error *err);

/*
 * Starts all requests and waits for them; uses their `done` and `arg`. remote_stops_by() can end
 * the wait. False: the first error in their order, or why they could not start.
 */
MUST_CHECK bool requests_run(struct request *requests, size_t count, struct error *err);

#endif
