/* folder.c - see folder.h */
#include "engine/base/folder.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool file_is(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

int file_claim(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	/* who held the lock may just have given the file its name */
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && file_is(fd, path) &&
	    ftruncate(fd, 0) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
