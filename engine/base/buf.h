/* buf.h - growing text or bytes; `data` is always ended by a zero that `len` does not count */
#ifndef ENGINE_BASE_BUF_H
#define ENGINE_BASE_BUF_H

#include "engine/base/digits.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data; /* NULL until the first addition */
	size_t len, capacity;
};

void buf_release(struct buf *buf);
void buf_clear(struct buf *buf);
void buf_grow(struct buf *buf, size_t more); /* for buf_room() */

/* Makes room for `more` bytes and a zero behind them; the caller writes there and adds to buf->len.
 */
static inline char *buf_room(struct buf *buf, size_t more)
{
	if (buf->capacity - buf->len <= more)
		buf_grow(buf, more);
	return buf->data + buf->len;
}

/* The end of its bytes; where there are none, `data`, which may be NULL. */
static inline const uint8_t *buf_end(const struct buf *buf)
{
	return buf->len ? (const uint8_t *)buf->data + buf->len : (const uint8_t *)buf->data;
}

static inline void buf_add(struct buf *buf, const void *bytes, size_t count)
{
	char *to = buf_room(buf, count);

	if (count)
		memcpy(to, bytes, count);
	to[count] = 0;
	buf->len += count;
}

static inline void buf_add_text(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

static inline void buf_add_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_add_u64(struct buf *buf, uint64_t number); /* decimal */
void buf_add_i64(struct buf *buf, int64_t number);
void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
void buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *buf_text(const struct buf *buf); /* "" when empty */
static inline bool text_ends(const char *text, const char *end)
{
	size_t len = strlen(text), nend = strlen(end);

	return len >= nend && !memcmp(text + len - nend, end, nend);
}

/* strnlen(bytes, 16); all 16 bytes must be readable. */
static inline size_t length16(const uint8_t *bytes)
{
#ifdef __x86_64__
	__m128i zeros =
		_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i_u *)bytes), _mm_setzero_si128());

	return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8(zeros) | 1 << 16);
#else
	return strnlen((const char *)bytes, 16);
#endif
}

/*
 * As memcpy(), without a call for up to 16 bytes, as most texts are: 4 to 16 bytes are copied as
 * two words, which may overlap, so that no loop is needed.
 */
static inline void copy_short(char *to, const char *from, size_t count)
{
	if (__builtin_constant_p(count) || count > 16) {
		memcpy(to, from, count);
	} else if (count >= 8) {
		memcpy(to, from, 8);
		memcpy(to + count - 8, from + count - 8, 8);
	} else if (count >= 4) {
		memcpy(to, from, 4);
		memcpy(to + count - 4, from + count - 4, 4);
	} else if (count) {
		to[0] = from[0];
		to[count / 2] = from[count / 2];
		to[count - 1] = from[count - 1];
	}
}

/*
 * Copies `count` bytes in blocks of COPY_PAD, without a branch for short counts, and returns the
 * end of the copy. It reads and writes at least one block, so up to COPY_PAD bytes behind the last
 * one.
 */
enum { COPY_PAD = 16 };
static inline char *copy_padded(char *to, const char *from, size_t count)
{
	memcpy(to, from, COPY_PAD);
	for (size_t at = COPY_PAD; at < count; at += COPY_PAD)
		memcpy(to + at, from + at, COPY_PAD);
	return to + count;
}

#endif
