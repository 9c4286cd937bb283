/*
 * expr.c - evaluates expressions on one event and the state before it
 *
 * The result is a value (which may be unknown or none), a failure, or OPEN: a read is not decided
 * yet. A certain failure takes precedence over OPEN; what depends on an open part is OPEN. Logic
 * has three values: unknown is neither true nor false.
 */
#include "state/program/expr.h"
#include "state/model/glob.h"
#include "state/program/internal.h"

#include <string.h>

const char *failure_text(enum failure failure)
{
	static const char *const texts[FAILURE_COUNT] = {
		"nothing",
		"a key is unknown or none",
		"the event has no such field",
		"an operand has the wrong type",
		"a number does not fit",
		"the map has no entry for the value",
		"a regular expression takes too many steps",
		"pop of an empty stack",
	};

	return failure < FAILURE_COUNT ? texts[failure] : "";
}

static const struct value unknown_value = {.kind = VALUE_UNKNOWN};

static enum eval eval_section(const struct expr *expr, struct env *env, struct value *out)
{
	bool written = false;
	enum eval result;

	if (!env->event) {
		*out = unknown_value;
		return EVAL_VALUE;
	}
	if (expr->kind == EXPR_SECTION && env->section) {
		result = env->section(env->arg, expr->index, out, &written);
		if (result != EVAL_VALUE || written)
			return result;
	}
	*out = section_own(env->program, env->event, expr->index);
	return EVAL_VALUE;
}

static enum eval read_stored(struct env *env, uint32_t attr, struct value *out)
{
	if (env->read)
		return env->read(env->arg, attr, out);
	*out = unknown_value;
	return EVAL_VALUE;
}

enum eval attr_eval(struct env *env, uint32_t attr, struct value *out)
{
	struct value saved[ENV_VARIABLES], bound[ENV_VARIABLES] = {{.kind = VALUE_UNKNOWN}};
	const struct view *view = program_view_of(env->program, attr, bound);
	enum eval result;

	if (!view)
		return read_stored(env, attr, out);
	*out = unknown_value;
	if (env->depth >= VIEW_DEPTH)
		return EVAL_VALUE;
	memcpy(saved, env->variables, sizeof saved);
	memcpy(env->variables, bound, sizeof bound);
	env->depth++;
	result = expr_eval(view->value, env, out);
	env->depth--;
	memcpy(env->variables, saved, sizeof saved);
	if (result != EVAL_FAIL)
		return result;
	*out = unknown_value; /* the view's expression failed */
	return EVAL_VALUE;
}

static enum eval eval_read(const struct expr *expr, struct env *env, struct value *out)
{
	uint32_t attr = expr->path.base;

	if (expr->path.nbase != expr->path.natoms) {
		enum eval result = path_eval(&expr->path, env, &attr);
		if (result != EVAL_VALUE)
			return result;
	}
	return expr->may_view ? attr_eval(env, attr, out) : read_stored(env, attr, out);
}

/* top(P): reads the stack's depth at P, then its topmost value. */
static enum eval eval_top(const struct expr *expr, struct env *env, struct value *out)
{
	struct value depth;
	uint32_t attr;
	enum eval result = path_eval(&expr->args[0]->path, env, &attr);

	if (result == EVAL_VALUE)
		result = read_stored(env, attr, &depth);
	if (result != EVAL_VALUE)
		return result;
	*out = unknown_value;
	if (depth.kind == VALUE_UNKNOWN)
		return EVAL_VALUE;
	if (depth.kind != VALUE_INT && depth.kind != VALUE_NONE)
		return eval_fail(env, FAILURE_TYPE);
	out->kind = VALUE_NONE;
	if (depth.kind == VALUE_NONE || depth.negative || !depth.u)
		return EVAL_VALUE;
	return read_stored(env, attr_key(program_attrs(env->program), attr, &depth), out);
}

