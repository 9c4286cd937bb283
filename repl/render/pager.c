/*
 * pager.c - holds a screenful of lines, then starts the pager
 *
 *     held ──(fits)──> terminal          held + rest ──(longer)──> pipe ──> sh -c "$PAGER"
 *
 * Ctrl-C reaches the pager as well as us, since both are in the foreground: it ends the question
 * that still writes; less stays with what it has, until the reader leaves it.
 */
#include "repl/render/pager.h"

#include "repl/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

void pager_begin(struct pager *pager)
{
	struct winsize size;

	*pager = (struct pager){.rows = 24, .columns = 80, .fd = -1};
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		pager->rows = size.ws_row;
		pager->columns = size.ws_col;
	}
}

/* In the child: resets signals that yore ignores or handles, and runs the command. */
static void run_command(const char *command, int from)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (from != STDIN_FILENO) {
		dup2(from, STDIN_FILENO);
		close(from);
	}
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

pid_t pager_spawn(const char *command, int *to)
{
	int ends[2] = {STDIN_FILENO, -1};

	if (to && pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		run_command(command, ends[0]);
	if (to)
		close(ends[0]);
	if (to && child < 0)
		close(ends[1]);
	else if (to)
		*to = ends[1];
	return child;
}

static bool start(struct pager *pager)
{
	const char *pages = getenv("PAGER");
	struct buf command = {0};

	/* as git does: quit when it fits, keep colours, leave the text on the screen */
	buf_printf(&command, "LESS=${LESS-FRX}; export LESS; %s",
		   pages && *pages ? pages : "less");
	pager->child = pager_spawn(buf_text(&command), &pager->fd);
	buf_release(&command);
	if (pager->child < 0)
		pager->child = 0;
	return pager->child > 0;
}

/* False when the reader has gone, or Ctrl-C came while the pager would take no more. */
static bool write_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(fd, bytes, count);

		if (n < 0 && errno == EINTR && !signals_interrupted())
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};
			poll(&room, 1, -1);
			continue;
		}
		if (n < 0)
			return false;
		bytes += n;
		count -= (size_t)n;
	}
	return true;
}

/* How many lines of the screen the bytes fill; long lines fill several. */
static unsigned lines_of(const struct pager *pager, const char *bytes, size_t count)
{
	unsigned lines = 0;

	while (count) {
		const char *end = memchr(bytes, '\n', count);
		size_t len = end ? (size_t)(end - bytes) : count;

		lines += 1 + (unsigned)(len ? (len - 1) / pager->columns : 0);
		if (!end)
			break;
		bytes += len + 1;
		count -= len + 1;
		if (lines >= pager->rows)
			break;
	}
	return lines;
}

bool pager_write(void *arg, const char *bytes, size_t count)
{
	struct pager *pager = arg;
	bool read_on;

	if (pager->left)
		return false;
	if (!pager->child && !pager->plain) {
		pager->lines += lines_of(pager, bytes, count);
		buf_add(&pager->held, bytes, count);
		if (pager->lines < pager->rows)
			return true;
		pager->plain = !start(pager);
		bytes = pager->held.data;
		count = pager->held.len;
	}
	read_on = write_all(pager->child ? pager->fd : STDOUT_FILENO, bytes, count);
	buf_release(&pager->held);
	pager->left = !read_on;
	return read_on;
}

void pager_end(struct pager *pager)
{
	int status = 0;

	if (pager->held.len)
		write_all(STDOUT_FILENO, pager->held.data, pager->held.len);
	buf_release(&pager->held);
	if (!pager->child)
		return;
	close(pager->fd);
	while (waitpid(pager->child, &status, 0) < 0 && errno == EINTR)
		;
	pager->child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		say("warning", "the pager could not be run: set PAGER");
}
