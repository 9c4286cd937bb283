/*
 * test_cells.c - what replay knows of attributes: writes, tombstones, and both as bytes
 *
 * A row is a few steps at rising times and then what t[1]/x is: its value, since when, and what it
 * was before that. Each row is also written as bytes and read into other cells, which must say the
 * same of every attribute. t[*]/x is 9 until something writes it, t[*]/y is unknown.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "state/replay/cells.h"
#include "tests/state/fake_trace.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, KEYS = 4, RANDOM_SETS = 400, RANDOM_STEPS = 40 };

static const char text[] = "initial t[*]/x = 9\nevent X\n t[field/v]/x = field/v\n"
			   " t[field/v]/y = 1\n";
static const struct fake_class classes[] = {{"X", {"v"}}};

enum act {
	END,
	WRITE,  /* t[key]/x = value */
	DELETE, /* t[key], or t[*] with key 0 */
	FORGET  /* unknown t[key]/x, or t[*]/x */
};

struct doing {
	enum act act;
	nstime time;
	uint64_t key, value;
};

struct told { /* of t[1]/x */
	enum value_kind kind;
	uint64_t value;
	nstime since, run;
	enum value_kind last_kind;
	uint64_t last;
	nstime last_run;
	bool written, named;
};

struct scene {
	struct fake_trace *trace;
	struct rules *rules;
	struct program *program;
	struct cells *cells, *read; /* and what is read of the first ones' bytes */
};

/* ---- steps ---- */

static void scene_begin(struct scene *scene, bool brief)
{
	struct notices silent = {0};
	struct error err;

	scene->trace = fake_trace_new(1, classes, 1, NULL, 0);
	scene->rules = rules_new();
	if (!rules_add(scene->rules, "t", text, strlen(text), &err) ||
	    !program_compile(scene->rules, &scene->trace->trace, &silent, &scene->program, &err))
		fail_msg("%s", err.text);
	scene->cells = cells_new(scene->program, 1, brief);
	scene->read = cells_new(scene->program, 1, brief);
}

static void scene_end(struct scene *scene)
{
	cells_free(scene->cells);
	cells_free(scene->read);
	program_free(scene->program);
	rules_free(scene->rules);
	fake_trace_free(scene->trace);
}

static uint32_t attr_of(const struct scene *scene, uint64_t key, const char *name)
{
	struct attrs *attrs = program_attrs(scene->program);
	struct value number = {.kind = VALUE_INT, .u = key};
	uint32_t attr = attr_key(attrs, attr_name(attrs, ATTR_ROOT, "t", 1), &number);

	return name ? attr_name(attrs, attr, name, 1) : attr;
}

/* t[key] or, with key 0, t[*]; /x behind it, unless all below is meant. */
static void pattern_of(const struct scene *scene, uint64_t key, bool itself, struct pattern *out)
{
	struct value name = {.kind = VALUE_STRING, .len = 1, .text = "t"};

	*out = (struct pattern){.attr = ATTR_ABSENT, .any = !key};
	out->atoms[out->natoms++] = (struct pattern_atom){PATTERN_NAME, name};
	out->atoms[out->natoms++] = (struct pattern_atom){key ? PATTERN_KEY : PATTERN_ANY,
							  {.kind = VALUE_INT, .u = key}};
	name.text = "x";
	if (itself)
		out->atoms[out->natoms++] = (struct pattern_atom){PATTERN_NAME, name};
	if (key)
		out->attr = attr_of(scene, key, itself ? "x" : NULL);
}

static void take(const struct scene *scene, const struct doing *step)
{
	struct writer writer = {.order = order_before(step->time), .class_index = 0, .line = 1};
	struct pattern pattern;

	cells_settle(scene->cells, NULL, NULL);
	if (step->act == WRITE) {
		uint32_t attr = attr_of(scene, step->key, "x");
		struct value value = {.kind = VALUE_INT, .u = step->value};
		struct cell cell;

		cells_get(scene->cells, attr, &cell);
		cell_put(&cell, &value, step->time, &writer);
		cell.named = true;
		cells_set(scene->cells, attr, &cell);
		return;
	}
	pattern_of(scene, step->key, step->act == FORGET, &pattern);
	cells_bury(scene->cells, &pattern, step->act == DELETE ? VALUE_NONE : VALUE_UNKNOWN,
		   step->time, &writer, NULL, NULL);
}

/* ---- comparing ---- */

static void same_cell(const struct cell *a, const struct cell *b)
{
	assert_true(value_equal(&a->value, &b->value));
	assert_true(a->since == b->since && a->run == b->run);
	assert_true(value_equal(&a->last, &b->last));
	assert_true(a->last_run == b->last_run);
	assert_int_equal(a->written, b->written);
	assert_int_equal(a->named, b->named);
	assert_int_equal(a->writer.line, b->writer.line);
}

