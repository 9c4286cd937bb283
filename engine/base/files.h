/*
 * files.h - a budget of file descriptors
 *
 * A trace has any number of files, and a process may have a thousand open by default. The program
 * raises that limit once. Code that can also work without an open descriptor counts it here, and
 * gets at most half of the limit, so that the rest is left for other uses.
 */
#ifndef ENGINE_BASE_FILES_H
#define ENGINE_BASE_FILES_H

#include <stdbool.h>

/* Raises the soft limit of open files to the hard one, but to 65,536 at most. */
void files_raise_limit(void);
/* Counts a descriptor that will be opened. False: half of the limit is used; do not open it. */
bool files_take(void);
void files_give(void); /* a counted descriptor was closed */

#endif