const uint8_t logic_and[LOGIC_KINDS][LOGIC_KINDS] = {
	[LOGIC_NO] = {LOGIC_NO, LOGIC_NO, LOGIC_NO, LOGIC_NO},
	[LOGIC_YES] = {LOGIC_NO, LOGIC_YES, LOGIC_UNKNOWN, LOGIC_FAILED},
	[LOGIC_UNKNOWN] = {LOGIC_NO, LOGIC_UNKNOWN, LOGIC_UNKNOWN, LOGIC_FAILED},
	[LOGIC_FAILED] = {LOGIC_NO, LOGIC_FAILED, LOGIC_FAILED, LOGIC_FAILED},
};
const uint8_t logic_or[LOGIC_KINDS][LOGIC_KINDS] = {
	[LOGIC_NO] = {LOGIC_NO, LOGIC_YES, LOGIC_UNKNOWN, LOGIC_FAILED},
	[LOGIC_YES] = {LOGIC_YES, LOGIC_YES, LOGIC_YES, LOGIC_YES},
	[LOGIC_UNKNOWN] = {LOGIC_UNKNOWN, LOGIC_YES, LOGIC_UNKNOWN, LOGIC_FAILED},
	[LOGIC_FAILED] = {LOGIC_FAILED, LOGIC_YES, LOGIC_FAILED, LOGIC_FAILED},
};

/* Evaluates && || and !. */
static enum logic joined_logic(const struct expr *expr, struct env *env)
{
	enum logic left = expr_logic(expr->args[0], env), right;

	if (expr->kind == EXPR_NOT)
		return left <= LOGIC_YES ? left ^ 1 : left;
	if (left == (expr->kind == EXPR_AND ? LOGIC_NO : LOGIC_YES))
		return left;
	right = expr_logic(expr->args[1], env);
	if (left == LOGIC_OPEN || right == LOGIC_OPEN)
		return LOGIC_OPEN;
	return (expr->kind == EXPR_AND ? logic_and : logic_or)[left][right];
}

enum logic expr_logic(const struct expr *expr, struct env *env)
{
	struct value value;
	enum eval result;

	if (expr->kind >= EXPR_NOT && expr->kind <= EXPR_OR)
		return joined_logic(expr, env);
	result = expr_eval(expr, env, &value);
	if (result == EVAL_FAIL && env->host && env->failure != FAILURE_STEPS)
		return LOGIC_UNKNOWN;
	if (result != EVAL_VALUE)
		return result == EVAL_OPEN ? LOGIC_OPEN : LOGIC_FAILED;
	if (logic_of_value(&value) == LOGIC_FAILED)
		env->failure = FAILURE_TYPE;
	return logic_of_value(&value);
}

static enum eval eval_logic(const struct expr *expr, struct env *env, struct value *out)
{
	enum logic outcome = joined_logic(expr, env);

	if (outcome >= LOGIC_FAILED)
		return outcome == LOGIC_OPEN ? EVAL_OPEN : EVAL_FAIL;
	*out = outcome == LOGIC_UNKNOWN ? unknown_value : value_bool(outcome == LOGIC_YES);
	return EVAL_VALUE;
}

/* ---- operators of known operands ---- */

enum takes { /* a bit per kind of value */
	     TAKES_INT = 1 << VALUE_INT,
	     TAKES_NUMBER = TAKES_INT | 1 << VALUE_FLOAT,
	     TAKES_TEXT = 1 << VALUE_STRING,
	     TAKES_ORDER = TAKES_NUMBER | TAKES_TEXT,
	     TAKES_ANY = 0xff
};

/* Is the operand unknown? Sets *wrong for a known one of the wrong type. */
static inline bool unknown_operand(const struct value *a, unsigned takes, bool *wrong)
{
	*wrong |= a->kind != VALUE_UNKNOWN && !(takes >> a->kind & 1);
	return a->kind == VALUE_UNKNOWN;
}

enum { OPERANDS = 3 };

/* Kinds of values that operands may have. */
static const unsigned strict_takes[][OPERANDS] = {
	[EXPR_EQUAL] = {TAKES_ANY, TAKES_ANY},
	[EXPR_ORDER] = {TAKES_ORDER, TAKES_ORDER},
	[EXPR_ARITH] = {TAKES_NUMBER, TAKES_NUMBER},
	[EXPR_IN] = {TAKES_ANY},
	[EXPR_MATCH] = {TAKES_TEXT, TAKES_TEXT},
	[EXPR_TRUTH] = {TAKES_ANY},
	[EXPR_MAP] = {TAKES_ANY},
	[EXPR_CONVERT] = {TAKES_ANY},
	[EXPR_CAPTURES] = {TAKES_TEXT},
	[EXPR_SUBSTR] = {TAKES_TEXT, TAKES_INT, TAKES_INT},
	[EXPR_SPLIT] = {TAKES_TEXT, TAKES_TEXT, TAKES_INT},
};

