/* watch.c - see watch.h */
#include "follow/watch.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "engine/base/workers.h"
#include "live/beacons.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 10, /* of nested folders: as deep as a trace is searched */
	LOOK_MS = 200,  /* without inotify */
	COPY_BYTES = 1 << 18,
	DATAGRAM_ROOM = (1 << 16) + 2 /* the longest datagram and its length */
};

static const uint32_t changes =
	IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;

/* An input that is read once, and its copy. */
struct input {
	enum socket_kind kind;
	int from, to, stop;    /* stop: an event counter that ends the thread */
	char *folder, *path;   /* folder and path of a link that names the copy; or NULL */
	int noted;             /* of the folder, for temporary_forget() */
	pthread_t thread;
	bool started;
	_Atomic int failed; /* errno */
	atomic_bool ended, fresh;
};

struct watch {
	const char **paths;
	size_t npaths, capacity;
	int told; /* inotify's descriptor; -1: files are checked */
	int wake; /* an event counter, for Ctrl-C and new bytes of the input */
	int reader;
	uint64_t seen, names; /* hashes of sizes and times; of which files exist */
	const struct watch_stop *stop;
	struct input *input;
};

int64_t watch_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void wake(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof one); /* fails only if it is full, hence readable */
}

/* Called by the signal's handler. */
static void wake_up(void *arg)
{
	wake(*(const int *)arg);
}

struct watch *watch_new(int reader, const struct watch_stop *stop)
{
	struct watch *watch = mem_new(sizeof *watch);

	watch->reader = reader;
	watch->told = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->stop = stop;
	if (stop && stop->tell)
		stop->tell(stop->arg, wake_up, &watch->wake);
	return watch;
}

static void end_input(struct input *input)
{
	if (!input)
		return;
	if (input->started) {
		wake(input->stop);
		pthread_join(input->thread, NULL);
	}
	temporary_folder_end(input->folder, input->noted);
	mem_free(input->path);
	if (input->to >= 0)
		close(input->to);
	if (input->stop >= 0)
		close(input->stop);
	close(input->from);
	mem_free(input);
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	if (watch->stop && watch->stop->tell)
		watch->stop->tell(watch->stop->arg, NULL, NULL);
	end_input(watch->input);
	if (watch->told >= 0)
		close(watch->told);
	if (watch->wake >= 0)
		close(watch->wake);
	mem_free(watch->paths);
	mem_free(watch);
}

/* Files and folders ---------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Calls `each` for the path and, if it is a folder, for all in it that may have packets. */
static void watch_walk(const char *path, unsigned depth,
		       void (*each)(void *arg, const char *path, const struct stat *st), void *arg)
{
	struct folder_names names;
	struct error ignored; /* it may vanish at any moment */
	struct stat st;

	if ((depth ? lstat : stat)(path, &st) != 0)
		return;
	each(arg, path, &st);
	if (!S_ISDIR(st.st_mode) || depth > DEPTH_MAX || !folder_list(path, &names, &ignored))
		return;
	if (!depth) {
		char *beacons = folder_join(path, BEACONS_NAME);
		if (lstat(beacons, &st) == 0)
			each(arg, beacons, &st);
		mem_free(beacons);
	}
	for (size_t i = 0; i < names.count; i++) {
		if (!strcmp(names.items[i], "index"))
			continue;
		char *inner = folder_join(path, names.items[i]);
		watch_walk(inner, depth + 1, each, arg);
		mem_free(inner);
	}
	folder_release(&names);
}

static void watch_look_at(void *arg, const char *path, const struct stat *st)
{
	struct watch *watch = arg;

	watch->names = mixed(watch->names, st->st_ino);
	watch->names = mixed(watch->names, strlen(path));
	watch->seen = mixed(watch->seen, (uint64_t)st->st_size);
	watch->seen = mixed(watch->seen, (uint64_t)st->st_mtim.tv_sec);
	watch->seen = mixed(watch->seen, (uint64_t)st->st_mtim.tv_nsec);
}

static void look_at_files(struct watch *watch)
{
	watch->seen = watch->names = 0;
	for (size_t i = 0; i < watch->npaths; i++)
		watch_walk(watch->paths[i], 0, watch_look_at, watch);
}

static void stop_being_told(struct watch *watch)
{
	if (watch->told >= 0)
		close(watch->told);
	watch->told = -1;
	look_at_files(watch);
}

/* Adds an inotify watch; a folder's watch covers its files. */
static void be_told(void *arg, const char *path, const struct stat *st)
{
	struct watch *watch = arg;
	bool own = false;

	for (size_t i = 0; i < watch->npaths; i++)
		own |= watch->paths[i] == path;
	if (watch->told < 0 || !(own || S_ISDIR(st->st_mode)))
		return;
	if (inotify_add_watch(watch->told, path, changes) < 0 && errno != ENOENT)
		stop_being_told(watch);
}

void watch_add(struct watch *watch, const char *path)
{
	*mem_push(watch->paths, watch->npaths, watch->capacity) = path;
	if (watch->told >= 0 && file_is_remote(path))
		stop_being_told(watch);
	else
		watch_walk(path, 0, be_told, watch);
	if (watch->told < 0)
		look_at_files(watch);
}

