/* mirror_folder.c - the folder of a mirror: its mark, and the folders of its traces */
#include "live/mirror_internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "live/beacons.h"
#include "live/stream_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAME_PATH_MOST = 1000, BEGINNING_BYTES = 1 << 16 };

static bool mirror_folder_failed(const char *path, struct error *err)
{
	return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

/* Whose mirror it is -----------------------------------------------------------------------------
 */

static void mark_text(const struct live_url *url, bool ended, struct buf *out)
{
	buf_printf(out, "yore mirror 1\nhost %s\nsession %s%s", url->session_host, url->session,
		   ended ? MIRROR_ENDED : MIRROR_GOING);
}

bool mirror_mark(struct mirror *mirror, bool ended, struct error *err)
{
	char *path = folder_join(mirror->options->folder, MIRROR_MARK);
	struct buf text = {0};

	mark_text(mirror->options->url, ended, &text);
	bool ok = file_write(path, &text, err);
	buf_release(&text);
	mem_free(path);
	return ok;
}

static bool mirror_folder_is_text(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Checks that an existing mark is this session's. */
static bool check_mark(struct mirror *mirror, const struct buf *mark, struct error *err)
{
	const struct live_url *url = mirror->options->url;
	struct buf going = {0}, ended = {0};

	mark_text(url, false, &going);
	mark_text(url, true, &ended);
	mirror->ended_before = mirror_folder_is_text(mark, &ended);
	bool ok = mirror->ended_before || mirror_folder_is_text(mark, &going);
	buf_release(&going);
	buf_release(&ended);
	return ok || error_set(err, ERR_IO, "%s: it mirrors another session than %s of %s",
			       mirror->options->folder, url->session, url->session_host);
}

static bool check_empty(struct mirror *mirror, struct error *err)
{
	struct folder_names names;

	if (!folder_list(mirror->options->folder, &names, err))
		return false;
	bool empty = !names.count;
	folder_release(&names);
	return empty || error_set(err, ERR_IO, "%s: it is not empty, and no mirror",
				  mirror->options->folder);
}

bool mirror_folder_open(struct mirror *mirror, struct error *err)
{
	const char *folder = mirror->options->folder;
	struct buf mark = {0};

	mirror->made_it = mkdir(folder, 0777) == 0;
	if (!mirror->made_it && errno != EEXIST)
		return mirror_folder_failed(folder, err);
	mirror->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mirror->lock < 0)
		return mirror_folder_failed(folder, err);
	if (flock(mirror->lock, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK
			       ? error_set(err, ERR_IO, "%s: another yore mirrors into it", folder)
			       : mirror_folder_failed(folder, err);
	char *path = folder_join(folder, MIRROR_MARK);
	bool there = file_read(path, &mark);
	bool ok = there ? check_mark(mirror, &mark, err)
			: check_empty(mirror, err) && mirror_mark(mirror, false, err);
	ok = ok && (mirror->ended_before || beacons_open(folder, &mirror->beacons, err));
	mirror->made = ok && !there;
	mem_free(path);
	buf_release(&mark);
	return ok;
}

/* Nothing was received: restores the folder. */
static void undo(struct mirror *mirror)
{
	char *path = folder_join(mirror->options->folder, MIRROR_MARK);
	char *beacons = folder_join(mirror->options->folder, BEACONS_NAME);

	unlink(beacons);
	mem_free(beacons);
	unlink(path);
	if (mirror->made_it)
		rmdir(mirror->options->folder);
	mem_free(path);
}

void mirror_folder_close(struct mirror *mirror)
{
	if (mirror->made && !mirror->attached)
		undo(mirror);
	beacons_close(mirror->beacons);
	mirror->beacons = NULL;
	if (mirror->lock >= 0)
		close(mirror->lock);
	mirror->lock = -1;
}

bool mirror_local(struct mirror *mirror, const struct error *err)
{
	/* a reply that leads to an impossible place is the relay's fault */
	mirror->fatal |= err->kind == ERR_IO;
	return false;
}

/* Where a trace lies -----------------------------------------------------------------------------
 */

/* Creates the folder and its parents. */
static bool mirror_folder_make(const char *path, size_t above, struct error *err)
{
	char *copy = mem_strdup(path);
	bool ok = true;

	for (char *at = copy + above; ok && at; at = *at ? at + 1 : NULL) {
		at += strcspn(at, "/");
		char end = *at;
		*at = 0;
		ok = mkdir(copy, 0777) == 0 || errno == EEXIST || mirror_folder_failed(copy, err);
		*at = end;
	}
	mem_free(copy);
	return ok;
}

static bool is_taken(const struct mirror *mirror, const char *folder)
{
	for (size_t i = 0; i < mirror->ntraces; i++)
		if (mirror->traces[i]->folder && strcmp(mirror->traces[i]->folder, folder) == 0)
			return true;
	return false;
}

/* Does the folder have this trace, or none? */
static bool is_own(const char *folder, const struct buf *beginning)
{
	char *path = folder_join(folder, "metadata");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct buf there = {0};
	bool own = true;

	mem_free(path);
	if (fd < 0)
		return true;
	ssize_t n = read(fd, buf_room(&there, BEGINNING_BYTES), BEGINNING_BYTES);
	there.len = n > 0 ? (size_t)n : 0;
	if (beginning && there.len)
		own = metadata_same_trace(&there, beginning);
	close(fd);
	buf_release(&there);
	return own;
}

/* FOLDER/PATH, or FOLDER/PATH-2 and so on where another trace has that. */
static char *find_folder(const struct mirror *mirror, const struct mirror_trace *trace,
			 const struct buf *beginning)
{
	for (unsigned i = 1; i <= SAME_PATH_MOST; i++) {
		struct buf path = {0};
		buf_printf(&path, "%s/%s", mirror->options->folder,
			   *trace->path ? trace->path : "trace");
		if (i > 1)
			buf_printf(&path, "-%u", i);
		if (!is_taken(mirror, path.data) && is_own(path.data, beginning))
			return path.data;
		buf_release(&path);
	}
	return NULL;
}

bool mirror_place_trace(struct mirror *mirror, struct mirror_trace *trace,
			const struct buf *beginning, struct error *err)
{
	char *folder = find_folder(mirror, trace, beginning);

	if (!folder)
		return error_set(err, ERR_FORMAT, "%s: too many traces have that path",
				 trace->path);
	char *index = folder_join(folder, "index");
	bool ok = mirror_folder_make(index, strlen(mirror->options->folder) + 1, err) &&
		  metadata_file_open(folder, &trace->file, err);
	mem_free(index);
	if (!ok) {
		mem_free(folder);
		return mirror_local(mirror, err);
	}
	trace->folder = folder;
	for (size_t i = 0; i < mirror->nstreams && ok; i++)
		ok = mirror->streams[i]->trace != trace ||
		     stream_file_announce(folder, mirror->streams[i]->name, err);
	return ok || mirror_local(mirror, err);
}
