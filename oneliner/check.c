/*
 * check.c - checks types, and whether the program depends on the order of events
 *
 * A program is checked once after parsing, and again when bound to a trace: then the types of
 * fields are known. First, statements that assign to maps tell the kind of each map.
 */
#include "oneliner/format.h"
#include "oneliner/tree.h"
#include "state/expr/regex.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct checker {
	struct oneliner *program;
	struct error *err;
	bool in_events; /* in a probe on events, not in BEGIN, END or interval */
	bool failed;
};

__attribute__((format(printf, 3, 4))) static void fail(struct checker *checker,
						       const struct ast *node, const char *fmt, ...)
{
	va_list args;

	if (checker->failed)
		return;
	va_start(args, fmt);
	oneliner_error_args(checker->program, node->at, checker->err, fmt, args);
	va_end(args);
	checker->failed = true;
}

static const char *type_name(enum type type)
{
	return type == TYPE_NUMBER ? "a number" : type == TYPE_TEXT ? "a text" : "no value";
}

static bool check_fits(enum type type, enum type wanted)
{
	return type == wanted || type == TYPE_ANY || wanted == TYPE_ANY;
}

static void check_expr(struct checker *checker, struct ast *node);

static void want(struct checker *checker, const struct ast *node, enum type wanted,
		 const char *what)
{
	if (!check_fits(node->type, wanted) || node->type == TYPE_NONE)
		fail(checker, node, "%s: expected %s, found %s", what,
		     wanted == TYPE_ANY ? "a value" : type_name(wanted), type_name(node->type));
}

static void check_as(struct checker *checker, struct ast *node, enum type wanted, const char *what)
{
	check_expr(checker, node);
	want(checker, node, wanted, what);
}

/* ---- maps ---- */

static struct map_use *map_of(struct checker *checker, const struct ast *node)
{
	return &checker->program->maps[node->index];
}

/* Checks number and types of a map's keys against its first use in the text. */
static void check_keys(struct checker *checker, const struct ast *node, struct ast **keys,
		       uint32_t nkeys)
{
	struct map_use *map = map_of(checker, node);

	for (uint32_t i = 0; i < nkeys; i++)
		check_as(checker, keys[i], TYPE_ANY, "key");
	if (!map->is_keyed) {
		map->is_keyed = true;
		map->nkeys = nkeys;
		for (uint32_t i = 0; i < nkeys; i++)
			map->keys[i] = keys[i]->type;
	}
	if (map->nkeys != nkeys) {
		fail(checker, node, "%s has %u key%s elsewhere, here %u", map->name, map->nkeys,
		     map->nkeys == 1 ? "" : "s", nkeys);
		return;
	}
	for (uint32_t i = 0; i < nkeys; i++) {
		if (!check_fits(keys[i]->type, map->keys[i]))
			fail(checker, keys[i], "key %u of %s is %s elsewhere, here %s", i + 1,
			     map->name, type_name(map->keys[i]), type_name(keys[i]->type));
		if (map->keys[i] == TYPE_ANY)
			map->keys[i] = keys[i]->type;
	}
}

static bool is_plain_argument(enum function function)
{
	return function == FUNCTION_PRINT || function == FUNCTION_CLEAR ||
	       function == FUNCTION_ZERO || function == FUNCTION_DELETE ||
	       function == FUNCTION_LEN || function == FUNCTION_HAS_KEY;
}

/* Checks a read of a map, and sets its type. Of aggregations, only those of one number have any. */
static void check_map_read(struct checker *checker, struct ast *node)
{
	struct map_use *map = map_of(checker, node);
	struct nearest nearest;
	char hint[NEAREST_WORDS_MAX];

	check_keys(checker, node, node->args, node->nargs);
	if (!map->is_known) {
		nearest_begin(&nearest, map->name);
		for (size_t i = 0; i < checker->program->nmaps; i++)
			if (checker->program->maps[i].is_known)
				nearest_offer(&nearest, checker->program->maps[i].name);
		fail(checker, node, "nothing gives %s a value%s%s", map->name,
		     nearest.count ? ": " : "", nearest_hint(&nearest, hint, sizeof hint));
	}
	node->type = map->is_plain ? map->value : function_info(map->aggregate)->type;
	if (map->is_plain && node->type == TYPE_NONE)
		node->type = TYPE_ANY; /* the second round knows it */
	if (!map->is_plain && node->type == TYPE_NONE)
		fail(checker, node, "%s is of %s(): it can be printed and has no value of its own",
		     map->name, function_info(map->aggregate)->name);
	checker->program->in_order |= checker->in_events;
}

