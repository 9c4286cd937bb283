/*
 * test_closure.c - what a set of questions may need, of small rules, and of random ones
 *
 * A row is rules, the paths that are asked, and its closure in words. Lines are told by their
 * number in the file, as a plan has them: the last to be applied comes first.
 */
#include "engine/base/mem.h"
#include "tests/harness.h"
#include "tests/state/fake_state.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 1500 };

static const struct fake_class classes[] = {{"X", {"v"}}, {"Y", {"v"}}, {"Z", {"w"}}};
static const struct fake_event events[] = {{.time = 1}, {.time = 2, .stream = 1}};

/* What is not named is not looked at. */
static const struct row {
	const char *name, *rules;
	const char *paths[FAKE_PATHS];
	const char *shapes; /* as they were found */
	const char *lines;
	const char *flags;
} rows[] = {
	{"a line that writes something else is outside",
	 "event X\n a = 1\n b = 2\n",
	 {"a"},
	 "a",
	 "X 2",
	 ""},
	{"what no line writes needs no class", "event X\n a = 1\n", {"b"}, "b", "", ""},
	{"each class has its own lines",
	 "event X\n a = 1\nevent Y\n a = 2\nevent Z\n b = 3\n",
	 {"a"},
	 "a",
	 "X 2 Y 4",
	 ""},
	{"a read is needed, and what that reads",
	 "event X\n a = b\nevent Y\n b = c\nevent Z\n c = 1\n d = 1\n",
	 {"a"},
	 "a b c",
	 "X 2 Y 4 Z 6",
	 ""},
	{"a condition is read", "event X\n a = 1 when b == 1\n", {"a"}, "a b", NULL, NULL},
	{"a condition of the head is read",
	 "event X when b == 1\n a = 1\n",
	 {"a"},
	 "a b",
	 NULL,
	 NULL},
	{"keys of a target are read", "event X\n t[k] = 1\n", {"t[3]"}, "t[*] k", NULL, "depth 0"},
	{"a read inside a key counts as deeper",
	 "event X\n a = t[u[k]]\n",
	 {"a"},
	 NULL,
	 NULL,
	 "depth 2"},
	{"keys do not count: all of a shape are one",
	 "event X\n t[1]/x = 1\nevent Y\n t[field/v]/x = 2\n t[1]/y = 3\n",
	 {"t[7]/x"},
	 "t[*]/x",
	 "X 2 Y 4",
	 NULL},
	{"several questions have one closure",
	 "event X\n a = 1\n b = 2\n c = 3\n",
	 {"a", "c", "a"},
	 "a c",
	 "X 4 2",
	 NULL},
	{"a view is what it reads",
	 "view u[?c]/z = t[cpu[?c]/c]/x\nevent X\n t[1]/x = 1\nevent Y\n cpu[1]/c = 1\n"
	 " cpu[1]/d = 1\n",
	 {"u[0]/z"},
	 "u[*]/z cpu[*]/c t[*]/x",
	 "X 3 Y 5",
	 "depth 1"},
	{"a view of a view is what both read",
	 "view u[?c] = a\nview w[?c] = u[?c]\nevent X\n a = 1\n",
	 {"w[1]"},
	 NULL,
	 "X 4",
	 NULL},
	{"a delete of the path counts", "event X\n delete a\n", {"a"}, "a", "X 2", ""},
	{"a delete of what is above counts, and what its key reads",
	 "event X\n delete t[k]\nevent Y\n delete u\n",
	 {"t[1]/x/y"},
	 "t[*]/x/y k",
	 "X 2",
	 NULL},
	{"unknown counts as delete does",
	 "event X\n unknown t[1]\n",
	 {"t[1]/x"},
	 NULL,
	 "X 2",
	 NULL},
	{"a value above is no write of what is below",
	 "event X\n t[1] = 1\n",
	 {"t[1]/x"},
	 NULL,
	 "",
	 NULL},
	{"a delete below is no write of what is above",
	 "event X\n delete t[1]/x\n",
	 {"t[1]"},
	 NULL,
	 "",
	 NULL},
	{"a delete of only what is below leaves the node itself",
	 "event X\n delete t[1]/**\n",
	 {"t[1]"},
	 NULL,
	 "",
	 NULL},
	{"and writes what is below", "event X\n delete t[1]/**\n", {"t[1]/x"}, NULL, "X 2", NULL},
	{"a was is told by its shape",
	 "event X\n was a = 1\n b = 2\n",
	 {"a", "b"},
	 NULL,
	 NULL,
	 "was a"},
	{"was is applied before all other lines, sections before it",
	 "section *\n section/k = field/v\nevent X\n a = 1\n was a = section/k\n a = 2\n",
	 {"a"},
	 NULL,
	 "X 6 4 5 2 Y 2",
	 NULL},
	{"a section value that nothing reads is outside",
	 "section *\n section/k = field/v\nevent X\n a = 1\n",
	 {"a"},
	 "a",
	 "X 4",
	 NULL},
	{"what a section line reads is needed",
	 "section *\n section/k = b\nevent X\n a = section/k\nevent Z\n b = 1\n",
	 {"a"},
	 NULL,
	 "X 4 2 Y 2 Z 6 2",
	 NULL},
	{"where the class lacks the field the line is outside",
	 "event *\n a = field/w when b == 1\n",
	 {"a"},
	 "a b",
	 "Z 2",
	 NULL},
	{"a line that fails on every class needs nothing",
	 "event X\n a = field/w when b == 1\n",
	 {"a"},
	 "a",
	 "",
	 NULL},
	{"losses, start and end count where their lines do",
	 "event @lost\n unknown a\nevent @start\n a = 1\nevent @end\n a = 2\nevent X\n a = 3\n",
	 {"a"},
	 NULL,
	 "X 8 @lost 2 @start 4 @end 6",
	 "losses start end"},
	{"and are left alone where they do not",
	 "event @lost\n unknown b\nevent @start\n b = 1\nevent @end\n b = 2\nevent X\n a = 3\n b = "
	 "1\n",
	 {"a"},
	 NULL,
	 "X 8",
	 ""},
	{"lines of @contradiction are those of losses that are inferred",
	 "event @contradiction\n unknown a\nevent X\n a = 1\n",
	 {"a"},
	 "a",
	 "X 4 @lost 2",
	 "losses infers"},
	{"adding up", "event X\n n += 1\n", {"n"}, "n", "X 2", "cumulative"},
	{"adding up elsewhere is nothing to it",
	 "event X\n n += 1\n a = 1\n",
	 {"a"},
	 "a",
	 "X 3",
	 ""},
	{"a value of a stack needs its depth's lines",
	 "event X\n push q = b\nevent Y\n pop q\n",
	 {"q[1]"},
	 NULL,
	 "X 2 Y 4",
	 "cumulative"},
	{"the depth of a stack", "event X\n push q = 1\n", {"q"}, NULL, "X 2", "cumulative"},
	{"a line that reads what it writes", "event X\n a = a\n", {"a"}, "a", "X 2", "cyclic"},
	{"a circle of two lines",
	 "event X\n a = b\nevent Y\n b = a\n",
	 {"b"},
	 "b a",
	 "X 2 Y 4",
	 "cyclic"},
	{"a circle that is outside", "event X\n a = a\n b = 1\n", {"b"}, "b", "X 3", ""},
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The words of a text in order, so that the order in which shapes are found does not count. */
static void sort_words(const char *text, struct buf *out)
{
	char *words[64], *copy = strdup(text), *rest = copy, *word;
	size_t count = 0;

	while ((word = strtok_r(rest, " ", &rest)) && count < COUNT(words))
		words[count++] = word;
	qsort(words, count, sizeof *words, by_text);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s%s", i ? " " : "", words[i]);
	free(copy);
}

static void add_word(struct buf *out, bool is, const char *word)
{
	if (is)
		buf_printf(out, "%s%s", out->len ? " " : "", word);
}

static void add_shapes(const struct closure *closure, struct buf *out)
{
	const struct attrs *attrs = program_attrs(catalog_program(closure->catalog));

	for (uint32_t i = 0; i < closure->nshapes; i++) {
		struct buf shape = {0};

		assert_int_equal(closure_bit(closure, closure->shapes[i]), i);
		shape_add_text(attrs, closure->shapes[i], &shape);
		add_word(out, true, buf_text(&shape));
		buf_release(&shape);
	}
}

static void add_plans(const struct closure *closure, const struct event_item *item,
		      const char *name, struct buf *out)
{
	const struct program *program = catalog_program(closure->catalog);
	const struct class_steps *plan;

	for (size_t i = 0; (plan = closure_plan(closure, item, i)); i++) {
		uint32_t line, slot = UINT32_MAX;

		add_word(out, plan->nsteps > 0, name);
		for (uint32_t s = 0; s < plan->nsteps; s++) {
			program_place(program, plan->steps[s].line->id, &line);
			buf_printf(out, " %u", line);
			assert_true(plan->steps[s].slot < slot);
			slot = plan->steps[s].slot;
		}
	}
}

static void add_lines(const struct closure *closure, const struct trace *trace, struct buf *out)
{
	struct event_item item = {.stream = trace->streams[0]};

	for (size_t c = 0; c < trace->nclasses; c++) {
		size_t len = out->len;

		item.class = trace->classes[c];
		add_plans(closure, &item, item.class->name, out);
		assert_int_equal(closure->classes[0] >> c & 1, out->len > len);
	}
	item.class = NULL;
	item.kind = ITEM_LOSS;
	add_plans(closure, &item, "@lost", out);
	add_plans(closure, &(struct event_item){.kind = ITEM_START}, "@start", out);
	add_plans(closure, &(struct event_item){.kind = ITEM_END}, "@end", out);
}

static void add_flags(const struct closure *closure, bool depth, struct buf *out)
{
	const struct attrs *attrs = program_attrs(catalog_program(closure->catalog));

	add_word(out, closure->losses, "losses");
	add_word(out, closure->start, "start");
	add_word(out, closure->end, "end");
	add_word(out, closure->cumulative, "cumulative");
	add_word(out, closure->cyclic, "cyclic");
	add_word(out, closure->infers, "infers");
	if (depth)
		buf_printf(out, "%sdepth %u", out->len ? " " : "", closure->depth);
	for (uint32_t i = 0; i < closure->nshapes; i++)
		if (catalog_was(closure->catalog, closure->shapes[i])) {
			add_word(out, true, "was ");
			shape_add_text(attrs, closure->shapes[i], out);
		}
}

static struct closure *closure_of(const struct fake_state *fake, const char *const *paths)
{
	uint32_t attrs[FAKE_PATHS], shapes[FAKE_PATHS];
	size_t count = fake_state_attrs(fake, paths, attrs);

	for (size_t i = 0; i < count; i++)
		shapes[i] = attr_shape(fake->state->attrs, attrs[i]);
	return closure_new(fake->state->catalog, shapes, count);
}

static void needs(void **row_of_test)
{
	const struct row *row = *row_of_test;
	struct buf shapes = {0}, lines = {0}, flags = {0}, expected = {0}, got = {0};
	struct fake_state fake;
	struct closure *closure;

	fake_state_open(fake_trace_new(2, classes, COUNT(classes), events, COUNT(events)),
			row->rules, &fake);
	closure = closure_of(&fake, row->paths);
	add_shapes(closure, &shapes);
	add_lines(closure, &fake.trace->trace, &lines);
	add_flags(closure, row->flags && strstr(row->flags, "depth"), &flags);
	if (row->shapes) {
		sort_words(row->shapes, &expected);
		sort_words(buf_text(&shapes), &got);
		assert_string_equal(buf_text(&got), buf_text(&expected));
	}
	if (row->lines)
		assert_string_equal(buf_text(&lines), row->lines);
	if (row->flags)
		assert_string_equal(buf_text(&flags), row->flags);
	buf_release(&shapes);
	buf_release(&lines);
	buf_release(&flags);
	buf_release(&expected);
	buf_release(&got);
	closure_free(closure);
	fake_state_close(&fake);
}

/* ---- where the CPU stands in what is asked ---- */

static const struct cpu_row {
	const char *name, *rules, *path;
	int depth; /* of the key; 0: there is none; -1: nothing is known of any shape */
} cpu_rows[] = {
	{"a key that is the event's CPU", "event X, Y\n cpu[section/cpu]/c = field/v\n", "cpu[1]/c",
	 2},
	{"a deeper one", "event X\n a/t[3]/on[section/cpu] = 1\n", "a/t[3]/on[1]", 5},
	{"one line writes it with another key",
	 "event X\n cpu[section/cpu]/c = 1\nevent Y\n cpu[field/v]/c = 1\n", "cpu[1]/c", -1},
	{"the CPU stands elsewhere in another line",
	 "event X\n t[section/cpu][1] = 1\nevent Y\n t[1][section/cpu] = 1\n", "t[1][1]", -1},
	{"a line that reads state", "event X\n cpu[section/cpu]/c = k\n", "cpu[1]/c", -1},
	{"a section line that sets the CPU",
	 "section *\n section/cpu = field/v\nevent X\n cpu[section/cpu]/c = 1\n", "cpu[1]/c", -1},
	{"lines under @start", "event @start\n cpu[1]/c = 1\nevent X\n cpu[section/cpu]/c = 1\n",
	 "cpu[1]/c", -1},
	{"a line that adds up", "event X\n cpu[section/cpu]/n += 1\n", "cpu[1]/n", -1},
	{"no line writes it", "event X\n a = 1\n", "cpu[1]/c", 0},
};

static void knows_the_cpu(void **row_of_test)
{
	const struct cpu_row *row = *row_of_test;
	const char *const paths[FAKE_PATHS] = {row->path};
	struct fake_state fake;
	struct closure *closure;

	fake_state_open(fake_trace_new(2, classes, COUNT(classes), events, COUNT(events)),
			row->rules, &fake);
	closure = closure_of(&fake, paths);
	assert_int_equal(closure->by_cpu ? (int)closure->cpu_depth[0] : -1, row->depth);
	closure_free(closure);
	fake_state_close(&fake);
}

/* ---- the catalog ---- */

static void a_section_value_is_found_by_its_attribute(void **unused)
{
	struct fake_state fake;
	uint32_t stream, section;
	const struct catalog *catalog;

	(void)unused;
	fake_state_open(fake_trace_new(2, classes, COUNT(classes), events, COUNT(events)),
			"section *\n section/k = field/v\nevent X\n a = section/k\n", &fake);
	catalog = fake.state->catalog;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < program_sections(fake.state->program); i++) {
			assert_true(catalog_section_of(catalog, catalog_section(catalog, s, i),
						       &stream, &section));
			assert_int_equal(stream, s);
			assert_int_equal(section, i);
		}
	assert_false(catalog_section_of(catalog, fake_state_attr(&fake, "a"), &stream, &section));
	fake_state_close(&fake);
}

