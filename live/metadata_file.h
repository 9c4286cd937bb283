/*
 * metadata_file.h - the metadata of a trace in a mirror
 *
 * The relay gives it from its beginning on each connection, and may do so again on one that is open
 * (after `lttng clear`). What is there already is compared and not written twice. Metadata that
 * became another one (`lttng regenerate metadata`, packets cut elsewhere) takes the place of the
 * old one when it is whole.
 */
#ifndef LIVE_METADATA_FILE_H
#define LIVE_METADATA_FILE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdint.h>

struct metadata_file;

/* `folder` is the trace's; the file need not be there. The caller ends it with
 * metadata_file_close(). */
MUST_CHECK bool metadata_file_open(const char *folder, struct metadata_file **out,
				   struct error *err);
void metadata_file_close(struct metadata_file *file); /* NULL is fine */

/* What the relay gave next; *added: bytes that were not there yet. */
MUST_CHECK bool metadata_file_add(struct metadata_file *file, const struct buf *bytes,
				  size_t *added, struct error *err);
/* The relay has given all that it has: what takes the old one's place is whole. */
MUST_CHECK bool metadata_file_settle(struct metadata_file *file, struct error *err);
uint64_t metadata_file_size(const struct metadata_file *file);

/* Do these bytes begin a trace's metadata? */
bool metadata_begins(const struct buf *bytes);
/* Can both be of one trace? They are beginnings of metadata: by UUID, else by their bytes. */
bool metadata_same_trace(const struct buf *a, const struct buf *b);

#endif
