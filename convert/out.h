/*
 * out.h - files that get their name when they are whole
 *
 * What is being written has a name of its own beside the final one, and is removed when the work
 * ends early. A pipe or device is written as it is; when nobody reads it any more, that is no
 * error.
 */
#ifndef CONVERT_OUT_H
#define CONVERT_OUT_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct out {
	int fd;       /* -1, and `parted`: the file is opened for each write */
	bool parted;  /* there are too many of them */
	bool counted; /* the descriptor, by files_take() */
	char *path, *temporary; /* temporary NULL: written in place */
	uint64_t at;            /* bytes so far */
	bool closed;            /* nobody reads any more */
};

/* `path` "-" is standard output. A file that is there is replaced in the end. */
bool out_open(struct out *out, const char *path, struct error *err);
/* A file that has its final name from the start, in a folder that has not. Any number may be open. */
bool out_open_inside(struct out *out, const char *folder, const char *name, struct error *err);
bool out_write(struct out *out, const void *bytes, size_t count, struct error *err);
/* Closes it and gives it its name. */
bool out_finish(struct out *out, struct error *err);
void out_drop(struct out *out); /* after out_finish() only frees */

struct out_folder {
	char *path, *temporary;
};

/* ERR_IO when `path` is there and no empty folder. */
bool out_folder_open(struct out_folder *folder, const char *path, struct error *err);
bool out_folder_finish(struct out_folder *folder, struct error *err);
void out_folder_drop(struct out_folder *folder); /* removes all in it, unless it was finished */

#endif