static void assigned(struct checker *checker, const struct ast *node, bool plain,
		     enum function aggregate)
{
	static const enum aggregate_kind kinds[] = {
		[FUNCTION_COUNT] = AGGREGATE_COUNT, [FUNCTION_SUM] = AGGREGATE_SUM,
		[FUNCTION_MIN] = AGGREGATE_MIN,     [FUNCTION_MAX] = AGGREGATE_MAX,
		[FUNCTION_AVG] = AGGREGATE_SUM,     [FUNCTION_STATS] = AGGREGATE_SUM,
		[FUNCTION_HIST] = AGGREGATE_LOG2,   [FUNCTION_LHIST] = AGGREGATE_LINEAR};
	struct map_use *map = map_of(checker, node);

	if (map->is_known && (map->is_plain != plain || (!plain && map->aggregate != aggregate)))
		fail(checker, node, "%s is of %s%s elsewhere, here of %s%s", map->name,
		     map->is_plain ? "plain values" : function_info(map->aggregate)->name,
		     map->is_plain ? "" : "()",
		     plain ? "plain values" : function_info(aggregate)->name, plain ? "" : "()");
	map->is_known = true;
	map->is_plain = plain;
	map->aggregate = aggregate;
	map->of.kind = plain ? AGGREGATE_VALUE : kinds[aggregate];
}

/* First pass: finds what gives maps values, here ++ and --. */
static void find_stepped(struct checker *checker, const struct ast *ast)
{
	if (!ast)
		return;
	if (ast->kind == AST_INCREMENT && ast->args[0]->kind == AST_MAP)
		assigned(checker, ast->args[0], true, FUNCTION_COUNT);
	for (uint32_t i = 0; i < ast->nargs; i++)
		find_stepped(checker, ast->args[i]);
}

static void find_maps(struct checker *checker, const struct action *line)
{
	for (; line && !checker->failed; line = line->next) {
		if (line->kind == ACTION_AGGREGATE)
			assigned(checker, line->target, false, line->value->function);
		else if (line->kind == ACTION_ASSIGN && line->target->kind == AST_MAP)
			assigned(checker, line->target, true, FUNCTION_COUNT);
		find_stepped(checker, line->target);
		find_stepped(checker, line->value);
		find_maps(checker, line->block);
		find_maps(checker, line->otherwise);
	}
}

/* ---- calls ---- */

static bool constant(const struct ast *node, int64_t *out)
{
	const struct value *value = &node->value;

	*out = (int64_t)value->u;
	return node->kind == AST_CONST && value->kind == VALUE_INT && value->negative == (*out < 0);
}

static void check_hist(struct checker *checker, struct ast *node, struct map_use *map)
{
	struct aggregate *of = &map->of;
	int64_t bits = 0;

	if (node->nargs == 2 && (!constant(node->args[1], &bits) || bits < 0 || bits > 5))
		fail(checker, node->args[1], "hist(): its second value is a number from 0 to 5");
	if (of->step && of->bits != bits)
		fail(checker, node, "%s has another hist() elsewhere", map->name);
	of->bits = (unsigned)bits;
	of->step = 1; /* marks `bits` as set */
}

enum { LHIST_BUCKETS_MAX = 1000 };

static void check_lhist(struct checker *checker, struct ast *node, struct map_use *map)
{
	struct aggregate *of = &map->of;
	int64_t low, high, step;

	if (!constant(node->args[1], &low) || !constant(node->args[2], &high) ||
	    !constant(node->args[3], &step)) {
		fail(checker, node, "lhist(): least, greatest and step are plain numbers");
		return;
	}
	__int128 span = (__int128)high - low;
	if (span <= 0 || step <= 0 || span / step < 1 || span / step > LHIST_BUCKETS_MAX)
		fail(checker, node, "lhist(): from 1 to %d steps lie between least and greatest",
		     LHIST_BUCKETS_MAX);
	if (of->step && (of->low != low || of->high != high || of->step != step))
		fail(checker, node, "%s has another lhist() elsewhere", map->name);
	of->low = low;
	of->high = high;
	of->step = step;
}