static void a_catalog_knows_whether_some_line_is_a_was(void **unused)
{
	static const char *const rules[] = {"event X\n a = 1\n", "event X\n a = 1\n was a = 2\n"};

	(void)unused;
	for (size_t i = 0; i < COUNT(rules); i++) {
		struct fake_state fake;

		fake_state_open(fake_trace_new(1, classes, COUNT(classes), events, 1), rules[i],
				&fake);
		assert_int_equal(catalog_has_was(fake.state->catalog), i);
		fake_state_close(&fake);
	}
}

static void writers_are_the_classes_that_may_write_a_shape(void **unused)
{
	const char *const paths[FAKE_PATHS] = {"a", "b"};
	struct fake_state fake;
	struct closure *closure;

	(void)unused;
	fake_state_open(fake_trace_new(1, classes, COUNT(classes), events, 1),
			"event X\n a = 1\nevent Y\n b = 1\nevent Z\n a = 1\n b = 1\n", &fake);
	closure = closure_of(&fake, paths);
	for (uint64_t bits = 0; bits < 4; bits++) {
		uint64_t writers = 0;

		closure_writers(closure, &bits, &writers);
		assert_int_equal(writers, (bits & 1 ? 5 : 0) | (bits & 2 ? 6 : 0));
	}
	closure_free(closure);
	fake_state_close(&fake);
}

