/*
 * inputs.h - which files were read, so that no output takes the place of one
 *
 * A program that writes files calls inputs_record() when it begins. From then on what is opened for
 * reading is remembered by device and inode until the process ends or begins anew, 16 bytes a file;
 * a library that only reads remembers nothing. Thread-safe.
 */
#ifndef ENGINE_BASE_INPUTS_H
#define ENGINE_BASE_INPUTS_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

void inputs_record(void); /* from nothing on: a file that is gone leaves its inode to another */
/* A file is read; what is no regular one, or has no name any more, is not remembered. */
void inputs_add(const struct stat *about);
void inputs_add_fd(int fd);
void inputs_add_path(const char *path); /* nothing where there is none */

/* Of this folder all files are read: what is written into it would be one of them. */
void inputs_add_folder(const char *path);

/*
 * May `path` be written? False, ERR_QUERY: it is, by whatever name, a file that was read, or lies in
 * a folder of which all are. "-" is standard output. To be asked before anything is opened for writing.
 */
MUST_CHECK bool inputs_spare(const char *path, struct error *err);

#endif