static void check_aggregate(struct checker *checker, const struct action *line)
{
	struct ast *target = line->target, *call = line->value;
	struct map_use *map = map_of(checker, target);
	const struct function_info *info = function_info(call->function);

	check_keys(checker, target, target->args, target->nargs);
	if (call->nargs < info->least || call->nargs > info->most) {
		fail(checker, call, "%s() takes %u value%s", info->name, info->least,
		     info->least == 1 ? "" : "s");
		return;
	}
	for (uint32_t i = 0; i < call->nargs; i++)
		check_as(checker, call->args[i], TYPE_NUMBER, info->name);
	if (call->function == FUNCTION_HIST)
		check_hist(checker, call, map);
	else if (call->function == FUNCTION_LHIST)
		check_lhist(checker, call, map);
}

static void check_printf(struct checker *checker, struct ast *node)
{
	struct print_format *format;
	uint32_t value = 1;

	if (!ast_is_text(node->args[0])) {
		fail(checker, node->args[0], "printf: its format is a text in quotes");
		return;
	}
	if (!format_read(checker->program, node->args[0], &format, checker->err)) {
		checker->failed = true;
		return;
	}
	node->format = format;
	if (format->nvalues != node->nargs - 1) {
		fail(checker, node,
		     "printf: the format has %u conversion%s, and %u value%s follow%s",
		     format->nvalues, format->nvalues == 1 ? "" : "s", node->nargs - 1,
		     node->nargs == 2 ? "" : "s", node->nargs == 2 ? "s" : "");
		return;
	}
	for (uint32_t i = 0; i < format->npieces; i++) {
		if (!format->pieces[i].conversion)
			continue;
		check_as(checker, node->args[value++],
			 format->pieces[i].conversion == 's' ? TYPE_ANY : TYPE_NUMBER, "printf");
	}
}

/* print(@x), print(@x, top, div), print(@x[key]), print(value) */
static void check_print(struct checker *checker, struct ast *node)
{
	struct ast *what = node->args[0];
	int64_t number;

	if (what->kind == AST_MAP && !map_of(checker, what)->is_known)
		check_map_read(checker, what); /* says so */
	else if (what->kind == AST_MAP && what->nargs)
		check_keys(checker, what, what->args, what->nargs);
	else if (what->kind != AST_MAP)
		check_as(checker, what, TYPE_ANY, "print");
	if (node->nargs > 1 && (what->kind != AST_MAP || what->nargs))
		fail(checker, node->args[1], "print(): a number of rows is for a whole map");
	for (uint32_t i = 1; i < node->nargs; i++)
		if (!constant(node->args[i], &number) || number < 0 || number > INT32_MAX)
			fail(checker, node->args[i], "print(): rows and divisor are plain numbers");
}

/* clear(@x), zero(@x), delete(@x[key]), delete(@x, key), len(@x), has_key(@x, key) */
static void check_of_map(struct checker *checker, struct ast *node)
{
	struct ast *map = node->args[0];
	const char *name = function_info(node->function)->name;
	bool keyed = node->function == FUNCTION_DELETE || node->function == FUNCTION_HAS_KEY;

	if (map->kind != AST_MAP) {
		fail(checker, map, "%s(): its first value is a map (@name)", name);
		return;
	}
	if (!map_of(checker, map)->is_known)
		check_map_read(checker, map); /* says so */
	if (map->nargs && (!keyed || node->nargs > 1))
		fail(checker, map, "%s(): the map stands without a key here", name);
	else if (map->nargs)
		check_keys(checker, map, map->args, map->nargs);
	else if (keyed)
		check_keys(checker, map, node->args + 1, node->nargs - 1);
}

/* Checks the pattern args[1] of captures() or =~. */
static void check_pattern(struct checker *checker, const struct ast *node)
{
	char why[REGEX_WHY];
	size_t at;
	struct regex *regex = regex_new(&node->args[1]->value, &at, why);

	if (!regex)
		fail(checker, node->args[1], "%s: the pattern is wrong at its character %zu: %s",
		     node->kind == AST_CALL ? "captures()" : "=~", at + 1, why);
	regex_free(regex);
}