/* Bytes of the one, read by the other, say the same of every attribute. */
static void read_back(const struct scene *scene)
{
	struct buf bytes = {0};

	cells_settle(scene->cells, NULL, NULL);
	cells_write(scene->cells, &bytes);
	assert_true(cells_read(scene->read, bytes.data, bytes.len));
	assert_int_equal(cells_count(scene->cells), cells_count(scene->read));
	for (uint64_t key = 1; key <= KEYS; key++)
		for (const char *name = "xy"; *name; name++) {
			struct cell ours, theirs;

			cells_get(scene->cells, attr_of(scene, key, name), &ours);
			cells_get(scene->read, attr_of(scene, key, name), &theirs);
			same_cell(&ours, &theirs);
		}
	buf_release(&bytes);
}

static struct row {
	const char *name;
	struct doing steps[STEPS];
	struct told told;
} rows[] = {
	{"what nothing wrote is its initial value since ever",
	 {{0}},
	 {.kind = VALUE_INT,
	  .value = 9,
	  .since = NSTIME_MIN,
	  .run = NSTIME_MIN,
	  .last_run = NSTIME_MIN}},
	{"a write ends the initial value",
	 {{WRITE, 5, 1, 2}},
	 {VALUE_INT, 2, 5, 5, VALUE_INT, 9, NSTIME_MIN, true, true}},
	{"a write of the same value goes on with its run",
	 {{WRITE, 5, 1, 2}, {WRITE, 7, 1, 2}},
	 {VALUE_INT, 2, 7, 5, VALUE_INT, 2, 5, true, true}},
	{"of two writes in a nanosecond the last leaves an interval",
	 {{WRITE, 5, 1, 2}, {WRITE, 7, 1, 3}, {WRITE, 7, 1, 4}},
	 {VALUE_INT, 4, 7, 7, VALUE_INT, 2, 5, true, true}},
	{"a write of the initial value goes on with it",
	 {{WRITE, 5, 1, 9}},
	 {VALUE_INT, 9, 5, NSTIME_MIN, VALUE_INT, 9, NSTIME_MIN, true, true}},
	{"a deleted attribute is none since the delete",
	 {{WRITE, 5, 1, 2}, {DELETE, 8, 1, 0}},
	 {VALUE_NONE, 0, 8, 8, VALUE_INT, 9, NSTIME_MIN, true, false}},
	{"a delete of another key leaves it",
	 {{WRITE, 5, 1, 2}, {DELETE, 8, 2, 0}},
	 {VALUE_INT, 2, 5, 5, VALUE_INT, 9, NSTIME_MIN, true, true}},
	{"a delete of all keys deletes it",
	 {{WRITE, 5, 1, 2}, {DELETE, 8, 0, 0}},
	 {VALUE_NONE, 0, 8, 8, VALUE_INT, 9, NSTIME_MIN, true, false}},
	{"what was forgotten stays named",
	 {{WRITE, 5, 1, 2}, {FORGET, 8, 1, 0}},
	 {VALUE_UNKNOWN, 0, 8, 8, VALUE_INT, 2, 5, true, true}},
	{"the newest of two tombstones counts",
	 {{DELETE, 5, 0, 0}, {FORGET, 8, 1, 0}},
	 {VALUE_UNKNOWN, 0, 8, 8, VALUE_NONE, 0, 5, true, false}},
	{"a tombstone above counts where it is newer",
	 {{FORGET, 5, 1, 0}, {DELETE, 8, 1, 0}},
	 {VALUE_NONE, 0, 8, 8, VALUE_UNKNOWN, 0, 5, true, false}},
	{"one tombstone placed twice tells of both times",
	 {{FORGET, 5, 0, 0}, {FORGET, 8, 0, 0}},
	 {VALUE_UNKNOWN, 0, 8, 8, VALUE_UNKNOWN, 0, 5, true, false}},
	{"one tombstone of another kind at its second time tells of both",
	 {{DELETE, 5, 1, 0}, {WRITE, 6, 2, 1}, {DELETE, 8, 1, 0}},
	 {VALUE_NONE, 0, 8, 8, VALUE_NONE, 0, 5, true, false}},
	{"of two tombstones of one nanosecond the later one counts, also when it is past",
	 {{DELETE, 5, 0, 0}, {FORGET, 5, 0, 0}, {DELETE, 8, 0, 0}},
	 {VALUE_NONE, 0, 8, 8, VALUE_UNKNOWN, 0, 5, true, false}},
	{"and in the other order",
	 {{FORGET, 5, 0, 0}, {DELETE, 5, 0, 0}, {FORGET, 8, 0, 0}},
	 {VALUE_UNKNOWN, 0, 8, 8, VALUE_NONE, 0, 5, true, false}},
	{"a write after a delete is named anew",
	 {{WRITE, 5, 1, 2}, {DELETE, 8, 1, 0}, {WRITE, 9, 1, 2}},
	 {VALUE_INT, 2, 9, 9, VALUE_NONE, 0, 8, true, true}},
};

