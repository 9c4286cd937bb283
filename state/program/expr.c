/*
 * expr.c - expressions against one event and the state before it
 *
 * Three things can come of it: a value (which may be unknown or none), a failure, or OPEN: a read
 * is not decided yet. Failure goes before OPEN where both are certain; OPEN goes before anything
 * that depends on what is open. Logic has three values: unknown is neither true nor false.
 */
#include "state/model/glob.h"
#include "state/program/expr.h"
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
	section_own(env->program, env->event, expr->index, out);
	return EVAL_VALUE;
}

static enum eval read_stored(struct env *env, uint32_t attr, struct value *out)
{
	if (env->read)
		return env->read(env->arg, attr, out);
	*out = unknown_value;
	return EVAL_VALUE;
}

static enum eval eval_read(const struct expr *expr, struct env *env, struct value *out,
			   enum failure *failure)
{
	uint32_t attr = expr->path.base;

	if (expr->path.nbase != expr->path.natoms) {
		enum eval result = path_eval(&expr->path, env, &attr, failure);
		if (result != EVAL_VALUE)
			return result;
	}
	return expr->may_view ? attr_eval(env, attr, out, failure) : read_stored(env, attr, out);
}

/* The path of top(P) or of a read, then P's value. */
static enum eval eval_top(const struct expr *expr, struct env *env, struct value *out,
			  enum failure *failure)
{
	struct value depth;
	uint32_t attr;
	enum eval result = path_eval(&expr->left->path, env, &attr, failure);

	if (result == EVAL_VALUE)
		result = read_stored(env, attr, &depth);
	if (result != EVAL_VALUE)
		return result;
	*out = unknown_value;
	if (depth.kind == VALUE_UNKNOWN)
		return EVAL_VALUE;
	if (depth.kind != VALUE_INT && depth.kind != VALUE_NONE)
		return eval_fail(failure, FAILURE_TYPE);
	out->kind = VALUE_NONE;
	if (depth.kind == VALUE_NONE || depth.negative || !depth.u)
		return EVAL_VALUE;
	return read_stored(env, attr_key(program_attrs(env->program), attr, &depth), out);
}

/* A boolean, or unknown; anything else is a wrong type. */
static enum eval eval_logical(const struct expr *expr, struct env *env, struct value *out,
			      enum failure *failure)
{
	enum eval result = expr_eval(expr, env, out, failure);

	if (result == EVAL_VALUE && out->kind != VALUE_BOOL && out->kind != VALUE_UNKNOWN)
		return eval_fail(failure, FAILURE_TYPE);
	return result;
}

static enum eval eval_not(const struct expr *expr, struct env *env, struct value *out,
			  enum failure *failure)
{
	enum eval result = eval_logical(expr->left, env, out, failure);

	if (result == EVAL_VALUE && out->kind == VALUE_BOOL)
		out->b = !out->b;
	return result;
}

/* && ends at the first false, || at the first true. */
static enum eval eval_and_or(const struct expr *expr, struct env *env, struct value *out,
			     enum failure *failure)
{
	bool end = expr->kind == EXPR_OR;
	struct value left;
	enum eval result = eval_logical(expr->left, env, &left, failure);

	if (result != EVAL_VALUE || (left.kind == VALUE_BOOL && left.b == end)) {
		*out = left;
		return result;
	}
	result = eval_logical(expr->right, env, out, failure);
	if (result != EVAL_VALUE || (out->kind == VALUE_BOOL && out->b == end))
		return result;
	if (left.kind == VALUE_UNKNOWN)
		*out = left;
	return result;
}

/* Both operands: the left one's failure first, OPEN when either is. */
static enum eval eval_both(const struct expr *expr, struct env *env, struct value *left,
			   struct value *right, enum failure *failure)
{
	enum eval result = expr_eval(expr->left, env, left, failure);
	enum eval other;

	if (result == EVAL_FAIL)
		return result;
	other = expr_eval(expr->right, env, right, failure);
	if (other == EVAL_FAIL || result == EVAL_VALUE)
		return other;
	return result;
}

static enum eval eval_equal(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	const struct value *right = &expr->right->value; /* as it mostly is: a constant */
	struct value left, other;
	enum eval result;

	if (expr->right->kind == EXPR_CONST) {
		result = expr_eval(expr->left, env, &left, failure);
	} else {
		result = eval_both(expr, env, &left, &other, failure);
		right = &other;
	}
	if (result != EVAL_VALUE)
		return result;
	if (left.kind == VALUE_UNKNOWN || right->kind == VALUE_UNKNOWN)
		*out = unknown_value;
	else
		*out = value_bool(values_same(&left, right) == (expr->op == OP_EQ));
	return EVAL_VALUE;
}

