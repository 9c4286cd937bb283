/* statement.c - runs the statements of probes */
#include "oneliner/format.h"
#include "oneliner/runtime.h"

#include "engine/base/mem.h"

#include <string.h>

struct runtime *runtime_new(const struct bound *bound)
{
	const struct oneliner *program = bound->program;
	struct runtime *rt = mem_new(sizeof *rt);

	rt->bound = bound;
	rt->nmaps = program->nmaps;
	rt->maps = mem_new_array(program->nmaps + 1, sizeof *rt->maps);
	for (size_t i = 0; i < program->nmaps; i++)
		map_init(&rt->maps[i], &program->maps[i], &rt->map_bytes);
	rt->variables = mem_new_array(program->nvariables + 1, sizeof *rt->variables);
	rt->texts = arena_new();
	rt->env = (struct env){.program = program->exprs,
			       .host = runtime_host,
			       .arg = rt,
			       .regex_room = &rt->regex_room,
			       .scratch = rt->texts};
	rt->time = NSTIME_MIN;
	rt->events = 1;
	return rt;
}

void runtime_free(struct runtime *rt)
{
	if (!rt)
		return;
	maps_free(rt->maps, rt->nmaps);
	mem_free(rt->variables);
	regex_room_free(rt->regex_room);
	buf_release(&rt->line);
	arena_free(rt->texts);
	mem_free(rt);
}

struct map *runtime_take_maps(struct runtime *rt)
{
	struct map *maps = rt->maps;

	for (size_t i = 0; i < rt->nmaps; i++)
		maps[i].groups.all = NULL;
	rt->maps = NULL;
	return maps;
}

bool runtime_is_open(const struct runtime *rt)
{
	return !rt->failed && !rt->exits && !(rt->outlet && rt->outlet->closed);
}

/* ---- maps ---- */

static void aggregate(struct runtime *rt, const struct action *line)
{
	const struct ast *target = line->target, *call = line->value;
	struct map *map = &rt->maps[target->index];
	struct value value = value_s64(0), keys[PROBE_KEYS_MAX];
	struct group *entry;

	if (call->nargs)
		value = eval(rt, call->expr->args[0]);
	if (value.kind != VALUE_INT || !eval_keys(rt, target->expr->args, target->nargs, keys)) {
		runtime_leave_out(rt, rt->events);
		return;
	}
	entry = map_at(map, keys, &rt->error);
	if (entry && call->function == FUNCTION_COUNT)
		entry->totals[0].count += rt->events;
	else if (entry)
		accumulate(&map->use->of, &entry->totals[0], value_integer(&value));
	rt->failed |= !entry;
}

static void assign(struct runtime *rt, const struct action *line)
{
	const struct ast *target = line->target;
	struct value value = eval(rt, line->value->expr), before, keys[PROBE_KEYS_MAX];
	bool is_map = target->kind == AST_MAP;

	if (!is_map) {
		struct value *variable = &rt->variables[target->index];
		*variable = line->op == OP_NONE ? value : operate(line->op, variable, &value);
		return;
	}
	struct map *map = &rt->maps[target->index];
	if (value.kind == VALUE_UNKNOWN ||
	    !eval_keys(rt, target->expr->args, target->nargs, keys)) {
		runtime_leave_out(rt, 1);
		return;
	}
	struct group *entry = map_at(map, keys, &rt->error);
	if (entry && line->op != OP_NONE) {
		before = entry_value(map, entry);
		before = before.kind == VALUE_UNKNOWN ? value_s64(0) : before;
		value = operate(line->op, &before, &value);
		runtime_leave_out(rt, value.kind == VALUE_UNKNOWN);
		value = value.kind == VALUE_UNKNOWN ? before : value;
	}
	rt->failed |= !entry || !entry_set(map, entry, &value, &rt->error);
}

static void delete (struct runtime *rt, const struct expr *call)
{
	const struct expr *target = call->args[0];
	struct map *map = &rt->maps[target->of->index];
	struct value keys[PROBE_KEYS_MAX];

	if (target->nargs ? eval_keys(rt, target->args, target->nargs, keys)
			  : eval_keys(rt, call->args + 1, call->nargs - 1, keys))
		map_delete(map, keys);
	else
		runtime_leave_out(rt, 1);
}

/* ---- output ---- */

