/* sink.c - the buffer between rows and the file descriptor; numbers formatted without printf */
#include "repl/sink.h"

#include "engine/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
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

void sink_release(struct sink *sink)
{
	mem_free(sink->data);
	*sink = (struct sink){.fd = -1};
}

void sink_grow(struct sink *sink, size_t more)
{
	size_t want = sink->len + more;

	if (want < 2 * SINK_FLUSH_AT)
		want = 2 * SINK_FLUSH_AT;
	if (want < sink->capacity * 2)
		want = sink->capacity * 2;
	sink->data = mem_resize(sink->data, want, 1);
	sink->capacity = want;
}

static bool write_fully(struct sink *sink, const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(sink->fd, bytes, count);
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

static void deliver(struct sink *sink, const char *bytes, size_t count)
{
	if (sink->closed || !count)
		return;
	bool open = sink->write ? sink->write(sink->arg, bytes, count)
				: write_fully(sink, bytes, count);
	sink->closed = !open;
}

bool sink_write_out(struct sink *sink)
{
	if (is_memory(sink))
		return true; /* whoever made it takes the bytes */
	deliver(sink, sink->data, sink->whole);
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
	sink_write_out(sink);
	deliver(sink, from->data, from->whole);
	return !sink->closed;
}

bool sink_flush(struct sink *sink)
{
	return sink_write_out(sink);
}

static int64_t coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool sink_is_due(const struct sink *sink)
{
	return sink->ticked && coarse_ms() - sink->ticked >= TICK_MS;
}

bool sink_tick(struct sink *sink)
{
	struct pollfd reader = {.fd = sink->fd};
	int64_t now = coarse_ms();

	if (!sink->ticked || now - sink->ticked < TICK_MS) {
		sink->ticked = sink->ticked ? sink->ticked : now;
		return !sink->closed;
	}
	sink->ticked = now;
	if (sink->whole)
		return sink_write_out(sink);
	if (sink->fd >= 0 && poll(&reader, 1, 0) > 0 && reader.revents & POLLERR)
		sink->closed = true;
	return !sink->closed;
}

void sink_drop_row(struct sink *sink)
{
	sink->len = sink->whole;
}

void sink_u64(struct sink *sink, uint64_t number)
{
	char *to = sink_room(sink, NUMBER_ROOM);

	sink->len += (size_t)(decimal_put(to, number) - to);
}

void sink_i64(struct sink *sink, int64_t number)
{
	if (number < 0)
		sink_char(sink, '-');
	sink_u64(sink, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void sink_hex(struct sink *sink, uint64_t number, unsigned digits)
{
	char *to = sink_room(sink, NUMBER_ROOM);

	sink->len += (size_t)(hex_put(to, number, digits) - to);
}

void sink_pad(struct sink *sink, size_t count)
{
	memset(sink_room(sink, count), ' ', count);
	sink->len += count;
}

void sink_printf(struct sink *sink, const char *fmt, ...)
{
	va_list args, again;

	va_start(args, fmt);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len > 0) {
		vsnprintf(sink_room(sink, (size_t)len + 1), (size_t)len + 1, fmt, again);
		sink->len += (size_t)len;
	}
	va_end(again);
}