static unsigned takes_of(const struct expr *expr, uint32_t operand)
{
	if (expr->kind == EXPR_ARITH && expr->op == OP_ADD) /* + also joins texts */
		return TAKES_ORDER;
	return strict_takes[expr->kind][operand];
}

static bool is_among(const struct value *value, const struct expr *expr)
{
	bool found = false;

	for (uint32_t i = 0; i < expr->n && !found; i++)
		found = values_same(value, &expr->values[i]);
	return found;
}

/* Applies an operator to known operands of the right kinds. */
static enum eval expr_apply(const struct expr *expr, struct env *env, const struct value *in,
			    struct value *out)
{
	bool ignored;

	switch (expr->kind) {
	case EXPR_ORDER:
		return op_order(expr->op, &in[0], &in[1], out, env);
	case EXPR_ARITH:
		if (in[0].kind == VALUE_STRING && expr->nargs > 1 && in[1].kind == VALUE_STRING)
			return op_join(&in[0], &in[1], env, out);
		return op_arith(expr->op, &in[0], expr->nargs > 1 ? &in[1] : NULL, out, env);
	case EXPR_MAP:
		return op_map(expr->map, &in[0], out, env);
	case EXPR_CONVERT:
		return op_convert(expr->function, &in[0], env, out);
	case EXPR_CAPTURES:
		return op_captures(env, expr->regex, expr->index, &in[0], out, &ignored);
	case EXPR_MATCH:
		if (expr->op == OP_REGEX)
			return op_regex(env, expr->regex, &in[0], &in[1], out);
		*out = value_bool(glob_match(in[1].text, in[1].len, in[0].text, in[0].len, NULL));
		return EVAL_VALUE;
	case EXPR_IN:
		*out = value_bool(is_among(&in[0], expr));
		return EVAL_VALUE;
	case EXPR_EQUAL:
		*out = value_bool(values_same(&in[0], &in[1]) == (expr->op == OP_EQ));
		return EVAL_VALUE;
	default: /* EXPR_SUBSTR, EXPR_SPLIT */
		op_part(expr->function, in, expr->nargs, out);
		return EVAL_VALUE;
	}
}

bool expr_is_strict(const struct expr *expr)
{
	return expr->kind < sizeof strict_takes / sizeof *strict_takes &&
	       strict_takes[expr->kind][0];
}

/* Precedence: the first operand that fails, then a wrong type, then OPEN, then unknown. */
static enum eval eval_strict(const struct expr *expr, struct env *env, struct value *out)
{
	bool open = false, unknown = false, wrong = false;
	struct value in[OPERANDS];

	for (uint32_t i = 0; i < expr->nargs; i++) {
		const struct expr *operand = expr->args[i];
		enum eval result = EVAL_VALUE;

		if (operand->kind == EXPR_CONST)
			in[i] = operand->value;
		else
			result = expr_eval(operand, env, &in[i]);
		if (result == EVAL_FAIL)
			return result;
		if (result == EVAL_OPEN)
			open = true;
		else
			unknown |= unknown_operand(&in[i], takes_of(expr, i), &wrong);
	}
	if (wrong)
		return eval_fail(env, FAILURE_TYPE);
	*out = unknown_value;
	if (open || unknown)
		return open ? EVAL_OPEN : EVAL_VALUE;
	enum eval result = expr_apply(expr, env, in, out);
	if (result == EVAL_FAIL)
		env->lacking = expr->of;
	return result;
}

/* A fast path for comparisons with a constant, as most are. */
static enum eval eval_compared(const struct expr *expr, struct env *env, struct value *out)
{
	const struct value *constant = &expr->args[1]->value;
	enum eval result;

