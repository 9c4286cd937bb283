/* out.c - temporary names, and the renaming at the end */
#include "convert/out.h"

#include "engine/base/buf.h"
#include "engine/base/files.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* mkstemp() and mkdtemp() make it the owner's alone. */
static mode_t usual_mode(mode_t most)
{
	mode_t mask = umask(0);

	umask(mask);
	return most & ~mask;
}

bool out_open(struct out *out, const char *path, struct error *err)
{
	struct stat about;

	*out = (struct out){.fd = -1, .path = mem_strdup(path)};
	if (strcmp(path, "-") == 0) {
		out->fd = dup(STDOUT_FILENO);
	} else if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		out->temporary = temporary_name(path);
		out->fd = mkstemp(out->temporary);
		if (out->fd >= 0)
			fchmod(out->fd, usual_mode(0666));
	}
	if (out->fd >= 0)
		return true;
	error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	mem_free(out->temporary);
	out->temporary = NULL;
	out_drop(out);
	return false;
}

bool out_open_inside(struct out *out, const char *folder, const char *name, struct error *err)
{
	*out = (struct out){.path = folder_join(folder, name)};
	out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd < 0) {
		error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
		out_drop(out);
		return false;
	}
	out->counted = files_take();
	out->parted = !out->counted;
	if (out->parted) {
		close(out->fd);
		out->fd = -1;
	}
	return true;
}

static bool write_all(struct out *out, const void *bytes, size_t count, struct error *err)
{
	const char *at = bytes;

	while (count && !out->closed) {
		ssize_t n = write(out->fd, at, count);
		if (n < 0 && errno == EPIPE)
			out->closed = true;
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
	if (!out->parted)
		return write_all(out, bytes, count, err);
	out->fd = open(out->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (out->fd < 0)
		return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	bool good = write_all(out, bytes, count, err);
	int failed = close(out->fd);
	out->fd = -1;
	if (good && failed)
		return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	return good;
}

static void give_back(struct out *out)
{
	if (out->counted)
		files_give();
	out->counted = false;
}

bool out_finish(struct out *out, struct error *err)
{
	int failed = out->parted ? 0 : close(out->fd);

	out->fd = -1;
	give_back(out);
	if (!failed && out->temporary)
		failed = rename(out->temporary, out->path);
	if (failed)
		return error_set(err, ERR_IO, "%s: %s", out->path, strerror(errno));
	mem_free(out->temporary);
	out->temporary = NULL;
	return true;
}

void out_drop(struct out *out)
{
	if (out->fd >= 0)
		close(out->fd);
	give_back(out);
	if (out->temporary)
		unlink(out->temporary);
	mem_free(out->temporary);
	mem_free(out->path);
	*out = (struct out){.fd = -1};
}

/* ---- folders ---- */

bool out_folder_open(struct out_folder *folder, const char *path, struct error *err)
{
	struct folder_names names = {0};
	struct error ignored;
	struct stat about;
	bool there = lstat(path, &about) == 0;

	*folder = (struct out_folder){0};
	if (there &&
	    (!S_ISDIR(about.st_mode) || !folder_list(path, &names, &ignored) || names.count)) {
		folder_release(&names);
		return error_set(err, ERR_IO,
				 "%s: there is something already; it is to be a new folder", path);
	}
	folder_release(&names);
	folder->path = mem_strdup(path);
	folder->temporary = temporary_name(path);
	if (mkdtemp(folder->temporary)) {
		chmod(folder->temporary, usual_mode(0777));
		return true;
	}
	error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	mem_free(folder->temporary);
	folder->temporary = NULL;
	return false;
}

bool out_folder_finish(struct out_folder *folder, struct error *err)
{
	if (rename(folder->temporary, folder->path) != 0)
		return error_set(err, ERR_IO, "%s: %s", folder->path, strerror(errno));
	mem_free(folder->temporary);
	folder->temporary = NULL;
	return true;
}

void out_folder_drop(struct out_folder *folder)
{
	struct folder_names names = {0};
	struct error ignored;

	if (folder->temporary && folder_list(folder->temporary, &names, &ignored)) {
		for (size_t i = 0; i < names.count; i++) {
			char *path = folder_join(folder->temporary, names.items[i]);
			unlink(path);
			mem_free(path);
		}
		folder_release(&names);
		rmdir(folder->temporary);
	}
	mem_free(folder->temporary);
	mem_free(folder->path);
	*folder = (struct out_folder){0};
}
