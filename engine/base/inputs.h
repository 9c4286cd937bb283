/*
 * inputs.h - the set of files that were read, so that no output overwrites one of them
 *
 * A program that writes files calls inputs_record() when it begins. From then on each file opened
 * for reading is added to the set, by device and inode, 16 bytes a file. Without that call, as in a
 * library that only reads, the set stays empty. Thread-safe.
 */
#ifndef ENGINE_BASE_INPUTS_H
#define ENGINE_BASE_INPUTS_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

void inputs_record(void); /* empties the set: inodes of files since deleted may be in use again */
/* Adds a file that is read; ignored when it is not regular, or was deleted. */
void inputs_add(const struct stat *about);
void inputs_add_fd(int fd);
void inputs_add_path(const char *path); /* ignored when there is no such file */

/* Adds a folder: all files in it are read, so that no output may be written into it. */
void inputs_add_folder(const char *path);

/*
 * May `path` ("-": standard output) be written? False, ERR_QUERY: it is a file that was read, maybe
 * under another name, or lies in a folder that was added. To be called before opening for writing.
 */
MUST_CHECK bool inputs_spare(const char *path, struct error *err);

#endif
