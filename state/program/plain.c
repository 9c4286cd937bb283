/*
 * plain.c - see plain.h: finds the plain lines of a class, and their inputs and tests
 *
 * Lines share equal inputs and tests.
 */
#include "engine/base/mem.h"
#include "engine/layout.h"
#include "state/program/column_test.h"
#include "state/program/internal.h"
#include "state/program/plain_load.h"

#include <string.h>

struct plain_builder {
	struct arena *arena;
	struct plain_input inputs[PLAIN_INPUTS];
	struct plain_test tests[PLAIN_CHOSEN];
	uint8_t ninputs, ntests;
	bool fields;
};

static uint8_t add_input(struct plain_builder *making, const struct plain_input *input)
{
	for (uint32_t i = 0; i < making->ninputs; i++) {
		const struct plain_input *other = &making->inputs[i];
		const struct path *a = input->path, *b = other->path;

		if (other->kind == input->kind && other->of == input->of &&
		    other->slot == input->slot && other->is_signed == input->is_signed &&
		    other->map == input->map && other->with == input->with &&
		    other->unlike == input->unlike && other->tree == input->tree && !a == !b &&
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

static uint8_t add_field(struct plain_builder *making, const struct expr *expr)
{
	const struct field_class *field = expr->field.class;
	struct plain_input input = {.of = PLAIN_NONE,
				    .with = PLAIN_NONE,
				    .is_signed = field->is_signed,
				    .slot = expr->index};

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

static uint8_t input_of(struct plain_builder *making, const struct expr *expr);

/* Finds the input of a path's only key; PLAIN_NONE if all keys are constant. False: neither. */
static bool plain_key_of(struct plain_builder *making, const struct path *path, uint8_t *key)
{
	*key = PLAIN_NONE;
	if (path->nbase == path->natoms)
		return true;
	if (path->only_key)
		*key = input_of(making, path->atoms[path->only_key].expr);
	return *key != PLAIN_NONE;
}

/* May reads and maps use the input as key? It is loaded before them and is no text of the event. */
static bool is_early(const struct plain_builder *making, uint8_t input)
{
	enum input_kind kind = making->inputs[input].kind;

	return kind == INPUT_INT || kind == INPUT_SECTION || kind == INPUT_CPU ||
	       kind == INPUT_READ;
}

/* Adds a map of an input, or of whether an input equals an integer of the event. */
static uint8_t add_map(struct plain_builder *making, const struct expr *expr)
{
	const struct expr *key = expr->args[0], *with;
	bool compares = key->kind == EXPR_EQUAL;
	struct plain_input input = {.kind = INPUT_MAP, .map = expr->map, .with = PLAIN_NONE};

	input.of = input_of(making, compares ? key->args[0] : key);
	if (input.of == PLAIN_NONE || !is_early(making, input.of))
		return PLAIN_NONE;
	if (compares) {
		input.unlike = key->op == OP_NE;
		with = key->args[1];
		input.with = with->kind == EXPR_FIELD ? input_of(making, with) : PLAIN_NONE;
		if (input.with == PLAIN_NONE || making->inputs[input.with].kind != INPUT_INT)
			return PLAIN_NONE;
	}
	return add_input(making, &input);
}

static uint8_t input_of(struct plain_builder *making, const struct expr *expr)
{
	struct plain_input input = {.of = PLAIN_NONE, .with = PLAIN_NONE};

	switch (expr->kind) {
	case EXPR_FIELD:
		return add_field(making, expr);
	case EXPR_SECTION_OWN:
		input.kind = expr->index == SECTION_CPU ? INPUT_CPU : INPUT_SECTION;
		input.slot = expr->index;
		return add_input(making, &input);
	case EXPR_GAP:
		input.kind = INPUT_GAP;
		return add_input(making, &input);
	case EXPR_READ: /* as deep as the rule's keys */
		input.kind = INPUT_READ;
		input.path = &expr->path;
		input.keys = expr->path.keys;
		input.base = expr->path.base;
		if (expr->may_view || !plain_key_of(making, &expr->path, &input.of) ||
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
	return a->input == b->input && a->mask == b->mask && a->n == b->n &&
	       !memcmp(a->ranges, b->ranges, sizeof a->ranges);
}

/* Adds a test to the line. False: too many tests, or the line needs both outcomes. */
static bool add_test(struct plain_builder *making, const struct plain_test *test, bool wanted,
		     struct plain_line *line)
{
	uint32_t i = 0, bit;

	while (i < making->ntests && !same_test(&making->tests[i], test))
		i++;
	if (i == PLAIN_CHOSEN)
		return false;
	if (i == making->ntests)
		making->tests[making->ntests++] = *test;
	bit = 1u << i;
	if ((line->tests & bit) && !(line->holds & bit) == wanted)
		return false;
	line->tests |= bit;
	line->holds |= wanted ? bit : 0;
	return true;
}

static bool add_when(struct plain_builder *making, const struct expr *when, bool wanted,
		     struct plain_line *line)
{
	struct plain_test test = {.ranges = {{.low = 1}}, .n = 1, .mask = UINT64_MAX};
	struct column_test column;

	if (!when || expr_is_const(when, VALUE_BOOL))
		return !when || when->value.b == wanted;
	if (when->kind == EXPR_NOT)
		return when->args[0]->kind != EXPR_AND &&
		       add_when(making, when->args[0], !wanted, line);
	if (when->kind == EXPR_AND) /* as deep as the rule's brackets */
		return add_when(making, when->args[0], true, line) &&
		       add_when(making, when->args[1], true, line);
	if (when->kind == EXPR_GAP) {
		test.mask = test.ranges[0].low = UINT64_C(1) << when->index;
		test.input = input_of(making, when);
		return test.input != PLAIN_NONE && add_test(making, &test, wanted, line);
	}
	if (!column_test_of(when, making->arena, &column) || column.ranges.count > TEST_VALUES)
		return false;
	test = (struct plain_test){.mask = column.column.mask,
				   .input = input_of(making, column.column.of),
				   .n = (uint8_t)column.ranges.count};
	for (uint32_t i = 0; i < test.n; i++)
		test.ranges[i] = column.ranges.items[i];
	if (test.input == PLAIN_NONE || (making->inputs[test.input].kind != INPUT_INT &&
					 making->inputs[test.input].kind != INPUT_CPU))
		return false;
	return add_test(making, &test, wanted != column.negated, line);
}

static bool plain_add_value(struct plain_builder *making, const struct expr *value,
			    struct plain_line *line)
{
	enum input_kind kind;

	line->value = PLAIN_NONE;
	if (!value) /* pop */
		return true;
	line->constant = value->value;
	line->interned = value->kind == EXPR_CONST;
	if (value->kind == EXPR_CONST)
		return true;
	line->value = input_of(making, value);
	if (line->value == PLAIN_NONE)
		line->value = add_input(making, &(struct plain_input){.kind = INPUT_TREE,
								      .tree = value,
								      .of = PLAIN_NONE,
								      .with = PLAIN_NONE});
	if (line->value == PLAIN_NONE)
		return false;
	kind = making->inputs[line->value].kind;
	line->interned = kind == INPUT_READ || kind == INPUT_MAP;
	line->needs |= 1u << line->value;
	return true;
}

/* False: the line is not plain. */
static bool compile_line(struct plain_builder *making, const struct line *line,
			 struct plain_line *out)
{
	*out = (struct plain_line){.line = line,
				   .verb = line->verb,
				   .attr = line->target.base,
				   .keys = line->target.keys};
	if (line->flags & (LINE_SECTION | LINE_FAILS) || verb_buries(line->verb) ||
	    line->verb == VERB_ADD || !plain_key_of(making, &line->target, &out->key) ||
	    !add_when(making, line->when, true, out) || !plain_add_value(making, line->value, out))
		return false;
	if (out->key != PLAIN_NONE)
		out->needs |= 1u << out->key;
	return true;
}

static const struct plain_input *keep_kinds(const struct plain_builder *making, enum input_kind a,
					    enum input_kind b, uint8_t *count)
{
	struct plain_input kept[PLAIN_INPUTS];

	for (uint8_t i = 0; i < making->ninputs; i++)
		if (making->inputs[i].kind == a || making->inputs[i].kind == b)
			kept[(*count)++] = making->inputs[i];
	return *count ? arena_copy(making->arena, kept, *count, sizeof *kept) : NULL;
}

static const struct plain_integer *keep_integers(const struct plain_builder *making,
						 struct plain *plain)
{
	struct plain_integer kept[PLAIN_INPUTS];

	for (uint8_t i = 0; i < making->ninputs; i++) {
		const struct plain_input *input = &making->inputs[i];

		if (input->kind != INPUT_INT)
			continue;
		kept[plain->nintegers++] = (struct plain_integer){input->slot, i, input->is_signed};
		plain->integer_bits |= 1u << i;
	}
	return plain->nintegers ? arena_copy(making->arena, kept, plain->nintegers, sizeof *kept)
				: NULL;
}

/* Groups the inputs by where they are loaded from. */
static void keep_inputs(const struct plain_builder *making, struct plain *plain)
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
	plain->trees = keep_kinds(making, INPUT_TREE, INPUT_TREE, &plain->ntrees);
}

static void keep_tests(const struct plain_builder *making, struct plain *plain)
{
	plain->tests =
		arena_copy(making->arena, making->tests, making->ntests, sizeof *plain->tests);
	plain->ntests = making->ntests;
	for (uint32_t i = 0; i < plain->ntests; i++)
		plain->tested |= 1u << plain->tests[i].input;
}

static void choose(struct arena *arena, const struct plain_line *from, uint32_t n, uint32_t yes,
		   struct plain_line *room, struct plain_choice *out)
{
	for (uint32_t i = 0; i < n; i++) {
		if ((from[i].tests & yes) != from[i].holds)
			continue;
		room[out->count++] = from[i];
		out->needs |= from[i].needs;
		out->nwas += from[i].verb == VERB_WAS;
		out->keys |= from[i].key != PLAIN_NONE ? 1u << from[i].key : 0;
	}
	out->lines = out->count ? arena_copy(arena, room, out->count, sizeof *room) : NULL;
}

static const struct plain_choice *keep_choices(struct arena *arena, const struct plain_line *lines,
					       uint32_t nlines, uint32_t ntests)
{
	struct plain_choice *choices = arena_array(arena, (size_t)1 << ntests, sizeof *choices);
	struct plain_line *room = mem_new_array(nlines, sizeof *room);

	for (uint32_t yes = 0; yes < 1u << ntests; yes++)
		choose(arena, lines, nlines, yes, room, &choices[yes]);
	mem_free(room);
	return choices;
}

const struct plain *plain_new(struct arena *arena, const struct line *lines, uint32_t nlines)
{
	struct plain_builder making = {.arena = arena};
	struct plain_line *kept = mem_new_array(nlines, sizeof *kept);
	struct plain *plain = NULL;
	uint32_t n = 0;
	bool all = nlines > 0;

	for (int was = 1; was >= 0; was--) /* in order of application */
		for (uint32_t i = 0; i < nlines && all; i++)
			if ((lines[i].verb == VERB_WAS) == was)
				all = compile_line(&making, &lines[i], &kept[n++]);
	if (all) {
		plain = arena_alloc(arena, sizeof *plain);
		plain->fields = making.fields;
		keep_inputs(&making, plain);
		keep_tests(&making, plain);
		plain->choices = keep_choices(arena, kept, nlines, plain->ntests);
	}
	mem_free(kept);
	return plain;
}
