/*
 * temporary.h - files and folders that are removed when the process ends, also by a signal
 *
 * Code that writes a file under a temporary name notes it here until it is renamed. The list has a
 * fixed size and no lock, since a signal handler reads it.
 */
#ifndef ENGINE_BASE_TEMPORARY_H
#define ENGINE_BASE_TEMPORARY_H

#include <stdbool.h>

/*
 * Notes a file, or a folder with all that is in it; the path is copied. Returns a number for
 * temporary_forget(); -1: the list is full or the path is too long, and nothing is noted.
 */
int temporary_note(const char *path, bool folder);
void temporary_forget(int number); /* the file has its final name, or is gone; -1 does nothing */
void temporary_forget_all(void);   /* in a child of fork(2): they are its parent's */
void temporary_remove_all(void);   /* all that is noted; async-signal-safe */

/*
 * Creates and notes a folder yore-WHAT-XXXXXX in the folder `in` (NULL: in TMPDIR, else /tmp).
 * Returns its path, and in *number its number, both for temporary_folder_end(). NULL: errno says
 * why.
 */
char *temporary_folder(const char *in, const char *what, int *number);
/* Removes the folder with all that is in it, and frees its path. NULL is fine. */
void temporary_folder_end(char *path, int number);

/*
 * Opens an unnamed file in TMPDIR, else /tmp; the caller closes it. *folder (may be NULL): which
 * folder, borrowed from the environment. -1: errno says why.
 */
int temporary_open(const char **folder);
/*
 * The same for data that is moved out of memory: never on a file system in memory (tmpfs). Without
 * TMPDIR, tries /var/tmp before /tmp. -1: there is no such folder.
 */
int temporary_open_on_disk(void);

#endif
