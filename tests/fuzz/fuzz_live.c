/*
 * fuzz_live.c - gives a mirror any bytes as replies of a relay: it stays in its folder, and ends
 *
 * The first two bytes are the length of what the first connection sends; the rest is sent by a
 * second one, over which the mirror continues. Time is simulated: it passes when the mirror waits
 * (the wrapped functions), so no run takes long.
 *
 * Promises: nothing is written outside of the folder, and hardly more than was received; names of
 * files are safe; after either connection an index is ordered by offset, and its file ends with its
 * last packet.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "live/mirror.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IDLES = 40, HEADER = 16, ENTRY = 56, SLACK = 4096, DEEP = 32 };

static char outer[64];
static char folder[96];
static int64_t now_ms;
static unsigned idles;
static uint64_t written;

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

/* Time -------------------------------------------------------------------------------------------
 */

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
bool __wrap_connection_idle(struct connection *connection, const struct connection_limits *limits,
			    unsigned ms, struct error *err);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	out->tv_sec = now_ms / 1000;
	out->tv_nsec = now_ms % 1000 * 1000000;
	return 0;
}

bool __wrap_connection_idle(struct connection *connection, const struct connection_limits *limits,
			    unsigned ms, struct error *err)
{
	(void)connection;
	(void)limits;
	now_ms += ms;
	return ++idles < IDLES || error_set(err, ERR_INTERRUPTED, "interrupted");
}

/* A relay ----------------------------------------------------------------------------------------
 */

struct replies {
	const uint8_t *data;
	size_t size;
	int peer;
};

/* Makes a connection that holds all replies from the start and then ends. */
static bool give(void *arg, struct connection **out, struct error *err)
{
	const struct connection_limits limits = {.reply_ms = 1};
	struct replies *replies = arg;
	int ends[2], room = 1 << 20;

	if (replies->peer >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
		return error_set(err, ERR_RANGE, "no more");
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	(void)!write(ends[1], replies->data, replies->size);
	shutdown(ends[1], SHUT_WR);
	replies->peer = ends[1];
	*out = connection_over(ends[0], &limits);
	return true;
}

static void say(void *arg, enum notice_kind kind, const char *text)
{
	(void)arg;
	(void)kind;
	require(text[0], "a message has a text");
}

/* What became of it ------------------------------------------------------------------------------
 */

static void check_index(const char *path)
{
	uint64_t end = 0;
	uint8_t bytes[ENTRY];
	char data[4096];
	struct stat about;
	const char *index = strstr(path, "/index/");
	FILE *file = fopen(path, "rb");

	require(file && index, "an index can be read");
	require(fread(bytes, 1, HEADER, file) == HEADER, "an index has a head");
	while (fread(bytes, 1, ENTRY, file) == ENTRY) {
		uint64_t offset = load_be(bytes, 8), bits = load_be(bytes + 8, 8);
		require(offset >= end, "packets do not overlap");
		end = offset + bits / 8;
	}
	fclose(file);
	while (strstr(index + 1, "/index/"))
		index = strstr(index + 1, "/index/");
	snprintf(data, sizeof data, "%.*s%s", (int)(index - path), path, index + strlen("/index"));
	data[strlen(data) - strlen(".idx")] = 0;
	require(stat(data, &about) == 0 && (uint64_t)about.st_size >= end,
		"the packets of an index are there");
}

static int check(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	const char *name = path + at->base;

	(void)about;
	if (kind != FTW_F)
		return 0;
	written += (uint64_t)about->st_blocks * 512;
	require(at->level == 1 || name[0] != '.', "no stream is hidden");
	if (at->level > 1 && strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".idx") == 0 &&
	    strstr(path, "/index/"))
		check_index(path);
	return 0;
}

/* Checks that the folder around the mirror's has nothing else. */
static void check_outside(void)
{
	DIR *dir = opendir(outer);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		require(!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
				!strcmp(entry->d_name, "mirror"),
			"nothing is written outside of the folder");
	if (dir)
		closedir(dir);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	(void)about;
	(void)kind;
	(void)at;
	return remove(path);
}

static void run(const uint8_t *data, size_t size)
{
	struct replies replies = {data, size, -1};
	struct live_url url = {.host = "h", .port = "1", .session_host = "h", .session = "s"};
	struct mirror_options options = {.url = &url,
					 .folder = folder,
					 .limits = {.reply_ms = 1, .arg = &replies},
					 .notices = {.say = say},
					 .connect = give};
	struct mirror_counts counts;
	struct error err = {0};

	idles = 0;
	MAY_FAIL(mirror_run(&options, &counts, &err));
	if (replies.peer >= 0)
		close(replies.peer);
	check_outside();
	written = 0;
	nftw(folder, check, DEEP, FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!outer[0]) {
		const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
		snprintf(outer, sizeof outer, "%s/yore-fuzz-live-XXXXXX", memory);
		require(mkdtemp(outer) != NULL, "a folder can be made");
		snprintf(folder, sizeof folder, "%s/mirror", outer);
		temporary_note(outer, true);
		atexit(temporary_remove_all);
	}
	if (size < 2)
		return 0;
	size_t first = (size_t)load_le(data, 2), all = size - 2;
	first = first < all ? first : all;
	now_ms = 1000;
	run(data + 2, first);
	if (first < all)
		run(data + 2 + first, all - first);
	nftw(folder, remove_one, DEEP, FTW_PHYS | FTW_DEPTH);
	return 0;
}
