/* value.h - the values of attributes: unknown, none, integer, float, string, boolean */
#ifndef STATE_MODEL_VALUE_H
#define STATE_MODEL_VALUE_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum value_kind {
	VALUE_UNKNOWN, /* not written yet, or lost */
	VALUE_NONE,    /* a rule wrote `none` */
	VALUE_INT,     /* -2^63 .. 2^64-1: `negative` tells how to read u */
	VALUE_FLOAT,
	VALUE_STRING,
	VALUE_BOOL
} __attribute__((packed)); /* a byte: there are millions of values */

struct value {
	enum value_kind kind;
	bool negative; /* VALUE_INT: s < 0; then u holds its two's complement */
	uint32_t len;  /* VALUE_STRING: bytes */
	union {
		uint64_t u;
		double f;
		bool b;
		const char *text; /* not zero-terminated; the giver says who owns it */
	};
};
_Static_assert(sizeof(struct value) == 16, "two words");

static inline struct value value_u64(uint64_t u)
{
	return (struct value){.kind = VALUE_INT, .u = u};
}

static inline struct value value_s64(int64_t s)
{
	return (struct value){.kind = VALUE_INT, .negative = s < 0, .u = (uint64_t)s};
}

/* The integer modulo 2^64: what does not fit wraps, as in C. */
static inline struct value value_wrapped(__int128 number)
{
	return number > INT64_MAX ? value_u64((uint64_t)number)
				  : value_s64((int64_t)(uint64_t)number);
}

static inline struct value value_bool(bool b)
{
	return (struct value){.kind = VALUE_BOOL, .b = b};
}

static inline struct value value_text(const char *text, size_t len)
{
	return (struct value){.kind = VALUE_STRING, .len = (uint32_t)len, .text = text};
}

static inline bool value_is_text(const struct value *value, const char *text)
{
	return value->kind == VALUE_STRING && value->len == strlen(text) &&
	       !memcmp(value->text, text, value->len);
}

/* Neither unknown nor none. */
static inline bool value_exists(const struct value *value)
{
	return value->kind > VALUE_NONE;
}

/* Unknown so far: input that is not read yet may still give a value. */
static inline struct value value_open(void)
{
	return (struct value){.kind = VALUE_UNKNOWN, .u = 1};
}

static inline bool value_is_open(const struct value *value)
{
	return value->kind == VALUE_UNKNOWN && value->u == 1;
}

static inline bool value_is_number(const struct value *value)
{
	return value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
}

/* An integer of 0 or more, as nearly all keys are. */
static inline bool value_is_index(const struct value *value)
{
	return value->kind == VALUE_INT && !value->negative;
}

/* The integer with its sign. */
static inline __int128 value_integer(const struct value *value)
{
	return value->negative ? (__int128)(int64_t)value->u : (__int128)value->u;
}

/* As in C: neither 0 nor "". */
static inline bool value_is_true(const struct value *value)
{
	return value->kind == VALUE_STRING ? value->len != 0 : value->u != 0;
}

/* 5 and "5" differ, true is not 1; unknown equals unknown here (identity, not the rules' ==). */
static inline bool value_equal(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		return true;
	case VALUE_INT:
		return a->u == b->u && a->negative == b->negative;
	case VALUE_FLOAT: /* as bits: identity, so that NaN is itself */
		return a->u == b->u;
	case VALUE_STRING:
		return a->len == b->len && (!a->len || !memcmp(a->text, b->text, a->len));
	case VALUE_BOOL:
		return a->b == b->b;
	}
	return false;
}
/* A copy whose text lives in the arena. */
struct value value_copy(struct arena *arena, const struct value *value);
/* Total order for sorting and printing: kind, then value. */
int value_compare(const struct value *a, const struct value *b);
uint64_t value_hash(const struct value *value);
/* As a key in a canonical path: 42, "name", true. */
void value_add_key(const struct value *value, struct buf *out);
/* For messages: a string without quotes, anything else as value_add_key() does. */
void value_add_word(const struct value *value, struct buf *out);
/* As JSON; unknown and none are null. */
void value_add_json(const struct value *value, struct buf *out);

#endif
