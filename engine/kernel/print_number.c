/* print_number.c - formats one number or text as printf would, into a buffer */
#include "engine/kernel/print.h"

#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

/* Writes digits that end at `end`; returns their begin. */
static char *decimal_digits(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, pairs + value * 2, 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

static char *power_digits(char *end, uint64_t value, unsigned shift, const char *alphabet)
{
	do
		*--end = alphabet[value & ((1u << shift) - 1)];
	while (value >>= shift);
	return end;
}

static void pad(struct buf *out, char with, size_t count)
{
	memset(buf_room(out, count), with, count);
	out->len += count;
}

void print_decimal(struct buf *out, bool negative, uint64_t value)
{
	char *to = buf_room(out, NUMBER_ROOM + 1), *at = to;

	*at = '-';
	at = decimal_put(at + negative, negative ? 0 - value : value);
	out->len += (size_t)(at - to);
}

void print_hex(struct buf *out, uint64_t value)
{
	char *to = buf_room(out, NUMBER_ROOM);

	out->len += (size_t)(hex_put(to, value, 1) - to);
}

/* Cuts a value to the conversion's type: int, or by its letters l and h. */
static uint64_t cut(const struct print_spec *spec, uint64_t value)
{
	bool is_signed = spec->conversion == 'd';

	switch (spec->longs) {
	case -2:
		return is_signed ? (uint64_t)(int64_t)(int8_t)value : (uint8_t)value;
	case -1:
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : (uint16_t)value;
	case 0:
		return is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
	default:
		return value;
	}
}

static const char *prefix_of(const struct print_spec *spec, bool negative, uint64_t value)
{
	if (spec->conversion == 'd')
		return negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
	if (!spec->alternate || !value)
		return "";
	return spec->conversion == 'x' ? "0x" : spec->conversion == 'X' ? "0X" : "";
}

static char *digits_of(const struct print_spec *spec, char *end, uint64_t value)
{
	switch (spec->conversion) {
	case 'x':
		return power_digits(end, value, 4, "0123456789abcdef");
	case 'X':
		return power_digits(end, value, 4, "0123456789ABCDEF");
	case 'o':
		return power_digits(end, value, 3, "01234567");
	default:
		return decimal_digits(end, value);
	}
}

void print_number(struct buf *out, const struct print_spec *spec, uint64_t value)
{
	char digits[32], *end = digits + sizeof digits;

	if (spec->conversion == 'c') {
		char character = (char)value;
		print_text(out, spec, &character, character != 0); /* a zero adds nothing */
		return;
	}
	value = cut(spec, value);
	bool negative = spec->conversion == 'd' && (int64_t)value < 0;
	char *at = digits_of(spec, end, negative ? 0 - value : value);
	const char *prefix = prefix_of(spec, negative, value);
	size_t count = (size_t)(end - at), prefixed = strlen(prefix);
	size_t least = spec->precision < 0 ? 0 : (size_t)spec->precision;

	if (!value && spec->precision == 0)
		count = 0;
	if (spec->conversion == 'o' && spec->alternate && least <= count && (value || !count))
		least = count + 1;
	size_t zeros = least > count ? least - count : 0, total = prefixed + zeros + count;
	size_t blanks =
		spec->width > 0 && (size_t)spec->width > total ? (size_t)spec->width - total : 0;
	if (blanks && spec->zero && !spec->left && spec->precision < 0) {
		zeros += blanks;
		blanks = 0;
	}
	if (!spec->left)
		pad(out, ' ', blanks);
	print_add(out, prefix, prefixed);
	pad(out, '0', zeros);
	print_add(out, at, count);
	if (spec->left)
		pad(out, ' ', blanks);
}

void print_text(struct buf *out, const struct print_spec *spec, const char *text, size_t len)
{
	if (spec->precision >= 0 && len > (size_t)spec->precision)
		len = (size_t)spec->precision;
	size_t blanks =
		spec->width > 0 && (size_t)spec->width > len ? (size_t)spec->width - len : 0;

	if (!spec->left && blanks)
		pad(out, ' ', blanks);
	print_add(out, text, len);
	if (spec->left && blanks)
		pad(out, ' ', blanks);
}