static enum eval eval_in(const struct expr *expr, struct env *env, struct value *out,
			 enum failure *failure)
{
	struct value left;
	enum eval result = expr_eval(expr->left, env, &left, failure);
	bool found = false;

	if (result != EVAL_VALUE)
		return result;
	*out = unknown_value;
	if (left.kind == VALUE_UNKNOWN)
		return result;
	for (uint32_t i = 0; i < expr->n && !found; i++)
		found = values_same(&left, &expr->values[i]);
	*out = value_bool(found);
	return result;
}

/* Unknown where an operand is; but a known operand of the wrong type fails all the same. */
static bool unknown_operand(const struct value *a, bool (*fits)(const struct value *value),
			    bool *wrong)
{
	if (a->kind == VALUE_UNKNOWN)
		return true;
	if (!fits(a))
		*wrong = true;
	return false;
}

static bool fits_number(const struct value *a)
{
	return a->kind == VALUE_INT || a->kind == VALUE_FLOAT;
}

static bool fits_text(const struct value *a)
{
	return a->kind == VALUE_STRING;
}

static bool fits_order(const struct value *a)
{
	return fits_number(a) || fits_text(a);
}

struct operands {
	struct value left, right; /* `right` of two */
	enum eval result;         /* of both */
};

/*
 * The operands of an operator, one or two, of types that fit. False: in->result is the operator's;
 * where that is EVAL_VALUE, *out is unknown.
 */
static inline bool eval_operands(const struct expr *expr, struct env *env,
				 bool (*fits)(const struct value *value), struct operands *in,
				 struct value *out, enum failure *failure)
{
	bool wrong = false, unknown;

	in->result = expr->right ? eval_both(expr, env, &in->left, &in->right, failure)
				 : expr_eval(expr->left, env, &in->left, failure);
	if (in->result != EVAL_VALUE)
		return false;
	unknown = unknown_operand(&in->left, fits, &wrong);
	if (expr->right)
		unknown = unknown_operand(&in->right, fits, &wrong) || unknown;
	if (wrong)
		in->result = eval_fail(failure, FAILURE_TYPE);
	else
		*out = unknown_value;
	return !wrong && !unknown;
}

static enum eval eval_order(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	struct operands in;

	if (!eval_operands(expr, env, fits_order, &in, out, failure))
		return in.result;
	return op_order(expr->op, &in.left, &in.right, out, failure);
}

static enum eval eval_arith(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	struct operands in;

	if (!eval_operands(expr, env, fits_number, &in, out, failure))
		return in.result;
	return op_arith(expr->op, &in.left, expr->right ? &in.right : NULL, out, failure);
}

static enum eval eval_match(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	struct operands in;

	if (!eval_operands(expr, env, fits_text, &in, out, failure))
		return in.result;
	if (expr->op == OP_REGEX)
		return op_regex(expr->regex, &in.left, &in.right, out, failure);
	*out = value_bool(glob_match(in.right.text, in.right.len, in.left.text, in.left.len, NULL));
	return EVAL_VALUE;
}

static enum eval eval_field(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	struct field field;
	enum eval result = expr_field(expr, env, &field, failure);

	return result == EVAL_VALUE ? field_value(&field, env, out, failure) : result;
}

static enum eval eval_label(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	struct field field;
	uint32_t next = 0;
	const char *label;
	enum eval result = expr_field(expr->left, env, &field, failure);

	if (result != EVAL_VALUE)
		return result;
	if (field.class->kind != FIELD_INT)
		return eval_fail(failure, FAILURE_TYPE);
	label = field_label(field.class, field.slot.u, &next);
	if (!label)
		return eval_fail(failure, FAILURE_MAP);
	*out = value_text(label, strlen(label));
	return EVAL_VALUE;
}

/* Is it there? A field that this event has; state and section values known and not none. */
static enum eval eval_has(const struct expr *expr, struct env *env, struct value *out,
			  enum failure *failure)
{
	const struct expr *left = expr->left;
	struct field field;
	enum eval result;

	if (left->kind == EXPR_FIELD || left->kind == EXPR_FIELD_GET) {
		result = expr_field(left, env, &field, failure);
		if (result == EVAL_OPEN || (result == EVAL_FAIL && *failure != FAILURE_FIELD))
			return result;
		*out = value_bool(result == EVAL_VALUE);
		return EVAL_VALUE;
	}
	result = expr_eval(left, env, out, failure);
	if (result == EVAL_FAIL &&
	    (*failure == FAILURE_FIELD || (left->kind == EXPR_LABEL && *failure == FAILURE_MAP)))
		*out = value_bool(false);
	else if (result != EVAL_VALUE)
		return result;
	else
		*out = value_bool(value_exists(out));
	return EVAL_VALUE;
}

