/* buf.c - growing text; integers are formatted here because printf is what output waits for */
#include "engine/base/buf.h"

#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

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

char *buf_room(struct buf *buf, size_t more)
{
	if (buf->capacity - buf->len <= more) {
		size_t want = buf->len + more + 1;
		buf->capacity = buf->capacity * 2 > want ? buf->capacity * 2 : want + 64;
		buf->data = mem_resize(buf->data, buf->capacity, 1);
	}
	return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *bytes, size_t count)
{
	char *to = buf_room(buf, count);

	if (count)
		memcpy(to, bytes, count);
	to[count] = 0;
	buf->len += count;
}

void buf_add_text(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

static unsigned bits_of(uint64_t number)
{
	return 64 - (unsigned)__builtin_clzll(number | 1);
}

static unsigned decimal_length(uint64_t number)
{
#define TEN(n) UINT64_C(1##n)
	static const uint64_t powers[] = {
		0,
		TEN(0),
		TEN(00),
		TEN(000),
		TEN(0000),
		TEN(00000),
		TEN(000000),
		TEN(0000000),
		TEN(00000000),
		TEN(000000000),
		TEN(0000000000),
		TEN(00000000000),
		TEN(000000000000),
		TEN(0000000000000),
		TEN(00000000000000),
		TEN(000000000000000),
		TEN(0000000000000000),
		TEN(00000000000000000),
		TEN(000000000000000000),
		TEN(0000000000000000000),
	};
#undef TEN
	unsigned guess = bits_of(number) * 1233 >> 12; /* log10(2) = 1233 / 4096, nearly */
	return guess + 1 - (number < powers[guess]);
}

char *decimal_put(char *to, uint64_t number)
{
	char *end = to + decimal_length(number), *at = end;

	for (; number >= 100; number /= 100)
		memcpy(at -= 2, pairs + number % 100 * 2, 2);
	if (number >= 10)
		memcpy(to, pairs + number * 2, 2);
	else
		*to = (char)('0' + number);
	return end;
}

/* Eight digits: a nibble goes to each byte, all are made characters at once, the highest first. */
static uint64_t hex_digits(uint32_t number)
{
	uint64_t x = number;

	x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
	x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return __builtin_bswap64(x + letters * ('a' - '0' - 10) + UINT64_C(0x3030303030303030));
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hex_put() swaps elsewhere");

char *hex_put(char *to, uint64_t number, unsigned least)
{
	unsigned count = (bits_of(number) + 3) / 4;

	count = count < least ? least : count;
	count = count < 16 ? count : 16;
	number <<= 64 - 4 * count;
	uint64_t high = hex_digits((uint32_t)(number >> 32));
	memcpy(to, &high, 8);
	if (count > 8) {
		uint64_t low = hex_digits((uint32_t)number);
		memcpy(to + 8, &low, 8);
	}
	return to + count;
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

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list args, again;

	va_start(args, fmt);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len > 0) {
		vsnprintf(buf_room(buf, (size_t)len), (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

const char *buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
