/*
 * test_planner.c - which way answers which question, of small rules, and of random ones
 *
 * A row is rules, questions, and the way that is chosen with its reason. Over random rules a list
 * that is answered by looking back has to name all that replay ever lists.
 */
#include "state/answer/planner.h"

#include "engine/base/mem.h"
#include "state/state.h"
#include "state/timelines/timelines.h"
#include "tests/harness.h"
#include "tests/state/fake_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SETS = 1500, QUERIES = 3 };

static const struct fake_class classes[] = {{"X", {"v"}}, {"Y", {"v"}}};
enum { X, Y };
static const struct fake_event events[] = {{.time = 1, .class = X, .numbers = {1}},
					   {.time = 2, .stream = 1, .class = Y, .numbers = {2}}};

#define FEW "few attributes, each decided by its last write"
#define ADDS "a line adds up, pushes or pops"
#define CYCLES "lines read what they write"
#define DEEP "reads are nested too deeply"
#define UNKNOWN_KEYS "the keys are not known before reading"
#define ASKED_REPLAY "replay was asked for"
#define ASKED_CHECKPOINT "a checkpoint was asked for"
#define ASKED_BACKWARD "the backward pass was asked for"

#define CPUS "event X\n cpu[section/cpu]/c = field/v\n"
#define CYCLE "event X\n a = b\n b = a\n c = 1\n"
#define COUNT_UP "event X\n n += 1\n a = n\n b = 1\n"

