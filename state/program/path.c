/* path.c - evaluates paths of lines to attributes, or to patterns while keys are open */
#include "state/program/expr.h"

static enum eval eval_key(const struct expr *expr, struct env *env, struct value *out)
{
	enum eval result = expr_eval(expr, env, out);

	if (result != EVAL_VALUE)
		return result;
	if (out->kind == VALUE_UNKNOWN || out->kind == VALUE_NONE)
		return eval_fail(env, FAILURE_KEY);
	if (out->kind == VALUE_FLOAT)
		return eval_fail(env, FAILURE_TYPE);
	return EVAL_VALUE;
}

/* Also adds it to path->keys. */
uint32_t path_attr_new(const struct path *path, struct attrs *attrs, const struct value *key)
{
	uint32_t attr = path->base;

	for (uint32_t i = path->nbase; i < path->natoms; i++)
		attr = i == path->only_key ? attr_key(attrs, attr, key)
					   : attr_child(attrs, attr, false, &path->atoms[i].value);
	if (value_is_index(key) && key->u < KEYS_MAX)
		number_map_set(path->keys, key->u, attr);
	return attr;
}

enum eval path_eval(const struct path *path, struct env *env, uint32_t *attr)
{
	struct attrs *attrs = program_attrs(env->program);
	bool open = false;
	struct value key;

	*attr = path->base;
	if (path->only_key) {
		enum eval result = eval_key(path->atoms[path->only_key].expr, env, &key);
		if (result == EVAL_VALUE)
			*attr = path_attr(path, attrs, &key);
		return result;
	}
	for (uint32_t i = path->nbase; i < path->natoms; i++) {
		const struct atom *atom = &path->atoms[i];
		enum eval result = EVAL_VALUE;
		key = atom->value;
		if (atom->kind == ATOM_EXPR)
			result = eval_key(atom->expr, env, &key);
		if (result == EVAL_FAIL)
			return result;
		open = open || result == EVAL_OPEN;
		if (!open)
			*attr = attr_child(attrs, *attr, atom->kind != ATOM_NAME, &key);
	}
	return open ? EVAL_OPEN : EVAL_VALUE;
}

static enum eval pattern_atom(const struct atom *atom, struct env *env, struct pattern *out,
			      struct pattern_atom *to)
{
	static const uint8_t kinds[] = {[ATOM_NAME] = PATTERN_NAME,
					[ATOM_KEY] = PATTERN_KEY,
					[ATOM_ANY] = PATTERN_ANY,
					[ATOM_VARIABLE] = PATTERN_ANY};
	enum eval result;

	to->value = atom->value;
	if (atom->kind != ATOM_EXPR) {
		to->kind = kinds[atom->kind];
		out->any |= to->kind == PATTERN_ANY;
		return EVAL_VALUE;
	}
	result = eval_key(atom->expr, env, &to->value);
	to->kind = result == EVAL_OPEN ? PATTERN_OPEN : PATTERN_KEY;
	out->open |= result == EVAL_OPEN;
	if (result == EVAL_VALUE)
		attrs_keep(program_attrs(env->program), &to->value);
	return result;
}

enum eval path_pattern(const struct path *path, struct env *env, struct pattern *out)
{
	struct attrs *attrs = program_attrs(env->program);

	out->natoms = path->natoms;
	out->below = path->below;
	out->open = out->any = false;
	for (uint32_t i = 0; i < path->natoms; i++)
		if (pattern_atom(&path->atoms[i], env, out, &out->atoms[i]) == EVAL_FAIL)
			return EVAL_FAIL;
	if (path->only_key && !out->open && !out->any) {
		out->attr = path_attr(path, attrs, &out->atoms[path->only_key].value);
		return EVAL_VALUE;
	}
	out->attr = out->open || out->any ? ATTR_ABSENT : path->base;
	for (uint32_t i = path->nbase; i < path->natoms && out->attr != ATTR_ABSENT; i++) {
		const struct pattern_atom *atom = &out->atoms[i];
		out->attr = attr_child(attrs, out->attr, atom->kind == PATTERN_KEY, &atom->value);
	}
	return out->open ? EVAL_OPEN : EVAL_VALUE;
}
