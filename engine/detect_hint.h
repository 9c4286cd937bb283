/* detect_hint.h - what was probably meant by a path that is no trace */
#ifndef ENGINE_DETECT_HINT_H
#define ENGINE_DETECT_HINT_H

#include "engine/base/buf.h"
#include "engine/reader.h"

/* Adds `: did you mean "NAME"?` where the folder of the path has entries that are called alike. */
void detect_hint_missing(const char *path, struct buf *out);
/*
 * Adds what a file is that no reader knows, and what to do: packed, a file of packets beside its
 * metadata. Of a folder the first file or folder in it that `known` says is a trace. Adds nothing
 * where there is no such hint.
 */
void detect_hint_unknown(const struct probe *probe, bool (*known)(const char *path),
			 struct buf *out);

#endif
