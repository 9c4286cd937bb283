/*
 * plain.c - see plain.h
 *
 * Plain forms say nothing of failures: where something may fail, an input is not there, and the
 * tree says what failed.
 */
#include "state/plain.h"

#include "engine/base/arena.h"
#include "engine/layout.h"
#include "state/program_internal.h"

#include <string.h>

enum input_kind { INPUT_INT, INPUT_STRING, INPUT_BYTES, INPUT_CPU, INPUT_READ, INPUT_MAP };

enum { MEMO_BITS = 4, TEST_VALUES = 4 };

struct memo { /* what a map gave for a number */
	bool set;
	uint64_t key;
	struct value result; /* its text is the attribute table's */
};

struct input {
	enum input_kind kind;
	bool is_signed;
	uint8_t of;    /* MAP: input; READ: input that is the key, PLAIN_NONE: there is none */
	uint32_t slot; /* of the event's */
	const struct path *path;
	const struct map_def *map;
	struct memo *memo;
};

struct test { /* an integer is one of these, or is none of them */
	uint8_t input;
	bool negated;
	uint8_t n;
	struct value values[TEST_VALUES];
};

struct integer { /* the inputs that most are: all loaded in one go */
	uint32_t slot;
	uint8_t input;
	bool is_signed;
};

struct plain {
	struct arena *arena;
	const struct event_class *class; /* NULL: not of events */
	struct input inputs[PLAIN_INPUTS];
	struct test tests[PLAIN_TESTS];
	uint32_t ninputs, ntests;
	bool fields;
	struct plain_line *lines;
	uint32_t nlines;
	/* of the inputs: integers, and all others in an order in which each can be loaded */
	struct integer integers[PLAIN_INPUTS];
	uint8_t others[PLAIN_INPUTS];
	uint32_t nintegers, nothers;
	uint32_t integer_bits;
};

/* ---- compiling ---- */

static uint8_t add_input(struct plain *plain, const struct input *input)
{
	for (uint32_t i = 0; i < plain->ninputs; i++) {
		const struct input *other = &plain->inputs[i];
		const struct path *a = input->path, *b = other->path;

		if (other->kind == input->kind && other->of == input->of &&
		    other->slot == input->slot && other->is_signed == input->is_signed &&
		    other->map == input->map && !a == !b &&
		    (!a || (a->shape == b->shape && a->base == b->base)))
			return (uint8_t)i;
	}
	if (plain->ninputs == PLAIN_INPUTS)
		return PLAIN_NONE;
	plain->inputs[plain->ninputs] = *input;
	if (input->map)
		plain->inputs[plain->ninputs].memo =
			arena_array(plain->arena, 1 << MEMO_BITS, sizeof(struct memo));
	return (uint8_t)plain->ninputs++;
}

static uint8_t add_field(struct plain *plain, const struct field_path *path)
{
	const struct field_class *field = path->class;
	struct input input = {.of = PLAIN_NONE, .is_signed = field->is_signed};

	if (path->scope == SCOPE_PACKET_CONTEXT || path->scope == SCOPE_PACKET_HEADER)
		return PLAIN_NONE;
	input.slot = plain->class->slot_base[path->scope] + field->slot;
	if (field->kind == FIELD_INT)
		input.kind = INPUT_INT;
	else if (field->kind == FIELD_STRING)
		input.kind = INPUT_STRING;
	else if ((field->kind == FIELD_ARRAY || field->kind == FIELD_SEQUENCE) &&
		 field->element->kind == FIELD_INT && field->element->is_text &&
		 layout_stride(field->element) == 8)
		input.kind = INPUT_BYTES;
	else
		return PLAIN_NONE;
	plain->fields = true;
	return add_input(plain, &input);
}

static uint8_t input_of(struct plain *plain, const struct expr *expr);

/* The one key of a path that has no other, or none where all is constant. False: it is another. */
static bool key_of(struct plain *plain, const struct path *path, uint8_t *key)
{
	*key = PLAIN_NONE;
	if (path->nbase == path->natoms)
		return true;
	if (path->only_key)
		*key = input_of(plain, path->atoms[path->only_key].expr);
	return *key != PLAIN_NONE;
}

