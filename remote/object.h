/*
 * object.h - a file behind a URL, read in blocks that are kept on this machine
 *
 *     remote_objects_open ── identity ──> same as before: its kept blocks stand, else they go
 *     remote_object_read ── blocks that are missing, merged to ranges ──> requests, side by side
 *
 *     KEEP IDENTITY .blocks   the file, sparse: only blocks that were fetched take room
 *     KEEP IDENTITY .sums     8 bytes a block: XXH3 of its bytes, 0: it is not there
 *
 * Each answer has to come from the same object (size and ETag) as the first one. What was kept is
 * compared with its sum before it is believed; a block that differs is fetched again.
 */
#ifndef REMOTE_OBJECT_H
#define REMOTE_OBJECT_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct remote_object;

struct object_of { /* where it is */
	const char *url;
	bool s3;
	const char *keep; /* what the paths of its own files on this machine begin with */
	/* What it was when something was kept; an empty tag: nothing was, or it is not known. */
	uint64_t size;
	const char *tag;
};

/*
 * Opens `count` objects in one round of requests; the caller ends each with remote_object_close().
 * False: *err, and none is open; *absent: the server has one of them not.
 */
MUST_CHECK bool remote_objects_open(const struct object_of *of, size_t count,
				    struct remote_object **out, bool *absent, struct error *err);
void remote_object_close(struct remote_object *object); /* nobody reads it any more; NULL is fine */

uint64_t remote_object_size(const struct remote_object *object);
const char *remote_object_tag(const struct remote_object *object); /* "": the server tells none */
bool remote_object_changed(const struct remote_object *object);    /* since what was kept of it */

/* `size` bytes from `offset`, which lie in the object; any number of threads. */
MUST_CHECK bool remote_object_read(struct remote_object *object, uint64_t offset, void *to,
				   size_t size, struct error *err);
/* Asks for those that are neither there nor on their way, and does not wait. True: for some. */
bool remote_object_prefetch(struct remote_object *object, uint64_t offset, size_t size);

#endif
