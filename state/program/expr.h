/* expr.h - expressions compiled for one event class: fields are resolved, names interned */
#ifndef STATE_PROGRAM_EXPR_H
#define STATE_PROGRAM_EXPR_H

#include "state/expr/regex.h"
#include "state/expr/tree.h"
#include "state/program/program.h"

enum expr_kind {
	EXPR_CONST,
	EXPR_FAIL,         /* always fails with `failure` */
	EXPR_FIELD,        /* slot `index` of the event's own scopes */
	EXPR_FIELD_PACKET, /* slot `index` of the packet's scopes */
	EXPR_FIELD_GET,    /* found at run time, through variants and elements: `names` */
	EXPR_SECTION,      /* a section value that some line writes */
	EXPR_SECTION_OWN,
	EXPR_TIME,
	EXPR_CPU, /* of --where: the event's CPU, whatever section lines write */
	EXPR_STREAM,
	EXPR_LOST_COUNT,
	EXPR_LOST_UNTIL,
	EXPR_LOST_CLAIMED,
	EXPR_LOST_TOLD,
	EXPR_LOST_UNTOLD,
	EXPR_LOST_ENDED,
	EXPR_GAP,       /* does some stream lack events at this time? bit `index` of expr_gap() */
	EXPR_LOST_KIND, /* is this loss of kind `index`? */
	EXPR_READ,      /* `path` of the state */
	EXPR_VARIABLE,
	EXPR_COLUMN, /* column `index` of the row */
	EXPR_HOST,   /* of one-liners: what env->host() gives for `of`, `n` and `index` */
	EXPR_NOT,
	EXPR_AND,
	EXPR_OR,
	EXPR_EQUAL, /* op EQ, NE */
	EXPR_ORDER, /* op LT, LE, GT, GE */
	EXPR_ARITH, /* + - * / % & | ^ << >>; unary: only the left operand */
	EXPR_IN,    /* args[0] in values */
	EXPR_MATCH, /* op GLOB, REGEX */
	EXPR_TRUTH, /* is it neither 0 nor "", as in C? */
	EXPR_MAP,
	EXPR_LABEL,   /* of a field */
	EXPR_HAS,     /* of a field, section value or read */
	EXPR_TOP,     /* of a read */
	EXPR_CONVERT, /* function INT, STR, HEX */
	EXPR_LEAST,   /* function MIN, MAX */
	EXPR_CHOOSE,  /* args[1] where args[0] is true, args[2] where it is false */
	EXPR_SUBSTR,
	EXPR_SPLIT,
	EXPR_CAPTURES /* group `index` of `regex` in args[0] */
};

struct field_name {
	const char *name;       /* NULL: `key` is evaluated */
	const struct expr *key; /* of an array element */
};

struct expr {
	enum expr_kind kind;
	enum op op;
	enum function function;
	enum failure failure;
	bool may_view;   /* READ: the attribute may be computed by a view */
	bool total;      /* MAP: it has a result for every possible args[0] */
	bool wraps;      /* ARITH of one-liners: numbers wrap as in C */
	uint32_t index;  /* FIELD, SECTION, VARIABLE, COLUMN */
	uint32_t nargs;
	uint32_t n;      /* names, values */
	unsigned scopes; /* FIELD_GET */
	struct value value;
	const struct expr *const *args; /* operands */
	union {
		struct field_path field;
		const struct field_name *names;
		struct path path;
		const struct value *values;
		const struct map_def *map;
		struct regex *regex; /* MATCH: NULL if the pattern is not constant */
	};
	const struct ast *of; /* HOST: its tree; else NULL, or for env->lacking on failure */
};

static inline bool expr_is_const(const struct expr *expr, enum value_kind kind)
{
	return expr && expr->kind == EXPR_CONST && expr->value.kind == kind;
}

