/*
 * names.h - names of a relay as names of files
 *
 * A relay is not to be trusted: what it calls a stream must not lead out of the folder, hide, or
 * take the place of another file there. A byte that could is written as '%' and two digits, and so
 * is '%' itself; names stay as different from one another as they were.
 */
#ifndef LIVE_NAMES_H
#define LIVE_NAMES_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum { LIVE_FILE_MAX = 240 }; /* bytes of such a name: room for what is put behind it */

/* "ust/uid/1000/64-bit": behind *out, without a '/' at either end. False, ERR_FORMAT: it is too
 * long. */
MUST_CHECK bool live_add_path(struct buf *out, const char *path, struct error *err);
/* The name of one file: a channel's. */
MUST_CHECK bool live_add_name(struct buf *out, const char *name, struct error *err);

#endif
