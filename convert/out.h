/*
 * out.h - output files that get their final name when they are complete
 *
 * Until then a file has no name (O_TMPFILE), or a temporary one in the same folder; an error or a
 * signal removes it. Pipes and devices are written directly; if the reader of a pipe goes, that is
 * no error.
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
	int fd;                    /* -1: each write opens the file again, see out_open_inside() */
	char *path, *temporary;    /* temporary NULL: written in place, or nameless */
	bool counted;              /* files_take() counted the descriptor */
	bool nameless;             /* opened by O_TMPFILE; out_finish() links it to `path` */
	int noted;                 /* for temporary_forget() */
	struct out_folder *folder; /* of out_open_inside() */
	uint64_t at;               /* bytes written so far */
	bool closed;               /* the reader of the pipe has gone */
};

/*
 * Sets the function that out_open() calls before it waits for the reader of a FIFO, with the FIFO's
 * path. NULL, the default: none. Call it before other threads run.
 */
void out_tell_waits(void (*tell)(const char *path));

/*
 * Opens an output. `path` "-" is standard output. Input files of the process are refused
 * (engine/base/inputs.h). out_finish() replaces an existing file; for a symbolic link, the file
 * that it points to.
 */
MUST_CHECK bool out_open(struct out *out, const char *path, struct error *err);
/*
 * The same for a library that opens a file by name: pass it out->temporary. For pipes, devices and
 * standard output it fails with ERR_IO.
 */
MUST_CHECK bool out_open_named(struct out *out, const char *path, struct error *err);
/*
 * Creates a file under its final name in a folder that is still temporary. Files beyond some
 * hundred have no open descriptor; each write opens them.
 */
MUST_CHECK bool out_open_inside(struct out *out, struct out_folder *folder, const char *name,
				struct error *err);
MUST_CHECK bool out_write(struct out *out, const void *bytes, size_t count, struct error *err);
/* Creates, writes and finishes such a file. */
MUST_CHECK bool out_write_inside(struct out_folder *folder, const char *name,
				 const struct buf *text, struct error *err);
/* Overwrites bytes at `at` of a file of out_open_inside(). */
MUST_CHECK bool out_patch(struct out *out, uint64_t at, const void *bytes, size_t count,
			  struct error *err);
/* Appends the bytes, compressed as gzip does it. */
MUST_CHECK bool out_gzip(const char *bytes, size_t count, struct buf *out, struct error *err);
/* Closes the file and gives it its final name. */
MUST_CHECK bool out_finish(struct out *out, struct error *err);
void out_drop(struct out *out); /* deletes an unfinished file; frees `out` */

/* Creates the folder under a temporary name. ERR_IO if `path` exists and is not an empty folder. */
MUST_CHECK bool out_folder_open(struct out_folder *folder, const char *path, struct error *err);
/*
 * Creates a temporary folder inside the existing `path`. The caller moves files out of it;
 * out_folder_drop() deletes it.
 */
MUST_CHECK bool out_folder_open_below(struct out_folder *folder, const char *path,
				      struct error *err);
/*
 * Creates a folder inside of it, "a/b" with its parents; it may exist. Before out_folder_finish().
 */
MUST_CHECK bool out_folder_make(struct out_folder *folder, const char *name, struct error *err);
MUST_CHECK bool out_folder_finish(struct out_folder *folder, struct error *err);
void out_folder_drop(struct out_folder *folder); /* deletes the folder, unless it was finished */

#endif