/* Is is() true of the expression (NULL: no), of an operand at any depth, or a key of paths? */
bool expr_any(const struct expr *expr, bool (*is)(const struct expr *expr));
/* Is it an operator that evaluates all operands and fails if one of them does? */
bool expr_is_strict(const struct expr *expr);

/*
 * Outcomes of conditions: three-valued logic and failure, which && and || combine by the tables
 * below; OPEN: not decided yet.
 */
enum logic {
	LOGIC_NO,
	LOGIC_YES,
	LOGIC_UNKNOWN,
	LOGIC_FAILED,
	LOGIC_OPEN,
	LOGIC_KINDS = LOGIC_OPEN
};
extern const uint8_t logic_and[LOGIC_KINDS][LOGIC_KINDS], logic_or[LOGIC_KINDS][LOGIC_KINDS];
enum logic expr_logic(const struct expr *expr, struct env *env);
/* Any value but a boolean or unknown counts as failure. */
static inline enum logic logic_of_value(const struct value *value)
{
	if (value->kind == VALUE_BOOL)
		return value->b ? LOGIC_YES : LOGIC_NO;
	return value->kind == VALUE_UNKNOWN ? LOGIC_UNKNOWN : LOGIC_FAILED;
}

/* expr_ops.c: operators and functions on plain values; both operands are known */
bool values_same(const struct value *a, const struct value *b); /* 1 == 1.0, 5 != "5" */
enum eval op_order(enum op op, const struct value *a, const struct value *b, struct value *out,
		   struct env *env);
enum eval op_arith(enum op op, const struct value *a, const struct value *b, struct value *out,
		   struct env *env); /* b NULL: unary */
/* The same for integers as in C: results wrap; a division by zero is unknown. Unary: ignores b. */
void op_wrapped(enum op op, const struct value *a, const struct value *b, struct value *out);
/* Concatenates two texts. */
enum eval op_join(const struct value *a, const struct value *b, struct env *env, struct value *out);
enum eval op_convert(enum function function, const struct value *a, struct env *env,
		     struct value *out);
enum eval op_map(const struct map_def *map, const struct value *key, struct value *out,
		 struct env *env);
enum eval op_regex(struct env *env, const struct regex *regex, const struct value *text,
		   const struct value *pattern, struct value *out);
/* The first match of a group; "" if it matches nothing. *matches: the pattern matches. */
enum eval op_captures(struct env *env, const struct regex *regex, uint32_t group,
		      const struct value *text, struct value *out, bool *matches);
/* substr() and split(); expr.c has checked the types. */
void op_part(enum function function, const struct value *args, uint32_t n, struct value *out);

static inline enum eval eval_fail(struct env *env, enum failure why)
{
	env->failure = why;
	return EVAL_FAIL;
}

void expr_find_gap(struct env *env);
enum gap_bit { GAP_OPEN, GAP_LOSS };
/* A bit per enum gap_bit that is true at the time of env->event (gaps.h). */
static inline uint32_t expr_gap(struct env *env)
{
	const struct event *event = env->event;

	if (!event || !event->stream)
		return 0;
	if (event->time < env->gap.from || event->time >= env->gap.until ||
	    env->gap_part != event->stream->part)
		expr_find_gap(env);
	return (uint32_t)env->gap.open << GAP_OPEN | (uint32_t)env->gap.loss << GAP_LOSS;
}

/* The event's fields; decodes them if that was not done yet. NULL: none. */
static inline const struct fields *env_fields(struct env *env)
{
	if (!env->fields && env->event && env->decode)
		env->fields = env->decode(env->arg, env->event);
	return env->fields;
}

/* expr_field.c: a field of the event as a value */
enum eval field_value(const struct field *field, struct env *env, struct value *out);
/* A fast path for integers of the event's own scopes; false: not such a field. */
bool expr_int_field(const struct expr *expr, struct env *env, struct value *out);
/* The field itself. EVAL_FAIL: the event has none, or a key failed (env->failure); or OPEN. */
enum eval expr_field(const struct expr *expr, struct env *env, struct field *out);

#endif
