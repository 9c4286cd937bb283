/* path.c - paths of lines to attributes, and targets as far as their keys are known */
#include "engine/base/varint.h"
#include "state/model/value_bytes.h"
#include "state/program/expr.h"

#include <string.h>

static enum eval eval_key(const struct expr *expr, struct env *env, struct value *out,
			  enum failure *failure)
{
	enum eval result = expr_eval(expr, env, out, failure);

	if (result != EVAL_VALUE)
		return result;
	if (out->kind == VALUE_UNKNOWN || out->kind == VALUE_NONE)
		return eval_fail(failure, FAILURE_KEY);
	if (out->kind == VALUE_FLOAT)
		return eval_fail(failure, FAILURE_TYPE);
	return EVAL_VALUE;
}

/* Also remembered for the next time. */
uint32_t path_attr_new(const struct path *path, struct attrs *attrs, const struct value *key)
{
	uint32_t attr = path->base;

	for (uint32_t i = path->nbase; i < path->natoms; i++)
		attr = i == path->only_key ? attr_key(attrs, attr, key)
					   : attr_name(attrs, attr, path->atoms[i].value.text,
						       path->atoms[i].value.len);
	if (key->kind == VALUE_INT && !key->negative)
		attrs_remember(attrs, path->shape, key->u, attr);
	return attr;
}

enum eval path_eval(const struct path *path, struct env *env, uint32_t *attr, enum failure *failure)
{
	struct attrs *attrs = program_attrs(env->program);
	bool open = false;
	struct value key;

	*attr = path->base;
	if (path->only_key) {
		enum eval result = eval_key(path->atoms[path->only_key].expr, env, &key, failure);
		if (result == EVAL_VALUE)
			*attr = path_attr(path, attrs, &key);
		return result;
	}
	for (uint32_t i = path->nbase; i < path->natoms; i++) {
		const struct atom *atom = &path->atoms[i];
		if (atom->kind == ATOM_NAME) {
			if (!open)
				*attr = attr_name(attrs, *attr, atom->value.text, atom->value.len);
			continue;
		}
		key = atom->value;
		enum eval result = atom->kind == ATOM_EXPR
					   ? eval_key(atom->expr, env, &key, failure)
					   : EVAL_VALUE;
		if (result == EVAL_FAIL)
			return result;
		open = open || result == EVAL_OPEN;
		if (!open)
			*attr = attr_key(attrs, *attr, &key);
	}
	return open ? EVAL_OPEN : EVAL_VALUE;
}

bool path_reads(const struct path *path, struct env *env,
		bool (*visit)(void *arg, uint32_t attr, uint32_t section), void *arg)
{
	for (uint32_t i = path->nbase; i < path->natoms; i++)
		if (path->atoms[i].kind == ATOM_EXPR &&
		    !expr_reads(path->atoms[i].expr, env, visit, arg))
			return false;
	return true;
}

static enum eval pattern_atom(const struct atom *atom, struct env *env, struct pattern *out,
			      struct pattern_atom *to, enum failure *failure)
{
	enum eval result = EVAL_VALUE;

	to->value = atom->value;
	switch (atom->kind) {
	case ATOM_NAME:
		to->kind = PATTERN_NAME;
		break;
	case ATOM_ANY:
	case ATOM_VARIABLE:
		to->kind = PATTERN_ANY;
		out->any = true;
		break;
	case ATOM_KEY:
		to->kind = PATTERN_KEY;
		break;
	case ATOM_EXPR:
		result = eval_key(atom->expr, env, &to->value, failure);
		to->kind = result == EVAL_OPEN ? PATTERN_OPEN : PATTERN_KEY;
		if (result == EVAL_VALUE)
			attrs_keep(program_attrs(env->program), &to->value);
		break;
	}
	out->open = out->open || result == EVAL_OPEN;
	return result;
}

enum eval path_pattern(const struct path *path, struct env *env, struct pattern *out,
		       enum failure *failure)
{
	struct attrs *attrs = program_attrs(env->program);

