/* out.c - temporary names, and the renaming at the end */
#include "convert/out.h"

#include "engine/base/files.h"
#include "engine/base/folder.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* "PATH.XXXXXX", where a trailing slash of PATH does not count. */
static char *temporary_name(const char *path)
{
	size_t len = strlen(path);
	struct buf text = {0};

	while (len > 1 && path[len - 1] == '/')
		len--;
	buf_add(&text, path, len);
	buf_add_text(&text, ".XXXXXX");
	return text.data;
}

/* The mode by umask; mkstemp() and mkdtemp() give access to the owner alone. */
static mode_t usual_mode(mode_t most)
{
	mode_t mask = umask(0);

	umask(mask);
	return most & ~mask;
}

static bool is_below(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) == 0;
}

/* Devices and descriptors are written to, not replaced; /dev/shm has files like any folder. */
static bool is_in_place(const char *path)
{
	struct stat about;

	return (is_below(path, "/dev/") && !is_below(path, "/dev/shm/")) ||
	       is_below(path, "/proc/") || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

/*
 * Opens a nameless file in the folder of `path`; -1: no O_TMPFILE on that file system, or no /proc.
 */
static int open_nameless(const char *path)
{
	if (access("/proc/self/fd", X_OK) != 0)
		return -1;
	char *folder = folder_above(path);
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	mem_free(folder);
	return fd;
}

static int open_named(struct out *out)
{
	int fd;

	out->temporary = temporary_name(out->path);
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, usual_mode(0666));
		out->noted = temporary_note(out->temporary, false);
	}
	return fd;
}

/* The file that a symbolic link leads to is replaced, not the link. */
static char *final_path(const char *path)
{
	char *real, *copy;

	if (is_in_place(path) || !(real = realpath(path, NULL)))
		return mem_strdup(path);
	copy = mem_strdup(real);
	free(real);
	return copy;
}

static void (*tell_waits)(const char *path);

void out_tell_waits(void (*tell)(const char *path))
{
	tell_waits = tell;
}

