/* folder.h - what a folder holds, and paths into it */
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

#endif
