/*
 * s3.h - URLs of an object store that speaks S3, and which objects a prefix has
 *
 *     s3://BUCKET/KEY ──> AWS_ENDPOINT_URL/BUCKET/KEY
 *
 * Source: Amazon Simple Storage Service API Reference, ListObjectsV2.
 */
#ifndef REMOTE_S3_H
#define REMOTE_S3_H

#include "remote/manifest.h"

#include <stdbool.h>

bool s3_is(const char *path); /* "s3://..." */
/* Appends the URL of it, with the bucket in the path: all servers of S3's kind take that. */
void s3_add_url(struct buf *out, const char *path);

/*
 * The objects below `path`, an s3:// URL that ends with '/': paths from there on and sizes, in the
 * server's order. The caller ends *out, which is empty after false. An empty prefix is an error.
 */
MUST_CHECK bool s3_list(const char *path, struct manifest *out, struct error *err);

/*
 * One answer of ListObjectsV2: appends to *out what lies below `prefix`, and sets *more to the
 * token of the next page, empty: this was the last. `name` is for messages.
 */
MUST_CHECK bool s3_read_page(const char *name, const char *prefix, const struct buf *text,
			     struct manifest *out, struct buf *more, struct error *err);

#endif