static void check_captures(struct checker *checker, struct ast *node)
{
	int64_t group;

	check_as(checker, node->args[0], TYPE_TEXT, "captures");
	if (!ast_is_text(node->args[1])) {
		fail(checker, node->args[1], "captures(): its pattern is a text in quotes");
		return;
	}
	if (node->nargs > 2 &&
	    (!constant(node->args[2], &group) || group < 0 || group > REGEX_GROUP_MAX))
		fail(checker, node->args[2], "captures(): its group is a number from 0 to %d",
		     REGEX_GROUP_MAX);
	check_pattern(checker, node);
}

static bool is_symbol(enum function function)
{
	return function == FUNCTION_KSYM || function == FUNCTION_USYM;
}

static void reads_chain(struct checker *checker, const struct ast *node)
{
	struct oneliner *program = checker->program;

	if (!program->reads_chains)
		program->chain_at = node->at;
	program->reads_chains = true;
}

static void check_values(struct checker *checker, struct ast *node)
{
	const char *name = function_info(node->function)->name;

	if (node->function == FUNCTION_STR) {
		check_expr(checker, node->args[0]);
		if (node->args[0]->type == TYPE_NUMBER)
			fail(checker, node->args[0],
			     "str(): it is a number: the recording has the "
			     "address of the text, not the text");
	}
	for (uint32_t i = 0; i < node->nargs; i++)
		check_as(checker, node->args[i], function_takes(node->function, i), name);
	if ((node->function == FUNCTION_STRFTIME || node->function == FUNCTION_TIME) &&
	    node->nargs && !ast_is_text(node->args[0]))
		fail(checker, node->args[0], "%s(): its format is a text in quotes", name);
	if (node->function == FUNCTION_LABEL && node->args[0]->kind != AST_FIELD)
		fail(checker, node->args[0], "label(): it is of a field");
	if (is_symbol(node->function) && !checker->in_events)
		fail(checker, node, "%s(): there is no event here, in BEGIN, END and interval",
		     name);
	if (node->function == FUNCTION_USYM)
		checker->program->uses_builtin[BUILTIN_PID] = true;
	if (node->function == FUNCTION_KSTACK || node->function == FUNCTION_USTACK ||
	    is_symbol(node->function))
		checker->program->uses_stacks = true;
	if (node->function == FUNCTION_KSTACK || node->function == FUNCTION_USTACK)
		reads_chain(checker, node);
}

static void check_call(struct checker *checker, struct ast *node)
{
	const struct function_info *info = function_info(node->function);

	if (ast_aggregates(node)) {
		fail(checker, node, "%s() can only be assigned to a map: @ = %s()", info->name,
		     info->name);
		return;
	}
	if (node->nargs < info->least || node->nargs > info->most) {
		if (info->most > info->least)
			fail(checker, node, "%s() takes %u to %u values, here are %u", info->name,
			     info->least, info->most, node->nargs);
		else
			fail(checker, node, "%s() takes %u value%s, here are %u", info->name,
			     info->most, info->most == 1 ? "" : "s", node->nargs);
		return;
	}
	node->type = info->type;
	checker->program->in_order |= info->in_order && checker->in_events;
	if (node->function == FUNCTION_PRINTF)
		check_printf(checker, node);
	else if (node->function == FUNCTION_PRINT)
		check_print(checker, node);
	else if (is_plain_argument(node->function))
		check_of_map(checker, node);
	else if (node->function == FUNCTION_CAPTURES)
		check_captures(checker, node);
	else
		check_values(checker, node);
}

/* ---- expressions ---- */

static void check_matches(struct checker *checker, struct ast *node)
{
	check_as(checker, node->args[0], TYPE_TEXT, node->op == OP_GLOB ? "~" : "=~");
	check_as(checker, node->args[1], TYPE_TEXT, node->op == OP_GLOB ? "~" : "=~");
	node->type = TYPE_NUMBER;
	if (node->op == OP_REGEX)
		check_pattern(checker, node);
}

static bool steps(const struct ast *ast)
{
	bool found = ast->kind == AST_INCREMENT;

	for (uint32_t i = 0; i < ast->nargs && !found; i++)
		found = steps(ast->args[i]);
	return found;
}

static void check_in(struct checker *checker, struct ast *node)
{
	if (steps(node->args[0])) /* compile.c evaluates it once per value */
		fail(checker, node->args[0],
		     "in: ++ and -- stand before it in a statement of their own");
	check_as(checker, node->args[0], TYPE_ANY, "in");
	for (uint32_t i = 1; i < node->nargs; i++)
		check_as(checker, node->args[i], node->args[0]->type, "in");
	node->type = TYPE_NUMBER;
}

