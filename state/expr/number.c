/* number.c - see number.h */
#include "state/expr/number.h"

#include "engine/base/digits.h"
#include "engine/base/quote.h"

#include <string.h>

static const char too_large[] = "the number does not fit in 64 bits";

/* Digits and underscores. False: there are none, or they do not fit. */
static bool lex_digits(const char *text, size_t len, unsigned base, size_t *pos, uint64_t *out,
		       const char **what)
{
	size_t digits = 0;
	bool fits = true;

	*out = 0;
	for (; *pos < len; ++*pos) {
		int digit = hex_digit(text[*pos]);
		if (text[*pos] == '_' && digits)
			continue;
		if (digit < 0 || digit >= (int)base)
			break;
		digits++;
		fits &= !__builtin_mul_overflow(*out, base, out) &&
			!__builtin_add_overflow(*out, (uint64_t)digit, out);
	}
	*what = digits ? too_large : "expected hexadecimal digits after 0x";
	return digits && fits;
}

static bool parse_float(const char *text, size_t len, double *out)
{
	char copy[64];
	size_t n = 0;

	if (len >= sizeof copy)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] != '_')
			copy[n++] = text[i];
	copy[n] = 0;
	*out = read_number(copy, NULL);
	return true;
}

static void skip_digits(const char *text, size_t len, size_t *pos)
{
	while (*pos < len && (char_is_digit(text[*pos]) || text[*pos] == '_'))
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

/* Where all numbers are whole: 1e6, exactly. False: it is no such, or does not fit. */
static bool lex_power(const char *text, size_t len, size_t *pos, struct value *out)
{
	size_t at = *pos;
	uint64_t number, zeros;
	const char *what;

	if (!lex_digits(text, len, 10, &at, &number, &what) || at + 1 >= len || text[at] != 'e' ||
	    !char_is_digit(text[at + 1]))
		return false;
	at++;
	if (!lex_digits(text, len, 10, &at, &zeros, &what) || zeros > 99)
		return false;
	while (zeros-- > 0)
		if (__builtin_mul_overflow(number, 10, &number))
			return false;
	*out = value_u64(number);
	*pos = at;
	return true;
}

bool lex_number(const char *text, size_t len, size_t *pos, bool integers, struct value *out,
		const char **what)
{
	size_t first = *pos, end = *pos;
	bool ok;

	*out = value_u64(0);
	skip_digits(text, len, &end);
	if (*pos + 1 < len && text[*pos] == '0' && (text[*pos + 1] | 0x20) == 'x') {
		*pos += 2;
		ok = lex_digits(text, len, 16, pos, &out->u, what);
	} else if (integers && lex_power(text, len, pos, out)) {
		ok = true;
	} else if (skip_float(text, len, &end)) {
		*pos = end;
		*out = (struct value){.kind = VALUE_FLOAT};
		*what = "the number is too long";
		ok = parse_float(text + first, end - first, &out->f);
	} else {
		ok = lex_digits(text, len, 10, pos, &out->u, what);
	}
	if (ok && !lex_unit(text, len, pos, out)) {
		*what = too_large;
		return false;
	}
	if (ok && integers &&
	    (out->kind == VALUE_FLOAT || char_is_word(*pos < len ? text[*pos] : 0)))
		*what = "not a whole number; units of time are ns us ms s";
	else if (ok && *pos < len && char_is_word(text[*pos]))
		*what = "a name cannot begin with a digit, and units of time are ns us ms s";
	else
		return ok;
	return false;
}
