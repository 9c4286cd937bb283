/* sink.c - the buffer between rows and the file descriptor */
#include "repl/sink.h"

#include "engine/base/quote.h"
#include "engine/base/wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

enum { TICK_MS = 100 };

void sink_init(struct sink *sink, int fd)
{
	*sink = (struct sink){.fd = fd};
}

void sink_init_write(struct sink *sink, bool (*write)(void *arg, const char *bytes, size_t count),
		     void *arg)
{
	*sink = (struct sink){.fd = -1, .write = write, .arg = arg};
}

unsigned terminal_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void sink_release(struct sink *sink)
{
	buf_release(&sink->buf);
	buf_release(&sink->clean);
	*sink = (struct sink){.fd = -1};
}

static bool write_fully(struct sink *sink, const char *bytes, size_t count)
{
	int fd = sink->elsewhere ? sink->elsewhere : sink->fd;

	while (count) {
		ssize_t n = write(fd, bytes, count);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0) {
			sink->failed = errno == EPIPE ? 0 : errno;
			return false;
		}
		bytes += n;
		count -= (size_t)n;
	}
	return true;
}

static bool is_memory(const struct sink *sink)
{
	return sink->fd < 0 && !sink->write;
}

/*
 * In rows, a style stands behind random letters of this process, so that no text of a trace can
 * pass for one.
 */
enum { STYLE_LETTERS = 15 };

static char style_mark[STYLE_LETTERS + 1] = "\033"; /* no zero at its end */
static pthread_once_t style_drawn = PTHREAD_ONCE_INIT;

static void draw_mark(void)
{
	uint8_t block[STYLE_LETTERS];

	if (getrandom(block, sizeof block, 0) != (ssize_t)sizeof block)
		memset(block, 0, sizeof block);
	for (int i = 0; i < STYLE_LETTERS; i++)
		style_mark[i + 1] = (char)('A' + block[i] % 16);
}

/* Appends the style at `at` to *out as an escape sequence; returns its length in rows, or 0. */
static size_t put_style(struct buf *out, const char *at, size_t left)
{
	const size_t n = sizeof style_mark;
	const char *end;

	if (left < n || memcmp(at, style_mark, n) != 0 || !(end = memchr(at + n, 'm', left - n)))
		return 0;
	buf_add_text(out, "\033[");
	buf_add(out, at + n, (size_t)(end + 1 - at) - n);
	return (size_t)(end + 1 - at);
}

/* The bytes with control characters made visible, in sink->clean; `bytes` if there are none. */
static const char *cleaned(struct sink *sink, const char *bytes, size_t *count)
{
	size_t at = sink->exact ? *count : printable_length(bytes, *count);

	if (at == *count)
		return bytes;
	buf_clear(&sink->clean);
	buf_add(&sink->clean, bytes, at);
	while (at < *count) {
		size_t n = sink->color ? put_style(&sink->clean, bytes + at, *count - at) : 0;
		at += n ? n : quote_character(&sink->clean, bytes + at, *count - at);
		n = printable_length(bytes + at, *count - at);
		buf_add(&sink->clean, bytes + at, n);
		at += n;
	}
	*count = sink->clean.len;
	return sink->clean.data;
}

static void deliver(struct sink *sink, const char *bytes, size_t count, bool printable)
{
	if (sink->closed || !count)
		return;
	if (!printable)
		bytes = cleaned(sink, bytes, &count);
	bool open = sink->write && !sink->elsewhere ? sink->write(sink->arg, bytes, count)
				: write_fully(sink, bytes, count);
	sink->closed = !open;
}

bool sink_flush(struct sink *sink)
{
	if (is_memory(sink))
		return true; /* the owner reads the bytes */
	deliver(sink, sink->data, sink->whole, false);
	if (sink->len > sink->whole)
		memmove(sink->data, sink->data + sink->whole, sink->len - sink->whole);
	sink->len -= sink->whole;
	sink->whole = 0;
	return !sink->closed;
}

bool sink_rows(struct sink *sink, const struct sink *from)
{
	sink->rows += from->rows;
	if (is_memory(sink)) {
		sink_add(sink, from->data, from->whole);
		sink->whole = sink->len;
		return true;
	}
	sink_flush(sink);
	deliver(sink, from->data, from->whole, from->printable);
	return !sink->closed;
}

bool sink_is_due(const struct sink *sink)
{
	return sink->ticked && clock_ms() - sink->ticked >= TICK_MS;
}

bool sink_tick(struct sink *sink)
{
	struct pollfd reader = {.fd = sink->fd};
	int64_t now = clock_ms();

	if (!sink->ticked || now - sink->ticked < TICK_MS) {
		sink->ticked = sink->ticked ? sink->ticked : now;
		return !sink->closed;
	}
	sink->ticked = now;
	if (sink->whole)
		return sink_flush(sink);
	if (sink->fd >= 0 && poll(&reader, 1, 0) > 0 && reader.revents & POLLERR)
		sink->closed = true;
	return !sink->closed;
}

void sink_drop_row(struct sink *sink)
{
	sink->len = sink->whole;
}

void sink_hex(struct sink *sink, uint64_t number, unsigned digits)
{
	char *to = sink_room(sink, NUMBER_ROOM);

	sink->len += (size_t)(hex_put(to, number, digits) - to);
}

void sink_pad(struct sink *sink, size_t count)
{
	if (!count)
		return;
	memset(sink_room(sink, count), ' ', count);
	sink->len += count;
}

void sink_printf(struct sink *sink, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	buf_vprintf(&sink->buf, fmt, args);
	va_end(args);
}

void sink_name(struct sink *sink, const char *name)
{
	quote_printable(&sink->buf, name, strlen(name), false);
}

void sink_style(struct sink *sink, const char *codes)
{
	pthread_once(&style_drawn, draw_mark);
	sink_add(sink, style_mark, sizeof style_mark);
	sink_text(sink, codes);
	sink_char(sink, 'm');
}

void sink_set_exact(struct sink *sink, bool exact)
{
	if (sink->exact != exact)
		sink_flush(sink);
	sink->exact = exact;
}

const char *sink_failure(const struct sink *sink)
{
	return sink->failed == EBADF ? "standard output is closed" : strerror(sink->failed);
}

bool sink_is_seen(const struct sink *sink)
{
	return !sink->elsewhere && (sink->columns > 0 || (sink->fd >= 0 && isatty(sink->fd)));
}

bool sink_take(struct sink *sink, struct buf *text, bool good)
{
	if (good) {
		sink_text(sink, buf_text(text));
		sink_row(sink);
	}
	buf_release(text);
	return good;
}

bool sink_file_open(struct sink_file *file, const char *path, struct error *err)
{
	if (!out_open(&file->out, path, err))
		return false;
	sink_init(&file->sink, file->out.fd);
	return true;
}

bool sink_file_close(struct sink_file *file, bool ok, struct error *err)
{
	sink_flush(&file->sink);
	if (ok && file->sink.failed)
		ok = error_set(err, ERR_IO, "%s: %s", file->out.path, strerror(file->sink.failed));
	ok = ok && out_finish(&file->out, err);
	sink_release(&file->sink);
	out_drop(&file->out);
	return ok;
}