static void check_binary(struct checker *checker, struct ast *node)
{
	struct ast *a = node->args[0], *b = node->args[1];
	bool compares = op_compares(node->op);

	check_as(checker, a, TYPE_ANY, "operator");
	check_as(checker, b, TYPE_ANY, "operator");
	node->type = TYPE_NUMBER;
	if (node->op == OP_AND || node->op == OP_OR)
		return;
	if (compares && !check_fits(a->type, b->type))
		fail(checker, node, "%s is compared with %s", type_name(a->type),
		     type_name(b->type));
	if (!compares && (!check_fits(a->type, TYPE_NUMBER) || !check_fits(b->type, TYPE_NUMBER)))
		fail(checker, node, "the operator is for numbers, and one side is a text");
}

static void check_builtin(struct checker *checker, struct ast *node)
{
	enum builtin builtin = (enum builtin)node->index;
	bool stack = builtin == BUILTIN_KSTACK || builtin == BUILTIN_USTACK;

	node->type = stack || builtin == BUILTIN_COMM || builtin == BUILTIN_PROBE ||
				     builtin == BUILTIN_NAME || builtin == BUILTIN_STREAM
			     ? TYPE_TEXT
			     : TYPE_NUMBER;
	if (!checker->in_events && builtin != BUILTIN_NSECS && builtin != BUILTIN_TS &&
	    builtin != BUILTIN_ELAPSED)
		fail(checker, node, "there is no event here, in BEGIN, END and interval");
	checker->program->uses_stacks |= stack;
	if (stack)
		reads_chain(checker, node);
}

static void check_variable(struct checker *checker, struct ast *node)
{
	enum type *type = &checker->program->variable_types[node->index];

	node->type = *type;
	if (*type == TYPE_NONE)
		fail(checker, node, "%s has no value yet",
		     checker->program->variables[node->index]);
}

static void check_increment(struct checker *checker, struct ast *node)
{
	struct ast *target = node->args[0];

	node->type = TYPE_NUMBER;
	if (target->kind == AST_VARIABLE) {
		check_variable(checker, target);
		want(checker, target, TYPE_NUMBER, node->op == OP_ADD ? "++" : "--");
		return;
	}
	struct map_use *map = map_of(checker, target);
	check_keys(checker, target, target->args, target->nargs);
	if (!check_fits(map->value, TYPE_NUMBER) && map->value != TYPE_NONE)
		fail(checker, target, "%s has texts elsewhere", map->name);
	map->value = TYPE_NUMBER;
	checker->program->in_order |= node->is_used && checker->in_events;
}

static void check_expr(struct checker *checker, struct ast *node)
{
	switch (node->kind) {
	case AST_CONST:
		node->type = ast_is_text(node) ? TYPE_TEXT : TYPE_NUMBER;
		break;
	case AST_BUILTIN:
		check_builtin(checker, node);
		break;
	case AST_FIELD:
	case AST_STATE:
		if (!checker->in_events)
			fail(checker, node, "there is no event here, in BEGIN, END and interval");
		node->type = node->kind == AST_STATE ? TYPE_ANY
						     : checker->program->fields[node->index].type;
		break;
	case AST_VARIABLE:
		check_variable(checker, node);
		break;
	case AST_MAP:
		check_map_read(checker, node);
		break;
	case AST_CAST:
	case AST_UNARY:
		check_as(checker, node->args[0], node->op == OP_NOT ? TYPE_ANY : TYPE_NUMBER,
			 node->kind == AST_CAST ? "cast" : "operator");
		node->type = TYPE_NUMBER;
		break;
	case AST_BINARY:
		if (node->op == OP_GLOB || node->op == OP_REGEX)
			check_matches(checker, node);
		else
			check_binary(checker, node);
		break;
	case AST_IN:
		check_in(checker, node);
		break;
	case AST_CHOICE:
		check_as(checker, node->args[0], TYPE_ANY, "condition");
		check_as(checker, node->args[1], TYPE_ANY, "choice");
		check_as(checker, node->args[2], node->args[1]->type, "choice");
		node->type =
			node->args[1]->type == TYPE_ANY ? node->args[2]->type : node->args[1]->type;
		break;
	case AST_CALL:
		check_call(checker, node);
		break;
	case AST_INCREMENT:
		check_increment(checker, node);
		break;
	default:
		break;
	}
}

/* ---- statements ---- */

