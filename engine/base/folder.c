/* folder.c - see folder.h */
#include "engine/base/folder.h"

#include "engine/base/inputs.h"
#include "engine/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_STEP_US = 200 };

static int folder_by_name(const void *a, const void *b)
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
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, FOLDER_MANIFEST))
			continue;
		*mem_push(out->items, out->count, out->capacity) = mem_strdup(entry->d_name);
	}
	closedir(dir);
	if (out->count)
		qsort(out->items, out->count, sizeof(char *), folder_by_name);
	return true;
}

void folder_release(struct folder_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->items[i]);
	mem_free(names->items);
	*names = (struct folder_names){0};
}

bool folder_each(const char *folder, void (*each)(void *arg, const char *path, const char *name),
		 void *arg, struct error *err)
{
	struct folder_names names;

	if (!folder_list(folder, &names, err))
		return false;
	for (size_t i = 0; i < names.count; i++) {
		char *path = folder_join(folder, names.items[i]);
		each(arg, path, names.items[i]);
		mem_free(path);
	}
	folder_release(&names);
	return true;
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

char *folder_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct buf folder = {0};

	buf_add(&folder, path, slash ? (size_t)(slash - path) : 0);
	if (!folder.len)
		buf_add_text(&folder, slash ? "/" : ".");
	return folder.data;
}

bool folder_remove_beside(const char *path, struct error *err)
{
	const char *base = basename(path);
	char *folder = folder_above(path);
	struct folder_names names;
	struct error ignored;
	bool ok = true;

	if (folder_list(folder, &names, &ignored)) {
		for (size_t i = 0; i < names.count && ok; i++) {
			char *file = folder_join(folder, names.items[i]);

			if (!strncmp(names.items[i], base, strlen(base)) && unlink(file) != 0 &&
			    errno != ENOENT)
				ok = error_set(err, ERR_IO, "%s: %s", file, strerror(errno));
			mem_free(file);
		}
		folder_release(&names);
	}
	mem_free(folder);
	return ok;
}

static const char *folder_kind_of(mode_t mode)
{
	return S_ISDIR(mode)    ? "a folder"
	       : S_ISFIFO(mode) ? "a FIFO"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

bool file_is_regular(const char *path, uint64_t *size, struct error *err)
{
	struct stat st, link;

	if (stat(path, &st) != 0) {
		int cause = errno;
		if (cause == ENOENT && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
			return error_set(err, ERR_IO, "%s: it is a link to what is not there",
					 path);
		return error_set(err, ERR_IO, "%s: %s", path, strerror(cause));
	}
	*size = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) || error_set(err, ERR_IO, "%s: it is %s, not a regular file",
						path, folder_kind_of(st.st_mode));
}

int file_open_own(const char *path, int flags)
{
	int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat about;

	if (fd < 0 || (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

bool folder_is_shared(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 &&
	       ((about.st_mode & S_IWOTH) ||
		((about.st_mode & S_IWGRP) && about.st_gid != getegid()) ||
		(about.st_uid != geteuid() && about.st_uid != 0));
}

/* Locks the file exclusively; waits for at most `most` us. False: errno, EWOULDBLOCK. */
static bool take_lock(int fd, unsigned most)
{
	for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_STEP_US) {
		if (errno != EWOULDBLOCK || waited >= most)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_US * 1000}, NULL);
	}
	return true;
}

/* Cuts the file, if it has bytes: Linux sets the mtime also of one that was empty. */
static bool make_empty(int fd)
{
	struct stat about;

	return fstat(fd, &about) == 0 && (about.st_size == 0 || ftruncate(fd, 0) == 0);
}

int file_create_locked(const char *path, unsigned most)
{
	int fd = file_open_own(path, O_RDWR);

	if (fd < 0)
		return -1;
	bool locked = take_lock(fd, most);
	int cause = errno;
	/* the process that had the lock may have renamed the file just before */
	if (locked && file_is(fd, path) && make_empty(fd))
		return fd;
	close(fd);
	errno = locked ? EWOULDBLOCK : cause;
	return -1;
}

bool file_read(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;

	inputs_add_fd(fd);
	while (fd >= 0 && got > 0) {
		got = read(fd, buf_room(out, 1 << 16), 1 << 16);
		if (got > 0)
			out->len += (size_t)got;
	}
	buf_room(out, 1)[0] = 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0 && got == 0;
}

bool folders_make(char *path, size_t above, bool last, mode_t mode)
{
	int failed = 0;

	for (char *at = path + above + strcspn(path + above, "/"); *at || last;
	     at += strcspn(at, "/")) {
		char end = *at;

		*at = 0;
		if (mkdir(path, mode) == 0 || errno == EEXIST)
			failed = 0;
		else if (!failed)
			failed = errno;
		*at = end;
		if (!end)
			break;
		at++;
	}
	errno = failed;
	return !failed;
}

/* Writes at offset `at`; -1: at the current position. */
static bool put_all(int fd, const char *bytes, size_t size, off_t at)
{
	while (size) {
		ssize_t n = at < 0 ? write(fd, bytes, size) : pwrite(fd, bytes, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENOSPC;
			return false;
		}
		bytes += n;
		size -= (size_t)n;
		at += at < 0 ? 0 : n;
	}
	return true;
}

bool file_put(int fd, const void *bytes, size_t size)
{
	return put_all(fd, bytes, size, -1);
}

bool file_put_at(int fd, const void *bytes, size_t size, uint64_t at)
{
	return put_all(fd, bytes, size, (off_t)at);
}

size_t file_get(int fd, void *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = 0;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
