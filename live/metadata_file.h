/*
 * metadata_file.h - the metadata file of a trace in a mirror
 *
 * The relay sends metadata from its beginning on each connection, and may do so again on an open
 * one (after `lttng clear`). Bytes that the file has are compared, not written twice. Metadata that
 * differs (`lttng regenerate metadata`, packets cut elsewhere) replaces the file when it is
 * complete.
 */
#ifndef LIVE_METADATA_FILE_H
#define LIVE_METADATA_FILE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdint.h>

struct metadata_file;

/*
 * `folder` is the trace's; the file may be missing. The caller frees it with metadata_file_close().
 */
MUST_CHECK bool metadata_file_open(const char *folder, struct metadata_file **out,
				   struct error *err);
void metadata_file_close(struct metadata_file *file); /* NULL is fine */

/* Adds the bytes of the relay's next reply; *added: how many were new. */
MUST_CHECK bool metadata_file_add(struct metadata_file *file, const struct buf *bytes,
				  size_t *added, struct error *err);
/* Call when the relay has sent all it has: metadata that differs then replaces the file. */
MUST_CHECK bool metadata_file_settle(struct metadata_file *file, struct error *err);
uint64_t metadata_file_size(const struct metadata_file *file);

/* Do these bytes begin a trace's metadata? */
bool metadata_begins(const struct buf *bytes);
/* Can both beginnings of metadata be of one trace? Compares UUIDs, or else the bytes. */
bool metadata_same_trace(const struct buf *a, const struct buf *b);

#endif
