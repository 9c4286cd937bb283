/*
 * plain.c - see plain.h: which lines of a class are plain, and what they ask for
 *
 * What several lines ask for is found once: it is the same input, or the same test.
 */
#include "state/program/plain_internal.h"

#include "engine/base/arena.h"
#include "engine/layout.h"
#include "state/program/internal.h"

#include <string.h>

struct making {
	struct arena *arena;
	const struct event_class *class; /* NULL: not of events */
	struct plain_input inputs[PLAIN_INPUTS];
	struct plain_test tests[PLAIN_TESTS];
	uint8_t ninputs, ntests;
	bool fields;
};

static uint8_t add_input(struct making *making, const struct plain_input *input)
{
	for (uint32_t i = 0; i < making->ninputs; i++) {
		const struct plain_input *other = &making->inputs[i];
		const struct path *a = input->path, *b = other->path;

		if (other->kind == input->kind && other->of == input->of &&
		    other->slot == input->slot && other->is_signed == input->is_signed &&
		    other->map == input->map && other->with == input->with &&
		    other->unlike == input->unlike && !a == !b &&
		    (!a || (a->shape == b->shape && a->base == b->base)))
			return (uint8_t)i;
	}
	if (making->ninputs == PLAIN_INPUTS)
		return PLAIN_NONE;
	making->inputs[making->ninputs] = *input;
	making->inputs[making->ninputs].i = making->ninputs;
	if (input->map)
		making->inputs[making->ninputs].memos =
			arena_array(making->arena, 1 << MEMO_BITS, sizeof(struct memo));
	return making->ninputs++;
}

static uint8_t add_field(struct making *making, const struct field_path *path)
{
	const struct field_class *field = path->class;
	struct plain_input input = {
		.of = PLAIN_NONE, .with = PLAIN_NONE, .is_signed = field->is_signed};

	if (path->scope == SCOPE_PACKET_CONTEXT || path->scope == SCOPE_PACKET_HEADER)
		return PLAIN_NONE;
	input.slot = making->class->slot_base[path->scope] + field->slot;
	if (field->kind == FIELD_INT)
		input.kind = INPUT_INT;
	else if (field->kind == FIELD_STRING)
		input.kind = INPUT_STRING;
	else if ((field->kind == FIELD_ARRAY || field->kind == FIELD_SEQUENCE) &&
		 field->element->kind == FIELD_INT && field->element->is_text && !field->encoding &&
		 layout_stride(field->element) == 8)
		input.kind = INPUT_BYTES;
	else
		return PLAIN_NONE;
	making->fields = true;
	return add_input(making, &input);
}

static uint8_t input_of(struct making *making, const struct expr *expr);

/* The one key of a path that has no other, or none where all is constant. False: it is another. */
static bool key_of(struct making *making, const struct path *path, uint8_t *key)
{
	*key = PLAIN_NONE;
	if (path->nbase == path->natoms)
		return true;
	if (path->only_key)
		*key = input_of(making, path->atoms[path->only_key].expr);
	return *key != PLAIN_NONE;
}

/* Is it loaded before reads of its key, before maps of it? Texts are no keys of either. */
static bool is_early(const struct making *making, uint8_t input)
{
	enum input_kind kind = making->inputs[input].kind;

	return kind == INPUT_INT || kind == INPUT_SECTION || kind == INPUT_CPU ||
	       kind == INPUT_READ;
}

/* A map of a value, or of whether two are equal: an attribute and an integer of the event. */
static uint8_t add_map(struct making *making, const struct expr *expr)
{
	const struct expr *key = expr->left;
	bool compares = key->kind == EXPR_EQUAL;
	struct plain_input input = {.kind = INPUT_MAP, .map = expr->map, .with = PLAIN_NONE};

	input.of = input_of(making, compares ? key->left : key);
	if (input.of == PLAIN_NONE || !is_early(making, input.of))
		return PLAIN_NONE;
	if (compares) {
		input.unlike = key->op == OP_NE;
		input.with =
			key->right->kind == EXPR_FIELD ? input_of(making, key->right) : PLAIN_NONE;
		if (input.with == PLAIN_NONE || making->inputs[input.with].kind != INPUT_INT)
			return PLAIN_NONE;
	}
	return add_input(making, &input);
}

