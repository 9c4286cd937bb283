/*
 * expr_ops.c - operators and functions on known values
 *
 * Integers lie in [-2^63, 2^64): operations are computed in 128 bits, then checked for the range.
 */
#include "state/model/text_part.h"
#include "state/program/expr.h"
#include "state/rules/ast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum eval expr_ops_narrow(__int128 number, struct value *out, struct env *env)
{
	if (number < (__int128)INT64_MIN || number > (__int128)UINT64_MAX)
		return eval_fail(env, FAILURE_OVERFLOW);
	*out = (struct value){.kind = VALUE_INT, .negative = number < 0, .u = (uint64_t)number};
	return EVAL_VALUE;
}

static double as_float(const struct value *value)
{
	if (value->kind == VALUE_FLOAT)
		return value->f;
	return value->negative ? (double)(int64_t)value->u : (double)value->u;
}

/* ---- comparison ---- */

/* Compares an integer with a float without rounding; 2: not comparable (NaN). */
static int compare_mixed(const struct value *integer, double f)
{
	__int128 number = value_integer(integer);

	if (isnan(f))
		return 2;
	if (f >= 18446744073709551616.0)
		return -1;
	if (f < -9223372036854775808.0)
		return 1;
	double whole = floor(f);
	__int128 below = (__int128)whole;
	if (number != below)
		return number < below ? -1 : 1;
	return f > whole ? -1 : 0;
}

static int compare_numbers(const struct value *a, const struct value *b)
{
	int order;

	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		return (value_integer(a) > value_integer(b)) -
		       (value_integer(a) < value_integer(b));
	if (a->kind == VALUE_INT)
		return compare_mixed(a, b->f);
	if (b->kind == VALUE_INT) {
		order = compare_mixed(b, a->f);
		return order == 2 ? 2 : -order;
	}
	if (isnan(a->f) || isnan(b->f))
		return 2;
	return (a->f > b->f) - (a->f < b->f);
}

bool values_same(const struct value *a, const struct value *b)
{
	if (value_is_number(a) && value_is_number(b))
		return compare_numbers(a, b) == 0;
	return value_equal(a, b);
}

enum eval op_order(enum op op, const struct value *a, const struct value *b, struct value *out,
		   struct env *env)
{
	int order;

	if (value_is_number(a) && value_is_number(b))
		order = compare_numbers(a, b);
	else if (a->kind == VALUE_STRING && b->kind == VALUE_STRING)
		order = value_compare(a, b);
	else
		return eval_fail(env, FAILURE_TYPE);
	*out = value_bool(order != 2 && op_holds(op, order));
	return EVAL_VALUE;
}

/* ---- arithmetic ---- */

static enum eval shift(enum op op, __int128 a, __int128 b, struct value *out, struct env *env)
{
	if (b < 0)
		return eval_fail(env, FAILURE_OVERFLOW);
	if (op == OP_SHR)
		return expr_ops_narrow(b > 127 ? (a < 0 ? -1 : 0) : a >> (int)b, out, env);
	if (a == 0)
		return expr_ops_narrow(0, out, env);
	if (b > 63) /* even 1 << 64 does not fit; -1 << 63 does */
		return eval_fail(env, FAILURE_OVERFLOW);
	return expr_ops_narrow(a * ((__int128)1 << (int)b), out, env);
}

static enum eval integers(enum op op, __int128 a, __int128 b, struct value *out, struct env *env)
{
	__int128 number;

	switch (op) {
	case OP_BIT_AND:
		return expr_ops_narrow(a & b, out, env);
	case OP_BIT_OR:
		return expr_ops_narrow(a | b, out, env);
	case OP_BIT_XOR:
		return expr_ops_narrow(a ^ b, out, env);
	case OP_SHL:
	case OP_SHR:
		return shift(op, a, b, out, env);
	default:
		if (!op_integers(op, a, b, &number))
			return eval_fail(env, FAILURE_OVERFLOW);
		return expr_ops_narrow(number, out, env);
	}
}