/* Reads all inotify events. */
static unsigned take_told(struct watch *watch)
{
	_Alignas(struct inotify_event) char bytes[8192];
	bool folders = false;
	unsigned news = 0;
	ssize_t n;

	while (watch->told >= 0 && (n = read(watch->told, bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(bytes + at);
			bool added = event->mask & (IN_CREATE | IN_MOVED_TO | IN_Q_OVERFLOW);
			news |= WATCH_CHANGED | (added ? WATCH_ADDED : 0u);
			folders |= added && event->mask & (IN_ISDIR | IN_Q_OVERFLOW);
			at += (ssize_t)(sizeof *event + event->len);
		}
	for (size_t i = 0; folders && i < watch->npaths; i++)
		watch_walk(watch->paths[i], 0, be_told, watch);
	return news;
}

static unsigned look_again(struct watch *watch)
{
	uint64_t seen = watch->seen, names = watch->names;

	look_at_files(watch);
	return (seen != watch->seen ? WATCH_CHANGED : 0u) |
	       (names != watch->names ? WATCH_CHANGED | WATCH_ADDED : 0u);
}

/* An input that is read once ------------------------------------------------------------------- */

/* Receives waiting datagrams, as many as fit. Empty ones are skipped: they have no packet. */
static ssize_t take_datagrams(int from, char *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= DATAGRAM_ROOM) {
		ssize_t n = recv(from, bytes + at + 2, DATAGRAM_ROOM - 2, MSG_DONTWAIT);
		if (n < 0 && !at)
			return -1;
		if (n < 0)
			break;
		bytes[at] = (char)(n >> 8);
		bytes[at + 1] = (char)n;
		at += n ? (size_t)n + 2 : 0;
	}
	return (ssize_t)at;
}

/* Accepts the first connection, which replaces the listening socket. */
static bool accept_one(struct input *input)
{
	int fd = accept4(input->from, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return errno == EINTR || errno == EAGAIN || errno == ECONNABORTED;
	close(input->from);
	input->from = fd;
	input->kind = SOCKET_NO;
	return true;
}

static bool copy_some(struct input *input, char *bytes, size_t size)
{
	if (input->kind == SOCKET_CONNECTION) {
		if (accept_one(input))
			return true;
		atomic_store(&input->failed, errno);
		return false;
	}
	bool datagrams = input->kind == SOCKET_DATAGRAMS;
	ssize_t n = datagrams ? take_datagrams(input->from, bytes, size)
			      : read(input->from, bytes, size);

	if (datagrams && !n)
		return true;
	if (n > 0 && file_put(input->to, bytes, (size_t)n))
		return true;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n)
		atomic_store(&input->failed, errno);
	return false;
}

static void *copy_input(void *arg)
{
	struct watch *watch = arg;
	struct input *input = watch->input;
	struct pollfd fds[] = {{.fd = input->from, .events = POLLIN},
			       {.fd = input->stop, .events = POLLIN}};
	char *bytes = mem_new(COPY_BYTES);
	bool open = true;

	while (open) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			break;
		if (!fds[0].revents)
			continue;
		open = copy_some(input, bytes, COPY_BYTES);
		fds[0].fd = input->from;
		atomic_store(&input->ended, !open);
		atomic_store(&input->fresh, true);
		wake(watch->wake);
	}
	mem_free(bytes);
	return NULL;
}

/* The copy is nameless; a link in a temporary folder gives it the input's name, which rows show. */
static bool name_copy(struct input *input, const char *name)
{
	char target[64];

	input->folder = temporary_folder(NULL, "input", &input->noted);
	if (!input->folder)
		return false;
	input->path = folder_join(input->folder, name);
	snprintf(target, sizeof target, "/proc/self/fd/%d", input->to);
	return symlink(target, input->path) == 0;
}

bool watch_input(struct watch *watch, int fd, enum socket_kind kind, const char *name,
		 const char **path, struct error *err)
{
	struct input *input = mem_new(sizeof *input);
	const char *folder;

	watch->input = input;
	input->from = fd;
	input->kind = kind;
	input->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	input->to = temporary_open(&folder);
	if (input->to < 0 || !name_copy(input, name))
		return error_set(err, ERR_IO, "%s: no copy of the input can be made: %s", folder,
				 strerror(errno));
	input->started = thread_start(&input->thread, copy_input, watch);
	*path = input->path;
	return input->started || error_set(err, ERR_IO, "no thread can be started");
}

bool watch_input_ended(const struct watch *watch, bool *ended, struct error *err)
{
	const struct input *input = watch->input;
	int failed = input ? atomic_load(&input->failed) : 0;

	*ended = input && atomic_load(&input->ended);
	return !failed || error_set(err, ERR_IO, "copying the input: %s", strerror(failed));
}

/* ---- */

bool watch_stopped(const struct watch *watch)
{
	return watch->stop && watch->stop->stopped(watch->stop->arg);
}

unsigned watch_wait(struct watch *watch, int ms)
{
	struct pollfd fds[] = {{.fd = watch->wake, .events = POLLIN},
			       {.fd = watch->told, .events = POLLIN},
			       {.fd = watch->reader}};
	bool looks = watch->told < 0 && watch->npaths;
	int most = looks && (ms < 0 || ms > LOOK_MS) ? LOOK_MS : ms;
	uint64_t count;
	unsigned news = 0;

	if (!watch_stopped(watch) && poll(fds, 3, most) < 0 && errno != EINTR)
		return WATCH_STOPPED;
	if (watch_stopped(watch))
		return WATCH_STOPPED;
	(void)!read(watch->wake, &count, sizeof count);
	if (fds[2].revents & (POLLERR | POLLNVAL))
		news |= WATCH_READER;
	if (watch->input && atomic_exchange(&watch->input->fresh, false))
		news |= WATCH_CHANGED;
	return news | (looks ? look_again(watch) : take_told(watch));
}