static enum eval eval_map(const struct expr *expr, struct env *env, struct value *out,
			  enum failure *failure)
{
	struct value key;
	enum eval result = expr_eval(expr->left, env, &key, failure);

	*out = unknown_value;
	if (result != EVAL_VALUE || key.kind == VALUE_UNKNOWN)
		return result;
	return op_map(expr->map, &key, out, failure);
}

static enum eval eval_convert(const struct expr *expr, struct env *env, struct value *out,
			      enum failure *failure)
{
	struct value from;
	enum eval result = expr_eval(expr->left, env, &from, failure);

	*out = unknown_value;
	if (result != EVAL_VALUE || from.kind == VALUE_UNKNOWN)
		return result;
	return op_convert(expr->function, &from, env->scratch, out, failure);
}

static enum eval eval_least(const struct expr *expr, struct env *env, struct value *out,
			    enum failure *failure)
{
	enum ast_op op = expr->function == FUNCTION_MIN ? OP_LT : OP_GT;
	bool open = false, unknown = false, wrong = false;
	struct value value, better, best = unknown_value;

	for (uint32_t i = 0; i < expr->n; i++) {
		enum eval result = expr_eval(expr->args[i], env, &value, failure);
		if (result == EVAL_FAIL)
			return result;
		if (result == EVAL_OPEN)
			open = true;
		else if (unknown_operand(&value, fits_order, &wrong))
			unknown = true;
		else if (wrong)
			return eval_fail(failure, FAILURE_TYPE);
		else if (best.kind == VALUE_UNKNOWN)
			best = value;
		else if (op_order(op, &value, &best, &better, failure) == EVAL_FAIL)
			return EVAL_FAIL;
		else if (better.b)
			best = value;
	}
	*out = unknown ? unknown_value : best;
	return open ? EVAL_OPEN : EVAL_VALUE;
}

static bool fits_integer(const struct value *a)
{
	return a->kind == VALUE_INT;
}

/* substr(TEXT, INTEGER[, INTEGER]), split(TEXT, TEXT, INTEGER) */
static enum eval eval_part(const struct expr *expr, struct env *env, struct value *out,
			   enum failure *failure)
{
	uint32_t ntexts = expr->function == FUNCTION_SPLIT ? 2 : 1;
	bool open = false, unknown = false, wrong = false;
	struct value args[3];

	*out = unknown_value;
	for (uint32_t i = 0; i < expr->n; i++) {
		enum eval result = expr_eval(expr->args[i], env, &args[i], failure);
		if (result == EVAL_FAIL)
			return result;
		if (result == EVAL_OPEN)
			open = true;
		else if (unknown_operand(&args[i], i < ntexts ? fits_text : fits_integer, &wrong))
			unknown = true;
		else if (wrong)
			return eval_fail(failure, FAILURE_TYPE);
	}
	*out = unknown_value;
	if (!open && !unknown)
		op_part(expr->function, args, expr->n, out);
	return open ? EVAL_OPEN : EVAL_VALUE;
}

static enum eval eval_captures(const struct expr *expr, struct env *env, struct value *out,
			       enum failure *failure)
{
	struct value text;
	enum eval result = expr_eval(expr->left, env, &text, failure);

	*out = unknown_value;
	if (result != EVAL_VALUE || text.kind == VALUE_UNKNOWN)
		return result;
	if (!fits_text(&text))
		return eval_fail(failure, FAILURE_TYPE);
	return op_captures(expr->regex, expr->index, &text, out, failure);
}

void expr_find_gap(struct env *env)
{
	gaps_at(env->program->gaps, env->event->stream->part, env->event->time, &env->gap);
	env->gap_part = env->event->stream->part;
}

/* What the event says besides fields; *out is unknown, and stays so where there is no event. */
static void eval_place(const struct expr *expr, struct env *env, struct value *out)
{
	const struct event *event = env->event;

	if (expr->kind == EXPR_GAP)
		*out = value_bool(expr_gap(env));
	else if (event && expr->kind == EXPR_TIME)
		*out = value_s64(event->time);
	else if (event && expr->kind == EXPR_STREAM)
		*out = value_text(event->stream->name, strlen(event->stream->name));
	else if (event && event->cpu >= 0)
		*out = value_s64(event->cpu);
}