static const struct row {
	const char *name, *rules;
	const char *queries[QUERIES]; /* none: the whole state */
	enum force force;
	bool backward;
	const char *reason;
	const char *listed; /* NULL: nothing is, or it is not looked at */
} rows[] = {
	{"a path", "event X\n a = 1\n", {"a"}, FORCE_NONE, true, FEW, NULL},
	{"a path that nothing writes", "event X\n a = 1\n", {"b"}, FORCE_NONE, true, FEW, NULL},
	{"a key of the event", "event X\n t[field/v] = 1\n", {"t[1]"}, FORCE_NONE, true, FEW, NULL},
	{"a counter", COUNT_UP, {"n"}, FORCE_NONE, false, ADDS, NULL},
	{"what reads a counter", COUNT_UP, {"a"}, FORCE_NONE, false, ADDS, NULL},
	{"a counter that is not asked", COUNT_UP, {"b"}, FORCE_NONE, true, FEW, NULL},
	{"a counter among others", COUNT_UP, {"b", "n"}, FORCE_NONE, false, ADDS, NULL},
	{"a stack", "event X\n push q = 1\n", {"q"}, FORCE_NONE, false, ADDS, NULL},
	{"a value of a stack", "event Y\n pop q\n", {"q[1]"}, FORCE_NONE, false, ADDS, NULL},
	{"a circle", CYCLE, {"b"}, FORCE_NONE, false, CYCLES, NULL},
	{"a circle that is not asked", CYCLE, {"c"}, FORCE_NONE, true, FEW, NULL},
	{"reads nested twice", "event X\n a = t[u[k]]\n", {"a"}, FORCE_NONE, true, FEW, NULL},
	{"reads nested three times",
	 "event X\n a = t[u[w[k]]]\n",
	 {"a"},
	 FORCE_NONE,
	 false,
	 DEEP,
	 NULL},
	{"a view of a counter",
	 "view v[?c] = n\n" COUNT_UP,
	 {"v[1]"},
	 FORCE_NONE,
	 false,
	 ADDS,
	 NULL},

	{"a list by CPU", CPUS, {"cpu[*]/c"}, FORCE_NONE, true, FEW, "cpu[0]/c cpu[1]/c"},
	{"a list of constant keys",
	 "event X\n t[1]/x = 1\n t[7]/x = 1\n t[1]/y = 2\n",
	 {"t[*]/x"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "t[1]/x t[7]/x"},
	{"a list of a field's keys",
	 "event X\n t[field/v]/x = 1\n",
	 {"t[*]/x"},
	 FORCE_NONE,
	 false,
	 UNKNOWN_KEYS,
	 NULL},
	{"a list whose key the question has",
	 "event X\n t[field/v]/x = 1\n t[field/v]/y = 1\n",
	 {"t[4]/**"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "t[4]/x t[4]/y"},
	{"all below the root of a list by CPU",
	 CPUS " cpu[section/cpu]/d = 1\n a = 1\n",
	 {"cpu/**"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "cpu[0]/c cpu[0]/d cpu[1]/c cpu[1]/d"},
	{"a list of nothing", CPUS, {"t[*]/x"}, FORCE_NONE, true, FEW, ""},
	{"a list whose keys other lines do not tell",
	 CPUS "event Y\n cpu[field/v]/c = 1\n",
	 {"cpu[*]/c"},
	 FORCE_NONE,
	 false,
	 UNKNOWN_KEYS,
	 NULL},
	{"two lists",
	 CPUS " a[3] = 1\n",
	 {"cpu[*]/c", "a[*]"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "a[3] cpu[0]/c cpu[1]/c"},
	{"a list beside a path",
	 CPUS " a = 1\n",
	 {"cpu[*]/c", "a"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "cpu[0]/c cpu[1]/c"},
	{"a list that a delete alone writes",
	 "event X\n delete t[field/v]/x\n t[2]/x = 1\n",
	 {"t[*]/x"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "t[2]/x"},
	{"a list of counters",
	 "event X\n cpu[section/cpu]/n += 1\n",
	 {"cpu[*]/n"},
	 FORCE_NONE,
	 false,
	 ADDS,
	 "cpu[0]/n cpu[1]/n"},
	{"a list of a stack's values",
	 "event X\n push q = 1\n",
	 {"q[*]"},
	 FORCE_NONE,
	 false,
	 UNKNOWN_KEYS,
	 NULL},
	{"a list of views by CPU",
	 "view u[?c]/z = cpu[?c]/c\n" CPUS,
	 {"u[*]/z"},
	 FORCE_NONE,
	 true,
	 FEW,
	 "u[0]/z u[1]/z"},
	{"a list of views by two keys",
	 "view u[?c][?d] = t[?c][?d]\nevent X\n t[1][2] = 1\n",
	 {"u[*][*]"},
	 FORCE_NONE,
	 false,
	 UNKNOWN_KEYS,
	 NULL},
	{"the whole state", CPUS, {NULL}, FORCE_NONE, true, FEW, "cpu[0]/c cpu[1]/c"},
	{"the whole state with keys of fields",
	 CPUS " t[field/v] = 1\n",
	 {NULL},
	 FORCE_NONE,
	 false,
	 UNKNOWN_KEYS,
	 NULL},

	{"replay", CPUS, {"cpu[1]/c"}, FORCE_REPLAY, false, ASKED_REPLAY, NULL},
	{"a checkpoint", CPUS, {"cpu[1]/c"}, FORCE_CHECKPOINT, false, ASKED_CHECKPOINT, NULL},
	{"the backward pass", CPUS, {"cpu[1]/c"}, FORCE_BACKWARD, true, ASKED_BACKWARD, NULL},
	{"the backward pass through a circle",
	 CYCLE,
	 {"a"},
	 FORCE_BACKWARD,
	 true,
	 ASKED_BACKWARD,
	 NULL},
	{"the backward pass cannot add up", COUNT_UP, {"n"}, FORCE_BACKWARD, false, ADDS, NULL},
	{"the backward pass does not list what it cannot know",
	 "event X\n t[field/v]/x = 1\n",
	 {"t[*]/x"},
	 FORCE_BACKWARD,
	 false,
	 UNKNOWN_KEYS,
	 NULL},
};

/* Questions as state_at() makes them of queries, and the choice for them. */
struct chosen {
	struct fake_state fake;
	struct query *queries[QUERIES];
	struct wanted wanted;
	struct choice choice;
};

/* Opens `fake`, which becomes the choice's. */
static void chosen_open(struct chosen *out, const struct fake_state *fake,
			const char *const paths[QUERIES])
{
	struct error err;
	size_t count = 0;

	out->fake = *fake;
	for (; count < QUERIES && paths[count]; count++)
		assert_true(query_parse(paths[count], &out->queries[count], &err));
	wanted_init(fake->state, (const struct query *const *)out->queries, count, &out->wanted);
	if (!choose_at(fake->state, &out->wanted, &out->choice, &err))
		fail_msg("%s", err.text);
}

static void chosen_close(struct chosen *chosen)
{
	size_t count = chosen->wanted.nqueries;

	choice_release(&chosen->choice);
	wanted_release(&chosen->wanted);
	for (size_t i = 0; i < count; i++)
		query_free(chosen->queries[i]);
	fake_state_close(&chosen->fake);
}

static void open_rules(const char *rules, struct fake_state *out)
{
	fake_state_open(fake_trace_new(2, classes, COUNT(classes), events, COUNT(events)), rules,
			out);
}

/* In order of paths. */
static void add_listed(const struct chosen *chosen, struct buf *out)
{
	const struct attrs *attrs = chosen->fake.state->attrs;
	size_t count = chosen->choice.nlisted;
	uint32_t last = ATTR_ABSENT;

	for (size_t n = 0; n < count; n++) {
		uint32_t least = ATTR_ABSENT;

		for (size_t i = 0; i < count; i++) {
			uint32_t attr = chosen->choice.listed[i].attr;

			if ((last == ATTR_ABSENT || attr_compare(attrs, attr, last) > 0) &&
			    (least == ATTR_ABSENT || attr_compare(attrs, attr, least) < 0))
				least = attr;
		}
		assert_true(least != ATTR_ABSENT); /* each is there once */
		buf_add_text(out, n ? " " : "");
		attr_add_text(attrs, least, out);
		last = least;
	}
}

static void is_answered(void **row_of_test)
{
	const struct row *row = *row_of_test;
	struct fake_state fake;
	struct buf listed = {0};
	struct chosen chosen;

	open_rules(row->rules, &fake);
	fake.state->force = row->force;
	chosen_open(&chosen, &fake, row->queries);
	assert_string_equal(chosen.choice.reason, row->reason);
	assert_int_equal(chosen.choice.backward, row->backward);
	if (row->listed) {
		add_listed(&chosen, &listed);
		assert_string_equal(buf_text(&listed), row->listed);
	}
	if (row->force == FORCE_NONE && chosen.choice.closure)
		assert_int_equal(looks_back(chosen.choice.closure), row->backward);
	buf_release(&listed);
	chosen_close(&chosen);
}

static void options_ask_for_replay(void **unused)
{
	const char *const paths[QUERIES] = {"cpu[1]/c"};
	struct fake_state fake;
	struct chosen chosen;

	(void)unused;
	open_rules(CPUS, &fake);
	fake.state->options.replay_only = true;
	fake.state->force = FORCE_BACKWARD;
	chosen_open(&chosen, &fake, paths);
	assert_false(chosen.choice.backward);
	assert_string_equal(chosen.choice.reason, ASKED_REPLAY);
	chosen_close(&chosen);
}

/* As many as are few, by name and listed together; and one more. */
static void many_attributes_are_read_forward(void **unused)
{
	enum { FEWEST = 1000 };

	(void)unused;
	for (uint32_t more = 0; more < 2; more++) {
		struct fake_state fake;
		struct wanted wanted;
		struct choice choice;
		struct query *query;
		struct error err;

		open_rules(CPUS, &fake);
		assert_true(query_parse("cpu[*]/c", &query, &err));
		wanted_init(fake.state, (const struct query *const *)&query, 1, &wanted);
		for (uint64_t i = 0; i < FEWEST - 2 + more; i++) { /* of 2 CPUs */
			struct value key = {.kind = VALUE_INT, .u = i};

			wanted_add(&wanted, attr_key(fake.state->attrs, ATTR_ROOT, &key));
		}
		assert_true(choose_at(fake.state, &wanted, &choice, &err));
		assert_int_equal(choice.nlisted, 2);
		assert_int_equal(choice.backward, !more);
		assert_string_equal(choice.reason, more ? "many attributes at once" : FEW);
		choice_release(&choice);
		wanted_release(&wanted);
		query_free(query);
		fake_state_close(&fake);
	}
}

/* ---- timelines, which answer before anything is chosen ---- */

static const struct stored_row {
	const char *name;
	enum force force;
	bool stored, replay_only, why;
	const char *explained; /* the way that is chosen */
	const char *evaluation;
} stored_rows[] = {
	{"without timelines it looks back", FORCE_NONE, false, false, false, "backward",
	 "backward"},
	{"timelines answer where they are", FORCE_NONE, true, false, false, "slices", "slices"},
	{"timelines do not tell which event it was", FORCE_NONE, true, false, true, "backward",
	 "backward"},
	{"not where replay is asked for", FORCE_REPLAY, true, false, false, "forward", "replay"},
	{"not where the options ask for replay", FORCE_NONE, true, true, false, "forward",
	 "replay"},
	{"not where the backward pass is asked for", FORCE_BACKWARD, true, false, false, "backward",
	 "backward"},
};

static void timelines(void **row_of_test)
{
	const struct stored_row *row = *row_of_test;
	const struct moment moment = {2, false};
	struct timelines_built built;
	struct answers answers;
	struct fake_state fake;
	struct query *query;
	struct state_plan plan;
	struct error err;
	char path[64];

	snprintf(path, sizeof path, "test_planner-%ld.timelines", (long)getpid());
	open_rules(CPUS, &fake);
	fake.state->timelines = path;
	fake.state->force = FORCE_SLICES;
	if (row->stored && !timelines_build(fake.state, 1, &built, &err))
		fail_msg("%s", err.text);
	fake.state->force = row->force;
	fake.state->options.replay_only = row->replay_only;
	assert_true(query_parse("cpu[1]/c", &query, &err));
	assert_true(state_explain(fake.state, &moment, (const struct query *const *)&query, 1,
				  row->why, &plan, &err));
	assert_string_equal(plan.evaluation, row->explained);
	assert_true(state_at(fake.state, &moment, 1, (const struct query *const *)&query, 1,
			     row->why, &answers, &err));
	assert_string_equal(state_evaluation(fake.state), row->evaluation);
	answers_release(&answers);
	query_free(query);
	fake_state_close(&fake);
	assert_true(timelines_remove(path, &err));
}

/* ---- random rules: what is listed, and what replay lists ---- */

static bool will_be_answered(const struct chosen *chosen, uint32_t attr)
{
	for (size_t i = 0; i < chosen->choice.nlisted; i++)
		if (chosen->choice.listed[i].attr == attr)
			return true;
	return wanted_by_name(&chosen->wanted, attr);
}

static void compare_lists(struct chosen *chosen, uint64_t seed, const char *rules)
{
	struct state *state = chosen->fake.state;
	struct moment moments[RANDOM_LAST];
	struct answers answers;
	struct error err;

	for (int i = 0; i < RANDOM_LAST; i++)
		moments[i] = (struct moment){i, false};
	state->force = FORCE_REPLAY;
	assert_true(state_at(state, moments, RANDOM_LAST, chosen->wanted.queries,
			     chosen->wanted.nqueries, false, &answers, &err));
	for (size_t i = 0; i < answers.count; i++)
		if (!will_be_answered(chosen,
				      fake_state_attr(&chosen->fake, answers.items[i].path)))
			fail_msg("seed %llu: %s is not listed\n%s", (unsigned long long)seed,
				 answers.items[i].path, rules);
	answers_release(&answers);
}

static bool has_shape_of(const struct chosen *chosen, uint32_t attr)
{
	uint32_t shape = attr_shape(chosen->fake.state->attrs, attr);

	return closure_bit(chosen->choice.closure, shape) != ATTR_ABSENT;
}

/* Looking back is chosen just where no line of the closure needs more; and the reason is told. */
static void check_choice(const struct chosen *chosen)
{
	const struct choice *choice = &chosen->choice;
	const struct closure *closure = choice->closure;
	bool forward = false;

	for (size_t i = 0; i < choice->nlisted; i++) {
		assert_true(has_shape_of(chosen, choice->listed[i].attr));
		assert_true(choice->listed[i].source == ATTR_ABSENT ||
			    has_shape_of(chosen, choice->listed[i].source));
	}

	for (size_t i = 0; closure && i < closure->nsteps; i++)
		forward =
			forward || closure->steps[i].line->flags & (LINE_CUMULATIVE | LINE_CYCLIC);
	if (choice->backward)
		assert_true(closure && !forward && closure->depth <= 2);
	else if (!strcmp(choice->reason, UNKNOWN_KEYS))
		assert_true(!closure && !choice->nlisted);
	else
		assert_true(forward || closure->depth > 2);
}

static void a_list_has_all_that_replay_lists(void **unused)
{
	static const char *const asked[] = {"cpu[*]/c", "t[*]/x", "cpu[*]/**", "u[*]/z",
					    "w[*]/z",   "q[*]",   "t[1]/**",   "t[1]/x",
					    "a",        "cpu/**", "cpu[1]/**"};
	uint64_t first, end = random_seeds(SETS, &first), backward = 0, forward = 0, lists = 0;

	(void)unused;
	for (uint64_t seed = first; seed < end; seed++) {
		const char *paths[QUERIES] = {NULL};
		struct fake_state fake;
		struct chosen chosen;
		struct gen gen;

		fake_state_random(&gen, seed, &fake);
		for (uint32_t n = pick(&gen, QUERIES); n-- > 0;)
			paths[n] = asked[pick(&gen, COUNT(asked))];
		chosen_open(&chosen, &fake, paths);
		check_choice(&chosen);
		if (chosen.choice.backward)
			compare_lists(&chosen, seed, buf_text(&gen.text));
		backward += chosen.choice.backward;
		forward += !chosen.choice.backward;
		lists += chosen.choice.nlisted > 0;
		chosen_close(&chosen);
		buf_release(&gen.text);
	}
	print_message("%llu backward, %llu forward, %llu with lists\n",
		      (unsigned long long)backward, (unsigned long long)forward,
		      (unsigned long long)lists);
	assert_true(backward >= (end - first) / 8 && forward >= (end - first) / 8);
	assert_true(lists >= (end - first) / 8);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(stored_rows) + 3] = {
		cmocka_unit_test(options_ask_for_replay),
		cmocka_unit_test(many_attributes_are_read_forward),
		cmocka_unit_test(a_list_has_all_that_replay_lists),
	};
	size_t n = 3;

	ADD_ROWS(tests, n, rows, is_answered);
	ADD_ROWS(tests, n, stored_rows, timelines);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
