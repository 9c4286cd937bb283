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

/* Where `more` bytes may be written, and a zero behind them; then buf->len += what was. */
static inline char *buf_room(struct buf *buf, size_t more)
{
	if (buf->capacity - buf->len <= more)
		buf_grow(buf, more);
	return buf->data + buf->len;
}

/* Behind its bytes; NULL where there are none, as `data` is then. */
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

/* Bytes in front of the first zero among 16. */
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
 * As memcpy(), for the few bytes that text is made of: a call costs more than they do. The two ends
 * of 4 to 16 bytes overlap, so that no loop is needed.
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
 * The same without a branch on short counts, for text that is copied again and again: it reads and
 * writes whole runs of COPY_PAD bytes, up to COPY_PAD - 1 behind the last one, 16 for none.
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
