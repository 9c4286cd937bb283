/* format.c - see format.h */
#include "oneliner/format.h"

#include <string.h>
#include <time.h>

enum { WIDTH_MAX = 1000, TIME_TEXT = 512 };

/* Reads up to three digits. */
static bool read_number(const char **at, const char *end, int16_t *out)
{
	uint64_t number = decimal_take(at, end);

	*out = (int16_t)number;
	return number <= WIDTH_MAX;
}

static const char *read_flags(const char *at, const char *end, struct format_piece *piece)
{
	for (; at < end; at++) {
		if (*at == '-')
			piece->left = true;
		else if (*at == '0')
			piece->zeros = true;
		else if (*at == '+')
			piece->plus = true;
		else if (*at == ' ')
			piece->blank = true;
		else if (*at == '#')
			piece->prefix = true;
		else
			break;
	}
	return at;
}

/* Parses a conversion; *text is behind its '%'. */
static bool read_conversion(const char **text, const char *end, struct format_piece *piece)
{
	const char *at = read_flags(*text, end, piece);
	bool fits = read_number(&at, end, &piece->width);

	piece->precision = -1;
	if (at < end && *at == '.') {
		at++;
		fits &= read_number(&at, end, &piece->precision);
	}
	while (at < end && memchr("hljzt", *at, 5))
		at++;
	if (!fits || at == end || !memchr("diuxXocsp", *at, 9))
		return false;
	piece->conversion = *at == 'i' ? 'd' : *at;
	*text = at + 1;
	return true;
}

bool format_read(const struct oneliner *program, const struct ast *node, struct print_format **out,
		 struct error *err)
{
	const char *at = node->value.text, *end = at + node->value.len;
	struct arena *arena = program->arena;
	struct print_format *format = arena_alloc(arena, sizeof *format);
	struct buf text = {0};
	bool ok = true;

	format->pieces = arena_array(arena, node->value.len + 2, sizeof *format->pieces);
	for (;;) {
		struct format_piece *piece = &format->pieces[format->npieces];
		if (at < end && !(*at == '%' && (end - at < 2 || at[1] != '%'))) {
			at += *at == '%';
			buf_add_char(&text, *at++);
			continue;
		}
		piece->text = arena_strndup(arena, buf_text(&text), text.len);
		piece->len = (uint32_t)text.len;
		buf_clear(&text);
		format->npieces++;
		if (at == end)
			break;
		const char *from = at++;
		ok = read_conversion(&at, end, piece);
		if (!ok) {
			oneliner_error(
				program, node->at, err,
				"'%.*s': conversions are %%d %%u %%x %%o %%c %%s %%p and %%%%",
				(int)(end - from > 12 ? 12 : end - from), from);
			break;
		}
		format->nvalues++;
	}
	buf_release(&text);
	*out = format;
	return ok;
}

/* ---- writing ---- */

void value_write(const struct value *value, struct buf *out)
{
	if (value->kind == VALUE_UNKNOWN)
		buf_add_char(out, '?');
	else
		value_add_word(value, out);
}

static void pad(struct buf *out, char c, size_t width, size_t len)
{
	for (; len < width; len++)
		buf_add_char(out, c);
}

static void put_padded(const struct format_piece *piece, const char *sign, const char *text,
		       size_t len, bool zeros, struct buf *out)
{
	size_t width = (size_t)piece->width, nsign = strlen(sign);

	if (!piece->left && !zeros)
		pad(out, ' ', width, len + nsign);
	buf_add_text(out, sign);
	if (!piece->left && zeros)
		pad(out, '0', width, len + nsign);
	buf_add(out, text, len);
	if (piece->left)
		pad(out, ' ', width, len + nsign);
}

static void format_put_number(const struct format_piece *piece, const struct value *value,
			      struct buf *out)
{
	char digits[WIDTH_MAX + 64], *end = digits + sizeof digits, *at = end;
	bool is_decimal = piece->conversion == 'd' || piece->conversion == 'u';
	bool negative = piece->conversion == 'd' && value->negative;
	unsigned base = is_decimal ? 10 : piece->conversion == 'o' ? 8 : 16;
	const char *set = piece->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *sign = negative ? "-" : piece->plus ? "+" : piece->blank ? " " : "";
	uint64_t number = negative ? 0 - value->u : value->u;

	for (; number || at == end; number /= base)
		*--at = set[number % base];
	while (end - at < piece->precision)
		*--at = '0';
	if (piece->conversion == 'p' || (piece->prefix && base == 16))
		sign = piece->conversion == 'X' ? "0X" : "0x";
	else if (!is_decimal)
		sign = piece->prefix ? "0" : "";
	put_padded(piece, sign, at, (size_t)(end - at), piece->zeros && piece->precision < 0, out);
}

static void format_put_value(const struct format_piece *piece, const struct value *value,
			     struct buf *out)
{
	struct buf text = {0};

	if (value->kind == VALUE_INT && piece->conversion != 's' && piece->conversion != 'c') {
		format_put_number(piece, value, out);
		return;
	}
	if (value->kind == VALUE_INT && piece->conversion == 'c')
		buf_add_char(&text, (char)value->u);
	else
		value_write(value, &text);
	size_t len = text.len;
	if (piece->precision >= 0 && (size_t)piece->precision < len)
		len = (size_t)piece->precision;
	put_padded(piece, "", buf_text(&text), len, false, out);
	buf_release(&text);
}

void format_write(const struct print_format *format, const struct value *values, struct buf *out)
{
	for (uint32_t i = 0; i < format->npieces; i++) {
		const struct format_piece *piece = &format->pieces[i];
		buf_add(out, piece->text, piece->len);
		if (piece->conversion)
			format_put_value(piece, values++, out);
	}
}

bool format_time(const char *format, nstime t, bool utc, struct buf *out)
{
	int64_t second = t / 1000000000, nanos = t % 1000000000;
	char text[TIME_TEXT], whole[TIME_TEXT];
	size_t n = 0;
	struct tm tm;

	second -= nanos < 0;
	nanos += nanos < 0 ? 1000000000 : 0;
	time_t clock = (time_t)second;
	if (!(utc ? gmtime_r(&clock, &tm) : localtime_r(&clock, &tm)))
		return false;
	for (; *format && n + 8 < sizeof whole; format++) {
		if (format[0] == '%' && format[1] == 'f') { /* microseconds: not strftime()'s */
			for (int64_t unit = 100000000; unit >= 1000; unit /= 10)
				whole[n++] = (char)('0' + nanos / unit % 10);
			format++;
			continue;
		}
		whole[n++] = *format;
		if (format[0] == '%' && format[1])
			whole[n++] = *++format;
	}
	whole[n] = 0;
	if (*format)
		return false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = strftime(text, sizeof text, whole, &tm); /* no conversion of strftime() reads memory */
#pragma GCC diagnostic pop
	buf_add(out, text, n);
	return n > 0;
}
