/*
 * out.h - files that get their name when they are whole
 *
 * What is being written has no name, where the file system can do so, else one of its own beside
 * the final one, and is gone when the work ends early, by an error or a signal. A pipe or device is
 * written as it is; when its reader goes, that is no error.
 */
#ifndef CONVERT_OUT_H
#define CONVERT_OUT_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct out_folder {
	char *path, *temporary;
	int noted;            /* for temporary_forget() */
};

struct out {
	int fd;                    /* -1: opened anew for each write, see out_open_inside() */
	char *path, *temporary;    /* temporary NULL: written in place, or without a name */
	bool counted;              /* the descriptor, by files_take() */
	bool nameless;             /* it gets `path` in the end */
	int noted;                 /* for temporary_forget() */
	struct out_folder *folder; /* of out_open_inside() */
	uint64_t at;               /* bytes so far */
	bool closed;               /* the reader has gone */
};

/*
 * Who is told the path of a FIFO that has no reader yet, before out_open() waits for one. NULL, as
 * at the start: nobody. Before other threads run.
 */
void out_tell_waits(void (*tell)(const char *path));

/*
 * `path` "-" is standard output. A file that is read is refused, see engine/base/inputs.h. A file
 * that is there is replaced in the end; of a symbolic link, the file that it leads to.
 */
MUST_CHECK bool out_open(struct out *out, const char *path, struct error *err);
/*
 * The same for a library that opens a file by its name: out->temporary. A pipe, a device or
 * standard output is ERR_IO, and nothing is opened.
 */
MUST_CHECK bool out_open_named(struct out *out, const char *path, struct error *err);
/*
 * A file that has its final name from the start, in a folder that has not. Of as many files as
 * there may be, some hundred keep their descriptors; the others are opened for each write.
 */
MUST_CHECK bool out_open_inside(struct out *out, struct out_folder *folder, const char *name,
				struct error *err);
MUST_CHECK bool out_write(struct out *out, const void *bytes, size_t count, struct error *err);
/* A whole file in such a folder. */
MUST_CHECK bool out_write_inside(struct out_folder *folder, const char *name,
				 const struct buf *text, struct error *err);
/* Writes over bytes that were written, of a file of out_open_inside(). */
MUST_CHECK bool out_patch(struct out *out, uint64_t at, const void *bytes, size_t count,
			  struct error *err);
/* Closes it and gives it its name. */
MUST_CHECK bool out_finish(struct out *out, struct error *err);
void out_drop(struct out *out); /* after out_finish() only frees */

/* ERR_IO when `path` is there and no empty folder. */
MUST_CHECK bool out_folder_open(struct out_folder *folder, const char *path, struct error *err);
/*
 * A folder below `path`, which is there, for files that move from it to their places there: it
 * never gets a name, and goes with out_folder_drop().
 */
MUST_CHECK bool out_folder_open_below(struct out_folder *folder, const char *path,
				      struct error *err);
/* A folder inside of it, "a/b" with all on the way; it may be there. Only before it is finished. */
MUST_CHECK bool out_folder_make(struct out_folder *folder, const char *name, struct error *err);
MUST_CHECK bool out_folder_finish(struct out_folder *folder, struct error *err);
void out_folder_drop(struct out_folder *folder); /* removes all in it, unless it was finished */

#endif
