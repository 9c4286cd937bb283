/*
 * progress.c - the bar: nothing in the first second, then ten times a second on a terminal
 *
 * It is drawn over itself and cleared before anything else is printed, so that it never mixes with
 * rows. Where --progress forces it without a terminal, it is one line a second.
 */
#include "repl/progress.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 40, WAIT_MS = 1000, STEP_MS = 100, LINE_MS = 1000 };

struct progress {
	bool terminal, drawn;
	int64_t begun, shown; /* ms: start of the work, last drawing; begun 0: no work yet */
};

struct progress *progress_new(bool force)
{
	bool terminal = isatty(STDERR_FILENO);
	struct progress *progress;

	if (!terminal && !force)
		return NULL;
	progress = mem_new(sizeof *progress);
	progress->terminal = terminal;
	return progress;
}

void progress_free(struct progress *progress)
{
	progress_clear(progress);
	mem_free(progress);
}

void progress_clear(struct progress *progress)
{
	if (!progress)
		return;
	if (progress->drawn && progress->terminal)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
	progress->begun = 0;
}

/* Is it time to draw? */
static bool progress_is_due(struct progress *progress)
{
	int64_t now = clock_ms();

	if (!progress->begun)
		progress->begun = progress->shown = now;
	if (now - progress->begun < WAIT_MS ||
	    now - progress->shown < (progress->terminal ? STEP_MS : LINE_MS))
		return false;
	progress->shown = now;
	return progress->drawn = true;
}

void progress_text(struct progress *progress, const char *text)
{
	if (!progress || !progress_is_due(progress))
		return;
	if (progress->terminal)
		fprintf(stderr, "\r%s\033[K", text);
	else
		fprintf(stderr, "yore: progress: %s\n", text);
	fflush(stderr);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t all)
{
	char bar[WIDTH + 1];

	if (!progress || !all || !progress_is_due(progress))
		return;
	unsigned percent = (unsigned)((double)(done < all ? done : all) * 100 / (double)all);
	unsigned full = percent * WIDTH / 100;
	memset(bar, '.', WIDTH);
	memset(bar, '#', full);
	bar[WIDTH] = 0;
	if (progress->terminal)
		fprintf(stderr, "\r[%s] %3u %%", bar, percent);
	else
		fprintf(stderr, "yore: progress: %u %%\n", percent);
	fflush(stderr);
}