static uint8_t input_of(struct plain *plain, const struct expr *expr)
{
	struct input input = {.of = PLAIN_NONE};

	switch (expr->kind) {
	case EXPR_FIELD:
		return plain->class ? add_field(plain, &expr->field) : PLAIN_NONE;
	case EXPR_SECTION_OWN:
		input.kind = INPUT_CPU;
		return plain->class && expr->index == SECTION_CPU ? add_input(plain, &input)
								  : PLAIN_NONE;
	case EXPR_READ: /* as deep as the rule's keys */
		input.kind = INPUT_READ;
		input.path = &expr->path;
		if (expr->may_view || !key_of(plain, &expr->path, &input.of))
			return PLAIN_NONE;
		return add_input(plain, &input);
	case EXPR_MAP:
		input.kind = INPUT_MAP;
		input.map = expr->map;
		input.of = input_of(plain, expr->left);
		return input.of != PLAIN_NONE ? add_input(plain, &input) : PLAIN_NONE;
	default:
		return PLAIN_NONE;
	}
}

static bool same_test(const struct test *a, const struct test *b)
{
	if (a->input != b->input || a->negated != b->negated || a->n != b->n)
		return false;
	for (uint8_t i = 0; i < a->n; i++)
		if (!value_equal(&a->values[i], &b->values[i]))
			return false;
	return true;
}

static bool add_test(struct plain *plain, const struct test *test, struct plain_line *line)
{
	uint32_t i = 0;

	while (i < plain->ntests && !same_test(&plain->tests[i], test))
		i++;
	if (i == PLAIN_TESTS)
		return false;
	if (i == plain->ntests)
		plain->tests[plain->ntests++] = *test;
	line->tests |= 1u << i;
	line->needs |= 1u << test->input;
	return true;
}

static bool is_number_input(const struct plain *plain, uint8_t input)
{
	return input != PLAIN_NONE &&
	       (plain->inputs[input].kind == INPUT_INT || plain->inputs[input].kind == INPUT_CPU);
}

/* input == constant, input in (constants); negated by != and !. */
static bool compare_test(struct plain *plain, const struct expr *expr, bool negated,
			 struct plain_line *line)
{
	const struct value *values = expr->values;
	struct test test = {.n = (uint8_t)expr->n, .negated = negated};

	if (expr->kind == EXPR_EQUAL) {
		if (expr->right->kind != EXPR_CONST)
			return false;
		values = &expr->right->value;
		test.n = 1;
		test.negated = negated != (expr->op == OP_NE);
	} else if (expr->kind != EXPR_IN || expr->n > TEST_VALUES) {
		return false;
	}
	for (uint8_t i = 0; i < test.n; i++) {
		if (values[i].kind != VALUE_INT)
			return false;
		test.values[i] = values[i];
	}
	test.input = input_of(plain, expr->left);
	return is_number_input(plain, test.input) && add_test(plain, &test, line);
}

static bool add_when(struct plain *plain, const struct expr *when, struct plain_line *line)
{
	if (!when || expr_is_const(when, VALUE_BOOL))
		return !when || when->value.b;
	if (when->kind == EXPR_AND) /* as deep as the rule's brackets */
		return add_when(plain, when->left, line) && add_when(plain, when->right, line);
	if (when->kind == EXPR_NOT)
		return compare_test(plain, when->left, true, line);
	return compare_test(plain, when, false, line);
}

static bool add_value(struct plain *plain, const struct expr *value, struct plain_line *line)
{
	line->value = PLAIN_NONE;
	line->constant = &value->value;
	line->kept =
		value->kind == EXPR_CONST || value->kind == EXPR_READ || value->kind == EXPR_MAP;
	if (value->kind == EXPR_CONST)
		return true;
	line->value = input_of(plain, value);
	if (line->value == PLAIN_NONE)
		return false;
	line->needs |= 1u << line->value;
	return true;
}

