/* buf.c - growing text; formats integers itself, since printf would take most of output's time */
#include "engine/base/buf.h"

#include "engine/base/mem.h"

#include <stdio.h>

void buf_release(struct buf *buf)
{
	mem_free(buf->data);
	*buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = 0;
}

void buf_grow(struct buf *buf, size_t more)
{
	size_t want = buf->len + more + 1;

	buf->capacity = buf->capacity * 2 > want ? buf->capacity * 2 : want + 64;
	buf->data = mem_resize(buf->data, buf->capacity, 1);
}

void buf_add_u64(struct buf *buf, uint64_t number)
{
	char *to = buf_room(buf, NUMBER_ROOM), *end = decimal_put(to, number);

	*end = 0;
	buf->len += (size_t)(end - to);
}

void buf_add_i64(struct buf *buf, int64_t number)
{
	if (number < 0)
		buf_add_char(buf, '-');
	buf_add_u64(buf, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
	va_list again;

	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	if (len > 0) {
		vsnprintf(buf_room(buf, (size_t)len), (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	buf_vprintf(buf, fmt, args);
	va_end(args);
}

const char *buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
