/*
 * files.h - how many files may be open
 *
 * A trace has any number of files, and a process may have a thousand open by default. The limit is
 * raised once; what can go on without an open file takes its descriptors from here, so that some
 * are left for all else.
 */
#ifndef ENGINE_BASE_FILES_H
#define ENGINE_BASE_FILES_H

#include <stdbool.h>

/* Raises the soft limit of open files to the hard one. */
void files_raise_limit(void);
/* False: those that asked have half of what the process may have; close one, or do without. */
bool files_take(void);
void files_give(void); /* one that was taken is closed */

#endif
