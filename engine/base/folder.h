/* folder.h - what a folder holds, paths into it, and files that one process writes */
#ifndef ENGINE_BASE_FOLDER_H
#define ENGINE_BASE_FOLDER_H

#include "engine/base/error.h"

#include <stddef.h>

struct folder_names { /* end it with folder_release() */
	char **items;
	size_t count, capacity;
};

/* In natural order, cpu2 before cpu10; hidden ones are left out. Failed: *out is empty. */
bool folder_list(const char *path, struct folder_names *out, struct error *err);
void folder_release(struct folder_names *names);
/* "FOLDER/NAME"; the caller ends it with mem_free(). */
char *folder_join(const char *folder, const char *name);

/*
 * A file to be written by its caller alone, until it is closed: made if need be, and emptied. What
 * a killed process left there is taken over. -1: another one writes it, or it cannot be had. Before
 * it gets its own name it must be asked file_is(): somebody may have removed it meanwhile.
 */
int file_claim(const char *path);
/* Is the open file still the one at `path`? */
bool file_is(int fd, const char *path);

#endif
