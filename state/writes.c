/*
 * writes.c - see writes.h
 *
 * Lines are evaluated in the order in which they are applied: all see the state before the event,
 * so that it makes no difference to them. Plain forms (plain.h) say nothing of failures: where
 * something may fail, an input is not there, and the tree says what failed.
 */
#include "state/writes.h"

#include "engine/base/mem.h"
#include "state/expr.h"
#include "state/plain_internal.h"

#include <string.h>

struct loaded { /* of one event */
	struct value values[PLAIN_INPUTS];
	uint32_t had; /* bit per input: it has a value */
	uint32_t yes; /* bit per test: it holds */
};

void writes_release(struct writes *writes)
{
	mem_free(writes->items);
	mem_free(writes->patterns);
}

static void fail(struct writes *writes, const struct line *line, enum failure why)
{
	if (writes->failures && why != FAILURE_NONE)
		writes->failures[(size_t)line->id * FAILURE_COUNT + why]++;
}

/* FAIL: it does not hold. */
static enum eval condition(struct writes *writes, const struct line *line, struct env *env)
{
	enum failure why = FAILURE_NONE;
	enum truth truth = expr_truth(line->when, env, &why);

	if (truth == TRUTH_NO)
		fail(writes, line, why);
	return truth == TRUTH_YES ? EVAL_VALUE : truth == TRUTH_OPEN ? EVAL_OPEN : EVAL_FAIL;
}

/* Where the condition is open, all that counts is whether the right side fails. */
static enum eval right_side(struct writes *writes, const struct line *line, struct env *env,
			    enum eval condition, struct value *out)
{
	enum failure why = FAILURE_NONE;
	enum eval result = EVAL_VALUE;

	*out = (struct value){.kind = VALUE_NONE};
	if (line->value && condition == EVAL_VALUE)
		result = expr_eval(line->value, env, out, &why);
	else if (line->value)
		result = expr_check(line->value, env, &why);
	if (result == EVAL_FAIL)
		fail(writes, line, why);
	return result == EVAL_VALUE ? condition : result;
}

enum eval writes_value(struct writes *writes, const struct line *line, struct env *env,
		       struct value *out)
{
	enum eval holds = condition(writes, line, env);

	return holds == EVAL_FAIL ? holds : right_side(writes, line, env, holds, out);
}

static enum eval target(struct writes *writes, const struct line *line, struct env *env,
			struct write *out)
{
	enum failure why = FAILURE_NONE;
	enum eval result;

	out->attr = ATTR_ABSENT;
	if (!verb_buries(line->verb)) {
		result = path_eval(&line->target, env, &out->attr, &why);
		if (result != EVAL_VALUE)
			out->attr = ATTR_ABSENT;
	} else {
		writes->patterns = mem_grow(writes->patterns, writes->npatterns,
					    &writes->patterns_capacity, sizeof *writes->patterns);
		out->pattern = (uint32_t)writes->npatterns;
		result = path_pattern(&line->target, env, &writes->patterns[out->pattern], &why);
		writes->npatterns += result == EVAL_VALUE;
	}
	if (result == EVAL_FAIL)
		fail(writes, line, why);
	return result;
}

/* By the line's tree. False: it does nothing. */
static bool by_tree(struct writes *writes, const struct line *line, struct env *env,
		    struct write *out)
{
	enum eval holds, where, what;

	if (line->flags & LINE_FAILS && !writes->failures)
		return false;
	*out = (struct write){.line = line, .verb = line->verb, .kept = line->flags & LINE_KEPT};
	holds = condition(writes, line, env);
	where = holds == EVAL_FAIL ? holds : target(writes, line, env, out);
	what = where == EVAL_FAIL ? where : right_side(writes, line, env, holds, &out->value);
	out->open = what == EVAL_OPEN || where == EVAL_OPEN;
	return what != EVAL_FAIL;
}

/* ---- what an event gives ---- */

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

static bool load_read(const struct plain_input *input, const struct loaded *event, struct env *env,
		      struct value *out)
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

static bool load_other(const struct plain_input *input, struct env *env, const struct loaded *event,
		       struct value *out)
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

static void load(const struct plain *plain, struct env *env, struct loaded *out)
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

/* ---- lines ---- */

/* Are the line's inputs there? Else the tree is to be asked. */
static inline bool has_inputs(const struct plain_line *line, const struct loaded *event)
{
	return line->is_plain && (event->had & line->needs) == line->needs;
}

/* Its condition. */
static inline bool holds(const struct plain_line *line, const struct loaded *event)
{
	return (event->yes & line->tests) == line->tests;
}

/* The attribute of a line with a key; false: this value is no key. */
static inline bool attr_of(const struct plain_line *line, const struct value *key,
			   struct attrs *attrs, uint32_t *attr)
{
	bool small = key->kind == VALUE_INT && !key->negative;

	*attr = small ? attr_recall(line->keys, key->u) : 0;
	if (*attr)
		return true;
	if (key->kind != VALUE_INT && key->kind != VALUE_STRING && key->kind != VALUE_BOOL)
		return false;
	*attr = path_attr_new(&line->line->target, attrs, key);
	return true;
}

/* By its plain form; false: the tree is to be asked. */
static inline bool by_inputs(const struct plain_line *line, const struct loaded *event,
			     struct attrs *attrs, struct write *out)
{
	out->attr = line->attr;
	if (line->key != PLAIN_NONE && !attr_of(line, &event->values[line->key], attrs, &out->attr))
		return false;
	out->line = line->line;
	out->verb = line->verb;
	out->open = false;
	out->kept = line->kept;
	out->value = *(line->value == PLAIN_NONE ? line->constant : &event->values[line->value]);
	return true;
}

void writes_evaluate(struct writes *writes, const struct class_program *class, struct env *env)
{
	struct attrs *attrs = program_attrs(env->program);
	const struct plain *plain = class->plain;
	struct loaded event;

	writes->count = writes->npatterns = 0;
	if (!plain)
		return;
	if (plain->nlines > writes->capacity) {
		writes->capacity = plain->nlines * 2;
		writes->items = mem_resize(writes->items, writes->capacity, sizeof *writes->items);
	}
	if (writes->by_tree)
		event.had = 0;
	else
		load(plain, env, &event);
	for (uint32_t i = 0; i < plain->nlines; i++) {
		const struct plain_line *line = &plain->lines[i];
		struct write *write = &writes->items[writes->count];
		bool has = !writes->by_tree && has_inputs(line, &event);

		if (has && !holds(line, &event))
			continue;
		writes->count += (has && by_inputs(line, &event, attrs, write)) ||
				 by_tree(writes, line->line, env, write);
	}
}
