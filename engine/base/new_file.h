/* new_file.h - replaces a file atomically: writes a temporary file, and renames it when complete */
#ifndef ENGINE_BASE_NEW_FILE_H
#define ENGINE_BASE_NEW_FILE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stdbool.h>

struct new_file {
	int fd, noted;
	struct buf part, path;
};

/*
 * Creates PATH.SUFFIX, of mode 0600, in place of one that a killed process may have left. Returns
 * 0, or an errno, and then new_file_end() need not be called.
 */
int new_file_begin(struct new_file *file, const char *path, const char *suffix);
/*
 * Renames the file to PATH; `sync`: and waits until it is on the disk. If `failed` is not 0,
 * removes it and returns `failed`. Returns 0, or an errno, and then the new file is removed.
 */
int new_file_end(struct new_file *file, int failed, bool sync);
/* Writes a whole file, by way of PATH.part, and syncs it. Only one process at a time may do so. */
MUST_CHECK bool file_write(const char *path, const struct buf *bytes, struct error *err);

#endif
