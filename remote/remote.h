/*
 * remote.h - opens traces behind HTTP or S3, or in a tar archive
 *
 *     http://HOST/FILE        one file: perf.data, trace.dat, a tar archive
 *     http://HOST/FOLDER/     a folder, whose files its FOLDER_MANIFEST names; https likewise
 *     s3://BUCKET/KEY, s3://BUCKET/PREFIX/  the folder by a manifest, or as the store lists it
 *     FILE.tar                an uncompressed archive, by its content
 *
 *     remote_locate ── a folder with files of the right names and sizes, without bytes ──> readers
 *     readers ── engine/base/source.c: source_back() ──> objects (object.h), or the archive
 *
 * So readers of formats and the index work as with local files. See docs/remote.md.
 */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include "engine/base/error.h"

#include <stdint.h>

/* Is the path a URL of one of these kinds? */
bool remote_is_url(const char *path);

/*
 * For trace_locate_by(): returns the path that readers open for `path`; the caller frees it. NULL
 * with err->kind ERR_NONE: open `path` itself. `keep`: the folder that caches what is fetched for
 * later runs; NULL: the cache is deleted when the process ends. A process locates each path once.
 */
char *remote_locate(const char *path, const char *keep, struct error *err);

/*
 * Sets a function that is called while threads wait for bytes; true ends the wait with
 * ERR_INTERRUPTED. NULL, the default: none.
 */
void remote_stops_by(bool (*stopped)(void));

/* Writes FOLDER_MANIFEST into the folder: paths and sizes of all files in it and below. */
MUST_CHECK bool remote_write_manifest(const char *folder, struct error *err);

struct remote_counts {            /* of the process */
	uint64_t requests, bytes; /* bytes: received in bodies */
};
void remote_counts(struct remote_counts *out);

#endif