/* What a loss says; *out likewise. */
static void eval_loss(const struct expr *expr, struct env *env, struct value *out)
{
	const struct event *event = env->event;
	bool inferred = event && event->loss_kind == LOSS_INFERRED;

	if (expr->kind == EXPR_LOST_KIND)
		*out = value_bool(event && event->loss_kind == (enum loss_kind)expr->index);
	else if (expr->kind == EXPR_LOST_UNTIL && event)
		*out = value_s64(event->until);
	else if (expr->kind == EXPR_LOST_COUNT && event && !event->lost_unknown)
		*out = (struct value){.kind = VALUE_INT, .u = event->lost};
	else if (expr->kind == EXPR_LOST_TOLD && inferred)
		*out = value_s64(event->told);
	else if (expr->kind == EXPR_LOST_CLAIMED && inferred)
		*out = value_s64(event->claimed);
}

enum eval expr_eval(const struct expr *expr, struct env *env, struct value *out,
		    enum failure *failure)
{
	if (expr->kind == EXPR_FIELD && expr_int_field(expr, env, out))
		return EVAL_VALUE;
	*out = expr->value; /* constants; unknown otherwise */
	switch (expr->kind) {
	case EXPR_CONST:
		return EVAL_VALUE;
	case EXPR_FAIL:
		return eval_fail(failure, expr->failure);
	case EXPR_FIELD:
	case EXPR_FIELD_GET:
		return eval_field(expr, env, out, failure);
	case EXPR_SECTION:
	case EXPR_SECTION_OWN:
		return eval_section(expr, env, out);
	case EXPR_TIME:
	case EXPR_CPU:
	case EXPR_STREAM:
	case EXPR_GAP:
		eval_place(expr, env, out);
		return EVAL_VALUE;
	case EXPR_LOST_COUNT:
	case EXPR_LOST_CLAIMED:
	case EXPR_LOST_TOLD:
	case EXPR_LOST_KIND:
	case EXPR_LOST_UNTIL:
		eval_loss(expr, env, out);
		return EVAL_VALUE;
	case EXPR_READ:
		return eval_read(expr, env, out, failure);
	case EXPR_VARIABLE:
		*out = env->variables[expr->index];
		return EVAL_VALUE;
	case EXPR_NOT:
		return eval_not(expr, env, out, failure);
	case EXPR_AND:
	case EXPR_OR:
		return eval_and_or(expr, env, out, failure);
	case EXPR_EQUAL:
		return eval_equal(expr, env, out, failure);
	case EXPR_ORDER:
		return eval_order(expr, env, out, failure);
	case EXPR_ARITH:
		return eval_arith(expr, env, out, failure);
	case EXPR_IN:
		return eval_in(expr, env, out, failure);
	case EXPR_MATCH:
		return eval_match(expr, env, out, failure);
	case EXPR_MAP:
		return eval_map(expr, env, out, failure);
	case EXPR_LABEL:
		return eval_label(expr, env, out, failure);
	case EXPR_HAS:
		return eval_has(expr, env, out, failure);
	case EXPR_TOP:
		return eval_top(expr, env, out, failure);
	case EXPR_CONVERT:
		return eval_convert(expr, env, out, failure);
	case EXPR_LEAST:
		return eval_least(expr, env, out, failure);
	case EXPR_PART:
		return eval_part(expr, env, out, failure);
	case EXPR_CAPTURES:
		return eval_captures(expr, env, out, failure);
	}
	return eval_fail(failure, FAILURE_TYPE);
}

enum eval expr_check(const struct expr *expr, struct env *env, enum failure *failure)
{
	struct value value;
	uint32_t attr;
	enum eval left, right;

	switch (expr->kind) {
	case EXPR_READ:
		return path_eval(&expr->path, env, &attr, failure);
	case EXPR_IN:
		return expr_check(expr->left, env, failure);
	case EXPR_EQUAL:
		left = expr_check(expr->left, env, failure);
		if (left == EVAL_FAIL)
			return left;
		right = expr_check(expr->right, env, failure);
		return left == EVAL_OPEN ? left : right;
	case EXPR_HAS:
		if (expr->left->kind == EXPR_READ)
			return expr_check(expr->left, env, failure);
		break;
	case EXPR_MAP:
		if (expr->total)
			return expr_check(expr->left, env, failure);
		break;
	case EXPR_SECTION:
		return EVAL_VALUE;
	default:
		break;
	}
	return expr_eval(expr, env, &value, failure);
}

/* A condition's outcome in full. */
enum outcome { IS_TRUE, IS_FALSE, IS_UNKNOWN, IS_FAILURE, IS_OPEN };

