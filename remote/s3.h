/*
 * s3.h - URLs of an S3 object store, and lists of objects below a prefix
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
/* Appends the URL of `path`, with the bucket in the URL's path, which all S3 servers accept. */
void s3_add_url(struct buf *out, const char *path);

/*
 * Lists the objects below `path`, an s3:// URL that ends with '/': relative paths and sizes, in the
 * server's order. The caller frees *out, which is empty after false. An empty prefix is an error.
 */
MUST_CHECK bool s3_list(const char *path, struct manifest *out, struct error *err);

/*
 * Parses a reply of ListObjectsV2: appends the objects below `prefix` to *out, and sets *more to
 * the token of the next page; empty: this was the last. `name` is for messages.
 */
MUST_CHECK bool s3_read_page(const char *name, const char *prefix, const struct buf *text,
			     struct manifest *out, struct buf *more, struct error *err);

#endif
