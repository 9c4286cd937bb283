/* new_file.c - see new_file.h */
#include "engine/base/new_file.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int new_file_begin(struct new_file *file, const char *path, const char *suffix)
{
	*file = (struct new_file){0};
	buf_add_text(&file->path, path);
	buf_printf(&file->part, "%s.%s", path, suffix);
	unlink(file->part.data);
	file->noted = temporary_note(file->part.data, false);
	file->fd = file_open_own(file->part.data, O_RDWR | O_EXCL);
	return file->fd >= 0 ? 0 : new_file_end(file, errno, false);
}

/* Syncs the path's folder: only then a rename is on the disk. Returns 0 or an errno. */
static int sync_folder(const char *path)
{
	char *folder = folder_above(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = 0;

	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
		failed = errno;
	if (fd >= 0)
		close(fd);
	mem_free(folder);
	return failed;
}

int new_file_end(struct new_file *file, int failed, bool sync)
{
	if (!failed &&
	    ((sync && fdatasync(file->fd) != 0) || rename(file->part.data, file->path.data) != 0))
		failed = errno;
	else if (!failed && sync && (failed = sync_folder(file->path.data)) != 0)
		unlink(file->path.data);
	if (failed && file->fd >= 0)
		unlink(file->part.data);
	if (file->fd >= 0)
		close(file->fd);
	temporary_forget(file->noted);
	buf_release(&file->part);
	buf_release(&file->path);
	return failed;
}

bool file_write(const char *path, const struct buf *bytes, struct error *err)
{
	struct new_file file;
	int failed = new_file_begin(&file, path, "part");

	if (!failed)
		failed = new_file_end(
			&file, file_put(file.fd, bytes->data, bytes->len) ? 0 : errno, true);
	return !failed || error_set(err, ERR_IO, "%s: %s", path, strerror(failed));
}
