/*
 * test_expr.c - values of expressions against one event and a state of four attributes
 *
 * The event has the fields n = 7, minus = -2, big = 2^63, and kind = 7 and other = listed = 8, of
 * which only 7 has a label. Of the state, known is 5, nil is none, word is "w", s is a stack of one
 * value, open cannot be decided, all else is unknown.
 */
#include "tests/harness.h"

#include "engine/reader.h"
#include "state/filter/rows.h"
#include "state/program/program.h"
#include "tests/state/where_one.h"

#include <stdio.h>
#include <string.h>

static const struct reader reader = {.format = "perf"};
static struct part part = {.reader = &reader, .host = ""};
static struct part *parts[] = {&part};
static const struct enum_label kinds[] = {{"seven", 7, 7}};
static struct field_class numbers[5] = {
	{.kind = FIELD_INT, .align = 8, .bits = 64, .clock = -1, .slot = 0},
	{.kind = FIELD_INT, .align = 8, .bits = 64, .is_signed = true, .clock = -1, .slot = 1},
	{.kind = FIELD_INT, .align = 8, .bits = 64, .clock = -1, .slot = 2},
	{.kind = FIELD_INT,
	 .align = 8,
	 .bits = 64,
	 .clock = -1,
	 .slot = 3,
	 .labels = kinds,
	 .nlabels = 1},
	{.kind = FIELD_INT,
	 .align = 8,
	 .bits = 64,
	 .clock = -1,
	 .slot = 4,
	 .labels = kinds,
	 .nlabels = 1},
};
static struct member members[6] = {{.name = "n", .written = "_n", .class = &numbers[0]},
				   {.name = "minus", .written = "_minus", .class = &numbers[1]},
				   {.name = "big", .written = "_big", .class = &numbers[2]},
				   {.name = "kind", .written = "kind", .class = &numbers[3]},
				   {.name = "other", .written = "other", .class = &numbers[4]},
				   {.name = "listed", .written = "listed", .class = &numbers[4]}};
static struct field_class payload = {
	.kind = FIELD_STRUCT, .align = 8, .members = members, .nmembers = 6, .clock = -1};
static struct event_class class = {
	.id = 12, .name = "sched:sched_switch", .scope = {[SCOPE_PAYLOAD] = &payload}, .nslots = 5};
static struct event_class *classes[] = {&class};
static struct stream stream = {.name = "s0", .section = "ch", .cpu = 3, .clock = -1,
				.tid = -1, .pid = -1, .rank = 4, .app = -1};
static struct stream *streams[] = {&stream};
static struct trace trace = {.parts = parts,
			     .nparts = 1,
			     .streams = streams,
			     .nstreams = 1,
			     .classes = classes,
			     .nclasses = 1};

static const struct slot slots[5] = {
	{.u = 7}, {.u = UINT64_MAX - 1}, {.u = UINT64_C(1) << 63}, {.u = 7}, {.u = 8}};
static const struct fields fields = {.class = &class, .slots = slots};

static const struct fields *decode(void *arg, const struct event *event)
{
	(void)arg;
	(void)event;
	return &fields;
}

static enum eval read_state(void *arg, uint32_t attr, struct value *out)
{
	struct env *env = arg;
	struct buf path = {0};
	enum eval result = EVAL_VALUE;

	attr_add_text(program_attrs(env->program), attr, &path);
	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (!strcmp(buf_text(&path), "known"))
		*out = (struct value){.kind = VALUE_INT, .u = 5};
	else if (!strcmp(buf_text(&path), "nil"))
		out->kind = VALUE_NONE;
	else if (!strcmp(buf_text(&path), "word") || !strcmp(buf_text(&path), "s[1]"))
		*out = (struct value){.kind = VALUE_STRING, .len = 1, .text = "w"};
	else if (!strcmp(buf_text(&path), "s"))
		*out = (struct value){.kind = VALUE_INT, .u = 1};
	else if (!strcmp(buf_text(&path), "open"))
		result = EVAL_OPEN;
	buf_release(&path);
	return result;
}