	if (expr->args[1]->kind != EXPR_CONST || constant->kind == VALUE_UNKNOWN)
		return eval_strict(expr, env, out);
	result = expr_eval(expr->args[0], env, out);
	if (result != EVAL_VALUE || out->kind == VALUE_UNKNOWN)
		return result;
	if (expr->kind == EXPR_ORDER)
		return op_order(expr->op, out, constant, out, env);
	*out = value_bool(values_same(out, constant) == (expr->op == OP_EQ));
	return EVAL_VALUE;
}

/* Arithmetic as in C; operands are never open. */
static enum eval eval_wrapped(const struct expr *expr, struct env *env, struct value *out)
{
	struct value in[2] = {{0}, value_s64(0)};

	for (uint32_t i = 0; i < expr->nargs; i++)
		if (expr_eval(expr->args[i], env, &in[i]) != EVAL_VALUE)
			return EVAL_FAIL;
	*out = unknown_value;
	if (in[0].kind == VALUE_UNKNOWN || in[1].kind == VALUE_UNKNOWN)
		return EVAL_VALUE;
	if (in[0].kind != VALUE_INT || in[1].kind != VALUE_INT)
		return eval_fail(env, FAILURE_TYPE);
	op_wrapped(expr->op, &in[0], &in[1], out);
	if (out->kind == VALUE_UNKNOWN)
		env->lacking = expr->of;
	return EVAL_VALUE;
}

static enum eval eval_truth(const struct expr *expr, struct env *env, struct value *out)
{
	enum eval result = expr_eval(expr->args[0], env, out);

	if (result == EVAL_VALUE && out->kind != VALUE_UNKNOWN)
		*out = value_bool(value_is_true(out));
	return result;
}

static enum eval eval_field(const struct expr *expr, struct env *env, struct value *out)
{
	struct field field;
	enum eval result = expr_field(expr, env, &field);

	return result == EVAL_VALUE ? field_value(&field, env, out) : result;
}

static enum eval eval_label(const struct expr *expr, struct env *env, struct value *out)
{
	struct field field;
	uint32_t next = 0;
	const char *label;
	enum eval result = expr_field(expr->args[0], env, &field);

	if (result != EVAL_VALUE)
		return result;
	if (field.class->kind != FIELD_INT)
		return eval_fail(env, FAILURE_TYPE);
	label = field_label(field.class, field.slot.u, &next);
	if (!label)
		return eval_fail(env, FAILURE_MAP);
	*out = value_text(label, strlen(label));
	return EVAL_VALUE;
}

/* has(): has the event the field; is the state or section value known and not none? */
static enum eval eval_has(const struct expr *expr, struct env *env, struct value *out)
{
	const struct expr *left = expr->args[0];
	struct field field;
	enum eval result;

	if (expr_is_field(left)) {
		result = expr_field(left, env, &field);
		if (result == EVAL_OPEN || (result == EVAL_FAIL && env->failure != FAILURE_FIELD))
			return result;
		*out = value_bool(result == EVAL_VALUE);
		return EVAL_VALUE;
	}
	result = expr_eval(left, env, out);
	if (result == EVAL_FAIL && (env->failure == FAILURE_FIELD ||
				    (left->kind == EXPR_LABEL && env->failure == FAILURE_MAP)))
		*out = value_bool(false);
	else if (result != EVAL_VALUE)
		return result;
	else
		*out = value_bool(value_exists(out));
	return EVAL_VALUE;
}

static enum eval eval_least(const struct expr *expr, struct env *env, struct value *out)
{
	enum op op = expr->function == FUNCTION_MIN ? OP_LT : OP_GT;
	bool open = false, unknown = false, wrong = false;
	struct value value, better, best = unknown_value;

	for (uint32_t i = 0; i < expr->nargs; i++) {
		enum eval result = expr_eval(expr->args[i], env, &value);
		if (result == EVAL_FAIL)
			return result;
		if (result == EVAL_OPEN)
			open = true;
		else if (unknown_operand(&value, TAKES_ORDER, &wrong))
			unknown = true;
		else if (wrong)
			return eval_fail(env, FAILURE_TYPE);
		else if (best.kind == VALUE_UNKNOWN)
			best = value;
		else if (op_order(op, &value, &best, &better, env) == EVAL_FAIL)
			return EVAL_FAIL;
		else if (better.b)
			best = value;
	}
	*out = unknown ? unknown_value : best;
	return open ? EVAL_OPEN : EVAL_VALUE;
}

