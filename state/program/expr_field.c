/* expr_field.c - fields of the event as values; the first access decodes the event */
#include "state/program/expr.h"

#include <stdio.h>
#include <string.h>

static enum eval text_value(const struct field *field, struct env *env, struct value *out)
{
	struct buf scratch = {0};
	size_t len;
	const uint8_t *bytes = field_bytes(field, &scratch, &len);

	if (len > UINT32_MAX)
		len = UINT32_MAX;
	*out = value_text((const char *)bytes, len);
	if (scratch.data) { /* not byte-aligned: the copy must outlive this call */
		out->text = arena_strndup(env->scratch, (const char *)bytes, len);
		buf_release(&scratch);
	}
	if (!out->text)
		out->text = "";
	return EVAL_VALUE;
}

static enum eval option_value(const struct field *variant, struct env *env, struct value *out)
{
	struct field_iter iter;
	enum eval result = eval_fail(env, FAILURE_FIELD);

	field_iter_begin(&iter, variant);
	if (field_iter_next(&iter)) /* variants in variants: metadata bounds the depth */
		result = field_value(&iter.item, env, out);
	field_iter_end(&iter);
	return result;
}

enum eval field_value(const struct field *field, struct env *env, struct value *out)
{
	switch (field->class->kind) {
	case FIELD_INT:
		*out = field->class->is_signed ? value_s64(field->slot.s)
					       : value_u64(field->slot.u);
		return EVAL_VALUE;
	case FIELD_FLOAT:
		*out = (struct value){.kind = VALUE_FLOAT, .f = field->slot.f};
		return EVAL_VALUE;
	case FIELD_STRING:
		return text_value(field, env, out);
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (field_is_text(field))
			return text_value(field, env, out);
		return eval_fail(env, FAILURE_TYPE);
	case FIELD_VARIANT:
		return option_value(field, env, out);
	case FIELD_STRUCT:
		break;
	}
	return eval_fail(env, FAILURE_TYPE);
}

/* Evaluates the steps to a field; a key becomes the decimal number of an element. */
static enum eval key_names(const struct expr *expr, struct env *env, const char **names,
			   char (*texts)[24])
{
	struct value key;

	for (uint32_t i = 0; i < expr->n; i++) {
		names[i] = expr->names[i].name;
		if (names[i])
			continue;
		enum eval result = expr_eval(expr->names[i].key, env, &key);
		if (result != EVAL_VALUE)
			return result;
		if (key.kind == VALUE_UNKNOWN || key.kind == VALUE_NONE)
			return eval_fail(env, FAILURE_KEY);
		if (key.kind != VALUE_INT)
			return eval_fail(env, FAILURE_TYPE);
		if (key.negative)
			return eval_fail(env, FAILURE_FIELD);
		snprintf(texts[i], sizeof texts[i], "%llu", (unsigned long long)key.u);
		names[i] = texts[i];
	}
	return EVAL_VALUE;
}

static enum eval get_field(const struct expr *expr, struct env *env, struct field *out)
{
	const char *names[PATH_ATOMS];
	char texts[PATH_ATOMS][24];
	enum eval result = key_names(expr, env, names, texts);

	if (result != EVAL_VALUE)
		return result;
	if (!fields_get(env->fields, expr->scopes, names, expr->n, out))
		return eval_fail(env, FAILURE_FIELD);
	return EVAL_VALUE;
}

bool expr_int_field(const struct expr *expr, struct env *env, struct value *out)
{
	const struct field_class *class = expr->field.class;
	const struct slot *slots = env->slots;

	if (class->kind != FIELD_INT)
		return false;
	if (env->fields || (!slots && env_fields(env)))
		slots = env->fields->slots;
	if (!slots)
		return false;
	*out = (struct value){.kind = VALUE_INT, .u = slots[expr->index].u};
	out->negative = class->is_signed && slots[expr->index].s < 0;
	return true;
}

enum eval expr_field(const struct expr *expr, struct env *env, struct field *out)
{
	if (!env_fields(env))
		return eval_fail(env, FAILURE_FIELD);
	if (expr->kind == EXPR_FIELD_GET)
		return get_field(expr, env, out);
	if ((expr->field.scope == SCOPE_PACKET_CONTEXT && !env->fields->packet_context) ||
	    (expr->field.scope == SCOPE_PACKET_HEADER && !env->fields->packet_header))
		return eval_fail(env, FAILURE_FIELD);
	fields_at(env->fields, &expr->field, out);
	return EVAL_VALUE;
}
