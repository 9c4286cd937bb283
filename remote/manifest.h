/*
 * manifest.h - which files a folder behind a URL has, or an archive
 *
 *     {"yore-manifest": 1, "files": [{"path": "ch0_0", "size": 1048576}, ...]}
 */
#ifndef REMOTE_MANIFEST_H
#define REMOTE_MANIFEST_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdint.h>

struct json_object;

struct manifest_file {
	char *path;        /* relative, without "." and ".." in it */
	uint64_t at, size; /* in an archive; else `at` is 0 */
};

struct manifest {
	struct manifest_file *files;
	size_t count, capacity;
};

/* `name` is for messages. The caller ends *out, which is empty after false. */
MUST_CHECK bool manifest_read(const char *name, const struct buf *text, struct manifest *out,
			      struct error *err);
/* Takes the path. */
void listing_add(struct manifest *listing, char *path, uint64_t at, uint64_t size);
void listing_release(struct manifest *listing);

/* JSON, to be put back; NULL: it is none. */
struct json_object *json_of(const struct buf *text);
/* A member of an object, NULL: it has none of that type. */
const char *json_text_of(struct json_object *object, const char *name);
struct json_object *json_list_of(struct json_object *object, const char *name);
/* False: it has no number of that name that is 0 or more. */
bool json_number_of(struct json_object *object, const char *name, uint64_t *out);

#endif