/* ---- random rules: what is needed, found by looking at all lines again and again ---- */

struct plain { /* a closure, told as slowly as it is defined */
	const struct fake_state *fake;
	bool *needed; /* by shape */
	uint64_t *statements;
	bool grew;
};

static uint32_t section_shape(const struct plain *plain, uint32_t section)
{
	return attr_shape(plain->fake->state->attrs,
			  catalog_section(plain->fake->state->catalog, 0, section));
}

static void need(struct plain *plain, uint32_t shape)
{
	plain->grew = plain->grew || !plain->needed[shape];
	plain->needed[shape] = true;
}

static void need_reads(struct plain *plain, const struct line_read *reads, uint32_t nreads)
{
	for (uint32_t i = 0; i < nreads; i++)
		need(plain, reads[i].shape == ATTR_ABSENT ? section_shape(plain, reads[i].section)
							  : reads[i].shape);
}

static void look_at(void *arg, const struct line *line)
{
	struct plain *plain = arg;
	struct attrs *attrs = plain->fake->state->attrs;
	bool counts = false;

	if (line->flags & LINE_FAILS)
		return;
	for (uint32_t shape = 0; shape < shape_count(attrs) && !counts; shape++)
		counts = plain->needed[shape] &&
			 (line->flags & LINE_SECTION ? section_shape(plain, line->section) == shape
						     : line_may_write(line, attrs, shape));
	if (!counts)
		return;
	plain->statements[line->id / 64] |= UINT64_C(1) << line->id % 64;
	need_reads(plain, line->reads, line->nreads);
}

