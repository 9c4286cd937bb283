/* folder.h - what a folder holds, paths into it, and files of one user and of one process */
#ifndef ENGINE_BASE_FOLDER_H
#define ENGINE_BASE_FOLDER_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct folder_names { /* end it with folder_release() */
	char **items;
	size_t count, capacity;
};

/* The list of a folder's files, by which it is read over HTTP: it is none of what was recorded. */
#define FOLDER_MANIFEST "yore-manifest.json"
/*
 * In natural order, cpu2 before cpu10; hidden ones and FOLDER_MANIFEST are left out. Failed: *out
 * is empty.
 */
MUST_CHECK bool folder_list(const char *path, struct folder_names *out, struct error *err);
void folder_release(struct folder_names *names);
/* Calls `each` for all of them, in that order, with path and name. */
MUST_CHECK bool folder_each(const char *folder,
			    void (*each)(void *arg, const char *path, const char *name), void *arg,
			    struct error *err);
/* "FOLDER/NAME"; the caller ends it with mem_free(). */
char *folder_join(const char *folder, const char *name);
/* The folder of a path, "." where it names none; the caller ends it with mem_free(). */
char *folder_above(const char *path);

/*
 * Removes all files of the path's folder whose names begin as the path's own does; none is fine,
 * also where there is no folder.
 */
MUST_CHECK bool folder_remove_beside(const char *path, struct error *err);

/*
 * Is there a regular file, links followed? Its size in *size. False: *err says what is there
 * instead. Nothing is opened, since a FIFO would wait and a device might act.
 */
MUST_CHECK bool file_is_regular(const char *path, uint64_t *size, struct error *err);

/*
 * Opens a file that yore keeps for itself, made if need be: for its owner alone (0600), never
 * through a symbolic link, and regular. `flags` are open()'s, O_RDWR or with O_EXCL. -1: errno.
 */
int file_open_own(const char *path, int flags);
/*
 * May users other than this one and root change what is in the folder? Its owner may, everybody
 * whom its mode lets write may, and its group, unless that is this user's own.
 */
bool folder_is_shared(const char *path);

/*
 * A file to be written by its caller alone, until it is closed: made if need be, and emptied. What
 * a killed process left there is taken over. Waits for another process for at most so many us. -1:
 * errno, EWOULDBLOCK where it has the file. Before it gets its own name it must be asked file_is():
 * somebody may have removed it meanwhile.
 */
int file_create_locked(const char *path, unsigned most);
/* Is the open file still the one at `path`? */
bool file_is(int fd, const char *path);

/*
 * Makes the folders that `path` names before each slash behind its first `above` bytes, and with
 * `last` the path itself; those that are there stay. `path` is changed meanwhile, and what it was
 * behind that. False: the last of them is not there; errno says why, of the first that failed.
 */
bool folders_make(char *path, size_t above, bool last, mode_t mode);

/* Writes all of the bytes behind one another; false: errno. */
bool file_put(int fd, const void *bytes, size_t size);
/* The same at a place of the file, which need not be the end of it. */
bool file_put_at(int fd, const void *bytes, size_t size, uint64_t at);
/*
 * Reads `size` bytes at a place of the file. Returns how many it got: where these are fewer, the
 * file ends there (errno is 0), or errno says why.
 */
size_t file_get(int fd, void *to, size_t size, uint64_t at);
/* A small file, all of it, behind what *out holds. False: it cannot be read. */
bool file_read(const char *path, struct buf *out);

#endif
