/* paths.h - turns foreign names into safe paths, and paths into URLs */
#ifndef REMOTE_PATHS_H
#define REMOTE_PATHS_H

#include <stddef.h>

/*
 * Returns "./a//b" as "a/b"; the caller frees it. NULL: the path is absolute, empty, has "..", a
 * zero or control character, or a part too long for a file name.
 */
char *path_inside(const char *path, size_t len);

struct buf;
/* Appends a path with characters special in URLs as %XX; '/' stays. */
void path_add_encoded(struct buf *url, const char *path);
/* Appends a query's value; '/' becomes %XX, too. */
void path_add_value(struct buf *url, const char *text, size_t len);
/* Appends a readable folder name made of the text: letters, digits, '.', '-'. */
void path_add_readable(struct buf *out, const char *text, size_t len);

#endif