static enum outcome outcome_of(const struct expr *when, struct env *env, enum failure *failure);

static enum outcome outcome_and(const struct expr *when, struct env *env, enum failure *failure)
{
	enum outcome left = outcome_of(when->left, env, failure);
	enum outcome right;

	if (left == IS_FALSE || left == IS_FAILURE)
		return left;
	right = outcome_of(when->right, env, failure);
	if (left == IS_TRUE)
		return right;
	if (right == IS_TRUE)
		return left;
	if (left == IS_OPEN && right == IS_OPEN)
		return IS_OPEN;
	return right == IS_OPEN ? IS_UNKNOWN : right; /* not true, whatever the left one will be */
}

static enum outcome outcome_of(const struct expr *when, struct env *env, enum failure *failure)
{
	struct value value;

	if (when->kind == EXPR_AND)
		return outcome_and(when, env, failure);
	switch (expr_eval(when, env, &value, failure)) {
	case EVAL_OPEN:
		return IS_OPEN;
	case EVAL_FAIL:
		return IS_FAILURE;
	case EVAL_VALUE:
		break;
	}
	if (value.kind == VALUE_BOOL)
		return value.b ? IS_TRUE : IS_FALSE;
	if (value.kind == VALUE_UNKNOWN)
		return IS_UNKNOWN;
	*failure = FAILURE_TYPE;
	return IS_FAILURE;
}

enum truth expr_truth(const struct expr *when, struct env *env, enum failure *failure)
{
	enum outcome outcome = when ? outcome_of(when, env, failure) : IS_TRUE;

	if (outcome != IS_FAILURE)
		*failure = FAILURE_NONE;
	if (outcome == IS_TRUE)
		return TRUTH_YES;
	return outcome == IS_OPEN ? TRUTH_OPEN : TRUTH_NO;
}

/* ---- what would be read ---- */

static bool top_reads(const struct expr *expr, struct env *env,
		      bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	enum failure failure;
	struct value depth;
	uint32_t attr;

	if (path_eval(&expr->left->path, env, &attr, &failure) != EVAL_VALUE)
		return true;
	if (!visit(arg, attr, 0))
		return false;
	if (read_stored(env, attr, &depth) != EVAL_VALUE || depth.kind != VALUE_INT ||
	    depth.negative || !depth.u)
		return true;
	return visit(arg, attr_key(program_attrs(env->program), attr, &depth), 0);
}

static bool read_reads(const struct expr *expr, struct env *env,
		       bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	enum failure failure;
	uint32_t attr;

	if (!path_reads(&expr->path, env, visit, arg))
		return false;
	if (path_eval(&expr->path, env, &attr, &failure) != EVAL_VALUE)
		return true;
	return expr->may_view ? attr_reads(env, attr, visit, arg) : visit(arg, attr, 0);
}

static bool names_read(const struct expr *expr, struct env *env,
		       bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	for (uint32_t i = 0; i < expr->n; i++)
		if (expr->names[i].key && !expr_reads(expr->names[i].key, env, visit, arg))
			return false;
	return true;
}

/* What ends && or || on the left leaves the right unread. */
static bool logic_reads(const struct expr *expr, struct env *env,
			bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	struct value left;
	enum failure failure;
	enum eval result;

	if (!expr_reads(expr->left, env, visit, arg))
		return false;
	result = eval_logical(expr->left, env, &left, &failure);
	if (result == EVAL_FAIL ||
	    (result == EVAL_VALUE && left.kind == VALUE_BOOL && left.b == (expr->kind == EXPR_OR)))
		return true;
	return expr_reads(expr->right, env, visit, arg);
}

bool expr_reads(const struct expr *expr, struct env *env,
		bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	if (!expr)
		return true;
	switch (expr->kind) {
	case EXPR_SECTION:
		return visit(arg, ATTR_ABSENT, expr->index);
	case EXPR_READ:
		return read_reads(expr, env, visit, arg);
	case EXPR_TOP:
		return path_reads(&expr->left->path, env, visit, arg) &&
		       top_reads(expr, env, visit, arg);
	case EXPR_FIELD_GET:
		return names_read(expr, env, visit, arg);
	case EXPR_AND:
	case EXPR_OR:
		return logic_reads(expr, env, visit, arg);
	case EXPR_LEAST:
	case EXPR_PART:
		for (uint32_t i = 0; i < expr->n; i++)
			if (!expr_reads(expr->args[i], env, visit, arg))
				return false;
		return true;
	default:
		return expr_reads(expr->left, env, visit, arg) &&
		       expr_reads(expr->right, env, visit, arg);
	}
}
