/* plain_load.c - see plain_load.h */
#include "state/program/plain_load.h"

#include "state/program/expr.h"

#include <string.h>

/*
 * Stores member by member, as readers load them: copying a whole struct right after storing its
 * parts would stall on store forwarding.
 */
static inline void set_integer(struct value *out, uint64_t u, bool negative)
{
	out->kind = VALUE_INT;
	out->negative = negative;
	out->u = u;
}

static inline void set_text(struct value *out, const char *text, uint64_t len)
{
	out->kind = VALUE_STRING;
	out->negative = false;
	out->len = (uint32_t)len;
	out->text = len ? text : "";
}

/* Applies the map to the key, or takes the memo's result for `number`, which identifies the key. */
static bool plain_load_look_up(const struct plain_input *input, struct memo *memo, uint64_t number,
			       const struct value *key, struct env *env, struct value *out)
{
	if (!memo->set || memo->key != number) {
		if (op_map(input->map, key, out, env) != EVAL_VALUE)
			return false;
		attrs_keep(program_attrs(env->program), out);
		*memo = (struct memo){true, number, *out};
	}
	*out = memo->result;
	return true;
}

/* Loads a map of whether an attribute equals an integer of the event; unknown gives unknown. */
static bool load_map_of_equal(const struct plain_input *input, const struct plain_loaded *event,
			      struct env *env, struct value *out)
{
	const struct value *a = &event->values[input->of], *b = &event->values[input->with];
	struct value key;

	if (!(event->had >> input->with & 1))
		return false;
	if (a->kind == VALUE_UNKNOWN) {
		*out = *a;
		return true;
	}
	key = value_bool(values_same(a, b) != input->unlike);
	return plain_load_look_up(input, &input->memos[key.b], key.b, &key, env, out);
}

static bool load_map(const struct plain_input *input, const struct value *key, struct env *env,
		     struct value *out)
{
	if (!value_is_index(key))
		return false;
	return plain_load_look_up(
		input, &input->memos[key->u * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_BITS)],
		key->u, key, env, out);
}

static bool load_cpu(const struct event *event, struct value *out)
{
	int32_t cpu = event->cpu >= 0 ? event->cpu : event->stream->cpu;

	set_integer(out, (uint64_t)(int64_t)cpu, cpu < 0);
	return cpu >= 0;
}

static void load_integers(const struct plain *plain, const struct slot *slots, struct value *values)
{
	for (uint32_t i = 0; i < plain->nintegers; i++) {
		const struct plain_integer *integer = &plain->integers[i];
		const struct slot *slot = &slots[integer->slot];

		set_integer(&values[integer->input], slot->u, integer->is_signed & (slot->s < 0));
	}
}

static bool load_text_of(const struct plain_input *input, const struct fields *fields,
			 struct value *out)
{
	const struct slot *slot = &fields->slots[input->slot];
	const uint8_t *bytes = slot->bytes;
	uint64_t len = slot->n;

	if (input->kind == INPUT_BYTES) {
		if (slot->at % 8)
			return false;
		bytes = fields->data + slot->at / 8;
		len = strnlen((const char *)bytes, len);
	}
	set_text(out, (const char *)bytes, len);
	return len <= UINT32_MAX;
}

void plain_load_event(const struct plain *plain, struct env *env, struct plain_loaded *out)
{
	const struct slot *slots = env->slots;

	out->had = out->yes = 0;
	if (plain->cpu != PLAIN_NONE)
		out->had |= (uint32_t)load_cpu(env->event, &out->values[plain->cpu]) << plain->cpu;
	if (plain->gap != PLAIN_NONE) {
		set_integer(&out->values[plain->gap], expr_gap(env), false);
		out->had |= 1u << plain->gap;
	}
	for (uint32_t k = 0; k < plain->nsections; k++) {
		const struct plain_input *input = &plain->sections[k];

		out->values[input->i] = section_own(env->program, env->event, input->slot);
		out->had |= 1u << input->i;
	}
	if (!plain->fields)
		return;
	if (env->fields || ((!slots || plain->ntexts) && env_fields(env)))
		slots = env->fields->slots;
	if (!slots)
		return;
	load_integers(plain, slots, out->values);
	out->had |= plain->integer_bits;
	if (!env->fields)
		return;
	for (uint32_t k = 0; k < plain->ntexts; k++) {
		const struct plain_input *input = &plain->texts[k];

		out->had |= (uint32_t)load_text_of(input, env->fields, &out->values[input->i])
			    << input->i;
	}
}

void plain_load_maps(const struct plain *plain, uint32_t wanted, struct env *env,
		     struct plain_loaded *out)
{
	for (uint32_t k = 0; k < plain->nmaps; k++) {
		const struct plain_input *input = &plain->maps[k];

		if (!(wanted >> input->i & out->had >> input->of & 1))
			continue;
		if (input->with == PLAIN_NONE)
			out->had |= (uint32_t)load_map(input, &out->values[input->of], env,
						       &out->values[input->i])
				    << input->i;
		else
			out->had |=
				(uint32_t)load_map_of_equal(input, out, env, &out->values[input->i])
				<< input->i;
	}
}

void plain_load_trees(const struct plain *plain, uint32_t wanted, struct env *env,
		      struct plain_loaded *out)
{
	for (uint32_t k = 0; k < plain->ntrees; k++) {
		const struct plain_input *input = &plain->trees[k];

		if (wanted >> input->i & 1 &&
		    expr_eval(input->tree, env, &out->values[input->i]) == EVAL_VALUE)
			out->had |= 1u << input->i;
	}
}
