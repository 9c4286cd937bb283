/* random_rules.c - see random_rules.h */
#include "tests/state/random_rules.h"

#include <stdlib.h>
#include <time.h>

#include "tests/harness.h"

const struct fake_class random_classes[RANDOM_CLASSES] = {
	{"X", {"v", "w"}}, {"Y", {"v"}}, {"Z", {"w", "$s"}}, {"W", {NULL}}};

uint32_t pick(struct gen *gen, uint32_t n)
{
	return (uint32_t)(rng_next(&gen->rng) % n);
}

static void add(struct gen *gen, const char *text)
{
	buf_add_text(&gen->text, text);
}

static void add_read(struct gen *gen, int depth);

static void add_key(struct gen *gen, int depth)
{
	switch (pick(gen, depth > 0 ? 8 : 5)) {
	case 0:
		buf_add_u64(&gen->text, pick(gen, 4));
		break;
	case 1:
	case 2:
		add(gen, "field/v");
		break;
	case 3:
		add(gen, "section/cpu");
		break;
	case 4:
		add(gen, pick(gen, 2) ? "section/k" : "field/w");
		break;
	default:
		add_read(gen, depth - 1);
	}
}

static void add_read(struct gen *gen, int depth)
{
	static const char *const scalars[] = {"a", "b", "k"};

	switch (pick(gen, 6)) {
	case 0:
	case 1:
	case 2:
		add(gen, scalars[pick(gen, 3)]);
		break;
	case 3:
		add(gen, "cpu[");
		add_key(gen, depth);
		add(gen, "]/c");
		break;
	default:
		add(gen, "t[");
		add_key(gen, depth);
		add(gen, pick(gen, 2) ? "]/x" : "]/y");
	}
}

static void add_target(struct gen *gen, bool subtree)
{
	if (gen->by_cpu) {
		static const char *const below[] = {"", "/c", "/d"};
		add(gen, "cpu[section/cpu]");
		add(gen, below[subtree ? pick(gen, 3) : 1 + pick(gen, 2)]);
		return;
	}
	if (subtree && pick(gen, 3) == 0) {
		static const char *const wide[] = {"t[*]/x", "t/**", "t", "cpu[*]/c", "t[*]"};
		add(gen, wide[pick(gen, 5)]);
		return;
	}
	if (pick(gen, 3) == 0) {
		add(gen, pick(gen, 2) ? "cpu[section/cpu]" : "cpu[field/v]");
		add(gen, pick(gen, 4) ? "/c" : "/d");
		return;
	}
	if (subtree && pick(gen, 2)) {
		add(gen, "t[");
		add_key(gen, 1);
		add(gen, "]");
		return;
	}
	add_read(gen, 1);
}

/* Adds an expression that cuts a part of a text; its begin may be read from the state. */
static void add_text(struct gen *gen)
{
	static const char *const texts[] = {"field/s", "a", "b", "str(field/w)", "\"B|1|x\""};
	static const char *const numbers[] = {"0", "1", "field/v", "k", "2"};
	const char *text = texts[pick(gen, COUNT(texts))];
	const char *number = numbers[pick(gen, COUNT(numbers))];

	switch (pick(gen, 4)) {
	case 0:
		buf_printf(&gen->text, "substr(%s, %s, 3)", text, number);
		break;
	case 1:
		buf_printf(&gen->text, "split(%s, \"|\", %s)", text, number);
		break;
	case 2:
		buf_printf(&gen->text, "int(captures(%s, \"[|](\\\\d)\"))", text);
		break;
	default:
		buf_printf(&gen->text, "captures(%s, \"^(.)[|](.)\", 1)", text);
	}
}

static void add_value(struct gen *gen)
{
	static const char *const plain[] = {"field/v", "field/w", "none", "\"s\"", "section/cpu"};

	if (gen->by_cpu) {
		add(gen, plain[pick(gen, COUNT(plain))]);
		return;
	}
	switch (pick(gen, 9)) {
	case 0:
		buf_add_u64(&gen->text, pick(gen, 4));
		break;
	case 1:
		add(gen, "field/v");
		break;
	case 8:
		add_text(gen);
		break;
	case 2:
		add(gen, pick(gen, 2) ? "field/w" : "section/k");
		break;
	case 3:
		add_read(gen, 1);
		add(gen, " + 1");
		break;
	case 4:
		add(gen, "m(");
		add_read(gen, 0);
		add(gen, ")");
		break;
	case 5:
		add(gen, pick(gen, 2) ? "none" : "\"s\"");
		break;
	default:
		add_read(gen, 1);
	}
}

/* Adds a test of the field that keys are made of, so that lines never write some keys. */
static void add_key_test(struct gen *gen)
{
	static const char *const tests[][2] = {
		{"field/v != ", ""},
		{"field/v == ", ""},
		{"field/v in (7, ", ")"},
		{"!(field/v in (", ", 1))"},
		{"!(field/v == ", " && true)"},
		{"field/v & ", " == 1"},
		{"!(field/w & 2 == ", ")"},
		{"field/v < ", " && 1 <= field/w"},
		{"", " >= field/v"},
		{"field/v == 1 && field/v != ", ""},
	};
	uint32_t i = pick(gen, COUNT(tests));

	add(gen, tests[i][0]);
	buf_add_u64(&gen->text, pick(gen, 4));
	add(gen, tests[i][1]);
}