static const struct row {
	const char *expr, *result;
} rows[] = {
	{"1 + 2 * 3", "7"},
	{"(1 + 2) * 3", "9"},
	{"7 - 2 - 1", "4"},
	{"-7 / 2", "-3"},
	{"-7 % 2", "-1"},
	{"1 / 0", "fails: a number does not fit"},
	{"1.0 / 4", "0.25"},
	{"9223372036854775807 + 1", "9223372036854775808"},
	{"18446744073709551615 + 1", "fails: a number does not fit"},
	{"-9223372036854775808 - 1", "fails: a number does not fit"},
	{"-9223372036854775808", "-9223372036854775808"},
	{"field/big + field/big", "fails: a number does not fit"},
	{"field/minus < field/n", "true"},
	{"field/minus < 18446744073709551614", "true"},
	{"field/x", "fails: the event has no such field"},
	{"has(field/x)", "false"},
	{"has(field/n)", "true"},
	{"has(nothing)", "false"},
	{"has(known)", "true"},
	{"has(event/sched_switch)", "true"},
	{"has(event/\"sched:sched_switch\")", "true"},
	{"has(event/sched_waking)", "false"},
	{"has(event/name)", "true"},
	{"label(field/kind)", "\"seven\""},
	{"label(field/n)", "fails: the map has no entry for the value"},
	{"has(label(field/kind))", "true"},
	{"has(label(field/other))", "false"},
	{"has(label(field/n))", "false"},
	{"has(label(field/x))", "false"},
	{"field/n & 3 != 0", "true"}, /* unlike C */
	{"6 & 3 == 2", "true"},
	{"1 << 63", "9223372036854775808"},
	{"1 << 64", "fails: a number does not fit"},
	{"~~0", "-1"},
	{"5 ^ 1", "4"},
	{"5 == \"5\"", "false"},
	{"true == 1", "false"},
	{"1 == 1.0", "true"},
	{"9007199254740993 == 9007199254740992.0", "false"},
	{"none == none", "true"},
	{"none == 5", "false"},
	{"none < 5", "fails: an operand has the wrong type"},
	{"none + 5", "fails: an operand has the wrong type"},
	{"\"a\" < \"b\"", "true"},
	{"\"task\" > \"rcu\" && \"rcu\" < \"task\"", "true"}, /* two letters apart */
	{"\"a\" < 5", "fails: an operand has the wrong type"},
	{"nothing == 5", "unknown"},
	{"nothing == none", "unknown"},
	{"nothing + 5", "unknown"},
	{"\"irq \" + str(24)", "\"irq 24\""},
	{"\"\" + \"a\" + \"b\"", "\"ab\""},
	{"\"a\" + nothing", "unknown"},
	{"choose(1 < 2, \"a\", 1 / 0)", "\"a\""},
	{"choose(1 > 2, 1 / 0, 7)", "7"},
	{"choose(nothing == 1, 1, 2)", "unknown"},
	{"choose(known == 5, known, 1 / 0)", "5"},
	{"choose(1, 1, 2)", "fails: an operand has the wrong type"},
	{"choose(1 / 0 == 1, 1, 2)", "fails: a number does not fit"},
	{"choose(open == 1, 1, 2)", "open"},
	{"choose(true, open, 2)", "open"},
	{"choose(true, nothing, 2)", "unknown"},
	{"\"a\" + 1", "fails: an operand has the wrong type"},
	{"1 + \"a\"", "fails: an operand has the wrong type"},
	{"\"a\" - \"a\"", "fails: an operand has the wrong type"},
	{"nothing - \"a\"", "fails: an operand has the wrong type"},
	{"none + \"a\"", "fails: an operand has the wrong type"},
	{"-\"a\"", "fails: an operand has the wrong type"},
	{"nothing < 5", "unknown"},
	{"nothing in (1, 2)", "unknown"},
	{"!nothing", "unknown"},
	{"false && nothing", "false"},
	{"nothing == 1 && false", "false"},
	{"nothing == 1 && true", "unknown"},
	{"true || nothing", "true"},
	{"nothing == 1 || true", "true"},
	{"nothing == 1 || false", "unknown"},
	{"false && field/x == 1", "false"},
	{"true || 1 / 0 == 1", "true"},
	{"1 && true", "fails: an operand has the wrong type"},
	{"none && true", "fails: an operand has the wrong type"},
	{"!1", "fails: an operand has the wrong type"},
	{"! 1 == 2", "true"},
	{"known + 1", "6"},
	{"known in (4, 5)", "true"},
	{"thread[nothing]/x", "fails: a key is unknown or none"},
	{"thread[nil]/x", "fails: a key is unknown or none"},
	{"thread[1.5 * 2]/x", "fails: an operand has the wrong type"},
	{"open", "open"},
	{"open == 1", "open"},
	{"open == 1 && false", "open"},
	{"false && open == 1", "false"},
	{"open + (1 / 0)", "fails: a number does not fit"},
	{"thread[open]/x", "open"},
	{"word ~ \"[v-x]\"", "true"},
	{"word =~ \"^(w|x)$\"", "true"},
	{"\"sys_open\" ~ \"sys_*n\"", "true"},
	{"\"abcd\" ~ \"a*b*d?\"", "false"},
	{"m(1)", "\"one\""},
	{"m(6)", "\"bit\""},
	{"m(8)", "\"perf only\""},
	{"m(16)", "fails: the map has no entry for the value"},
	{"m(nothing)", "unknown"},
	{"int(\"0x1f\") + int(2.9) + int(true)", "34"},
	{"int(\"12x\")", "fails: an operand has the wrong type"},
	{"5ns + 2us + 3ms + 1s", "1003002005"},
	{"1.5ms", "1500000"},
	{"0.0004us", "0"},
	{"1ms == 1000us", "true"},
	{"-2s", "-2000000000"},
	{"1s in (1000ms, 5)", "true"},
	{"0x10ns", "16"},
	{"str(12)", "\"12\""},
	{"hex(255)", "\"0xff\""},
	{"min(3, 1.5, 2)", "1.5"},
	{"max(3, nothing)", "unknown"},
	{"substr(\"abcdef\", 2)", "\"cdef\""},
	{"substr(\"abcdef\", 2, 3)", "\"cde\""},
	{"substr(\"abc\", 7) == \"\"", "true"},
	{"substr(\"abc\", 0 - 1, 1)", "\"a\""},
	{"substr(\"abc\", 1, 0 - 1) == \"\"", "true"},
	{"substr(\"abc\", 18446744073709551615) == \"\"", "true"},
	{"substr(\"abc\", 1, 18446744073709551615)", "\"bc\""},
	{"substr(word, known - 5)", "\"w\""},
	{"substr(5, 1)", "fails: an operand has the wrong type"},
	{"substr(word, word)", "fails: an operand has the wrong type"},
	{"substr(none, 1)", "fails: an operand has the wrong type"},
	{"substr(word, 1.0)", "fails: an operand has the wrong type"},
	{"substr(nothing, 1)", "unknown"},
	{"substr(word, nothing)", "unknown"},
	{"substr(nothing, word)", "fails: an operand has the wrong type"},
	{"substr(open, 1)", "open"},
	{"substr(open, word)", "fails: an operand has the wrong type"},
	{"substr(word, field/none)", "fails: the event has no such field"},
	{"split(\"B|12|name\", \"|\", 0)", "\"B\""},
	{"split(\"B|12|name\", \"|\", 2)", "\"name\""},
	{"split(\"B|12|name\", \"|\", 3) == \"\"", "true"},
	{"split(\"B|12|name\", \"|\", 0 - 1) == \"\"", "true"},
	{"split(\"a::b\", \"::\", 1)", "\"b\""},
	{"split(\"a\", \"\", 0)", "\"a\""},
	{"split(\"|\", \"|\", 1) == \"\"", "true"},
	{"split(word, 1, 0)", "fails: an operand has the wrong type"},
	{"split(word, nothing, 0)", "unknown"},
	{"split(word, \"|\", open)", "open"},
	{"captures(\"B|12|name\", \"^B\\\\|(\\\\d+)\")", "\"12\""},
	{"int(captures(\"B|12|name\", \"^B.(\\\\d+)\")) + 1", "13"},
	{"captures(\"B|12|name\", \"^(.).(\\\\d+).(.*)\", 3)", "\"name\""},
	{"captures(\"B|12|name\", \"2.\", 0)", "\"2|\""},
	{"captures(\"abc\", \"x(.)\") == \"\"", "true"},
	{"captures(\"abc\", \"a(x)?(b)\") == \"\"", "true"},
	{"captures(\"abc\", \"a(x)?(b)\", 9) == \"\"", "true"},
	{"captures(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", \"^(a|aa|a(?:a)?)+$\")",
	 "fails: a regular expression takes too many steps"},
	{"captures(5, \"(.)\")", "fails: an operand has the wrong type"},
	{"captures(nothing, \"(.)\")", "unknown"},
	{"captures(open, \"(.)\")", "open"},
	{"captures(word, \"(.)\")", "\"w\""},
	{"top(s)", "\"w\""},
	{"top(nil)", "none"},
	{"section/cpu", "3"},
	{"section/name", "\"ch\""},
	{"section/tid", "unknown"},
	{"section/rank", "4"},
	{"event/name", "\"sched:sched_switch\""},
	{"event/id + event/time", "112"},
	{"$1", "\"sw\""},
	{"field/renamed", "7"},
	{"field/other", "8"}, /* an alias does not hide a field of its name */
	{"payload/other", "8"},
	{"payload/renamed", "7"},
	{"context/renamed", "fails: the event has no such field"},
	{"field/listed", "7"}, /* one that lists itself says where it comes */
	{"has(context/other)", "false"},
	{"doubled[field/n]", "unknown"},
	{"plain", "6"},
	{"through", "7"},
};

