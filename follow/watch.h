/*
 * watch.h - waiting until files of a trace change, or more comes from an input that is read once
 *
 * Folders are watched by inotify(7), with all folders in them. On file systems of a network, or
 * where the user has no watches left, they are looked at five times a second. Waiting costs nothing
 * else.
 */
#ifndef FOLLOW_WATCH_H
#define FOLLOW_WATCH_H

#include "engine/base/error.h"
#include "follow/socket.h"

#include <stdint.h>

enum watch_news {
	WATCH_CHANGED = 1 << 0, /* something was written, or came */
	WATCH_ADDED = 1 << 1,   /* likewise: a file or folder is new */
	WATCH_READER = 1 << 2,  /* the reader of the rows has gone */
	WATCH_STOPPED = 1 << 3  /* by struct watch_stop */
};

struct watch;

/* What stops waiting from outside, such as Ctrl-C. */
struct watch_stop {
	bool (*stopped)(void *arg);
	/*
	 * Whoever stops it calls `wake`, which a signal's handler may, from now on; NULL: no more.
	 * May be NULL where nothing is to be waited for.
	 */
	void (*tell)(void *arg, void (*wake)(void *wake_arg), void *wake_arg);
	void *arg;
};

/*
 * `reader` is the descriptor that rows go to, -1: none; `stop` is borrowed, NULL: nothing stops it.
 * The caller ends it with watch_free().
 */
struct watch *watch_new(int reader, const struct watch_stop *stop);
void watch_free(struct watch *watch); /* NULL is fine */
/* Watches a file, or a folder with all that is in it; the path is borrowed until watch_free(). */
void watch_add(struct watch *watch, const char *path);
/*
 * Copies what comes from an open descriptor, which is the watch's from then on, to a file that ends
 * with the watch; `kind` says whether it is a socket. Of datagrams each stands behind its length,
 * 16 bits, the greater byte first, as RFC 4571 frames packets of media in a connection. *path,
 * borrowed, is where that can be opened, and its last part is `name`. A thread of its own does it,
 * so that the writer never waits for the rows.
 */
MUST_CHECK bool watch_input(struct watch *watch, int fd, enum socket_kind kind, const char *name,
			    const char **path, struct error *err);
/* Has the input ended? False with *err set: it could not be copied. */
MUST_CHECK bool watch_input_ended(const struct watch *watch, bool *ended, struct error *err);
/* Waits for news, at most so many ms; -1: without end. Returns a set of enum watch_news. */
unsigned watch_wait(struct watch *watch, int ms);
bool watch_stopped(const struct watch *watch);
int64_t watch_now(void); /* ns on a clock that only rises */

#endif