static void add_when(struct gen *gen)
{
	if (pick(gen, 3))
		return;
	add(gen, " when ");
	if (gen->by_cpu || pick(gen, 2)) {
		add_key_test(gen);
		if (gen->by_cpu || pick(gen, 2))
			return;
		add(gen, pick(gen, 2) ? " && " : " || ");
	}
	add_read(gen, 1);
	add(gen, pick(gen, 2) ? " == " : " > ");
	buf_add_u64(&gen->text, pick(gen, 4));
}

static void add_line(struct gen *gen)
{
	uint32_t verb = pick(gen, gen->cumulative ? 12 : 10);

	add(gen, "  ");
	if (verb == 10)
		add(gen, "n += field/v");
	else if (verb == 11)
		add(gen, pick(gen, 2) ? "push q = field/v" : "pop q");
	else if (verb == 9 || verb == 8) {
		add(gen, verb == 8 ? "delete " : "unknown ");
		add_target(gen, true);
	} else {
		add(gen, verb >= 6 ? "was " : "");
		add_target(gen, false);
		add(gen, " = ");
		add_value(gen);
	}
	add_when(gen);
	add(gen, "\n");
}

/* In one set of four each line concerns one CPU only, so that rounds are those of one CPU. */
void add_rules(struct gen *gen)
{
	static const char *const heads[] = {"event X\n",      "event Y\n",     "event Z, X\n",
					    "event *\n",      "event @lost\n", "event W\n",
					    "event @start\n", "event @end\n"};

	/* the others distinguish deleted from unknown */
	static const char *const views[] = {
		"view u[?c]/z = t[cpu[?c]/c]/x\n", "view u[?c]/z = t[cpu[?c]/c]/x\n",
		"view u[?c]/z = (t[1]/x == none) == (cpu[?c]/c + 1 == 2)\n",
		"view u[?c]/z = (cpu[?c]/d - 1 == 1) == has(t[0]/x)\n"};

	/* may have a value where what they list has none */
	static const char *const more[] = {"view p[?k]/z = b == 1 && t[?k]/x == 2\n",
					   "view p[?k]/z = !(t[?k]/x == 2 && k == 1)\n",
					   "view p[?k]/z = has(t[?k]/y) || t[?k]/y == none\n",
					   "view p[?k][?c]/z = t[?k]/x == none || cpu[?c]/c == 1\n",
					   "view p[?k][?c]/z = has(cpu[?c]/d) == (t[?k]/x == 1)\n"};

	gen->by_cpu = pick(gen, 4) == 0;
	add(gen, "map m { 0 = 1, 1 = 2, 3 = 0 }\ninitial n = 0\n");
	if (pick(gen, 3) == 0)
		add(gen, "initial a = 2\n");
	if (pick(gen, 4) == 0)
		add(gen, "initial t[*]/x = 1\n");
	add(gen, views[pick(gen, COUNT(views))]);
	add(gen, "view w[?k]/z = u[?k]/z\n");
	add(gen, "view v[?k]/z = t[?k]/x == none\n");
	/* not by pick(): an old seed still gives its old rules, and this view */
	add(gen, more[gen->text.len % COUNT(more)]);
	add(gen, "view r/s = has(t[1]/x) || b == 1\n");
	if (gen->pairs)
		add(gen, "view g[?k][?c]/h = d[?k][?c]/e == none || d[?k][?c]/e == 1 || b == 1\n"
			 "event X\n  d[field/v][field/w]/e = field/w\n"
			 "event Y\n  delete d[field/v]/** when field/v != 1\n"
			 "  d[field/v][section/cpu]/e = a\n");
	if (!gen->by_cpu && pick(gen, 2)) {
		add(gen, "section *\n  section/k = ");
		add(gen, pick(gen, 2) ? "field/v\n" : "a\n");
		if (pick(gen, 4) == 0)
			add(gen, "  section/cpu = field/w\n");
	}
	for (uint32_t i = 1 + pick(gen, 4); i-- > 0;) {
		add(gen, heads[pick(gen, pick(gen, 3) ? 6 : 8)]);
		for (uint32_t n = 1 + pick(gen, 3); n-- > 0;)
			add_line(gen);
	}
}

size_t make_events(struct gen *gen, struct fake_event *events, uint32_t nstreams)
{
	static const char *const texts[] = {"s", "B|1|x", "E|2", "|3"};
	size_t count = 3 + pick(gen, RANDOM_EVENTS - 3);

	for (size_t i = 0; i < count; i++) {
		events[i] = (struct fake_event){.time = pick(gen, RANDOM_LAST - 2) + 1,
						.stream = pick(gen, nstreams),
						.class = pick(gen, RANDOM_CLASSES)};
		for (int f = 0; f < FAKE_FIELDS; f++) {
			events[i].numbers[f] = pick(gen, 4);
			events[i].texts[f] = texts[(events[i].numbers[f] + i) % COUNT(texts)];
		}
		if (pick(gen, 12) == 0) {
			events[i].class = FAKE_LOSS;
			events[i].until = events[i].time + pick(gen, 6);
		}
	}
	return count;
}

uint64_t random_seeds(uint64_t sets, uint64_t *first)
{
	const char *asked = getenv("YORE_PROPERTY_SETS");
	const char *from = getenv("YORE_PROPERTY_FIRST");

	*first = from ? strtoull(from, NULL, 10) : 1;
	return *first + (asked ? strtoull(asked, NULL, 10) : sets);
}

bool random_time_left(void)
{
	const char *seconds = getenv("YORE_PROPERTY_SECONDS");

	return !seconds || clock() / CLOCKS_PER_SEC < strtol(seconds, NULL, 10);
}
