/*
 * redraw.c - see redraw.h
 *
 * The terminal cuts lines that are too wide, so that each takes one of its lines. New lines are
 * written over the old ones, in one write for the whole drawing, so that nothing flickers.
 */
#include "repl/render/redraw.h"

#include "engine/base/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EACH_MS = 250, LINES = 24 };

bool redraw_can(const struct sink *sink)
{
	const char *term = getenv("TERM");

	return sink->fd >= 0 && !sink->elsewhere && isatty(sink->fd) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void redraw_wait(const struct redraw *redraw)
{
	int64_t each = redraw->each_ms ? redraw->each_ms : EACH_MS;
	int64_t ms = redraw->drawn ? redraw->drawn + each - clock_ms() : 0;

	if (ms > 0)
		(void)poll(NULL, 0, (int)ms);
}

unsigned redraw_room(const struct redraw *redraw)
{
	struct winsize size;

	return (ioctl(redraw->sink->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 2 ? size.ws_row
										   : LINES) -
	       1;
}

/* Writes the bytes to the terminal as they are, after flushing the sink. */
static void render_redraw_show(struct redraw *redraw, const struct buf *screen)
{
	struct sink out;

	sink_flush(redraw->sink);
	sink_init(&out, redraw->sink->fd);
	out.exact = true;
	sink_add(&out, screen->data, screen->len);
	sink_row(&out);
	if (!redraw->sink->closed && !sink_flush(&out)) {
		redraw->sink->closed = true;
		redraw->sink->failed = out.failed;
	}
	sink_release(&out);
}

static void go_up(const struct redraw *redraw, struct buf *screen)
{
	if (redraw->lines)
		buf_printf(screen, "\033[%uA\r", redraw->lines);
}

void redraw_clear(struct redraw *redraw)
{
	struct buf screen = {0};

	sink_flush(redraw->sink);
	if (!redraw->lines)
		return;
	go_up(redraw, &screen);
	buf_add_text(&screen, "\033[J");
	render_redraw_show(redraw, &screen);
	buf_release(&screen);
	redraw->lines = 0;
}

/* Appends lines; at the end of each, erases the rest of the old line. */
static bool redraw_add_lines(void *screen, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n')
			buf_add_text(screen, "\033[K");
		buf_add_char(screen, bytes[i]);
	}
	return true;
}

static unsigned count_lines(const char *text, size_t len)
{
	unsigned count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* Appends the rows through a sink, which makes control characters visible and writes styles. */
static void redraw_add_rows(const struct redraw *redraw, const struct sink *rows,
			    struct buf *screen, unsigned *lines)
{
	unsigned most = redraw_room(redraw), all = count_lines(rows->data, rows->len);
	size_t len = rows->len;
	struct sink out;

	if (all > most) /* and a line says how many more there are */
		for (size_t seen = len = 0; seen + 1 < most; len++)
			seen += rows->data[len] == '\n';
	sink_init_write(&out, redraw_add_lines, screen);
	out.color = redraw->sink->color;
	sink_add(&out, rows->data, len);
	if (all > most)
		sink_printf(&out, "(and %u lines)\n", all - most + 1);
	sink_row(&out);
	sink_flush(&out);
	sink_release(&out);
	*lines = all > most ? most : all;
}

void redraw_show(struct redraw *redraw, const struct buf *above, const struct sink *rows)
{
	struct buf screen = {0};

	go_up(redraw, &screen);
	if (above)
		redraw_add_lines(&screen, above->data, above->len);
	buf_add_text(&screen, "\033[?7l");
	redraw_add_rows(redraw, rows, &screen, &redraw->lines);
	buf_add_text(&screen, "\033[J\033[?7h");
	render_redraw_show(redraw, &screen);
	buf_release(&screen);
	redraw->drawn = clock_ms();
}