static const char prelude[] =
	"map m { 1 = \"one\", & 4 = \"bit\" }\n"
	"map m for perf { 1 = \"one\", & 4 = \"bit\", 8 = \"perf only\" }\n"
	"alias field renamed = absent, n\n"
	"alias field other = n\n"
	"alias field listed = n, listed\n"
	"view plain = known + 1\nview through = plain + 1\nview doubled[?k] = x[?k] * 2\n"
	"event sched_*itch\n result = ";

static void add_result(enum eval result, const struct value *value, enum failure failure,
		       struct buf *out)
{
	if (result == EVAL_FAIL)
		buf_printf(out, "fails: %s", failure_text(failure));
	else if (result == EVAL_OPEN)
		buf_add_text(out, "open");
	else
		value_add_key(value, out);
}

static struct program *compile(const char *expr, struct rules *rules)
{
	struct buf text = {0};
	struct program *program = NULL;
	struct error err = {0};

	buf_printf(&text, "%s%s\n", prelude, expr);
	if (!rules_add(rules, "t", text.data, text.len, &err) ||
	    !program_compile(rules, &trace, NULL, &program, &err))
		print_error("%s\n", err.text);
	buf_release(&text);
	assert_non_null(program);
	return program;
}

static void has_value(void **state)
{
	const struct row *row = *state;
	struct rules *rules = rules_new();
	struct program *program = compile(row->expr, rules);
	struct event event = {.time = 100, .stream = &stream, .class = &class, .cpu = -1};
	struct env env = {
		.program = program, .event = &event, .decode = decode, .read = read_state};
	const struct class_program *lines = program_class(program, &stream, &class);
	struct value value = {.kind = VALUE_UNKNOWN};
	struct buf text = {0};

	env.arg = &env;
	env.scratch = arena_new();
	assert_int_equal(lines->nevent, 1);
	enum eval result = expr_eval(lines->event[0].value, &env, &value);
	add_result(result, &value, env.failure, &text);
	assert_string_equal(buf_text(&text), row->result);
	buf_release(&text);
	arena_free(env.scratch);
	program_free(program);
	rules_free(rules);
}