static uint8_t input_of(struct making *making, const struct expr *expr)
{
	struct plain_input input = {.of = PLAIN_NONE, .with = PLAIN_NONE};

	switch (expr->kind) {
	case EXPR_FIELD:
		return making->class ? add_field(making, &expr->field) : PLAIN_NONE;
	case EXPR_SECTION_OWN:
		input.kind = expr->index == SECTION_CPU ? INPUT_CPU : INPUT_SECTION;
		input.slot = expr->index;
		return making->class ? add_input(making, &input) : PLAIN_NONE;
	case EXPR_GAP:
		input.kind = INPUT_GAP;
		return making->class ? add_input(making, &input) : PLAIN_NONE;
	case EXPR_READ: /* as deep as the rule's keys */
		input.kind = INPUT_READ;
		input.path = &expr->path;
		input.keys = expr->path.keys;
		input.base = expr->path.base;
		if (expr->may_view || !key_of(making, &expr->path, &input.of) ||
		    (input.of != PLAIN_NONE && !is_early(making, input.of)))
			return PLAIN_NONE;
		return add_input(making, &input);
	case EXPR_MAP:
		return add_map(making, expr);
	default:
		return PLAIN_NONE;
	}
}

static bool same_test(const struct plain_test *a, const struct plain_test *b)
{
	return a->input == b->input && a->negated == b->negated && a->n == b->n &&
	       !memcmp(a->ranges, b->ranges, sizeof a->ranges);
}

static bool add_test(struct making *making, const struct plain_test *test, struct plain_line *line)
{
	uint32_t i = 0;

	while (i < making->ntests && !same_test(&making->tests[i], test))
		i++;
	if (i == PLAIN_TESTS)
		return false;
	if (i == making->ntests)
		making->tests[making->ntests++] = *test;
	line->tests |= 1u << i;
	line->tested |= 1u << test->input;
	line->needs |= line->tested;
	return true;
}

static bool is_number_input(const struct making *making, uint8_t input)
{
	return input != PLAIN_NONE &&
	       (making->inputs[input].kind == INPUT_INT || making->inputs[input].kind == INPUT_CPU);
}

static bool gap_test(struct making *making, const struct expr *expr, bool negated,
		     struct plain_line *line)
{
	struct plain_test test = {.ranges = {{.low = 1}}, .n = 1, .negated = negated};

	test.input = input_of(making, expr);
	return test.input != PLAIN_NONE && add_test(making, &test, line);
}

/* input == constant, input in (constants); negated by != and !. */
static bool compare_test(struct making *making, const struct expr *expr, bool negated,
			 struct plain_line *line)
{
	const struct value *values = expr->values;
	struct plain_test test = {.negated = negated};
	uint32_t n = expr->n;

	if (expr->kind == EXPR_GAP)
		return gap_test(making, expr, negated, line);
	if (expr->kind == EXPR_EQUAL) {
		if (expr->right->kind != EXPR_CONST)
			return false;
		values = &expr->right->value;
		n = 1;
		test.negated = negated != (expr->op == OP_NE);
	} else if (expr->kind != EXPR_IN || expr->n > TEST_VALUES) {
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		if (values[i].kind != VALUE_INT)
			return false;
	test.input = input_of(making, expr->left);
	if (!is_number_input(making, test.input))
		return false;
	for (uint32_t i = 0; i < n; i++) /* what the input cannot be is left out */
		test.n += range_of_integer(COMPARE_EQ, values[i].u, values[i].negative,
					   making->inputs[test.input].is_signed,
					   &test.ranges[test.n]);
	return add_test(making, &test, line);
}

static bool add_when(struct making *making, const struct expr *when, struct plain_line *line)
{
	if (!when || expr_is_const(when, VALUE_BOOL))
		return !when || when->value.b;
	if (when->kind == EXPR_AND) /* as deep as the rule's brackets */
		return add_when(making, when->left, line) && add_when(making, when->right, line);
	if (when->kind == EXPR_NOT)
		return compare_test(making, when->left, true, line);
	return compare_test(making, when, false, line);
}

static bool add_value(struct making *making, const struct expr *value, struct plain_line *line)
{
	line->value = PLAIN_NONE;
	if (!value) /* pop */
		return true;
	line->constant = value->value;
	line->kept =
		value->kind == EXPR_CONST || value->kind == EXPR_READ || value->kind == EXPR_MAP;
	if (value->kind == EXPR_CONST)
		return true;
	line->value = input_of(making, value);
	if (line->value == PLAIN_NONE)
		return false;
	line->needs |= 1u << line->value;
	return true;
}

static void compile_line(struct making *making, const struct line *line, struct plain_line *out)
{
	*out = (struct plain_line){.line = line,
				   .verb = line->verb,
				   .attr = line->target.base,
				   .keys = line->target.keys};
	if (line->flags & (LINE_SECTION | LINE_FAILS) || verb_buries(line->verb) ||
	    !key_of(making, &line->target, &out->key) ||
	    !add_when(making, line->when, out) || !add_value(making, line->value, out))
		return;
	if (out->key != PLAIN_NONE)
		out->needs |= 1u << out->key;
	out->is_plain = true;
}

static const struct plain_input *keep_kinds(const struct making *making, enum input_kind a,
					    enum input_kind b, uint8_t *count)
{
	struct plain_input *kept;
	uint8_t n = 0;