static void look_at_views(struct plain *plain)
{
	const struct program *program = plain->fake->state->program;

	for (uint32_t i = 0; i < program_views(program); i++) {
		const struct view *view = program_view(program, i);

		if (plain->needed[view->path.shape])
			need_reads(plain, view->reads, view->nreads);
	}
}

static void compare_with(struct plain *plain, const struct closure *closure, uint64_t seed,
			 const char *rules)
{
	uint64_t *statements = closure_statements(closure);
	struct buf text = {0};

	for (uint32_t shape = 0; shape < shape_count(plain->fake->state->attrs); shape++)
		if (plain->needed[shape] != (closure_bit(closure, shape) != ATTR_ABSENT)) {
			shape_add_text(plain->fake->state->attrs, shape, &text);
			fail_msg("seed %llu: %s is %s\n%s", (unsigned long long)seed,
				 buf_text(&text), plain->needed[shape] ? "left out" : "too much",
				 rules);
		}
	for (uint32_t i = 0; i < program_statements(plain->fake->state->program); i++)
		if ((plain->statements[i / 64] ^ statements[i / 64]) >> i % 64 & 1)
			fail_msg("seed %llu: statement %u is not as it should be\n%s",
				 (unsigned long long)seed, i, rules);
	mem_free(statements);
}