struct seen {
	struct env *env;
	struct buf text;
};

static enum eval note(void *arg, uint32_t attr, struct value *out)
{
	struct seen *seen = arg;

	attr_add_text(program_attrs(seen->env->program), attr, &seen->text);
	buf_add_char(&seen->text, ' ');
	return read_state(seen->env, attr, out);
}

static void reads_are_found_at_once(void **state)
{
	struct rules *rules = rules_new();
	struct program *program = compile(
		"a[open] + b[open + 1] + c[known]/x + through when open == 1 && d == 2", rules);
	struct event event = {.time = 100, .stream = &stream, .class = &class, .cpu = -1};
	struct env env = {.program = program, .event = &event, .decode = decode, .read = note};
	const struct line *line = program_class(program, &stream, &class)->event;
	struct value value;
	struct seen seen = {.env = &env};

	(void)state;
	env.arg = &seen;
	assert_int_equal(expr_eval(line->value, &env, &value), EVAL_OPEN);
	assert_string_equal(buf_text(&seen.text), "open open known c[5]/x known ");
	buf_clear(&seen.text);
	assert_int_equal(expr_holds(line->when, &env), EVAL_FAIL); /* d is unknown */
	assert_string_equal(buf_text(&seen.text), "open d ");
	buf_release(&seen.text);
	program_free(program);
	rules_free(rules);
}

