/*
 * manifest.h - which files a folder behind a URL has
 *
 *     {"yore-manifest": 1, "files": [{"path": "ch0_0", "size": 1048576}, ...]}
 */
#ifndef REMOTE_MANIFEST_H
#define REMOTE_MANIFEST_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdint.h>

struct manifest_file { /* a file */
	char *path;
	uint64_t size;
};

struct manifest {
	struct manifest_file *files;
	size_t count, capacity;
};

/* `name` is for messages. The caller ends *out, which is empty after false. */
MUST_CHECK bool manifest_read(const char *name, const struct buf *text, struct manifest *out,
			      struct error *err);
void listing_add(struct manifest *listing, char *path, uint64_t size); /* takes the path */
void listing_release(struct manifest *listing);

#endif
