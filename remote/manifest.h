/*
 * manifest.h - lists of files: of a folder behind a URL, or of an archive
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
	uint64_t at, size; /* place in an archive; else `at` is 0 */
};

struct manifest {
	struct manifest_file *files;
	size_t count, capacity;
};

/*
 * Parses a manifest; `name` is for messages. The caller frees *out with listing_release(); after
 * false it is empty.
 */
MUST_CHECK bool manifest_read(const char *name, const struct buf *text, struct manifest *out,
			      struct error *err);
/* Appends a file; the listing owns `path`. */
void listing_add(struct manifest *listing, char *path, uint64_t at, uint64_t size);
void listing_release(struct manifest *listing);

/* Parses JSON; the caller frees it with json_object_put(). NULL: not JSON. */
struct json_object *json_of(const struct buf *text);
/* A member of an object; NULL: none of that type. */
const char *json_text_of(struct json_object *object, const char *name);
struct json_object *json_list_of(struct json_object *object, const char *name);
/* Reads a number member. False: there is none, or it is negative. */
bool json_number_of(struct json_object *object, const char *name, uint64_t *out);

#endif