static enum eval floats(enum op op, double a, double b, struct value *out, struct env *env)
{
	if (op < OP_ADD || op > OP_MOD)
		return eval_fail(env, FAILURE_TYPE);
	if ((op == OP_DIV || op == OP_MOD) && b == 0)
		return eval_fail(env, FAILURE_OVERFLOW);
	*out = (struct value){.kind = VALUE_FLOAT,
			      .f = op == OP_ADD   ? a + b
				   : op == OP_SUB ? a - b
				   : op == OP_MUL ? a * b
				   : op == OP_DIV ? a / b
						  : fmod(a, b)};
	return EVAL_VALUE;
}

static enum eval unary(enum op op, const struct value *a, struct value *out, struct env *env)
{
	if (a->kind == VALUE_INT)
		return expr_ops_narrow(op == OP_NEG ? -value_integer(a) : ~value_integer(a), out,
				       env);
	if (a->kind != VALUE_FLOAT || op != OP_NEG)
		return eval_fail(env, FAILURE_TYPE);
	*out = (struct value){.kind = VALUE_FLOAT, .f = -a->f};
	return EVAL_VALUE;
}

enum eval op_arith(enum op op, const struct value *a, const struct value *b, struct value *out,
		   struct env *env)
{
	if (!b)
		return unary(op, a, out, env);
	if (!value_is_number(a) || !value_is_number(b))
		return eval_fail(env, FAILURE_TYPE);
	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		return integers(op, value_integer(a), value_integer(b), out, env);
	return floats(op, as_float(a), as_float(b), out, env);
}

/* ---- as in C ---- */

/* Numbers above INT64_MAX are unsigned, all others signed. */
static bool is_large(const struct value *value)
{
	return !value->negative && value->u > INT64_MAX;
}

static struct value wrapped_bits(enum op op, const struct value *a, const struct value *b)
{
	/* the result is signed if both operands are */
	bool is_signed = !is_large(a) && !is_large(b);
	unsigned shift = b->u & 63;
	uint64_t bits;

	if (op == OP_SHL)
		return value_u64(a->u << shift);
	if (op == OP_SHR)
		bits = is_large(a) ? a->u >> shift : (uint64_t)((int64_t)a->u >> shift);
	else
		bits = op == OP_BIT_AND ? a->u & b->u : op == OP_BIT_OR ? a->u | b->u : a->u ^ b->u;
	return is_signed ? value_s64((int64_t)bits) : value_u64(bits);
}

void op_wrapped(enum op op, const struct value *a, const struct value *b, struct value *out)
{
	__int128 number;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (op == OP_NEG)
		*out = value_wrapped(-value_integer(a));
	else if (op == OP_BIT_NOT)
		*out = is_large(a) ? value_u64(~a->u) : value_s64((int64_t)~a->u);
	else if (op < OP_ADD)
		*out = wrapped_bits(op, a, b);
	else if (op_integers(op, value_integer(a), value_integer(b), &number) || op == OP_MUL)
		*out = value_wrapped(number);
}

/* ---- functions ---- */

static enum eval text_to_int(const struct value *a, struct value *out, struct env *env)
{
	struct text_part text = {a->text, a->len};
	bool minus = text.len && *text.text == '-', hex;
	uint64_t number;
	size_t n;

	text = text_substr(text, minus, INT64_MAX);
	hex = text.len >= 2 && text.text[0] == '0' && (text.text[1] | 0x20) == 'x';
	text = text_substr(text, hex ? 2 : 0, INT64_MAX);
	n = text_digits(text, hex ? 16 : 10, &number);
	if (n == SIZE_MAX)
		return eval_fail(env, FAILURE_OVERFLOW);
	if (!n || n != text.len)
		return eval_fail(env, FAILURE_TYPE);
	return expr_ops_narrow(minus ? -(__int128)number : (__int128)number, out, env);
}

static enum eval to_int(const struct value *a, struct value *out, struct env *env)
{
	if (a->kind == VALUE_STRING)
		return text_to_int(a, out, env);
	if (a->kind == VALUE_BOOL) {
		*out = value_s64(a->b);
		return EVAL_VALUE;
	}
	if (a->kind == VALUE_FLOAT) {
		if (!(a->f >= -9223372036854775808.0 && a->f < 18446744073709551616.0))
			return eval_fail(env, FAILURE_OVERFLOW);
		return expr_ops_narrow((__int128)a->f, out, env);
	}
	*out = *a;
	return EVAL_VALUE;
}

