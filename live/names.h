/*
 * names.h - makes file names of a relay's names
 *
 * A relay is not trusted: a stream's name must not lead out of the folder, make a hidden file, or
 * replace another file. Bytes that could are written as '%' and two digits, and so is '%' itself;
 * different names stay different.
 */
#ifndef LIVE_NAMES_H
#define LIVE_NAMES_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum { LIVE_FILE_MAX = 240 }; /* most bytes of such a name; leaves room for a suffix */

/*
 * Appends a path such as "ust/uid/1000/64-bit", without '/' at either end. False, ERR_FORMAT: too
 * long.
 */
MUST_CHECK bool live_add_path(struct buf *out, const char *path, struct error *err);
/* Appends the name of one file: a channel's. */
MUST_CHECK bool live_add_name(struct buf *out, const char *name, struct error *err);

#endif
