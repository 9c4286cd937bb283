/*
 * object.h - a file behind a URL, read in blocks that are cached on this machine
 *
 *     remote_objects_open ── identity ──> same as before: cached blocks are valid, else dropped
 *     remote_object_read ── missing blocks, merged to ranges ──> requests, in parallel
 *
 *     KEEP IDENTITY .blocks   the file, sparse: only blocks that were fetched take room
 *     KEEP IDENTITY .sums     8 bytes a block: XXH3 of its bytes; 0: not cached
 *
 * Each reply must come from the same object (size and ETag) as the first. A cached block is
 * compared with its sum at its first use; if it differs, it is fetched again.
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
	const char *keep; /* beginning of the paths of its cache files */
	/* Size and ETag when blocks were cached; an empty tag: nothing was, or unknown. */
	uint64_t size;
	const char *tag;
};

/*
 * Opens `count` objects in one round of requests; the caller frees each with remote_object_close().
 * False: *err, and none is open; *absent: the server lacks one of them.
 */
MUST_CHECK bool remote_objects_open(const struct object_of *of, size_t count,
				    struct remote_object **out, bool *absent, struct error *err);
void remote_object_close(struct remote_object *object); /* no thread reads it; NULL is fine */

uint64_t remote_object_size(const struct remote_object *object);
const char *remote_object_tag(const struct remote_object *object); /* ETag, or date, or "" */
bool remote_object_changed(const struct remote_object *object);    /* since object_of */

/* Reads `size` bytes at `offset`, within the object; from any thread. */
MUST_CHECK bool remote_object_read(struct remote_object *object, uint64_t offset, void *to,
				   size_t size, struct error *err);
/*
 * Requests those blocks that are neither cached nor requested; does not wait. True: there were
 * some.
 */
bool remote_object_prefetch(struct remote_object *object, uint64_t offset, size_t size);
/* How many of these bytes, from the first on, are cached or requested? */
size_t remote_object_there(struct remote_object *object, uint64_t offset, size_t size);

#endif
