/* text_part.c - see text_part.h */
#include "state/model/text_part.h"

#include "engine/base/digits.h"

#include <string.h>

struct text_part text_substr(struct text_part text, int64_t from, int64_t count)
{
	size_t begin = from < 0 ? 0 : (uint64_t)from > text.len ? text.len : (size_t)from;
	size_t rest = text.len - begin;

	return (struct text_part){text.text + begin, count < 0                ? 0
						     : (uint64_t)count > rest ? rest
									      : (size_t)count};
}

struct text_part text_split(struct text_part text, struct text_part separator, int64_t number)
{
	const char *at = text.text, *end = at + text.len, *found = NULL;

	if (!separator.len || number < 0)
		return number ? (struct text_part){"", 0} : text;
	for (;; at = found + separator.len) {
		found = memmem(at, (size_t)(end - at), separator.text, separator.len);
		if (!number-- || !found)
			break;
	}
	if (number >= 0)
		return (struct text_part){"", 0};
	return (struct text_part){at, (size_t)((found ? found : end) - at)};
}

size_t text_digits(struct text_part text, unsigned base, uint64_t *out)
{
	size_t i = 0;

	for (*out = 0; i < text.len; i++) {
		int digit = hex_digit(text.text[i]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		if (__builtin_mul_overflow(*out, (uint64_t)base, out) ||
		    __builtin_add_overflow(*out, (uint64_t)digit, out))
			return SIZE_MAX;
	}
	return i;
}
