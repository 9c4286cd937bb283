/* quote.c - see quote.h */
#include "engine/base/quote.h"

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

size_t utf8_length(const uint8_t *at, size_t left)
{
	uint8_t c = at[0];
	size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (n == 1)
		return 1;
	if (c < 0xc2 || c > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) ||
	    (c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

bool utf8_is(const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	uint64_t word;
	size_t n;

	for (; at < end; at += n) {
		n = 8;
		if (end - at >= 8) {
			memcpy(&word, at, 8);
			if (!(word & 0x8080808080808080u))
				continue;
		}
		n = utf8_length(at, (size_t)(end - at));
		if (!n)
			return false;
	}
	return true;
}

void utf8_mend(struct buf *out, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;

	while (at < end) {
		size_t n = utf8_length(at, (size_t)(end - at));
		if (n)
			buf_add(out, at, n);
		else
			utf8_add(out, *at);
		at += n ? n : 1;
	}
}

void utf8_add(struct buf *out, uint32_t code)
{
	static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	buf_add_char(out, (char)(first[more] | code >> 6 * more));
	while (more--)
		buf_add_char(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

static const char hex[] = "0123456789abcdef";

/* By byte: 0 plain; 1 needs an escape; 2 is not ASCII. */
static const uint8_t care[256] = {[0 ... 31] = 1, ['"'] = 1, ['\\'] = 1, [128 ... 255] = 2};

static void json_escape(struct buf *out, uint8_t c)
{
	static const char shorts[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\t', 't'},
					 {'\r', 'r'}, {'\b', 'b'},  {'\f', 'f'}};
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
		if ((uint8_t)shorts[i][0] == c) {
			text[1] = shorts[i][1];
			buf_add(out, text, 2);
			return;
		}
	buf_add(out, text, sizeof text);
}

static void text_escape(struct buf *out, uint8_t c)
{
	char text[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
	char plain = c == '\n' ? 'n' : c == '\t' ? 't' : c == '"' || c == '\\' ? (char)c : 0;

	text[1] = plain ? plain : 'x';
	buf_add(out, text, plain ? 2 : 4);
}

#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

/* Not zero when one of the word's bytes is below 32, '"', '\\' or not ASCII. */
static uint64_t needs_care(uint64_t word)
{
	return ((word - EACH(32)) | ((word ^ EACH('"')) - EACH(1)) |
		((word ^ EACH('\\')) - EACH(1)) | word) &
	       EACH(0x80);
}

/* Not zero when one of the word's bytes is a '"', a comma, or ends a line. */
static uint64_t needs_quotes(uint64_t word)
{
	uint64_t quote = word ^ EACH('"'), comma = word ^ EACH(','), lf = word ^ EACH('\n'),
		 cr = word ^ EACH('\r');

	return (((quote - EACH(1)) & ~quote) | ((comma - EACH(1)) & ~comma) |
		((lf - EACH(1)) & ~lf) | ((cr - EACH(1)) & ~cr)) &
	       EACH(0x80);
}

/* True when flagged() is 0 for all words of the bytes; the last word may overlap the one before. */
static inline bool quote_is_plain(const void *bytes, size_t len, uint64_t (*flagged)(uint64_t))
{
	const char *at = bytes;
	uint64_t word = EACH('a'), found = 0;

	if (len < 8) {
		copy_short((char *)&word, at, len);
		return !flagged(word);
	}
	for (size_t i = 0; i < len; i += 8) {
		memcpy(&word, at + (i + 8 > len ? len - 8 : i), 8);
		found |= flagged(word);
	}
	return !found;
}

/* The string between two '"'. */
static void quote_plain(struct buf *out, const void *bytes, size_t len)
{
	char *to = buf_room(out, len + 2);

	*to++ = '"';
	copy_short(to, bytes, len);
	to[len] = '"';
	to[len + 1] = 0;
	out->len += len + 2;
}

static void quoted(struct buf *out, const uint8_t *bytes, size_t len,
		   void (*escape)(struct buf *out, uint8_t c))
{
	size_t from = 0;

	if (quote_is_plain(bytes, len, needs_care)) {
		quote_plain(out, bytes, len);
		return;
	}
	buf_add_char(out, '"');
	for (size_t i = 0; i < len;) {
		if (!care[bytes[i]]) {
			i++;
			continue;
		}
		size_t n = care[bytes[i]] == 2 ? utf8_length(bytes + i, len - i) : 0;
		if (n) {
			i += n;
			continue;
		}
		buf_add(out, bytes + from, i - from);
		escape(out, bytes[i]);
		from = ++i;
	}
	buf_add(out, bytes + from, len - from);
	buf_add_char(out, '"');
}

void quote_json(struct buf *out, const void *bytes, size_t len)
{
	quoted(out, bytes, len, json_escape);
}

void quote_text(struct buf *out, const void *bytes, size_t len)
{
	quoted(out, bytes, len, text_escape);
}

void quote_csv(struct buf *out, const void *bytes, size_t len)
{
	const char *at = bytes, *end = at + len, *quote;

	if (!len || quote_is_plain(bytes, len, needs_quotes)) {
		buf_add(out, bytes, len);
		return;
	}
	buf_add_char(out, '"');
	while ((quote = memchr(at, '"', (size_t)(end - at)))) {
		buf_add(out, at, (size_t)(quote + 1 - at));
		buf_add_char(out, '"');
		at = quote + 1;
	}
	buf_add(out, at, (size_t)(end - at));
	buf_add_char(out, '"');
}

/*
 * Is it a code point that moves the cursor, ends a line, changes the direction of text, or has no
 * width (so that different names look the same)?
 */
static bool is_steering(uint32_t c)
{
	return (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static uint32_t code_point(const uint8_t *at, size_t n)
{
	uint32_t c = at[0];

	if (n > 1)
		c = at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (at[i] & 0x3f);
	return c;
}

/* Length of the character at `at` if it can be shown as it is; 0: it must be escaped. */
static size_t shown_length(const uint8_t *at, size_t left)
{
	size_t n = *at < 0x20 ? (*at == '\n' || *at == '\t') : utf8_length(at, left);

	return n && !is_steering(code_point(at, n)) ? n : 0;
}

#ifdef __x86_64__
/* Sets all bits of those of 16 bytes that are plain ASCII, '\n' or '\t'; clears the others. */
static inline __m128i ascii_mask(const uint8_t *bytes)
{
	__m128i v = _mm_loadu_si128((const __m128i_u *)bytes);
	/* v + 1, signed: above 0x20 for printable ASCII; below 0 for DEL and all bytes above it. */
	__m128i next = _mm_add_epi8(v, _mm_set1_epi8(1));
	__m128i shown = _mm_cmpgt_epi8(next, _mm_set1_epi8(0x20));
	/* '\t' + 1 and '\n' + 1 differ in the last bit only. */
	__m128i ends =
		_mm_cmpeq_epi8(_mm_or_si128(next, _mm_set1_epi8(1)), _mm_set1_epi8('\n' + 1));

	return _mm_or_si128(shown, ends);
}
#endif

/* How many bytes at the beginning are plain ASCII, '\n' or '\t'. */
static size_t ascii_length(const uint8_t *bytes, size_t len)
{
	size_t i = 0;

#ifdef __x86_64__
	for (; i + 64 <= len; i += 64) {
		__m128i low = _mm_and_si128(ascii_mask(bytes + i), ascii_mask(bytes + i + 16));
		__m128i high =
			_mm_and_si128(ascii_mask(bytes + i + 32), ascii_mask(bytes + i + 48));

		if (_mm_movemask_epi8(_mm_and_si128(low, high)) != 0xffff)
			break;
	}
	for (; i + 16 <= len; i += 16)
		if (_mm_movemask_epi8(ascii_mask(bytes + i)) != 0xffff)
			break;
#endif
	while (i < len &&
	       ((bytes[i] >= 0x20 && bytes[i] < 0x7f) || bytes[i] == '\n' || bytes[i] == '\t'))
		i++;
	return i;
}

size_t printable_length(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	size_t i = 0, n = 1;

	while (n) {
		i += ascii_length(bytes + i, len - i);
		n = i < len ? shown_length(bytes + i, len - i) : 0;
		i += n;
	}
	return i;
}

size_t quote_character(struct buf *out, const void *character, size_t left)
{
	const uint8_t *at = character;
	size_t n = utf8_length(at, left);

	if (n > 1) {
		buf_printf(out, "\\u%04x", (unsigned)code_point(at, n));
		return n;
	}
	text_escape(out, *at);
	return 1;
}

void quote_printable(struct buf *out, const void *data, size_t len, bool lines)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len;) {
		size_t n = printable_length(bytes + i, len - i), end = i + n;
		for (; !lines && i < end; i++)
			if (bytes[i] == '\n' || bytes[i] == '\t')
				text_escape(out, bytes[i]);
			else
				buf_add_char(out, (char)bytes[i]);
		buf_add(out, bytes + i, end - i);
		i = end;
		if (i < len)
			i += quote_character(out, bytes + i, len - i);
	}
}

void quote_base64(struct buf *out, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = data;

	buf_add_char(out, '"');
	for (size_t i = 0; i < len; i += 3) {
		uint32_t n = (uint32_t)bytes[i] << 16;
		n |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
		n |= i + 2 < len ? bytes[i + 2] : 0;
		char text[4] = {digits[n >> 18], digits[n >> 12 & 63], digits[n >> 6 & 63],
				digits[n & 63]};
		if (i + 1 >= len)
			text[2] = '=';
		if (i + 2 >= len)
			text[3] = '=';
		buf_add(out, text, 4);
	}
	buf_add_char(out, '"');
}

void quote_hex(struct buf *out, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	char *to = buf_room(out, 2 * len);

	for (size_t i = 0; i < len; i++) {
		*to++ = hex[at[i] >> 4];
		*to++ = hex[at[i] & 15];
	}
	*to = 0;
	out->len += 2 * len;
}

char *uuid_put(const uint8_t uuid[16], char text[UUID_TEXT])
{
	for (int i = 0, at = 0; i < 16; i++)
		at += sprintf(text + at, "%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "",
			      uuid[i]);
	return text;
}

/* The "C" locale; newlocale() of glibc returns a static object for it. */
static locale_t plain_locale(void)
{
	return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

void quote_number(struct buf *out, const char *fmt, ...)
{
	locale_t own = uselocale(plain_locale());
	va_list args;

	va_start(args, fmt);
	buf_vprintf(out, fmt, args);
	va_end(args);
	uselocale(own);
}

double read_number(const char *text, char **end)
{
	return strtod_l(text, end, plain_locale());
}

void add_shortest(struct buf *out, double number)
{
	locale_t own = uselocale(plain_locale());
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	uselocale(own);
	buf_add_text(out, text);
	if (!strpbrk(text, ".e"))
		buf_add_text(out, ".0");
}
