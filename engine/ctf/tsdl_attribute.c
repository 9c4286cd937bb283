/*
 * tsdl_attribute.c - values, and the types that consist of attributes: integer, float, string
 *
 * An attribute that is not known is worth a warning; one that stands twice is an error.
 */
#include "engine/ctf/tsdl.h"

#include "engine/base/buf.h"

#include <inttypes.h>
#include <string.h>

enum { WIDE_BITS_MAX = 1 << 20 };

int attribute_index(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

bool parse_dotted(struct tsdl *t, const char **out)
{
	const struct tsdl_token *token = peek(t);

	if (token->kind != TOKEN_NAME && token->kind != TOKEN_KEYWORD)
		return tsdl_expected(t, "a name");
	t->pos++;
	*out = token->text;
	if (peek(t)->kind != '.')
		return true;
	struct buf joined = {0};
	bool done = true;
	buf_add_text(&joined, token->text);
	while (done && accept_token(t, '.')) {
		token = peek(t);
		if (token->kind != TOKEN_NAME && token->kind != TOKEN_KEYWORD) {
			done = tsdl_expected(t, "a name after the dot");
		} else {
			t->pos++;
			buf_add_char(&joined, '.');
			buf_add_text(&joined, token->text);
		}
	}
	if (done)
		*out = names_intern(&t->names, joined.data, joined.len)->text;
	buf_release(&joined);
	return done;
}

bool parse_value(struct tsdl *t, struct tsdl_value *out)
{
	const struct tsdl_token *token = peek(t);

	*out = (struct tsdl_value){.at = token->at};
	if (token->kind == '-' || token->kind == '+') {
		out->negative = token->kind == '-';
		t->pos++;
		token = peek(t);
		if (token->kind != TOKEN_INT)
			return tsdl_expected(t, "an integer after the sign");
	}
	switch (token->kind) {
	case TOKEN_INT:
		out->magnitude = token->number;
		t->pos++;
		return true;
	case TOKEN_STRING:
	case TOKEN_CHAR:
		out->kind = VALUE_STRING;
		out->text = token->text;
		t->pos++;
		return true;
	case TOKEN_NAME:
	case TOKEN_KEYWORD:
		out->kind = VALUE_WORD;
		return parse_dotted(t, &out->text);
	default:
		return tsdl_expected(t, "an integer, a string or a name");
	}
}

bool value_unsigned(struct tsdl *t, const struct tsdl_value *value, const char *what, uint64_t *out)
{
	if (value->kind != VALUE_INT)
		return tsdl_fail(t, value->at, "%s must be an integer", what);
	if (value->negative && value->magnitude)
		return tsdl_fail(t, value->at, "%s must not be negative", what);
	*out = value->magnitude;
	return true;
}

bool value_signed(struct tsdl *t, const struct tsdl_value *value, const char *what, int64_t *out)
{
	if (value->kind != VALUE_INT)
		return tsdl_fail(t, value->at, "%s must be an integer", what);
	if (value->magnitude > (uint64_t)INT64_MAX + value->negative)
		return tsdl_fail(t, value->at, "%s does not fit 64 bits with a sign", what);
	*out = (int64_t)(value->negative ? 0 - value->magnitude : value->magnitude);
	return true;
}

/* Words may be quoted: some writers do, and the meaning is clear. */
static const char *value_word(struct tsdl *t, const struct tsdl_value *value)
{
	if (value->kind == VALUE_INT)
		return "";
	if (value->kind == VALUE_STRING)
		tsdl_warn(t, value->at, "\"%s\" should stand without quotes", value->text);
	return value->text;
}

bool value_bool(struct tsdl *t, const struct tsdl_value *value, bool *out)
{
	static const char *const words[] = {"false", "FALSE", "true", "TRUE", NULL};

	if (value->kind == VALUE_INT && !value->negative && value->magnitude <= 1) {
		*out = value->magnitude;
		return true;
	}
	int i = attribute_index(words, value_word(t, value));
	if (i < 0)
		return tsdl_fail(t, value->at, "expected true, false, 1 or 0");
	*out = i >= 2;
	return true;
}

static bool set_align(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	uint64_t align = 0;

	if (!value_unsigned(t, value, "an alignment", &align))
		return false;
	if (!align || (align & (align - 1)) || align > UINT32_C(1) << 31)
		return tsdl_fail(t, value->at, "an alignment must be a power of two");
	type->shape.align = (uint32_t)align;
	return true;
}

static bool set_byte_order(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	static const char *const words[] = {"le", "native", "be", "network", NULL};
	int i = attribute_index(words, value_word(t, value));

	if (i < 0)
		return tsdl_fail(t, value->at, "expected native, network, be or le");
	type->shape.big_endian = i == 1 ? t->out->big_endian : i >= 2;
	return true;
}

static bool set_encoding(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	static const char *const words[] = {"none",  "UTF8",  "utf8",  "UTF-8",
					    "utf-8", "ASCII", "ascii", NULL};
	const char *word = value_word(t, value);

	/* unquoted UTF-8 is three tokens */
	if (!strcasecmp(word, "utf") && value->kind == VALUE_WORD && peek(t)->kind == '-' &&
	    peek_next(t)->kind == TOKEN_INT && peek_next(t)->number == 8) {
		t->pos += 2;
		word = "utf8";
	}
	int i = attribute_index(words, word);
	if (i < 0)
		return tsdl_fail(t, value->at, "expected none, UTF8 or ASCII");
	type->encoded = i > 0;
	return true;
}

static bool set_base(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	static const char *const words[] = {"decimal", "dec",    "d", "i", "u",     "hexadecimal",
					    "hex",     "x",      "X", "p", "octal", "oct",
					    "o",       "binary", "b", NULL};
	uint64_t base = value->negative ? 0 : value->magnitude;

	if (value->kind != VALUE_INT) {
		int i = attribute_index(words, value_word(t, value));
		base = i < 0 ? 0 : i < 5 ? 10 : i < 10 ? 16 : i < 13 ? 8 : 2;
	}
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return tsdl_fail(t, value->at,
				 "expected a base: binary, octal, decimal, hexadecimal");
	type->shape.base = (uint8_t)base;
	return true;
}

static bool set_map(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	const char *text = value_word(t, value);
	size_t len = strlen(text);

	if (len < 13 || strncmp(text, "clock.", 6) != 0 || strcmp(text + len - 6, ".value") != 0)
		return tsdl_fail(t, value->at, "expected clock.NAME.value");
	for (size_t i = 0; i < t->nclocks; i++) {
		const char *name = t->clocks[i].name;
		if (strlen(name) != len - 12 || strncmp(name, text + 6, len - 12) != 0)
			continue;
		type->shape.clock = (int32_t)i;
		return true;
	}
	return tsdl_fail(t, value->at, "there is no clock %.*s", (int)(len - 12), text + 6);
}

static bool set_size(struct tsdl *t, const struct tsdl_value *value, struct type *type)
{
	uint64_t bits = 0;

	if (!value_unsigned(t, value, "a size", &bits))
		return false;
	if (!bits)
		return tsdl_fail(t, value->at, "an integer of 0 bits");
	if (bits > WIDE_BITS_MAX)
		return tsdl_fail(t, value->at, "integers of more than %d bits are not supported",
				 WIDE_BITS_MAX);
	type->shape.bits = (uint32_t)bits;
	return true;
}

typedef bool set_attribute(struct tsdl *t, int index, const struct tsdl_value *value, void *arg);

/* "{" { name "=" value ";" } "}" */
static bool parse_attributes(struct tsdl *t, const char *const *names, set_attribute *set,
			     void *arg, unsigned *seen)
{
	if (!expect_token(t, '{', "'{'"))
		return false;
	while (!accept_token(t, '}')) {
		const char *name;
		struct tsdl_value value;
		uint32_t at = peek(t)->at;
		if (!parse_dotted(t, &name) || !expect_token(t, '=', "'='") ||
		    !parse_value(t, &value))
			return false;
		int i = attribute_index(names, name);
		if (i < 0) {
			tsdl_warn(t, at, "unknown attribute %s", name);
		} else {
			if (*seen & 1U << i)
				return tsdl_fail(t, at, "%s stands twice", name);
			*seen |= 1U << i;
			if (!set(t, i, &value, arg))
				return false;
		}
		if (!expect_token(t, ';', "';' after the value"))
			return false;
	}
	return true;
}

enum { INT_SIZE, INT_ALIGN, INT_SIGNED, INT_BYTE_ORDER, INT_BASE, INT_ENCODING, INT_MAP };

static bool set_integer(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	struct type *type = arg;

	switch (index) {
	case INT_SIZE:
		return set_size(t, value, type);
	case INT_ALIGN:
		return set_align(t, value, type);
	case INT_SIGNED:
		return value_bool(t, value, &type->shape.is_signed);
	case INT_BYTE_ORDER:
		return set_byte_order(t, value, type);
	case INT_BASE:
		return set_base(t, value, type);
	case INT_ENCODING:
		return set_encoding(t, value, type);
	default:
		return set_map(t, value, type);
	}
}

/* What is wider than a register: an array, of bytes where it can be, else of bits. */
static bool widen(struct tsdl *t, uint32_t at, const struct type *integer, const struct type **out)
{
	struct type *element = type_new(t, FIELD_INT), *array = type_new(t, FIELD_ARRAY);
	uint32_t bits = integer->shape.bits;

	if (integer->shape.clock >= 0)
		return tsdl_fail(t, at, "an integer of %" PRIu32 " bits is no value of a clock",
				 bits);
	element->shape.bits = bits % 8 ? 1 : 8;
	element->shape.align = integer->shape.align % 8 || bits % 8 ? 1 : 8;
	element->shape.base = 16;
	element->shape.big_endian = integer->shape.big_endian;
	array->shape.is_wide = true;
	array->shape.align = integer->shape.align;
	array->shape.length = bits / element->shape.bits;
	array->element = element;
	array->depth = 2;
	*out = array;
	return true;
}

bool parse_integer(struct tsdl *t, const struct type **out)
{
	static const char *const names[] = {"size", "align",    "signed", "byte_order",
					    "base", "encoding", "map",    NULL};
	uint32_t at = peek(t)->at;
	struct type *type = type_new(t, FIELD_INT);
	unsigned seen = 0;

	t->pos++;
	type->shape.base = 10;
	type->shape.big_endian = t->out->big_endian;
	if (!parse_attributes(t, names, set_integer, type, &seen))
		return false;
	if (!(seen & 1U << INT_SIZE))
		return tsdl_fail(t, at, "this integer has no size");
	if (!(seen & 1U << INT_ALIGN))
		type->shape.align = type->shape.bits % 8 ? 1 : 8;
	type->shape.is_text = type->encoded && type->shape.bits == 8 && type->shape.align == 8;
	*out = type;
	return type->shape.bits <= 64 || widen(t, at, type, out);
}

enum { FLOAT_EXPONENT, FLOAT_MANTISSA, FLOAT_BYTE_ORDER, FLOAT_ALIGN };

struct float_digits {
	struct type *type;
	uint64_t exponent, mantissa;
};

static bool set_float(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	struct float_digits *digits = arg;

	switch (index) {
	case FLOAT_EXPONENT:
		return value_unsigned(t, value, "exp_dig", &digits->exponent);
	case FLOAT_MANTISSA:
		return value_unsigned(t, value, "mant_dig", &digits->mantissa);
	case FLOAT_BYTE_ORDER:
		return set_byte_order(t, value, digits->type);
	default:
		return set_align(t, value, digits->type);
	}
}

bool parse_float(struct tsdl *t, const struct type **out)
{
	static const char *const names[] = {"exp_dig", "mant_dig", "byte_order", "align", NULL};
	static const uint8_t known[][2] = {{5, 11}, {8, 24}, {11, 53}};
	uint32_t at = peek(t)->at;
	struct type *type = type_new(t, FIELD_FLOAT);
	struct float_digits digits = {.type = type};
	unsigned seen = 0;

	t->pos++;
	type->shape.align = 8;
	type->shape.big_endian = t->out->big_endian;
	if (!parse_attributes(t, names, set_float, &digits, &seen))
		return false;
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (digits.exponent == known[i][0] && digits.mantissa == known[i][1])
			type->shape.bits = 16U << i;
	if (!type->shape.bits)
		return tsdl_fail(t, at,
				 "exp_dig and mant_dig must be 5 and 11, 8 and 24, or "
				 "11 and 53");
	*out = type;
	return true;
}

static bool set_string(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	(void)index;
	return set_encoding(t, value, arg);
}

bool parse_string(struct tsdl *t, const struct type **out)
{
	static const char *const names[] = {"encoding", NULL};
	struct type *type = type_new(t, FIELD_STRING);
	unsigned seen = 0;

	t->pos++;
	type->shape.align = 8;
	*out = type;
	return peek(t)->kind != '{' || parse_attributes(t, names, set_string, type, &seen);
}
