/*
 * pager.h - output of one question on a terminal: shown as it is, or paged when it is long
 *
 * Lines are held until they would fill the screen; then $PAGER (less when it is not set) gets them
 * and all that follows. What is shorter is written to the terminal when the question ends.
 */
#ifndef REPL_RENDER_PAGER_H
#define REPL_RENDER_PAGER_H

#include "engine/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pager {
	struct buf held;
	unsigned lines, rows, columns; /* of the screen */
	pid_t child;                   /* 0: not started */
	int fd;
	bool plain; /* no pager could be started: straight to the terminal */
	bool left;  /* the reader has left it */
};

/*
 * Starts `sh -c COMMAND` in the foreground, reading a pipe whose other end is *to, or, with NULL,
 * the standard input. -1: errno.
 */
pid_t pager_spawn(const char *command, int *to);

void pager_begin(struct pager *pager);
/* As sink_init_write() wants it; arg is the pager. */
bool pager_write(void *arg, const char *bytes, size_t count);
/* Shows what is held, or waits until the reader leaves the pager. */
void pager_end(struct pager *pager);

#endif
