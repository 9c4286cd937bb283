/*
 * request.h - HTTP requests, many at once, on a thread that they share
 *
 *     request_start() ──> queue ──> up to 16 under way ──> request.done(), on that thread
 *
 * A request that fails for a reason that may pass (no connection, 5xx, 408, 429, a body that is cut
 * short) is made again, four times in all. A redirection is followed to the same host and scheme
 * alone. Credentials come from the environment: a token for "Authorization: Bearer" in
 * YORE_HTTP_TOKEN, a file in netrc's form named by YORE_NETRC; of s3 the usual AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION. No message has them.
 */
#ifndef REMOTE_REQUEST_H
#define REMOTE_REQUEST_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct request {
	/* asked */
	struct buf url; /* the request's; messages have it without what follows a '?' */
	bool s3;        /* signed for it */
	bool head;      /* HEAD: no bytes come */
	bool ranged;    /* `count` bytes from `first`, which must come as a 206 */
	bool shorter; /* with `ranged`: fewer come where the object ends before; it may be empty */
	uint64_t first, count;
	size_t most; /* bytes of a whole body that are taken */
	void (*done)(struct request *request);
	void *arg;

	/* answered */
	bool good;
	struct error err; /* of one that is not good */
	bool absent;      /* and it is 404 or 410 */
	struct buf body;
	uint64_t total; /* bytes of the object; UINT64_MAX: not told */
	struct buf tag; /* its ETag, else Last-Modified, else empty */

	/* private */
	struct buf shown;
	void *handle, *headers;
	unsigned tries, redirections;
	int64_t due; /* on clock_ms(): when it is made again */
	bool under_way, has_range;
	uint64_t got_first, got_last;
	char text[256]; /* libcurl's own words */
	struct request *next;
};

void request_release(struct request *request);

/* The request is borrowed until `done` was called. False: *err, and `done` is not called. */
MUST_CHECK bool request_start(struct request *request, struct error *err);

/*
 * Starts all and waits until all are done; `done` and `arg` are used for that. `stopped` is asked
 * meanwhile, may be NULL. False: they could not be started, or the first error in their order.
 */
MUST_CHECK bool requests_run(struct request *requests, size_t count, struct error *err);

#endif