static void set_type(struct checker *checker, const struct ast *node, enum type *type,
		     enum type now, const char *name)
{
	if (*type != TYPE_NONE && !check_fits(*type, now))
		fail(checker, node, "%s has %s elsewhere, here %s", name, type_name(*type),
		     type_name(now));
	if (*type == TYPE_NONE || *type == TYPE_ANY)
		*type = now;
}

static void check_assign(struct checker *checker, const struct action *line)
{
	struct oneliner *program = checker->program;
	struct ast *target = line->target, *value = line->value;

	check_as(checker, value, line->op == OP_NONE ? TYPE_ANY : TYPE_NUMBER, "assignment");
	if (target->kind == AST_VARIABLE) {
		if (line->op != OP_NONE)
			check_variable(checker, target);
		set_type(checker, target, &program->variable_types[target->index],
			 line->op == OP_NONE ? value->type : TYPE_NUMBER,
			 program->variables[target->index]);
		return;
	}
	struct map_use *map = map_of(checker, target);
	check_keys(checker, target, target->args, target->nargs);
	set_type(checker, target, &map->value, line->op == OP_NONE ? value->type : TYPE_NUMBER,
		 map->name);
	program->in_order |= checker->in_events && line->op != OP_ADD && line->op != OP_SUB;
}

static void check_alone(struct checker *checker, struct ast *node)
{
	check_expr(checker, node);
	if (node->kind == AST_CALL && function_info(node->function)->use != USE_STATEMENT)
		fail(checker, node, "%s() does nothing alone: its value is not used",
		     function_info(node->function)->name);
}

static void check_block(struct checker *checker, const struct action *line)
{
	for (; line && !checker->failed; line = line->next) {
		switch (line->kind) {
		case ACTION_VALUE:
			check_alone(checker, line->value);
			break;
		case ACTION_ASSIGN:
			check_assign(checker, line);
			break;
		case ACTION_AGGREGATE:
			check_aggregate(checker, line);
			break;
		case ACTION_IF:
			check_as(checker, line->value, TYPE_ANY, "if");
			check_block(checker, line->block);
			check_block(checker, line->otherwise);
			break;
		case ACTION_UNROLL:
			check_block(checker, line->block);
			break;
		case ACTION_RETURN:
			break;
		}
	}
}

static void check_probe(struct checker *checker, struct clause *probe)
{
	struct oneliner *program = checker->program;
	enum probe_kind kind = probe->specs[0].kind;

	for (size_t i = 0; i < probe->nspecs && !checker->failed; i++) {
		const struct spec *spec = &probe->specs[i];
		const struct ast at = {.at = spec->at};
		if ((spec->kind == PROBE_EVENTS) != (kind == PROBE_EVENTS))
			fail(checker, &at,
			     "'%s': events have fields, and it has none: give it a "
			     "block of its own",
			     spec->text);
		program->uses_intervals |= spec->kind == PROBE_INTERVAL;
		program->in_order |= spec->kind == PROBE_INTERVAL;
		if (spec->provider &&
		    !provider_check(program, spec->provider, spec->at, checker->err))
			checker->failed = true;
	}
	checker->in_events = kind == PROBE_EVENTS;
	memset(program->variable_types, 0, (program->nvariables + 1) * sizeof(enum type));
	if (probe->predicate && !checker->failed)
		check_as(checker, probe->predicate, TYPE_ANY, "predicate");
	check_block(checker, probe->block);
}

/* The types of variables and maps are found anew in each call. */
bool oneliner_check(struct oneliner *program, struct error *err)
{
	struct checker checker = {.program = program, .err = err};

	mem_free(program->variable_types);
	program->variable_types = mem_new_array(program->nvariables + 1, sizeof(enum type));
	for (size_t i = 0; i < program->nmaps; i++)
		program->maps[i] =
			(struct map_use){.name = program->maps[i].name, .at = program->maps[i].at};
	program->in_order = program->nstates > 0;
	for (size_t i = 0; i < program->nprobes && !checker.failed; i++) {
		find_stepped(&checker, program->probes[i].predicate);
		find_maps(&checker, program->probes[i].block);
	}
	/* two rounds: a map may be read above the statement that gives it its type */
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < program->nprobes && !checker.failed; i++)
			check_probe(&checker, &program->probes[i]);
	program->in_order |= program->uses_stacks;
	return !checker.failed;
}
