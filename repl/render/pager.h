/*
 * pager.h - shows the output of one question on a terminal, through a pager if it is long
 *
 * Lines are held until they fill the screen; then $PAGER (less if it is not set) gets them and all
 * that follows. Shorter output is written to the terminal when the question ends.
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
	bool plain; /* no pager could be started: write to the terminal */
	bool left;  /* the user has quit the pager */
};

/*
 * Starts `sh -c COMMAND` in the foreground. Its input is a pipe, whose other end is *to, or the
 * standard input if `to` is NULL. -1: failed, errno.
 */
pid_t pager_spawn(const char *command, int *to);

void pager_begin(struct pager *pager);
/* The function to pass to sink_init_write(), with the pager as `arg`. */
bool pager_write(void *arg, const char *bytes, size_t count);
/* Writes the lines that are held, or waits until the user quits the pager. */
void pager_end(struct pager *pager);

#endif