static void compile_line(struct plain *plain, const struct line *line, struct plain_line *out)
{
	*out = (struct plain_line){.line = line, .attr = line->target.base};
	if (line->flags & (LINE_SECTION | LINE_FAILS) || line->verb == VERB_DELETE ||
	    line->verb == VERB_UNKNOWN || line->verb == VERB_POP ||
	    !key_of(plain, &line->target, &out->key) || !add_when(plain, line->when, out) ||
	    !add_value(plain, line->value, out))
		return;
	if (out->key != PLAIN_NONE)
		out->needs |= 1u << out->key;
	out->is_plain = true;
}

/* An input stands behind those that it is made of. */
static void sort_inputs(struct plain *plain)
{
	for (uint32_t i = 0; i < plain->ninputs; i++) {
		const struct input *input = &plain->inputs[i];

		if (input->kind != INPUT_INT) {
			plain->others[plain->nothers++] = (uint8_t)i;
			continue;
		}
		plain->integers[plain->nintegers++] =
			(struct integer){input->slot, (uint8_t)i, input->is_signed};
		plain->integer_bits |= 1u << i;
	}
}

const struct plain *plain_new(struct arena *arena, const struct event_class *class,
			      const struct line *lines, uint32_t nlines)
{
	struct plain *plain;

	if (!nlines)
		return NULL;
	plain = arena_alloc(arena, sizeof *plain);
	plain->arena = arena;
	plain->class = class;
	plain->lines = arena_array(arena, nlines, sizeof *plain->lines);
	for (int was = 1; was >= 0; was--)
		for (uint32_t i = 0; i < nlines; i++)
			if ((lines[i].verb == VERB_WAS) == was)
				compile_line(plain, &lines[i], &plain->lines[plain->nlines++]);
	sort_inputs(plain);
	return plain;
}

const struct plain *plain_again(const struct plain *plain, struct arena *arena,
				const struct line *lines, uint32_t nlines)
{
	return plain_new(arena, plain->class, lines, nlines);
}

const struct plain_line *plain_lines(const struct plain *plain, uint32_t *count)
{
	*count = plain->nlines;
	return plain->lines;
}

/* ---- an event ---- */

static bool load_map(const struct input *input, const struct value *key, struct env *env,
		     struct value *out)
{
	enum failure ignored;
	struct memo *memo;

	if (key->kind != VALUE_INT || key->negative)
		return false;
	memo = &input->memo[key->u * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_BITS)];
	if (!memo->set || memo->key != key->u) {
		if (op_map(input->map, key, out, &ignored) != EVAL_VALUE)
			return false;
		attrs_keep(program_attrs(env->program), out);
		*memo = (struct memo){true, key->u, *out};
	}
	*out = memo->result;
	return true;
}

static bool load_read(const struct input *input, const struct plain_event *event, struct env *env,
		      struct value *out)
{
	uint32_t attr = input->path->base;

	if (!env->read ||
	    (input->of != PLAIN_NONE && !plain_attr(input->path, program_attrs(env->program),
						    &event->values[input->of], &attr)))
		return false;
	return env->read(env->arg, attr, out) == EVAL_VALUE;
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
		const struct integer *integer = &plain->integers[i];
		const struct slot *slot = &slots[integer->slot];
		struct value *value = &values[integer->input];

		value->kind = VALUE_INT;
		value->negative = integer->is_signed && slot->s < 0;
		value->u = slot->u;
	}
}

static bool load_other(const struct input *input, struct env *env, const struct plain_event *event,
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

static inline bool test_holds(const struct test *test, const struct value *value)
{
	bool found = false;

	for (uint8_t i = 0; i < test->n; i++)
		found |= value->u == test->values[i].u &&
			 value->negative == test->values[i].negative;
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
		uint8_t i = plain->others[k];
		const struct input *input = &plain->inputs[i];

		if (input->of == PLAIN_NONE || out->had >> input->of & 1)
			out->had |= (uint32_t)load_other(input, env, out, &out->values[i]) << i;
	}
	for (uint32_t i = 0; i < plain->ntests; i++) {
		const struct test *test = &plain->tests[i];

		if (out->had >> test->input & 1)
			out->yes |= (uint32_t)test_holds(test, &out->values[test->input]) << i;
	}
}
