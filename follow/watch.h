/*
 * watch.h - waits for changes of a trace's files, or for bytes of an input that is read once
 *
 * inotify(7) watches folders and all folders in them. On network file systems, or if the user has
 * no watches left, files are checked five times a second. Waiting costs nothing else.
 */
#ifndef FOLLOW_WATCH_H
#define FOLLOW_WATCH_H

#include "engine/base/error.h"
#include "follow/socket.h"

#include <stdint.h>

enum watch_news {
	WATCH_CHANGED = 1 << 0, /* a file changed, or the input brought bytes */
	WATCH_ADDED = 1 << 1,   /* likewise: a file or folder is new */
	WATCH_READER = 1 << 2,  /* the reader of the rows has gone */
	WATCH_STOPPED = 1 << 3  /* watch_stop.stopped() is true */
};

struct watch;

/* Stops the waiting from outside, such as by Ctrl-C. */
struct watch_stop {
	bool (*stopped)(void *arg);
	/*
	 * Stores `wake`, which must be called when stopped() becomes true; a signal handler may
	 * call it. NULL: call it no more. `tell` may be NULL if watch_wait() is not used.
	 */
	void (*tell)(void *arg, void (*wake)(void *wake_arg), void *wake_arg);
	void *arg;
};

/*
 * `reader`: the descriptor that rows are written to, -1: none; `stop` is borrowed, NULL: nothing
 * stops it. The caller frees the watch with watch_free().
 */
struct watch *watch_new(int reader, const struct watch_stop *stop);
void watch_free(struct watch *watch); /* NULL is fine */
/* Watches a file, or a folder with all in it; the path is borrowed until watch_free(). */
void watch_add(struct watch *watch, const char *path);
/*
 * Copies the bytes of an open descriptor, which the watch then owns, to a file that lives as long
 * as the watch; `kind` says whether it is a socket. Each datagram is stored after its length, 16
 * bits, big-endian, as RFC 4571 frames packets. *path, borrowed, is where to open the copy; its
 * last part is `name`. A thread copies, so that the writer never waits for the rows.
 */
MUST_CHECK bool watch_input(struct watch *watch, int fd, enum socket_kind kind, const char *name,
			    const char **path, struct error *err);
/* *ended: has the input ended? False: it could not be copied. */
MUST_CHECK bool watch_input_ended(const struct watch *watch, bool *ended, struct error *err);
/*
 * Waits for news, at most `ms` milliseconds; -1: without limit. Returns a set of enum watch_news.
 */
unsigned watch_wait(struct watch *watch, int ms);
bool watch_stopped(const struct watch *watch);
int64_t watch_now(void); /* ns of the monotonic clock */

#endif