static const struct condition {
	const char *text;
	bool passes;
} conditions[] = {
	{"n == 7", true},
	{"renamed == 7", true},
	{"other == 8", true},
	{"field/other == 7", false},
	{"payload/other == 8", true},
	{"name ~ \"sched:*\"", true},
	{"t >= 100 && t < 101", true},
	{"cpu == 3", false},
	{"stream == \"s0\"", true},
	{"absent == 1", false},
	{"known/x == 1", false},
	{"m(n & 1) == \"one\"", true},
	{"field/n > 8", false},
};

static void conditions_pass(void **state)
{
	struct rules *rules = rules_new();
	struct program *program = compile("1", rules);
	struct event event = {.time = 100, .stream = &stream, .class = &class, .cpu = -1};
	struct env env = {.event = &event, .decode = decode, .read = read_state};
	struct error err = {0};

	(void)state;
	env.arg = &env;
	env.scratch = arena_new();
	for (size_t i = 0; i < COUNT(conditions); i++) {
		struct where *where;
		assert_true(where_parse(conditions[i].text, &where, &err));
		assert_true(where_compile(where, rules, &trace, program, &err));
		if (where_one(where, &env) != conditions[i].passes)
			print_error("%s\n", conditions[i].text);
		assert_int_equal(where_one(where, &env), conditions[i].passes);
		assert_int_equal(where_compile(where, rules, &trace, NULL, &err),
				 !where_reads_state(where));
		where_free(where);
	}
	struct where *where;
	assert_false(where_parse("n == ", &where, &err));
	assert_non_null(strstr(err.text, "column 6"));
	arena_free(env.scratch);
	program_free(program);
	rules_free(rules);
}

/* Of rows with the columns of `columns`: the last one has no value. */
static const char *const columns[] = {"dur", "comm", "tid", "left"};
static const struct condition row_conditions[] = {
	{"dur > 1ms", true},
	{"dur > 1_000_000 && comm != \"\\a\\0\"", true},
	{"dur > 1ms && comm ~ \"de*\" && tid in (41, 42)", true},
	{"comm =~ \"^demo$\" && (tid & 2) != 0", true},
	{"choose(tid > 40, comm, \"\") == \"demo\"", true},
	{"tid == \"42\"", false},
	{"left == 1", false},
	{"left != 1", false},
	{"!(left == 1)", false},
	{"left == 1 || tid == 42", true},
	{"has(left)", false},
	{"has(tid) && !has(left)", true},
	{"comm < 5", false},
	{"tid / 0 == 1", false},
};

