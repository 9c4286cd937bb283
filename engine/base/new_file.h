/* new_file.h - a file that gets its name when it is whole: others find it so, or what was before */
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
 * Begins what will have this path, as PATH.SUFFIX, which a killed process may have left. It is its
 * owner's alone. 0, or an errno, and then there is nothing to end.
 */
int new_file_begin(struct new_file *file, const char *path, const char *suffix);
/*
 * Gives it its name; `sync`: it is on the disk then. With a `failed` that is not 0 it goes. Returns
 * that, or an errno, and then there is no file.
 */
int new_file_end(struct new_file *file, int failed, bool sync);
/* All of it at once, on the disk, as PATH.part first: one at a time writes that path. */
MUST_CHECK bool file_write(const char *path, const struct buf *bytes, struct error *err);

#endif
