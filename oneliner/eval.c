/*
 * eval.c - evaluates what only one-liners have in expressions: maps, variables, casts, calls
 *
 * An expression with an unknown operand is unknown.
 */
#include "oneliner/format.h"
#include "oneliner/runtime.h"
#include "state/model/text_part.h"

#include <string.h>

static const struct value unknown;

/* Fails: the node's pattern takes too many steps on the text of an event. */
static void runtime_fail(struct runtime *rt, const struct ast *node)
{
	if (!rt->failed) {
		oneliner_error(rt->bound->program, node->at, &rt->error,
			       "%s: the pattern takes more than %d steps on the text of an event: "
			       "write a simpler one",
			       node->kind == AST_CALL ? "captures()" : "=~", REGEX_STEPS);
		rt->error.kind = ERR_RANGE; /* ERR_RANGE has one line: drop the excerpt */
		rt->error.lines = false;
		rt->error.text[strcspn(rt->error.text, "\n")] = 0;
	}
	rt->failed = true;
}

bool eval_keys(struct runtime *rt, const struct expr *const *exprs, uint32_t nkeys,
	       struct value *keys)
{
	bool known = true;

	for (uint32_t i = 0; i < nkeys; i++) {
		keys[i] = eval(rt, exprs[i]);
		known &= keys[i].kind != VALUE_UNKNOWN;
	}
	return known;
}

struct value operate(enum op op, const struct value *a, const struct value *b)
{
	struct value out = unknown;

	if (a->kind == VALUE_INT && b->kind == VALUE_INT)
		op_wrapped(op, a, b, &out);
	return out;
}

static struct value cast(struct runtime *rt, const struct expr *expr)
{
	struct value a = eval(rt, expr->args[0]);
	unsigned shift = 64u - expr->of->bits;

	if (a.kind != VALUE_INT)
		return unknown;
	return expr->of->is_signed ? value_s64((int64_t)(a.u << shift) >> shift)
				   : value_u64(a.u << shift >> shift);
}

/* A key that is not there has the value 0, or "". */
static struct value read_map(struct runtime *rt, const struct expr *expr)
{
	const struct map *map = &rt->maps[expr->of->index];
	struct value keys[PROBE_KEYS_MAX], value = unknown;
	const struct group *entry;

	if (!eval_keys(rt, expr->args, expr->nargs, keys))
		return unknown;
	entry = groups_find(&map->groups, keys);
	if (entry)
		value = entry_value(map, entry);
	if (value.kind == VALUE_UNKNOWN)
		return map->use->is_plain && map->use->value == TYPE_TEXT ? value_text("", 0)
									  : value_s64(0);
	if (value.kind == VALUE_STRING)
		value.text = arena_strndup(rt->texts, value.text, value.len);
	return value;
}

/* ++ and -- */
static struct value eval_step(struct runtime *rt, const struct expr *expr)
{
	const struct ast *node = expr->of, *target = node->args[0];
	const struct value one = value_s64(1);
	struct value before, after, keys[PROBE_KEYS_MAX];

	if (target->kind == AST_VARIABLE) {
		before = rt->variables[target->index];
		after = operate(node->op, &before, &one);
		rt->variables[target->index] = after;
		return node->is_prefix ? after : before;
	}
	struct map *map = &rt->maps[target->index];
	if (!eval_keys(rt, expr->args[0]->args, expr->args[0]->nargs, keys))
		return unknown;
	struct group *entry = map_at(map, keys, &rt->error);
	if (!entry) {
		rt->failed = true;
		return unknown;
	}
	before = entry_value(map, entry);
	before = before.kind == VALUE_UNKNOWN ? value_s64(0) : before;
	after = operate(node->op, &before, &one);
	if (!entry_set(map, entry, &after, &rt->error))
		rt->failed = true;
	return node->is_prefix ? after : before;
}

static struct value of_map(struct runtime *rt, const struct expr *expr)
{
	const struct expr *target = expr->args[0];
	const struct map *map = &rt->maps[target->of->index];
	struct value keys[PROBE_KEYS_MAX];

	if (expr->of->function == FUNCTION_LEN)
		return value_u64(map->groups.count);
	if (target->nargs ? !eval_keys(rt, target->args, target->nargs, keys)
			  : !eval_keys(rt, expr->args + 1, expr->nargs - 1, keys))
		return unknown;
	return value_s64(groups_find(&map->groups, keys) != NULL);
}

/* ---- functions of texts that conditions do not have: they borrow parts, and copy none ---- */

static struct value part(const struct value *text, int64_t from, int64_t len)
{
	struct text_part part = text_substr((struct text_part){text->text, text->len}, from, len);

	return value_text(part.text, part.len);
}

static struct value strncmp_call(const struct value *a, const struct value *b, int64_t n)
{
	struct value x = part(a, 0, n), y = part(b, 0, n);

	return value_s64(value_compare(&x, &y));
}

static struct value strftime_call(struct runtime *rt, const struct value *format,
				  const struct value *t)
{
	const char *text = arena_strndup(rt->texts, format->text, format->len);

	buf_clear(&rt->line);
	if (value_integer(t) > INT64_MAX || !format_time(text, (nstime)t->u, rt->utc, &rt->line))
		return unknown;
	return value_text(arena_strndup(rt->texts, rt->line.data, rt->line.len),
			  (uint32_t)rt->line.len);
}

