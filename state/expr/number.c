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

/*
 * Reads a number with a fraction or exponent; it begins at `first`, *pos is behind its whole
 * digits. False: it has neither.
 */
static bool lex_float(const char *text, size_t len, size_t first, size_t *pos, double *out)
{
	char copy[64] = "", *end;
	size_t n = 0, whole;

	for (size_t i = first; i < *pos && n < sizeof copy - 1; i++)
		if (text[i] != '_')
			copy[n++] = text[i];
	whole = n;
	for (size_t i = *pos; i < len && n < sizeof copy - 1; i++)
		copy[n++] = text[i];
	*out = read_number(copy, &end);
	*pos += (size_t)(end - copy) - whole - (end[-1] == '.');
	return (size_t)(end - copy) > whole + (end[-1] == '.');
}

/* Converts a number with a unit of time behind it to nanoseconds. False: it does not fit. */
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

/*
 * Applies a power of ten as in 1e6, for languages of integers. *pos is behind the digits and stays
 * there when no exponent follows.
 */
static void lex_power(const char *text, size_t len, size_t *pos, uint64_t *number)
{
	size_t at = *pos + 1;
	uint64_t power = *number, zeros;
	const char *what;
	bool fits = true;

	if (at >= len || text[*pos] != 'e' || !char_is_digit(text[at]) ||
	    !lex_digits(text, len, 10, &at, &zeros, &what))
		return;
	for (; zeros > 0 && fits && power; zeros--)
		fits = !__builtin_mul_overflow(power, 10, &power);
	if (!fits)
		return;
	*number = power;
	*pos = at;
}

bool lex_number(const char *text, size_t len, size_t *pos, bool integers, struct value *out,
		const char **what)
{
	size_t first = *pos;
	bool hex = *pos + 1 < len && text[*pos] == '0' && (text[*pos + 1] | 0x20) == 'x', ok;
	double f;

	*out = value_u64(0);
	*pos += hex ? 2 : 0;
	ok = lex_digits(text, len, hex ? 16 : 10, pos, &out->u, what);
	if (ok && !hex && integers)
		lex_power(text, len, pos, &out->u);
	if (!hex && *pos > first && lex_float(text, len, first, pos, &f)) {
		*out = (struct value){.kind = VALUE_FLOAT, .f = f};
		ok = true;
	}
	if (ok && !lex_unit(text, len, pos, out)) {
		*what = too_large;
		return false;
	}
	if (ok && integers &&
	    (out->kind == VALUE_FLOAT || (*pos < len && char_is_word(text[*pos]))))
		*what = "not a whole number; units of time are ns us ms s";
	else if (ok && *pos < len && char_is_word(text[*pos]))
		*what = "a name cannot begin with a digit, and units of time are ns us ms s";
	else
		return ok;
	return false;
}