static void rows_pass(void **state)
{
	const struct value values[] = {value_s64(1500000), value_text("demo", 4), value_s64(42),
				       {.kind = VALUE_UNKNOWN}};
	struct rows_where *where;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(row_conditions); i++) {
		bool all = true;

		if (!rows_where_parse(row_conditions[i].text, columns, COUNT(columns), &where,
				      &err))
			fail_msg("%s: %s", row_conditions[i].text, err.text);
		for (size_t term = 0; term < rows_where_terms(where); term++)
			all = rows_where_holds(where, term, values) && all;
		if (all != row_conditions[i].passes)
			fail_msg("%s", row_conditions[i].text);
		rows_where_free(where);
	}
	assert_true(rows_where_parse("(dur > 1 || tid == 2) && comm == \"a\"", columns, 4, &where,
				     &err));
	assert_int_equal(rows_where_terms(where), 2);
	assert_true(rows_where_reads(where, 0, 0) && rows_where_reads(where, 0, 2));
	assert_false(rows_where_reads(where, 0, 1) || rows_where_reads(where, 1, 0));
	assert_true(rows_where_reads(where, 1, 1));
	rows_where_free(where);
}

/* Is it sure, and from which length on: `dur` grows, and `later` is not known yet. */
static const struct {
	const char *text;
	int64_t from; /* -1: never */
} sure_conditions[] = {
	{"dur > 5", 6},
	{"dur >= 5", 5},
	{"5 < dur", 6},
	{"5 <= dur", 5},
	{"dur > 4.5", 5},
	{"dur > tid", 43},
	{"dur < 5", -1},
	{"5 > dur", -1},
	{"!(dur < 5)", 5},
	{"!(dur <= 5)", 6},
	{"!(5 >= dur)", 6},
	{"dur == 5", -1},
	{"!(dur == 5)", 6},
	{"dur != 5", 6},
	{"5 != dur", 6},
	{"dur != \"a\"", 0},
	{"dur < 5 || comm == \"demo\"", 0},
	{"dur > 5 || comm == \"demo\"", 0},
	{"comm == \"other\" || dur > 7 && tid == 42", 8},
	{"dur > 5 && dur < 50", -1},
	{"dur > 5 && !(dur > 9)", -1},
	{"dur < 5 || dur > 3", 4}, /* though it is true of any length */
	{"dur * 2 > 10", -1},
	{"dur > dur", -1},
	{"dur in (1, 2)", -1},
	{"has(dur)", -1},
	{"choose(dur > 5, true, false)", -1},
	{"dur > later", -1},
	{"later == 1", -1},
	{"later == 1 || dur > 5", 6}, /* whatever the left side will be */
	{"dur > 5 || later == 1", 6},
	{"!(has(later) && dur < 5)", 5},
	{"!(dur < 5 && has(later))", 5},
	{"has(later)", -1},
	{"!has(later)", -1},
	{"left == 1 || dur > 5", 6},
	{"!(left == 1)", -1},
	{"tid == 42", 0},
	{"tid == 43", -1},
	{"comm < 5 || dur > 5", 6}, /* what fails is as unknown */
	{"dur > \"a\"", -1},
	{"dur > left", -1},
};

