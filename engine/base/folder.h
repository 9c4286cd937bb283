/* folder.h - lists of folders, paths, private and locked files, and reading and writing whole ones
 */
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

/* The list of a folder's files that yore uses to read it over HTTP; no part of the recording. */
#define FOLDER_MANIFEST "yore-manifest.json"
/*
 * The names in a folder, in natural order (cpu2 before cpu10), without hidden ones and
 * FOLDER_MANIFEST. On failure *out is empty.
 */
MUST_CHECK bool folder_list(const char *path, struct folder_names *out, struct error *err);
void folder_release(struct folder_names *names);
/* Calls `each` with path and name of each entry that folder_list() lists, in that order. */
MUST_CHECK bool folder_each(const char *folder,
			    void (*each)(void *arg, const char *path, const char *name), void *arg,
			    struct error *err);
/* "FOLDER/NAME"; the caller ends it with mem_free(). */
char *folder_join(const char *folder, const char *name);
/* The folder of a path, "." where it names none; the caller ends it with mem_free(). */
char *folder_above(const char *path);

/*
 * Removes all files whose path begins with `path`. It is no error when there are none, or when the
 * folder does not exist.
 */
MUST_CHECK bool folder_remove_beside(const char *path, struct error *err);

/*
 * Is `path` a regular file, links followed? *size: its size. False: *err says what it is instead.
 * The file is not opened, since opening a FIFO would block and opening a device may have effects.
 */
MUST_CHECK bool file_is_regular(const char *path, uint64_t *size, struct error *err);

/*
 * Opens or creates a private file of yore's: regular, of mode 0600, never through a symbolic link.
 * `flags` are open()'s: O_RDWR, or with O_EXCL. -1: errno.
 */
int file_open_own(const char *path, int flags);
/*
 * May users other than this one and root change what is in the folder? Its owner may, everybody
 * whom its mode lets write may, and its group, unless that is this user's own.
 */
bool folder_is_shared(const char *path);

/*
 * Opens a file with an exclusive lock, which lasts until it is closed, and truncates it; creates it
 * if needed. The times of a file that was empty stay. Waits for a process that has the lock for at
 * most `most` us. -1: errno, EWOULDBLOCK when that time is over. Before the caller renames the file
 * it must check file_is(): another process may have removed it meanwhile.
 */
int file_create_locked(const char *path, unsigned most);
/* Is the open file still the one at `path`? */
bool file_is(int fd, const char *path);

/*
 * Creates the folders up to each slash of `path` behind its first `above` bytes and, with `last`,
 * `path` itself, if they do not exist. `path` is modified during the call, and restored. False: the
 * last folder could not be made; errno is of the first failure.
 */
bool folders_make(char *path, size_t above, bool last, mode_t mode);

/* Writes all bytes at the file's current position; false: errno. */
bool file_put(int fd, const void *bytes, size_t size);
/* Writes all bytes at offset `at`, which need not be the end of the file; false: errno. */
bool file_put_at(int fd, const void *bytes, size_t size, uint64_t at);
/*
 * Reads `size` bytes at offset `at`. Returns how many it read; when that is less, the file ends
 * there (errno is 0) or errno says why.
 */
size_t file_get(int fd, void *to, size_t size, uint64_t at);
/* Appends the whole content of a small file to *out. False: it cannot be read. */
bool file_read(const char *path, struct buf *out);

#endif
