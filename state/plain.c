/*
 * plain.c - see plain.h
 *
 * Plain forms say nothing of failures: where something may fail, an input is not there, and the
 * tree says what failed.
 */
#include "state/plain_internal.h"

#include "state/expr.h"

#include <string.h>

static bool load_map(const struct plain_input *input, const struct value *key, struct env *env,
		     struct value *out)
{
	enum failure ignored;
	struct memo *memo;

	if (key->kind != VALUE_INT || key->negative)
		return false;
	memo = &input->memos[key->u * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_BITS)];
	if (!memo->set || memo->key != key->u) {
		if (op_map(input->map, key, out, &ignored) != EVAL_VALUE)
			return false;
		attrs_keep(program_attrs(env->program), out);
		*memo = (struct memo){true, key->u, *out};
	}
	*out = memo->result;
	return true;
}

static bool load_read(const struct plain_input *input, const struct plain_event *event,
		      struct env *env, struct value *out)
{
	uint32_t attr = input->path->base;

	if (input->of != PLAIN_NONE) {
		const struct value *key = &event->values[input->of];

		if (key->kind != VALUE_INT)
			return false;
		attr = path_attr(input->path, program_attrs(env->program), key);
	}
	return env->read && env->read(env->arg, attr, out) == EVAL_VALUE;
}

/* Bytes before the first zero; names of threads take 16. */
static size_t text_length(const uint8_t *bytes, uint64_t most)
{
	size_t i = 0;
	uint64_t word;

	for (; most - i >= sizeof word; i += sizeof word) {
		memcpy(&word, bytes + i, sizeof word);
		word = (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
		if (word)
			return i + (size_t)__builtin_ctzll(word) / 8;
	}
	while (i < most && bytes[i])
		i++;
	return i;
}

static bool load_text(const uint8_t *bytes, uint64_t most, struct value *out)
{
	size_t len = text_length(bytes, most);

	*out = value_text(len ? (const char *)bytes : "", len);
	return len <= UINT32_MAX;
}

static bool load_cpu(const struct event *event, struct value *out)
{
	int32_t cpu = event->cpu >= 0 ? event->cpu : event->stream->cpu;

	*out = value_s64(cpu);
	return cpu >= 0;
}

static void load_integers(const struct plain *plain, const struct slot *slots, struct value *values)
{
	for (uint32_t i = 0; i < plain->nintegers; i++) {
		const struct plain_integer *integer = &plain->integers[i];
		const struct slot *slot = &slots[integer->slot];
		struct value *value = &values[integer->input];

		value->kind = VALUE_INT;
		value->negative = integer->is_signed && slot->s < 0;
		value->u = slot->u;
	}
}

static bool load_other(const struct plain_input *input, struct env *env,
		       const struct plain_event *event, struct value *out)
{
	const struct slot *slot = env->fields ? &env->fields->slots[input->slot] : NULL;

	switch (input->kind) {
	case INPUT_INT: /* is loaded */
		break;
	case INPUT_STRING:
		if (!slot || slot->n > UINT32_MAX)
			return false;
		*out = value_text(slot->n ? (const char *)slot->bytes : "", slot->n);
		return true;
	case INPUT_BYTES:
		return slot && slot->at % 8 == 0 &&
		       load_text(env->fields->data + slot->at / 8, slot->n, out);
	case INPUT_CPU:
		return load_cpu(env->event, out);
	case INPUT_READ:
		return load_read(input, event, env, out);
	case INPUT_MAP:
		return load_map(input, &event->values[input->of], env, out);
	}
	return false;
}

static inline bool test_holds(const struct plain_test *test, const struct value *value)
{
	bool found = false;

	for (uint8_t i = 0; i < test->n; i++)
		found |= value->u == test->values[i] && value->negative == test->negative[i];
	return found != test->negated;
}

void plain_load(const struct plain *plain, struct env *env, struct plain_event *out)
{
	if (plain->fields && !env->fields && env->event && env->decode)
		env->fields = env->decode(env->arg, env->event);
	out->had = out->yes = 0;
	if (env->fields) {
		load_integers(plain, env->fields->slots, out->values);
		out->had = plain->integer_bits;
	}
	for (uint32_t k = 0; k < plain->nothers; k++) {
		const struct plain_input *input = &plain->others[k];

		if (input->of == PLAIN_NONE || out->had >> input->of & 1)
			out->had |= (uint32_t)load_other(input, env, out, &out->values[input->i])
				    << input->i;
	}
	for (uint32_t i = 0; i < plain->ntests; i++) {
		const struct plain_test *test = &plain->tests[i];

		if (out->had >> test->input & 1)
			out->yes |= (uint32_t)test_holds(test, &out->values[test->input]) << i;
	}
}