static void rows_are_sure(void **state)
{
	static const char *const names[] = {"dur", "comm", "tid", "left", "later"};
	struct value values[] = {value_s64(0), value_text("demo", 4), value_s64(42),
				 {.kind = VALUE_UNKNOWN}, value_open()};
	struct rows_where *where;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(sure_conditions); i++) {
		int64_t from = sure_conditions[i].from;

		if (!rows_where_parse(sure_conditions[i].text, names, COUNT(names), &where, &err))
			fail_msg("%s: %s", sure_conditions[i].text, err.text);
		for (int64_t dur = 0; dur < 60; dur++) {
			values[0] = value_s64(dur);
			if (rows_where_surely(where, values, 0) != (from >= 0 && dur >= from))
				fail_msg("%s: of %d", sure_conditions[i].text, (int)dur);
		}
		rows_where_free(where);
	}
}

/*
 * What is said to be sure of a length holds for all greater ones, where nothing is left to grow;
 * and nothing grows: it is what holds.
 */
static void sure_rows_hold(void **state)
{
	static const char *const names[] = {"dur", "comm", "tid", "left", "later"};
	const struct value laters[] = {{.kind = VALUE_UNKNOWN}, value_s64(1), value_text("a", 1)};
	struct value values[] = {value_s64(0), value_text("demo", 4), value_s64(42),
				 {.kind = VALUE_UNKNOWN}, value_open()};
	struct rows_where *where;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(sure_conditions); i++) {
		bool was = false;

		assert_true(rows_where_parse(sure_conditions[i].text, names, COUNT(names), &where,
					     &err));
		for (int64_t dur = 0; dur < 60; dur++) {
			values[0] = value_s64(dur);
			values[4] = value_open();
			was = was || rows_where_surely(where, values, 0);
			for (size_t k = 0; k < COUNT(laters); k++) {
				bool all = true;

				values[4] = laters[k];
				for (size_t term = 0; term < rows_where_terms(where); term++)
					all = rows_where_holds(where, term, values) && all;
				if (was && !all)
					fail_msg("%s: of %d", sure_conditions[i].text, (int)dur);
				assert_int_equal(all,
						 rows_where_surely(where, values, SIZE_MAX));
			}
		}
		rows_where_free(where);
	}
}

static void rows_refuse(void **state)
{
	static const struct {
		const char *text, *says;
	} refused[] = {
		{"durr > 1",
		 "column 1: there is no column 'durr': did you mean \"dur\"? there are dur, comm"},
		{"dur > field/x", "column 7: there is no column 'field/x'"},
		{"cpu[0]/thread == 1", "there is no column"},
		{"top(dur) == 1", "column 1: top() is of events"},
		{"label(dur) == \"a\"", "label() is of events"},
		{"has(event/sched_switch)", "there is no column"},
		{"dur", "column 1: a column alone is never true"},
		{"tid == 1 && dur + 1", "a number is never true"},
		{"dur > 3min", "column 7: a name cannot begin with a digit, and units of time are"},
		{"dur > 99999999999s", "does not fit in 64 bits"},
		{"dur = 3", "such as '=='"},
		{"dur << 1 == tid & 1", "needs brackets: dur << 1 == (tid & 1), or, as C and 'do' "
					"read it, (dur << 1 == tid) & 1"},
		{"foo(dur) == 1", "no map or function is named 'foo'"},
		{"", "expected a value"},
	};
	struct rows_where *where;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		assert_false(rows_where_parse(refused[i].text, columns, COUNT(columns), &where, &err));
		if (!strstr(err.text, refused[i].says))
			fail_msg("%s: %s", refused[i].text, err.text);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 6];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].expr, has_value, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	tests[COUNT(rows)] = (struct CMUnitTest)cmocka_unit_test(reads_are_found_at_once);
	tests[COUNT(rows) + 1] = (struct CMUnitTest)cmocka_unit_test(conditions_pass);
	tests[COUNT(rows) + 2] = (struct CMUnitTest)cmocka_unit_test(rows_pass);
	tests[COUNT(rows) + 3] = (struct CMUnitTest)cmocka_unit_test(rows_refuse);
	tests[COUNT(rows) + 4] = (struct CMUnitTest)cmocka_unit_test(rows_are_sure);
	tests[COUNT(rows) + 5] = (struct CMUnitTest)cmocka_unit_test(sure_rows_hold);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