static void statement_print(struct runtime *rt, const struct expr *call)
{
	const struct expr *what = call->args[0];
	struct value keys[PROBE_KEYS_MAX];
	uint64_t numbers[2] = {0};

	if (what->kind != EXPR_HOST || what->of->kind != AST_MAP) {
		struct value value = eval(rt, what);
		outlet_value(rt->outlet, &value);
		return;
	}
	struct map *map = &rt->maps[what->of->index];
	for (uint32_t i = 1; i < call->nargs; i++)
		numbers[i - 1] = call->args[i]->value.u;
	if (!what->nargs) {
		outlet_map(rt->outlet, map, numbers[0], numbers[1]);
	} else if (eval_keys(rt, what->args, what->nargs, keys)) {
		const struct group *entry = groups_find(&map->groups, keys);
		if (entry)
			outlet_entry(rt->outlet, map, entry);
	} else {
		runtime_leave_out(rt, 1);
	}
}

static void print_format(struct runtime *rt, const struct expr *call)
{
	struct value values[32];

	for (uint32_t i = 1; i < call->nargs; i++)
		values[i - 1] = eval(rt, call->args[i]);
	buf_clear(&rt->line);
	format_write(call->of->format, values, &rt->line);
	outlet_text(rt->outlet, "printf", &rt->line);
}

static void print_time(struct runtime *rt, const struct expr *call)
{
	const char *format = "%H:%M:%S\n";

	if (call->nargs)
		format = arena_strndup(rt->texts, call->args[0]->value.text,
				       call->args[0]->value.len);
	buf_clear(&rt->line);
	if (rt->time == NSTIME_MIN || !format_time(format, rt->time, rt->utc, &rt->line))
		buf_add_text(&rt->line, "?\n");
	outlet_text(rt->outlet, "time", &rt->line);
}

static void act(struct runtime *rt, const struct expr *call)
{
	switch (call->of->function) {
	case FUNCTION_PRINTF:
		print_format(rt, call);
		break;
	case FUNCTION_PRINT:
		statement_print(rt, call);
		break;
	case FUNCTION_CLEAR:
		map_clear(&rt->maps[call->args[0]->of->index]);
		break;
	case FUNCTION_ZERO:
		map_zero(&rt->maps[call->args[0]->of->index]);
		break;
	case FUNCTION_DELETE:
		delete (rt, call);
		break;
	case FUNCTION_TIME:
		print_time(rt, call);
		break;
	case FUNCTION_EXIT:
		rt->exits = true;
		break;
	default:
		eval(rt, call);
	}
}

/* ---- blocks ---- */

/* False: the probe ends, by `return`, `exit` or an error. */
static bool run_block(struct runtime *rt, const struct action *line)
{
	enum logic holds;

	for (; line; line = line->next) {
		switch (line->kind) {
		case ACTION_AGGREGATE:
			aggregate(rt, line);
			break;
		case ACTION_ASSIGN:
			assign(rt, line);
			break;
		case ACTION_IF:
			holds = eval_condition(rt, line->value->expr);
			if (holds <= LOGIC_YES &&
			    !run_block(rt, holds == LOGIC_YES ? line->block : line->otherwise))
				return false;
			break;
		case ACTION_UNROLL:
			for (uint32_t i = 0; i < line->times; i++)
				if (!run_block(rt, line->block))
					return false;
			break;
		case ACTION_RETURN:
			return false;
		case ACTION_VALUE:
			act(rt, line->value->expr);
			break;
		}
		if (!runtime_is_open(rt))
			return false;
	}
	return true;
}

static void run_probe(struct runtime *rt, const struct clause *probe)
{
	if (probe->predicate && eval_condition(rt, probe->predicate->expr) != LOGIC_YES)
		return;
	if (rt->bound->program->nvariables)
		memset(rt->variables, 0, rt->bound->program->nvariables * sizeof *rt->variables);
	run_block(rt, probe->block);
}

bool runtime_event(struct runtime *rt, const struct run *run, uint32_t entry, uint64_t events)
{
	const struct bound_class *class = rt->bound->classes[run->batch->class_index[entry]];

	if (!class)
		return true;
	rt->has_event = true;
	rt->events = events;
	rt->run = run;
	rt->entry = entry;
	rt->time = run->batch->time[entry];
	rt->class = class;
	rt->decoded = DECODED_NOT;
	rt->has_tid = false;
	for (uint32_t i = 0; i < class->nprobes && runtime_is_open(rt); i++) {
		rt->probe = &class->probes[i];
		run_probe(rt, rt->probe->probe);
	}
	if (arena_used(rt->texts))
		arena_reset(rt->texts);
	rt->has_event = false;
	rt->events = 1;
	return runtime_is_open(rt);
}

bool runtime_plain(struct runtime *rt, const struct clause *probe, nstime t)
{
	rt->time = t;
	run_probe(rt, probe);
	arena_reset(rt->texts);
	return runtime_is_open(rt);
}