static int open_in_place(const char *path)
{
	struct stat about;
	int fd;

	if (stat(path, &about) != 0 || !S_ISFIFO(about.st_mode))
		return open(path, O_WRONLY | O_CLOEXEC);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	if (fd >= 0 || errno != ENXIO)
		return fd;
	if (tell_waits)
		tell_waits(path);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static bool out_open_file(struct out *out, const char *path, bool named, struct error *err)
{
	*out = (struct out){.fd = -1, .noted = -1};
	if (!inputs_spare(path, err))
		return false;
	if (named && (!strcmp(path, "-") || is_in_place(path)))
		return error_set(err, ERR_IO, "%s: a database must be a file", path);
	out->path = final_path(path);
	if (strcmp(path, "-") == 0) {
		out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (is_in_place(path)) {
		out->fd = open_in_place(path);
	} else {
		out->fd = named ? -1 : open_nameless(out->path);
		out->nameless = out->fd >= 0;
		if (out->fd < 0)
			out->fd = open_named(out);
	}
	if (out->fd >= 0)
		return true;
	if (errno == EINTR)
		error_set(err, ERR_INTERRUPTED, "interrupted");
	else
		error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	mem_free(out->temporary);
	out->temporary = NULL;
	out_drop(out);
	return false;
}

bool out_open(struct out *out, const char *path, struct error *err)
{
	return out_open_file(out, path, false, err);
}

bool out_open_named(struct out *out, const char *path, struct error *err)
{
	return out_open_file(out, path, true, err);
}

bool out_open_inside(struct out *out, struct out_folder *folder, const char *name,
		     struct error *err)
{
	*out = (struct out){
		.noted = -1, .folder = folder, .path = folder_join(folder->temporary, name)};
	out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd < 0) {
		error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
		out_drop(out);
		return false;
	}
	out->counted = files_take();
	if (!out->counted) {
		close(out->fd);
		out->fd = -1;
	}
	return true;
}

static bool write_to(struct out *out, int fd, const void *bytes, size_t count, struct error *err)
{
	const char *at = bytes;

	while (count && !out->closed) {
		ssize_t n = write(fd, at, count);
		if (n < 0 && errno == EPIPE)
			out->closed = true;
		else if (n < 0 && errno == EBADF)
			return error_set(err, ERR_IO, "%s: it is closed", out->path);
		else if (n < 0 && errno != EINTR)
			return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
		if (n > 0) {
			at += n;
			count -= (size_t)n;
			out->at += (uint64_t)n;
		}
	}
	return true;
}

bool out_write(struct out *out, const void *bytes, size_t count, struct error *err)
{
	int fd = out->fd;

	if (fd >= 0)
		return write_to(out, fd, bytes, count, err);
	fd = open(out->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	bool ok = write_to(out, fd, bytes, count, err);
	if (close(fd) != 0 && ok)
		ok = error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	return ok;
}

bool out_write_inside(struct out_folder *folder, const char *name, const struct buf *text,
		      struct error *err)
{
	struct out out;
	bool ok = out_open_inside(&out, folder, name, err) &&
		  out_write(&out, text->data, text->len, err) && out_finish(&out, err);

	out_drop(&out);
	return ok;
}

bool out_patch(struct out *out, uint64_t at, const void *bytes, size_t count, struct error *err)
{
	int fd = out->fd >= 0 ? out->fd : open(out->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	bool ok = fd >= 0 && pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count;

	if (!ok)
		error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	if (fd >= 0 && fd != out->fd)
		close(fd);
	return ok;
}

bool out_gzip(const char *bytes, size_t count, struct buf *out, struct error *err)
{
	enum { GZIP = 16 + MAX_WBITS, MEMORY = 8, ROOM = 1 << 18, MOST = 1 << 30 };
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)bytes};
	int result = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return error_set(err, ERR_IO, "zlib cannot begin");
	while (result == Z_OK) {
		uInt most = count < MOST ? (uInt)count : MOST;
		z.avail_in = most;
		z.next_out = (Bytef *)buf_room(out, ROOM);
		z.avail_out = ROOM;
		result = deflate(&z, most == count ? Z_FINISH : Z_NO_FLUSH);
		count -= most - z.avail_in;
		out->len += ROOM - z.avail_out;
	}
	deflateEnd(&z);
	return result == Z_STREAM_END || error_set(err, ERR_IO, "zlib cannot compress");
}

static bool close_file(struct out *out)
{
	int fd = out->fd;

	if (fd < 0)
		return true;
	out->fd = -1;
	if (out->counted)
		files_give();
	out->counted = false;
	return close(fd) == 0;
}

/*
 * link() cannot replace a file: where one exists, the new one gets a temporary name and is renamed.
 */
static bool name_it(struct out *out)
{
	char file[40], *name;
	bool ok;

	snprintf(file, sizeof file, "/proc/self/fd/%d", out->fd);
	if (linkat(AT_FDCWD, file, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW) == 0)
		return true;
	if (errno != EEXIST)
		return false;
	name = temporary_name(out->path);
	int fd = mkostemp(name, O_CLOEXEC); /* only for a name that is free */
	ok = fd >= 0 && close(fd) == 0 && unlink(name) == 0 &&
	     linkat(AT_FDCWD, file, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
	if (ok && rename(name, out->path) != 0) {
		int cause = errno;
		unlink(name);
		errno = cause;
		ok = false;
	}
	mem_free(name);
	return ok;
}

bool out_finish(struct out *out, struct error *err)
{
	bool whole = out->nameless || out->temporary; /* it takes the place of what is there */

	if (whole && !inputs_spare(out->path, err)) /* read since it was opened */
		return false;
	bool ok = (!out->nameless || name_it(out)) && close_file(out);
	if (ok && out->temporary)
		ok = rename(out->temporary, out->path) == 0;
	if (!ok)
		return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	temporary_forget(out->noted);
	out->noted = -1;
	mem_free(out->temporary);
	out->temporary = NULL;
	return true;
}

void out_drop(struct out *out)
{
	if (!out->path)
		return;
	close_file(out);
	if (out->temporary)
		unlink(out->temporary);
	temporary_forget(out->noted);
	mem_free(out->temporary);
	mem_free(out->path);
	*out = (struct out){.fd = -1, .noted = -1};
}

/* ---- folders ---- */

/* Owns and frees `temporary`, a name that ends in XXXXXX. */
static bool make_temporary(struct out_folder *folder, const char *path, char *temporary,
			   struct error *err)
{
	folder->path = mem_strdup(path);
	folder->temporary = temporary;
	if (mkdtemp(folder->temporary)) {
		chmod(folder->temporary, usual_mode(0777));
		folder->noted = temporary_note(folder->temporary, true);
		return true;
	}
	error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	mem_free(folder->temporary);
	folder->temporary = NULL;
	return false;
}

bool out_folder_open(struct out_folder *folder, const char *path, struct error *err)
{
	struct folder_names names = {0};
	struct error ignored;
	struct stat about;
	bool there = lstat(path, &about) == 0;

	*folder = (struct out_folder){.noted = -1};
	if (!inputs_spare(path, err))
		return false;
	if (there &&
	    (!S_ISDIR(about.st_mode) || !folder_list(path, &names, &ignored) || names.count)) {
		folder_release(&names);
		return error_set(err, ERR_IO,
				 "%s: there is something already; it is to be a new folder", path);
	}
	folder_release(&names);
	return make_temporary(folder, path, temporary_name(path), err);
}

bool out_folder_open_below(struct out_folder *folder, const char *path, struct error *err)
{
	*folder = (struct out_folder){.noted = -1};
	return inputs_spare(path, err) &&
	       make_temporary(folder, path, folder_join(path, ".yore-XXXXXX"), err);
}

bool out_folder_make(struct out_folder *folder, const char *name, struct error *err)
{
	char *path = folder_join(folder->temporary, name);
	bool ok = folders_make(path, strlen(folder->temporary) + 1, true, 0777) ||
		  error_set(err, ERR_IO, "%s: %s", path, strerror(errno));

	mem_free(path);
	return ok;
}

bool out_folder_finish(struct out_folder *folder, struct error *err)
{
	if (rename(folder->temporary, folder->path) != 0)
		return error_set(err, ERR_IO, "%s: %s", folder->path, strerror(errno));
	temporary_forget(folder->noted);
	folder->noted = -1;
	mem_free(folder->temporary);
	folder->temporary = NULL;
	return true;
}

void out_folder_drop(struct out_folder *folder)
{
	temporary_folder_end(folder->temporary, folder->noted);
	mem_free(folder->path);
	*folder = (struct out_folder){.noted = -1};
}
