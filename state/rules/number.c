/* number.c - see number.h */
#include "state/rules/number.h"

#include "engine/base/digits.h"
#include "engine/base/quote.h"
#include "state/model/text_part.h"

#include <string.h>

static bool lex_digits(struct text_part text, unsigned base, size_t *pos, struct value *out,
		       const char **what)
{
	uint64_t number;
	size_t n =
		text_digits((struct text_part){text.text + *pos, text.len - *pos}, base, &number);

	*what = n ? "the number does not fit in 64 bits" : "expected hexadecimal digits after 0x";
	if (!n || n == SIZE_MAX)
		return false;
	*pos += n;
	*out = value_u64(number);
	return true;
}

static bool parse_float(const char *text, size_t len, double *out)
{
	char copy[64];

	if (len >= sizeof copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	*out = read_number(copy, NULL);
	return true;
}

static void skip_digits(const char *text, size_t len, size_t *pos)
{
	while (*pos < len && char_is_digit(text[*pos]))
		++*pos;
}

/* Behind the whole digits: a fraction, an exponent? */
static bool skip_float(const char *text, size_t len, size_t *pos)
{
	size_t p = *pos;
	bool found = false;

	if (p + 1 < len && text[p] == '.' && char_is_digit(text[p + 1])) {
		p++;
		skip_digits(text, len, &p);
		found = true;
	}
	if (p < len && (text[p] == 'e' || text[p] == 'E')) {
		size_t e = p + 1;
		if (e < len && (text[e] == '+' || text[e] == '-'))
			e++;
		if (e < len && char_is_digit(text[e])) {
			skip_digits(text, len, &e);
			p = e;
			found = true;
		}
	}
	*pos = p;
	return found;
}

/* A unit of time behind a number: its value in nanoseconds then. False: it does not fit. */
static bool lex_unit(const char *text, size_t len, size_t *pos, struct value *number)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	size_t n = 0;

	while (*pos + n < len && char_is_word(text[*pos + n]))
		n++;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strlen(units[i].name) != n || memcmp(text + *pos, units[i].name, n) != 0)
			continue;
		*pos += n;
		if (number->kind == VALUE_FLOAT) {
			double ns = number->f * (double)units[i].ns + 0.5;
			if (ns >= 0x1p63)
				return false;
			*number = value_u64((uint64_t)ns);
			return true;
		}
		return !__builtin_mul_overflow(number->u, units[i].ns, &number->u);
	}
	return true;
}

bool lex_number(const char *text, size_t len, size_t *pos, struct value *out, const char **what)
{
	size_t first = *pos, end = *pos;
	bool ok;

	skip_digits(text, len, &end);
	if (*pos + 1 < len && text[*pos] == '0' && (text[*pos + 1] | 0x20) == 'x') {
		*pos += 2;
		ok = lex_digits((struct text_part){text, len}, 16, pos, out, what);
	} else if (skip_float(text, len, &end)) {
		*pos = end;
		*out = (struct value){.kind = VALUE_FLOAT};
		*what = "the number is too long";
		ok = parse_float(text + first, end - first, &out->f);
	} else {
		ok = lex_digits((struct text_part){text, len}, 10, pos, out, what);
	}
	if (ok && !lex_unit(text, len, pos, out)) {
		*what = "the number does not fit in 64 bits";
		return false;
	}
	if (ok && *pos < len && char_is_word(text[*pos])) {
		*what = "a name cannot begin with a digit, and units of time are ns us ms s";
		return false;
	}
	return ok;
}