static void row_holds(void **state)
{
	const struct row *row = *state;
	const struct told *told = &row->told;
	struct scene scene;
	struct cell cell;

	scene_begin(&scene, false);
	for (const struct doing *step = row->steps; step->act != END; step++)
		take(&scene, step);
	cells_settle(scene.cells, NULL, NULL);
	cells_get(scene.cells, attr_of(&scene, 1, "x"), &cell);
	assert_int_equal(cell.value.kind, told->kind);
	assert_true(!value_exists(&cell.value) || cell.value.u == told->value);
	assert_true(cell.since == told->since);
	assert_true(cell.run == told->run);
	assert_int_equal(cell.written, told->written);
	assert_int_equal(cell.named, told->named);
	if (told->written) {
		assert_int_equal(cell.last.kind, told->last_kind);
		assert_true(!value_exists(&cell.last) || cell.last.u == told->last);
		assert_true(cell.last_run == told->last_run);
	}
	read_back(&scene);
	scene_end(&scene);
}

/* ---- random steps ---- */

static void random_steps(const struct scene *scene, struct rng *rng, struct doing *steps)
{
	nstime time = 1;

	for (size_t i = 0; i < RANDOM_STEPS; i++) {
		enum act act = (enum act)(WRITE + rng_below(rng, 3));

		time += (nstime)rng_below(rng, 3);
		steps[i] = (struct doing){act, time, rng_below(rng, KEYS + 1) + (act == WRITE),
					  rng_below(rng, 3)};
		take(scene, &steps[i]);
	}
}

static void random_states_are_read_as_they_were_written(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= RANDOM_SETS; seed++) {
		struct rng rng = {seed};
		struct doing steps[RANDOM_STEPS];
		struct scene scene;

		scene_begin(&scene, false);
		random_steps(&scene, &rng, steps);
		read_back(&scene);
		scene_end(&scene);
	}
}

/* What a build keeps of cells is what the others keep, as far as it goes. */
static void brief_cells_have_the_same_values(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= RANDOM_SETS; seed++) {
		struct rng rng = {seed}, same = {seed};
		struct doing steps[RANDOM_STEPS];
		struct scene scene, brief;

		scene_begin(&scene, false);
		scene_begin(&brief, true);
		random_steps(&scene, &rng, steps);
		random_steps(&brief, &same, steps);
		for (uint64_t key = 1; key <= KEYS; key++) {
			struct cell ours, theirs;

			cells_get(scene.cells, attr_of(&scene, key, "x"), &ours);
			cells_get(brief.cells, attr_of(&brief, key, "x"), &theirs);
			assert_true(value_equal(&ours.value, &theirs.value));
			assert_true(ours.since == theirs.since);
		}
		scene_end(&scene);
		scene_end(&brief);
	}
}

/* Each in memory of its very length, so that a sanitizer sees a read behind it. */
static void bytes_that_are_cut_are_refused(void **unused)
{
	struct rng rng = {7};
	struct doing steps[RANDOM_STEPS];
	struct buf bytes = {0};
	struct scene scene;

	(void)unused;
	scene_begin(&scene, false);
	random_steps(&scene, &rng, steps);
	cells_settle(scene.cells, NULL, NULL);
	cells_write(scene.cells, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		uint8_t *cut = memcpy(mem_new(len + !len), bytes.data, len);

		assert_false(cells_read(scene.read, cut, len));
		mem_free(cut);
	}
	buf_release(&bytes);
	scene_end(&scene);
}

int main(void)
{
	enum { ROWS = sizeof rows / sizeof *rows };
	struct CMUnitTest tests[ROWS + 3];

	for (size_t i = 0; i < ROWS; i++)
		tests[i] = (struct CMUnitTest){rows[i].name, row_holds, NULL, NULL, &rows[i]};
	tests[ROWS] =
		(struct CMUnitTest)cmocka_unit_test(random_states_are_read_as_they_were_written);
	tests[ROWS + 1] = (struct CMUnitTest)cmocka_unit_test(brief_cells_have_the_same_values);
	tests[ROWS + 2] = (struct CMUnitTest)cmocka_unit_test(bytes_that_are_cut_are_refused);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
