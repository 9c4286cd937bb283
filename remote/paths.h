/* paths.h - names that come from elsewhere, as paths in a folder of this machine */
#ifndef REMOTE_PATHS_H
#define REMOTE_PATHS_H

#include <stddef.h>

/*
 * "./a//b" as "a/b", to be freed. NULL: it is absolute, empty, has "..", a zero or a control
 * character in it, or a part that is too long for a file's name.
 */
char *path_inside(const char *path, size_t len);

struct buf;
/* Appends a path with what is special in URLs as %XX; '/' stays. */
void path_add_encoded(struct buf *url, const char *path);
/* Appends a value of a query, in which '/' is special, too. */
void path_add_value(struct buf *url, const char *text, size_t len);
/* Appends a name that says to a person what it was, for a folder: letters, digits, '.', '-'. */
void path_add_readable(struct buf *out, const char *text, size_t len);

#endif