/* Evaluates only the chosen operand. */
static enum eval eval_choose(const struct expr *expr, struct env *env, struct value *out)
{
	switch (expr_logic(expr->args[0], env)) {
	case LOGIC_YES:
		return expr_eval(expr->args[1], env, out);
	case LOGIC_NO:
		return expr_eval(expr->args[2], env, out);
	case LOGIC_UNKNOWN:
		*out = unknown_value;
		return EVAL_VALUE;
	case LOGIC_OPEN:
		return EVAL_OPEN;
	default:
		return EVAL_FAIL;
	}
}

void expr_find_gap(struct env *env)
{
	gaps_at(env->program->gaps, env->event->stream->part, env->event->time, &env->gap);
	env->gap_part = env->event->stream->part;
}

/* Properties of the event or loss besides fields. The caller has set *out to unknown. */
static enum eval eval_place(const struct expr *expr, struct env *env, struct value *out)
{
	const struct event *event = env->event;
	bool inferred = event && event->loss_kind == LOSS_INFERRED;

	if (expr->kind == EXPR_GAP)
		*out = value_bool(expr_gap(env) >> expr->index & 1);
	else if (event && expr->kind == EXPR_TIME)
		*out = value_s64(event->time);
	else if (event && expr->kind == EXPR_STREAM)
		*out = value_text(event->stream->name, strlen(event->stream->name));
	else if (expr->kind == EXPR_CPU && event && event->cpu >= 0)
		*out = value_s64(event->cpu);
	else if (expr->kind == EXPR_LOST_KIND)
		*out = value_bool(event && event->loss_kind == (enum loss_kind)expr->index);
	else if (expr->kind == EXPR_LOST_UNTOLD)
		*out = value_bool(event && event->untold);
	else if (expr->kind == EXPR_LOST_ENDED)
		*out = value_bool(event && event->ended);
	else if (expr->kind == EXPR_LOST_UNTIL && event)
		*out = value_s64(event->until);
	else if (expr->kind == EXPR_LOST_COUNT && event && !event->lost_unknown)
		*out = value_u64(event->lost);
	else if (expr->kind == EXPR_LOST_TOLD && inferred)
		*out = value_s64(event->told);
	else if (expr->kind == EXPR_LOST_CLAIMED && inferred)
		*out = value_s64(event->claimed);
	return EVAL_VALUE;
}

enum eval expr_eval(const struct expr *expr, struct env *env, struct value *out)
{
	if (expr->kind == EXPR_FIELD && expr_int_field(expr, env, out))
		return EVAL_VALUE;
	*out = expr->value; /* the constant, else unknown */
	switch (expr->kind) {
	case EXPR_CONST:
		return EVAL_VALUE;
	case EXPR_FAIL:
		env->lacking = expr->of;
		return eval_fail(env, expr->failure);
	case EXPR_FIELD:
	case EXPR_FIELD_PACKET:
	case EXPR_FIELD_GET:
		return eval_field(expr, env, out);
	case EXPR_SECTION:
	case EXPR_SECTION_OWN:
		return eval_section(expr, env, out);
	case EXPR_READ:
		return eval_read(expr, env, out);
	case EXPR_VARIABLE:
		*out = env->variables[expr->index];
		return EVAL_VALUE;
	case EXPR_COLUMN:
		*out = env->row[expr->index];
		return value_is_open(out) ? EVAL_OPEN : EVAL_VALUE;
	case EXPR_HOST:
		*out = env->host(env->arg, expr);
		return EVAL_VALUE;
	case EXPR_NOT:
	case EXPR_AND:
	case EXPR_OR:
		return eval_logic(expr, env, out);
	case EXPR_LABEL:
		return eval_label(expr, env, out);
	case EXPR_HAS:
		return eval_has(expr, env, out);
	case EXPR_TOP:
		return eval_top(expr, env, out);
	case EXPR_CHOOSE:
		return eval_choose(expr, env, out);
	case EXPR_LEAST:
		return eval_least(expr, env, out);
	case EXPR_EQUAL:
	case EXPR_ORDER:
		return eval_compared(expr, env, out);
	case EXPR_ARITH:
		return expr->wraps ? eval_wrapped(expr, env, out) : eval_strict(expr, env, out);
	case EXPR_TRUTH:
		return eval_truth(expr, env, out);
	default:
		return expr->kind < EXPR_NOT ? eval_place(expr, env, out)
					     : eval_strict(expr, env, out);
	}
}