	out->natoms = path->natoms;
	out->below = path->below;
	out->open = out->any = false;
	for (uint32_t i = 0; i < path->natoms; i++)
		if (pattern_atom(&path->atoms[i], env, out, &out->atoms[i], failure) == EVAL_FAIL)
			return EVAL_FAIL;
	if (path->only_key && !out->open && !out->any) {
		out->attr = path_attr(path, attrs, &out->atoms[path->only_key].value);
		return EVAL_VALUE;
	}
	out->attr = out->open || out->any ? ATTR_ABSENT : path->base;
	for (uint32_t i = path->nbase; i < path->natoms && out->attr != ATTR_ABSENT; i++) {
		const struct pattern_atom *atom = &out->atoms[i];
		out->attr = atom->kind == PATTERN_NAME
				    ? attr_name(attrs, out->attr, atom->value.text, atom->value.len)
				    : attr_key(attrs, out->attr, &atom->value);
	}
	return out->open ? EVAL_OPEN : EVAL_VALUE;
}

enum cover pattern_covers(const struct pattern *pattern, const struct attrs *attrs, uint32_t attr,
			  bool subtree)
{
	uint32_t depth = attr_depth(attrs, attr);
	bool maybe = false;

	if (subtree ? depth < pattern->natoms + pattern->below : depth != pattern->natoms)
		return COVER_NO;
	for (; depth > pattern->natoms; depth--)
		attr = attr_parent(attrs, attr);
	for (uint32_t i = pattern->natoms; i-- > 0; attr = attr_parent(attrs, attr)) {
		const struct pattern_atom *atom = &pattern->atoms[i];
		if (attr_is_key(attrs, attr) == (atom->kind == PATTERN_NAME))
			return COVER_NO;
		if (atom->kind == PATTERN_OPEN)
			maybe = true;
		else if (atom->kind != PATTERN_ANY &&
			 !value_equal(&atom->value, attr_atom(attrs, attr)))
			return COVER_NO;
	}
	return maybe ? COVER_MAYBE : COVER_YES;
}

bool pattern_equal(const struct pattern *a, const struct pattern *b)
{
	if (a->natoms != b->natoms || a->below != b->below)
		return false;
	for (uint32_t i = 0; i < a->natoms; i++)
		if (a->atoms[i].kind != b->atoms[i].kind ||
		    (a->atoms[i].kind != PATTERN_ANY &&
		     !value_equal(&a->atoms[i].value, &b->atoms[i].value)))
			return false;
	return true;
}

void pattern_write(struct buf *out, const struct pattern *pattern)
{
	buf_add_varint(out, pattern->natoms);
	for (uint32_t i = 0; i < pattern->natoms; i++) {
		buf_add_varint(out, pattern->atoms[i].kind);
		if (pattern->atoms[i].kind != PATTERN_ANY)
			value_write(out, &pattern->atoms[i].value);
	}
}

const uint8_t *pattern_read(const uint8_t *at, const uint8_t *end, struct attrs *attrs,
			    struct pattern *out)
{
	uint64_t natoms, kind;

	*out = (struct pattern){.any = true, .attr = ATTR_ABSENT};
	at = varint_get(at, end, &natoms);
	if (!at || natoms > PATH_ATOMS)
		return NULL;
	out->natoms = (uint32_t)natoms;
	for (uint32_t i = 0; i < natoms; i++) {
		at = varint_get(at, end, &kind);
		if (!at || kind > PATTERN_ANY)
			return NULL;
		out->atoms[i].kind = kind == PATTERN_NAME  ? PATTERN_NAME
				     : kind == PATTERN_KEY ? PATTERN_KEY
							   : PATTERN_ANY;
		if (kind != PATTERN_ANY)
			at = value_read(at, end, attrs, &out->atoms[i].value);
		if (!at)
			return NULL;
	}
	return at;
}