/* The C library's text for an errno, in English. */
static struct value strerror_call(struct runtime *rt, int64_t number)
{
	const char *text = number >= 0 && number <= INT32_MAX ? strerrordesc_np((int)number) : NULL;

	if (!text)
		text = arena_printf(rt->texts, "Unknown error %lld", (long long)number);
	return value_text(text, (uint32_t)strlen(text));
}

static struct value text_call(struct runtime *rt, const struct expr *expr)
{
	enum function function = expr->of->function;
	struct value args[3] = {0};

	for (uint32_t i = 0; i < expr->nargs && i < 3; i++)
		args[i] = eval(rt, expr->args[i]);
	/* check.c has checked the types, but for values of TYPE_ANY */
	for (uint32_t i = 0; i < expr->nargs; i++)
		if (args[i].kind !=
		    (function_takes(function, i) == TYPE_TEXT ? VALUE_STRING : VALUE_INT))
			return unknown;
	switch (function) {
	case FUNCTION_STR:
		/* bpftrace's length counts the zero behind the text */
		return expr->nargs > 1 ? part(&args[0], 0, (int64_t)args[1].u - 1) : args[0];
	case FUNCTION_STRNCMP:
		return strncmp_call(&args[0], &args[1], (int64_t)args[2].u);
	case FUNCTION_STRCONTAINS:
		return value_s64(!args[1].len || memmem(args[0].text, args[0].len, args[1].text,
							args[1].len) != NULL);
	case FUNCTION_STRLEN:
		return value_u64(args[0].len);
	case FUNCTION_STRFTIME:
		return strftime_call(rt, &args[0], &args[1]);
	case FUNCTION_STRERROR:
		return strerror_call(rt, (int64_t)args[0].u);
	default:
		return unknown;
	}
}

static struct value call(struct runtime *rt, const struct expr *expr)
{
	struct value most = value_s64(INT32_MAX);
	enum function function = expr->of->function;

	switch (function) {
	case FUNCTION_LEN:
	case FUNCTION_HAS_KEY:
		return of_map(rt, expr);
	case FUNCTION_HAS:
		most = eval(rt, expr->args[0]);
		return value_s64(most.kind != VALUE_UNKNOWN);
	case FUNCTION_LABEL:
		return event_label(rt, expr->args[0]->of->index);
	case FUNCTION_KSTACK:
	case FUNCTION_USTACK:
		if (expr->nargs)
			most = eval(rt, expr->args[0]);
		return most.kind == VALUE_INT
			       ? event_stack(rt, function == FUNCTION_KSTACK, (int64_t)most.u)
			       : unknown;
	case FUNCTION_KSYM:
	case FUNCTION_USYM:
		return event_symbol(rt, function == FUNCTION_KSYM, eval(rt, expr->args[0]));
	default:
		return text_call(rt, expr);
	}
}

/* Evaluates nodes that have operands. */
static struct value made_value(struct runtime *rt, const struct expr *expr)
{
	switch (expr->n) {
	case AST_MAP:
		return read_map(rt, expr);
	case AST_CAST:
		return cast(rt, expr);
	case AST_CALL:
		return call(rt, expr);
	case AST_INCREMENT:
		return eval_step(rt, expr);
	default:
		return unknown;
	}
}

struct value runtime_host(void *arg, const struct expr *expr)
{
	struct runtime *rt = arg;
	const struct ast *before = rt->env.lacking;
	struct value value;

	rt->env.lacking = NULL;
	switch (expr->n) {
	case AST_BUILTIN:
		value = event_builtin(rt, (enum builtin)expr->index);
		break;
	case AST_FIELD:
		value = event_field(rt, expr->index);
		break;
	case AST_VARIABLE:
		value = rt->variables[expr->index];
		break;
	case AST_STATE:
		value = event_reading(rt, expr->index);
		break;
	default:
		value = made_value(rt, expr);
	}
	if (value.kind != VALUE_UNKNOWN)
		rt->env.lacking = before;
	else if (!rt->env.lacking)
		rt->env.lacking = expr->of; /* its operands are known */
	return value;
}

enum logic eval_condition(struct runtime *rt, const struct expr *expr)
{
	enum failure outer = rt->env.failure;
	enum logic outcome;

	rt->env.lacking = NULL;
	rt->env.failure = FAILURE_NONE;
	outcome = expr_logic(expr, &rt->env);
	if (rt->env.failure == FAILURE_STEPS)
		runtime_fail(rt, rt->env.lacking);
	rt->env.failure = outer;
	runtime_leave_out(rt, outcome > LOGIC_YES);
	return outcome;
}

struct value eval(struct runtime *rt, const struct expr *expr)
{
	const struct ast *before = rt->env.lacking;
	enum failure outer = rt->env.failure;
	struct value value;

	if (expr->kind == EXPR_HOST)
		return runtime_host(rt, expr);
	rt->env.lacking = NULL;
	rt->env.failure = FAILURE_NONE;
	if (expr_eval(expr, &rt->env, &value) != EVAL_VALUE)
		value = unknown;
	if (rt->env.failure == FAILURE_STEPS)
		runtime_fail(rt, rt->env.lacking);
	rt->env.failure = outer;
	if (value.kind != VALUE_UNKNOWN)
		rt->env.lacking = before;
	return value;
}

void runtime_leave_out(struct runtime *rt, uint64_t count)
{
	const struct ast *lacking = rt->env.lacking;

	if (count && lacking && (!rt->lack || lacking->at < rt->lack->at))
		rt->lack = lacking;
	rt->unknown += count;
}