/*
 * Will the expression fail? EVAL_VALUE: certainly not, though its value may be open (a path whose
 * keys are known); EVAL_FAIL: yes; EVAL_OPEN: that depends on an open read.
 */
static enum eval expr_check(const struct expr *expr, struct env *env)
{
	struct value value;
	uint32_t attr;
	enum eval left, right;

	switch (expr->kind) {
	case EXPR_READ:
		return path_eval(&expr->path, env, &attr);
	case EXPR_IN:
		return expr_check(expr->args[0], env);
	case EXPR_EQUAL:
		left = expr_check(expr->args[0], env);
		if (left == EVAL_FAIL)
			return left;
		right = expr_check(expr->args[1], env);
		return left == EVAL_OPEN ? left : right;
	case EXPR_HAS:
		if (expr->args[0]->kind == EXPR_READ)
			return expr_check(expr->args[0], env);
		break;
	case EXPR_MAP:
		if (expr->total)
			return expr_check(expr->args[0], env);
		break;
	case EXPR_SECTION:
		return EVAL_VALUE;
	default:
		break;
	}
	return expr_eval(expr, env, &value);
}

/* Like expr_logic(), but evaluates the right side of && unless the left one is NO or failed. */
static enum logic outcome_of(const struct expr *when, struct env *env)
{
	enum logic left, right;

	if (when->kind != EXPR_AND)
		return expr_logic(when, env);
	left = outcome_of(when->args[0], env);
	if (left == LOGIC_NO || left == LOGIC_FAILED)
		return left;
	right = outcome_of(when->args[1], env);
	if (left == LOGIC_YES)
		return right;
	if (right == LOGIC_YES || (left == LOGIC_OPEN && right == LOGIC_OPEN))
		return left;
	return right == LOGIC_OPEN ? LOGIC_UNKNOWN : right; /* not true, whatever the left is */
}

enum eval expr_holds(const struct expr *when, struct env *env)
{
	enum logic outcome = when ? outcome_of(when, env) : LOGIC_YES;

	if (outcome != LOGIC_FAILED)
		env->failure = FAILURE_NONE;
	if (outcome == LOGIC_YES)
		return EVAL_VALUE;
	return outcome == LOGIC_OPEN ? EVAL_OPEN : EVAL_FAIL;
}

/* ---- lines ---- */

enum eval line_gives(const struct line *line, struct env *env, struct value *out)
{
	env->failure = FAILURE_NONE;
	if (out)
		*out = (struct value){.kind = VALUE_NONE};
	if (!line->value)
		return EVAL_VALUE;
	return out ? expr_eval(line->value, env, out) : expr_check(line->value, env);
}

bool line_may_hold(const struct line *line, struct block_head *head, struct env *env,
		   const struct expr **when)
{
	*when = line->when;
	if (!line->head)
		return true;
	if (head->block != line->block)
		head->holds = (int)expr_logic(line->head, env);
	head->block = line->block;
	if (head->holds == LOGIC_YES)
		*when = line->head == line->when ? NULL : line->when->args[1];
	return head->holds != LOGIC_NO;
}

enum eval line_judge(const struct line *line, struct env *env, struct value *out)
{
	enum eval holds = expr_holds(line->when, env), gives;

	if (holds == EVAL_FAIL)
		return EVAL_FAIL;
	/* if the condition is open, only a failure of the right side matters */
	gives = line_gives(line, env, holds == EVAL_VALUE ? out : NULL);
	return gives == EVAL_VALUE ? holds : gives;
}