	for (uint8_t i = 0; i < making->ninputs; i++)
		if (making->inputs[i].kind == a || making->inputs[i].kind == b)
			++*count;
	kept = *count ? arena_array(making->arena, *count, sizeof *kept) : NULL;
	for (uint8_t i = 0; i < making->ninputs; i++)
		if (making->inputs[i].kind == a || making->inputs[i].kind == b)
			kept[n++] = making->inputs[i];
	return kept;
}

static const struct plain_integer *keep_integers(const struct making *making, struct plain *plain)
{
	struct plain_integer *kept;
	uint8_t n = 0;

	for (uint8_t i = 0; i < making->ninputs; i++)
		if (making->inputs[i].kind == INPUT_INT)
			plain->nintegers++;
	kept = plain->nintegers ? arena_array(making->arena, plain->nintegers, sizeof *kept) : NULL;
	for (uint8_t i = 0; i < making->ninputs; i++) {
		const struct plain_input *input = &making->inputs[i];

		if (input->kind != INPUT_INT)
			continue;
		kept[n++] = (struct plain_integer){input->slot, i, input->is_signed};
		plain->integer_bits |= 1u << i;
	}
	return kept;
}

/* By what they are loaded from. */
static void keep_inputs(const struct making *making, struct plain *plain)
{
	plain->cpu = plain->gap = PLAIN_NONE;
	for (uint8_t i = 0; i < making->ninputs; i++) {
		if (making->inputs[i].kind == INPUT_CPU)
			plain->cpu = i;
		if (making->inputs[i].kind == INPUT_GAP)
			plain->gap = i;
	}
	plain->integers = keep_integers(making, plain);
	plain->texts = keep_kinds(making, INPUT_STRING, INPUT_BYTES, &plain->ntexts);
	plain->sections = keep_kinds(making, INPUT_SECTION, INPUT_SECTION, &plain->nsections);
	plain->reads = keep_kinds(making, INPUT_READ, INPUT_READ, &plain->nreads);
	plain->maps = keep_kinds(making, INPUT_MAP, INPUT_MAP, &plain->nmaps);
}

static void keep_tests(const struct making *making, struct plain *plain)
{
	plain->tests =
		arena_copy(making->arena, making->tests, making->ntests, sizeof *plain->tests);
	plain->ntests = making->ntests;
}

static bool chosen(const struct plain_line *line, uint32_t yes)
{
	return (line->tests & yes) == line->tests;
}

static void choose(struct arena *arena, const struct plain *plain, uint32_t yes,
		   struct plain_choice *out)
{
	struct plain_line *lines;
	uint32_t count = 0;

	for (uint32_t i = 0; i < plain->nlines; i++)
		count += chosen(&plain->lines[i], yes);
	if (!count)
		return;
	out->lines = lines = arena_array(arena, count, sizeof *lines);
	for (uint32_t i = 0; i < plain->nlines; i++) {
		const struct plain_line *line = &plain->lines[i];

		if (!chosen(line, yes))
			continue;
		lines[out->count++] = *line;
		out->needs |= line->needs;
		out->nwas += line->verb == VERB_WAS;
		out->keys |= line->key != PLAIN_NONE ? 1u << line->key : 0;
	}
}

static void keep_choices(struct arena *arena, struct plain *plain)
{
	struct plain_choice *choices;

	if (plain->ntests > PLAIN_CHOSEN)
		return;
	for (uint32_t i = 0; i < plain->nlines; i++) {
		const struct plain_line *line = &plain->lines[i];

		if (!line->is_plain || line->verb == VERB_ADD)
			return;
		plain->tested |= line->tested;
	}
	choices = arena_array(arena, (size_t)1 << plain->ntests, sizeof *choices);
	for (uint32_t yes = 0; yes < 1u << plain->ntests; yes++)
		choose(arena, plain, yes, &choices[yes]);
	plain->choices = choices;
}

const struct plain *plain_new(struct arena *arena, const struct event_class *class,
			      const struct line *lines, uint32_t nlines)
{
	struct making making = {.arena = arena, .class = class};
	struct plain_line *kept;
	struct plain *plain;

	if (!nlines)
		return NULL;
	kept = arena_array(arena, nlines, sizeof *kept);
	plain = arena_alloc(arena, sizeof *plain);
	for (int was = 1; was >= 0; was--)
		for (uint32_t i = 0; i < nlines; i++)
			if ((lines[i].verb == VERB_WAS) == was)
				compile_line(&making, &lines[i], &kept[plain->nlines++]);
	plain->class = class;
	plain->lines = kept;
	plain->fields = making.fields;
	keep_inputs(&making, plain);
	keep_tests(&making, plain);
	keep_choices(arena, plain);
	return plain;
}

const struct plain *plain_again(const struct plain *plain, struct arena *arena,
				const struct line *lines, uint32_t nlines)
{
	return plain_new(arena, plain->class, lines, nlines);
}
