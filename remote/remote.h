/*
 * remote.h - traces that are no files of this machine: behind HTTP or S3, or in a tar archive
 *
 *     http://HOST/FILE        one file: perf.data, trace.dat, a tar archive
 *     http://HOST/FOLDER/     a folder, whose files its FOLDER_MANIFEST names; https likewise
 *     s3://BUCKET/KEY, s3://BUCKET/PREFIX/  the folder by a manifest, or as the store lists it
 *     FILE.tar                an uncompressed archive, by its content
 *
 *     remote_locate ── a folder with files of the right names and sizes, without bytes ──> readers
 *     readers ── engine/base/source.c: source_back() ──> objects (object.h), or the archive
 *
 * So all readers of formats and the index work as with files. See docs/remote.md.
 */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include "engine/base/error.h"

#include <stdint.h>

/* Is the text a URL of one of these kinds? */
bool remote_is_url(const char *path);

/*
 * For trace_locate_by(): where readers find what `path` names, to be freed; NULL with err->kind
 * ERR_NONE: at `path` itself. `keep`: the folder in which what was fetched is kept for later runs;
 * NULL: it goes with the process. The same path is located once in a process.
 */
char *remote_locate(const char *path, const char *keep, struct error *err);

/* Is asked while bytes are awaited: true ends that with ERR_INTERRUPTED. NULL, as at first: nothing
 * does. */
void remote_stops_by(bool (*stopped)(void));

/* Writes FOLDER_MANIFEST into it: its files and their sizes, with those of folders inside. */
MUST_CHECK bool remote_write_manifest(const char *folder, struct error *err);

struct remote_counts {            /* of the process */
	uint64_t requests, bytes; /* bytes: of files, as they came */
};
void remote_counts(struct remote_counts *out);

#endif