static enum eval keep_text(const char *text, size_t len, struct env *env, struct value *out)
{
	*out = value_text(arena_strndup(env->scratch, text, len), len);
	return EVAL_VALUE;
}

enum eval op_join(const struct value *a, const struct value *b, struct env *env, struct value *out)
{
	char *text = arena_alloc(env->scratch, a->len + b->len + 1);

	memcpy(text, a->text, a->len);
	memcpy(text + a->len, b->text, b->len);
	*out = value_text(text, a->len + b->len);
	return EVAL_VALUE;
}

enum eval op_convert(enum function function, const struct value *a, struct env *env,
		     struct value *out)
{
	char text[64];
	int len;

	if (a->kind == VALUE_NONE)
		return eval_fail(env, FAILURE_TYPE);
	if (function == FUNCTION_INT)
		return to_int(a, out, env);
	if (function == FUNCTION_HEX) {
		if (a->kind != VALUE_INT)
			return eval_fail(env, FAILURE_TYPE);
		len = snprintf(text, sizeof text, "0x%llx", (unsigned long long)a->u);
		return keep_text(text, (size_t)len, env, out);
	}
	if (a->kind == VALUE_STRING) {
		*out = *a;
		return EVAL_VALUE;
	}
	struct buf buf = {0};
	value_add_key(a, &buf);
	keep_text(buf_text(&buf), buf.len, env, out);
	buf_release(&buf);
	return EVAL_VALUE;
}

enum eval op_map(const struct map_def *map, const struct value *key, struct value *out,
		 struct env *env)
{
	for (size_t i = 0; i < map->nentries; i++) {
		const struct map_case *entry = &map->entries[i];
		if ((entry->kind == ENTRY_VALUE && values_same(&entry->match, key)) ||
		    (entry->kind == ENTRY_MASK && key->kind == VALUE_INT &&
		     (key->u & entry->match.u) != 0)) {
			*out = entry->result;
			return EVAL_VALUE;
		}
	}
	for (size_t i = 0; i < map->nentries; i++) {
		if (map->entries[i].kind != ENTRY_REST)
			continue;
		*out = map->entries[i].result;
		return EVAL_VALUE;
	}
	return eval_fail(env, FAILURE_MAP);
}

/* ---- regular expressions ---- */

enum eval op_captures(struct env *env, const struct regex *regex, uint32_t group,
		      const struct value *text, struct value *out, bool *matches)
{
	struct regex_room *own = NULL;
	enum regex_result result =
		regex_match(env->regex_room ? env->regex_room : &own, regex, text, group, out);

	regex_room_free(own);
	*matches = result == REGEX_YES;
	return result == REGEX_ENDLESS ? eval_fail(env, FAILURE_STEPS) : EVAL_VALUE;
}

static enum eval match_regex(struct env *env, const struct regex *regex, const struct value *text,
			     struct value *out)
{
	bool matches;
	enum eval result = op_captures(env, regex, 0, text, out, &matches);

	if (result == EVAL_VALUE)
		*out = value_bool(matches);
	return result;
}

enum eval op_regex(struct env *env, const struct regex *regex, const struct value *text,
		   const struct value *pattern, struct value *out)
{
	char why[REGEX_WHY];
	size_t at;

	if (regex)
		return match_regex(env, regex, text, out);
	struct regex *own = regex_new(pattern, &at, why);
	if (!own)
		return eval_fail(env, FAILURE_TYPE);
	enum eval result = match_regex(env, own, text, out);
	regex_free(own);
	return result;
}

/* ---- parts of texts ---- */

static int64_t clamped(const struct value *number)
{
	return number->negative || number->u <= INT64_MAX ? (int64_t)number->u : INT64_MAX;
}

void op_part(enum function function, const struct value *args, uint32_t n, struct value *out)
{
	struct text_part text = {args[0].text, args[0].len};

	text = function == FUNCTION_SPLIT
		       ? text_split(text, (struct text_part){args[1].text, args[1].len},
				    clamped(&args[2]))
		       : text_substr(text, clamped(&args[1]),
				     n > 2 ? clamped(&args[2]) : INT64_MAX);
	*out = value_text(text.text, text.len);
}
