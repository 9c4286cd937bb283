/* folder.c - what a folder holds, and paths into it */
#include "engine/base/folder.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

bool folder_list(const char *path, struct folder_names *out, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	*out = (struct folder_names){0};
	if (!dir)
		return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		out->items = mem_grow(out->items, out->count, &out->capacity, sizeof(char *));
		out->items[out->count++] = mem_strdup(entry->d_name);
	}
	closedir(dir);
	if (out->count)
		qsort(out->items, out->count, sizeof(char *), by_name);
	return true;
}

void folder_release(struct folder_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->items[i]);
	mem_free(names->items);
	*names = (struct folder_names){0};
}

char *folder_join(const char *folder, const char *name)
{
	struct buf path = {0};

	buf_add_text(&path, folder);
	if (path.len && path.data[path.len - 1] != '/')
		buf_add_char(&path, '/');
	buf_add_text(&path, name);
	return path.data;
}