/* Each step writes just those shapes of the closure that its line may write. */
static void steps_write_right(const struct closure *closure, const struct plain *plain)
{
	for (size_t i = 0; i < closure->nsteps; i++) {
		const struct step_of *step = &closure->steps[i];

		for (uint32_t bit = 0; bit < closure->nshapes; bit++) {
			uint32_t shape = closure->shapes[bit];
			bool may = step->line->flags & LINE_SECTION
					   ? section_shape(plain, step->line->section) == shape
					   : line_may_write(step->line, plain->fake->state->attrs,
							    shape);

			assert_int_equal(step_writes(step, bit), may);
		}
	}
}

static void a_closure_is_what_looking_at_all_lines_finds(void **unused)
{
	static const char *const asked[] = {"a",      "b",      "k",        "n",
					    "t[1]/x", "t[1]/y", "cpu[1]/c", "u[1]/z",
					    "q[1]",   "t[1]",   "q",        "w[1]/z"};
	uint64_t first, end = random_seeds(SETS, &first), left_out = 0;

	(void)unused;
	for (uint64_t seed = first; seed < end; seed++) {
		struct fake_state fake;
		struct gen gen;
		const char *paths[FAKE_PATHS] = {NULL};

		fake_state_random(&gen, seed, &fake);
		for (uint32_t n = 1 + pick(&gen, 2); n-- > 0;)
			paths[n] = asked[pick(&gen, COUNT(asked))];
		struct closure *closure = closure_of(&fake, paths);
		uint32_t statements = program_statements(fake.state->program), attr[FAKE_PATHS];
		struct plain plain = {.fake = &fake, .grew = true};
		plain.needed = mem_new_array(shape_count(fake.state->attrs), sizeof(bool));
		plain.statements = mem_new_array(statements / 64 + 1, sizeof(uint64_t));
		for (size_t i = fake_state_attrs(&fake, paths, attr); i-- > 0;)
			need(&plain, attr_shape(fake.state->attrs, attr[i]));
		while (plain.grew) {
			plain.grew = false;
			catalog_lines(fake.state->catalog, look_at, &plain);
			look_at_views(&plain);
		}
		compare_with(&plain, closure, seed, buf_text(&gen.text));
		steps_write_right(closure, &plain);
		for (uint32_t i = 0; i < statements; i++)
			left_out += !(plain.statements[i / 64] >> i % 64 & 1);
		closure_free(closure);
		mem_free(plain.needed);
		mem_free(plain.statements);
		buf_release(&gen.text);
		fake_state_close(&fake);
	}
	print_message("%llu statements were left out\n", (unsigned long long)left_out);
	assert_true(left_out >= end - first);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(cpu_rows) + 4] = {
		cmocka_unit_test(a_section_value_is_found_by_its_attribute),
		cmocka_unit_test(a_catalog_knows_whether_some_line_is_a_was),
		cmocka_unit_test(writers_are_the_classes_that_may_write_a_shape),
		cmocka_unit_test(a_closure_is_what_looking_at_all_lines_finds),
	};
	size_t n = 4;

	ADD_ROWS(tests, n, rows, needs);
	ADD_ROWS(tests, n, cpu_rows, knows_the_cpu);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
