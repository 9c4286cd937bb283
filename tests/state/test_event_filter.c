/*
 * test_event_filter.c - which events pass for which paths, of small rules, and of random ones
 *
 * A row is rules, the paths that are asked, and the times of the events that pass. Over random
 * rules no event may be dropped of which replay says that it wrote what is asked.
 */
#include "state/events/event_filter.h"
#include "state/replay/replay.h"
#include "tests/harness.h"
#include "tests/state/fake_state.h"

#include <string.h>

enum { SETS = 1500 };

static const struct fake_class classes[] = {{"X", {"v", "w"}}, {"Y", {"v"}},  {"Z", {NULL}},
					    {"W", {"-n"}},     {"S", {"$s"}}, {"T", {"@tid", "v"}}};
enum { X, Y, Z, W, S, T };

static const struct fake_event events[] = {
	{.time = 1, .class = X, .numbers = {1, 2}},
	{.time = 2, .class = X, .stream = 1, .numbers = {2, 1}},
	{.time = 3, .class = X, .numbers = {3, 3}},
	{.time = 4, .class = Y, .stream = 1, .numbers = {1}},
	{.time = 5, .class = Y, .numbers = {2}},
	{.time = 6, .class = Y, .numbers = {UINT64_MAX}},
	{.time = 7, .class = Z},
	{.time = 8, .class = W, .numbers = {UINT64_MAX}},
	{.time = 9, .class = W, .numbers = {1}},
	{.time = 10, .class = W, .numbers = {4097}},
	{.time = 11, .class = S, .texts = {"a"}},
	{.time = 12, .class = S, .texts = {"b"}},
	{.time = 13, .class = T, .numbers = {1, 2}},
	{.time = 14, .class = T, .numbers = {2, 1}},
};

#define KEYS "event X, Y\n t[field/v] = 1\n"

static const struct row {
	const char *name, *rules;
	const char *paths[FAKE_PATHS];
	const char *passes; /* times */
	bool any;           /* of some class all pass */
} rows[] = {
	{"an event of another key is dropped", KEYS, {"t[1]"}, "1 4", false},
	{"a key that no event has", KEYS, {"t[7]"}, "", false},
	{"events of each path that is asked", KEYS, {"t[1]", "t[3]"}, "1 3 4", false},
	{"nothing is asked", KEYS, {NULL}, "", false},
	{"a path that no line writes", KEYS, {"u[1]"}, "", false},
	{"without a key all of the class pass", "event X\n a = field/v\n", {"a"}, "1 2 3", true},
	{"of one class all, of another some",
	 "event X\n a = 1\nevent Y\n t[field/v] = 1\n",
	 {"a", "t[1]"},
	 "1 2 3 4",
	 true},
	{"what a line reads is not asked yet",
	 "event X\n t[field/v] = k\nevent Y\n k = field/v\n",
	 {"t[1]"},
	 "1",
	 false},
	{"it passes once it is asked",
	 "event X\n t[field/v] = k\nevent Y\n k = field/v\n",
	 {"t[1]", "k"},
	 "1 4 5 6",
	 true},
	{"a key of the state is not known: all pass",
	 "event X\n t[k] = 1\n",
	 {"t[1]"},
	 "1 2 3",
	 true},
	{"a computed key: all pass", "event X\n t[field/v + 1] = 1\n", {"t[2]"}, "1 2 3", true},
	{"a constant key: all pass", "event X\n t[1] = 1\n", {"t[1]"}, "1 2 3", true},
	{"the section's CPU: those of that CPU",
	 "event X\n cpu[section/cpu] = 1\n",
	 {"cpu[1]"},
	 "2",
	 true},
	{"another section's key: all pass",
	 "section Y\n section/s = 1\nevent X\n cpu[section/s] = 1\n",
	 {"cpu[1]"},
	 "1 2 3",
	 true},
	{"the section's CPU beside a key of a field",
	 "event X\n cpu[section/cpu] = 1\nevent Y\n cpu[field/v] = 1\n",
	 {"cpu[1]"},
	 "1 2 3 4",
	 true},
	{"below the key", "event X\n t[field/v]/x/y = 1\n", {"t[1]/x/y"}, "1", false},
	{"a key below a constant one",
	 "event X\n t[9]/u[field/v] = 1\n",
	 {"t[9]/u[2]"},
	 "2",
	 false},
	{"a key below another name",
	 "event X\n t[field/v]/u[field/w] = 1\n",
	 {"t[1]/u[9]"},
	 "1",
	 false},
	{"of two keys in a row the first counts",
	 "event X\n t[field/v][field/w] = 1\n",
	 {"t[1][9]"},
	 "1",
	 false},
	{"a field's key right behind another key: all pass",
	 "event X\n t[k][field/w] = 1\n",
	 {"t[1][2]"},
	 "1 2 3",
	 true},
	{"two lines with keys of two fields",
	 "event X\n t[field/v] = 1\n t[field/w] = 2\n",
	 {"t[1]"},
	 "1 2",
	 false},
	{"a line with a key beside one without",
	 "event X\n t[field/v] = 1\n t[k] = 2\n",
	 {"t[1]"},
	 "1 2 3",
	 true},
	{"a line without a key that writes something else",
	 "event X\n t[field/v] = 1\n u[k] = 2\n",
	 {"t[1]"},
	 "1",
	 false},
	{"a field of the context", "event T\n t[field/tid] = 1\n", {"t[1]"}, "13", false},
	{"and one of the payload behind it", "event T\n t[field/v] = 1\n", {"t[1]"}, "14", false},
	{"fields of both, at the same place of each",
	 "event T\n t[field/tid] = 1\n t[field/v] = 2\n",
	 {"t[1]"},
	 "13 14",
	 false},
	{"a text as key: all pass", "event S\n t[field/s] = 1\n", {"t[a]"}, "11 12", true},

	{"a condition that excludes the key",
	 "event X, Y\n t[field/v] = 1 when field/v != 1\n",
	 {"t[1]"},
	 "",
	 false},
	{"it leaves the others",
	 "event X, Y\n t[field/v] = 1 when field/v != 1\n",
	 {"t[2]"},
	 "2 5",
	 false},
	{"a condition that names another key",
	 "event X, Y\n t[field/v] = 1 when field/v == 2\n",
	 {"t[1]"},
	 "",
	 false},
	{"a condition that names the key",
	 "event X, Y\n t[field/v] = 1 when field/v == 2\n",
	 {"t[2]"},
	 "2 5",
	 false},
	{"a list without the key",
	 "event X\n t[field/v] = 1 when field/v in (2, 3)\n",
	 {"t[1]"},
	 "",
	 false},
	{"a list with the key",
	 "event X\n t[field/v] = 1 when field/v in (2, 3)\n",
	 {"t[3]"},
	 "3",
	 false},
	{"a list that is denied",
	 "event X\n t[field/v] = 1 when !(field/v in (1, 2))\n",
	 {"t[1]", "t[3]"},
	 "3",
	 false},
	{"one part of an and excludes it",
	 "event X\n t[field/v] = 1 when field/w == 2 && field/v != 1\n",
	 {"t[1]"},
	 "",
	 false},
	{"one part of an or does not",
	 "event X\n t[field/v] = 1 when field/w == 2 || field/v != 1\n",
	 {"t[1]"},
	 "1",
	 false},
	{"both parts of an or do",
	 "event X\n t[field/v] = 1 when field/v == 2 || field/v == 3\n",
	 {"t[1]"},
	 "",
	 false},
	{"an and that is denied",
	 "event X\n t[field/v] = 1 when !(field/v == 1 && field/w == 2)\n",
	 {"t[1]"},
	 "1",
	 false},
	{"an or that is denied",
	 "event X\n t[field/v] = 1 when !(field/v == 1 || field/w == 2)\n",
	 {"t[1]"},
	 "",
	 false},
	{"a condition of another field",
	 "event X\n t[field/v] = 1 when field/w != 1\n",
	 {"t[1]"},
	 "1",
	 false},
	{"a list of another field",
	 "event X\n t[field/v] = 1 when field/w in (2, 3)\n",
	 {"t[1]"},
	 "1",
	 false},
	{"a float may be equal to the key",
	 "event X\n t[field/v] = 1 when field/v == 1.0\n",
	 {"t[1]"},
	 "1",
	 false},
	{"and so may one of a list",
	 "event X\n t[field/v] = 1 when field/v in (7, 1.0)\n",
	 {"t[1]"},
	 "1",
	 false},
	{"a condition of state", "event X\n t[field/v] = 1 when k != 1\n", {"t[1]"}, "1", false},
	{"a condition of the head",
	 "event X when field/v != 1\n t[field/v] = 1\n",
	 {"t[1]", "t[2]"},
	 "2",
	 false},
	{"another line does not exclude it",
	 "event X\n t[field/v] = 1 when field/v != 1\n t[field/v] = 2 when field/w == 2\n",
	 {"t[1]"},
	 "1",
	 false},

	{"a number below zero is in no unsigned field", KEYS, {"t[-1]"}, "", false},
	{"the greatest number is", KEYS, {"t[18446744073709551615]"}, "6", false},
	{"a number below zero in a signed field",
	 "event W\n t[field/n] = 1\n",
	 {"t[-1]"},
	 "8",
	 false},
	{"the greatest number is in no signed field",
	 "event W\n t[field/n] = 1\n",
	 {"t[18446744073709551615]"},
	 "",
	 false},
	{"a number of equal remainder is another one",
	 "event W\n t[field/n] = 1\n",
	 {"t[1]"},
	 "9",
	 false},
	{"and so the other way round", "event W\n t[field/n] = 1\n", {"t[4097]"}, "10", false},
	{"a text is in no field of integers", KEYS, {"t[\"1\"]"}, "", false},
	{"true is in no field of integers", KEYS, {"t[true]"}, "", false},

	{"a delete of what is above", "event X\n delete t[field/v]\n", {"t[1]/x"}, "1", false},
	{"a delete above the key: all pass", "event Z\n delete t\n", {"t[1]/x"}, "7", true},
	{"a delete with a wildcard: all pass", "event Z\n delete t[*]/x\n", {"t[1]/x"}, "7", true},
	{"a delete of what is below", "event X\n delete t[field/v]/**\n", {"t[1]/x"}, "1", false},
	{"a delete of what is below is none of the node",
	 "event X\n delete t[field/v]/**\n",
	 {"t[1]"},
	 "",
	 false},
	{"unknown", "event Y\n unknown t[field/v]\n", {"t[2]/x"}, "5", false},
	{"was", "event Y\n was t[field/v] = 1\n", {"t[2]"}, "5", false},
	{"a stack and its values",
	 "event X\n push q[field/v] = 1\n",
	 {"q[1]", "q[2][1]"},
	 "1 2",
	 false},
};

struct filtered {
	struct fake_state fake;
	struct closure *closure;
	struct event_filter *filter;
};

/* Opens `fake`, which becomes the filter's; nothing passes yet. */
static void filtered_open(struct filtered *out, const struct fake_state *fake,
			  const uint32_t *attrs, size_t count)
{
	uint32_t shapes[FAKE_PATHS];

	out->fake = *fake;
	for (size_t i = 0; i < count; i++)
		shapes[i] = attr_shape(fake->state->attrs, attrs[i]);
	out->closure = closure_new(fake->state->catalog, shapes, count);
	out->filter = event_filter_new(out->closure, &fake->trace->event_source, NULL, NULL, 0);
	event_filter_clear(out->filter);
}

static void filtered_close(struct filtered *filtered)
{
	event_filter_free(filtered->filter);
	closure_free(filtered->closure);
	fake_state_close(&filtered->fake);
}

/* Reads as a pass does: `each` is called for the events that pass. */
static void read_all(struct filtered *filtered, bool backward,
		     void (*each)(void *arg, const struct event_item *item), void *arg)
{
	struct event_source_range range = {.from = order_before(NSTIME_MIN),
					   .to = order_after(NSTIME_MAX),
					   .backward = backward,
					   .classes = filtered->closure->classes,
					   .event_filter = filtered->filter};
	struct event_pass pass;
	struct event_item item;
	struct error err;

	assert_true(event_source_open(&filtered->fake.trace->event_source, &range, &pass, &err));
	while (event_source_next(&pass, &item, &err) == STEP_ITEM)
		each(arg, &item);
	event_source_close(&pass);
}

static void add_time(void *arg, const struct event_item *item)
{
	struct buf *out = arg;

	buf_printf(out, "%s%lld", out->len ? " " : "", (long long)item->order.time);
}

static void open_rules(struct filtered *out, const char *rules, const char *const paths[FAKE_PATHS],
		       uint32_t attrs[FAKE_PATHS], size_t *count)
{
	struct fake_state fake;

	fake_state_open(fake_trace_new(2, classes, COUNT(classes), events, COUNT(events)), rules,
			&fake);
	*count = fake_state_attrs(&fake, paths, attrs);
	filtered_open(out, &fake, attrs, *count);
}

static void passes(void **row_of_test)
{
	const struct row *row = *row_of_test;
	uint32_t attrs[FAKE_PATHS];
	struct filtered filtered;
	struct buf times = {0};
	size_t count;

	open_rules(&filtered, row->rules, row->paths, attrs, &count);
	for (size_t i = 0; i < count; i++)
		event_filter_add(filtered.filter, attrs[i]);
	read_all(&filtered, false, add_time, &times);
	assert_string_equal(buf_text(&times), row->passes);
	assert_int_equal(event_filter_is_keyed(filtered.filter), !row->any);
	for (size_t i = 0; i < count; i++)
		assert_true(event_filter_has(filtered.filter, attrs[i]));
	buf_release(&times);
	filtered_close(&filtered);
}

/* ---- what is asked grows, and is forgotten ---- */

static const char *const three[FAKE_PATHS] = {"t[1]", "t[2]", "a"};
#define THREE "event X\n t[field/v] = 1\nevent Y\n a = field/v\nevent Z\n u = 1\n"

static void only_what_was_added_passes(void **unused)
{
	uint32_t attrs[FAKE_PATHS];
	struct filtered filtered;
	size_t count;

	(void)unused;
	open_rules(&filtered, THREE, three, attrs, &count);
	for (size_t n = 0; n < count; n++) {
		for (size_t i = 0; i < count; i++)
			assert_int_equal(event_filter_has(filtered.filter, attrs[i]), i < n);
		event_filter_add(filtered.filter, attrs[n]);
	}
	event_filter_clear(filtered.filter);
	for (size_t i = 0; i < count; i++)
		assert_false(event_filter_has(filtered.filter, attrs[i]));
	assert_true(event_filter_is_keyed(filtered.filter));
	filtered_close(&filtered);
}

static void what_was_forgotten_does_not_pass(void **unused)
{
	const char *const paths[FAKE_PATHS] = {"t[1]", "t[4097]"};
	uint32_t attrs[FAKE_PATHS];
	struct buf times = {0};
	struct filtered filtered;
	size_t count;

	(void)unused;
	open_rules(&filtered, "event W\n t[field/n] = 1\n", paths, attrs, &count);
	event_filter_add(filtered.filter, attrs[0]);
	event_filter_clear(filtered.filter);
	event_filter_add(filtered.filter, attrs[1]);
	read_all(&filtered, false, add_time, &times);
	assert_string_equal(buf_text(&times), "10");
	buf_release(&times);
	filtered_close(&filtered);
}

static void what_no_event_can_write_is_there_at_once(void **unused)
{
	const char *const paths[FAKE_PATHS] = {"t[1]", "t[-1]", "t[2]", "u"};
	uint32_t attrs[FAKE_PATHS];
	struct filtered filtered;
	size_t count;

	(void)unused;
	open_rules(&filtered, "event X\n t[field/v] = 1 when field/v != 2\n", paths, attrs, &count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(event_filter_has(filtered.filter, attrs[i]), i > 0);
	filtered_close(&filtered);
}

static void a_filter_chooses_until_all_classes_pass(void **unused)
{
	uint32_t attrs[FAKE_PATHS];
	struct filtered filtered;
	size_t count;

	(void)unused;
	open_rules(&filtered, "event X\n a = 1\nevent Y\n a = 2\n b = 1\n",
		   (const char *const[FAKE_PATHS]){"b", "a"}, attrs, &count);
	assert_true(event_filter_chooses(filtered.filter));
	event_filter_add(filtered.filter, attrs[0]);
	assert_true(event_filter_chooses(filtered.filter));
	event_filter_add(filtered.filter, attrs[1]);
	assert_false(event_filter_chooses(filtered.filter));
	filtered_close(&filtered);
}

static void many_keys_pass_each(void **unused)
{
	uint32_t attrs[FAKE_PATHS];
	struct buf times = {0};
	struct filtered filtered;
	size_t count;

	(void)unused;
	open_rules(&filtered, KEYS, (const char *const[FAKE_PATHS]){"t[1]"}, attrs, &count);
	for (uint64_t i = 2; i < 1000; i++) {
		struct value key = {.kind = VALUE_INT, .u = i};
		uint32_t attr = attr_key(filtered.fake.state->attrs,
					 attr_parent(filtered.fake.state->attrs, attrs[0]), &key);

		event_filter_add(filtered.filter, attr);
		assert_true(event_filter_has(filtered.filter, attr));
	}
	assert_false(event_filter_has(filtered.filter, attrs[0]));
	read_all(&filtered, false, add_time, &times);
	assert_string_equal(buf_text(&times), "2 3 5");
	buf_release(&times);
	filtered_close(&filtered);
}

/* ---- many events of a run at once ---- */

enum { RUN_FIRST = 3, RUN_COUNT = 200, DAMAGED = 77 };

struct decoder {
	const struct event_class *class;
	struct slot slots[FAKE_FIELDS];
};

/* Field v of entry i is i % 5. */
static bool decode(struct decoder *decoder, const struct batch *batch, uint32_t i,
		   struct fields *out, struct error *err)
{
	(void)batch;
	decoder->slots[0].u = i % 5;
	*out = (struct fields){.class = decoder->class, .slots = decoder->slots};
	return i != DAMAGED || error_set(err, ERR_FORMAT, "damaged");
}

static void select_run(struct event_filter *filter, const struct run *run)
{
	uint16_t entries[BATCH_MAX], *next = entries;
	uint32_t count = event_filter_select(filter, run, entries);

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		uint32_t class = run->batch->class_index[i];
		bool key = i % 5 == 1 || i % 5 == 2 || i == DAMAGED;

		if (class == Y || (class == X && key))
			assert_int_equal(*next++, i);
	}
	assert_int_equal(count, next - entries);
}

static void a_run_gives_its_entries_in_order(void **unused)
{
	static const struct reader reader = {.format = "test", .decoder_fields = decode};
	static const uint32_t turn[] = {X, Y, X, Z};
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	uint32_t attrs[FAKE_PATHS];
	struct filtered filtered;
	struct decoder decoder;
	size_t count;

	(void)unused;
	open_rules(&filtered, THREE, three, attrs, &count);
	for (size_t i = 0; i < count; i++)
		event_filter_add(filtered.filter, attrs[i]);
	decoder = (struct decoder){.class = filtered.fake.trace->trace.classes[X]};
	batch->count = BATCH_MAX;
	struct run run = {.stream = filtered.fake.trace->trace.streams[0],
			  .batch = batch,
			  .first = RUN_FIRST,
			  .count = RUN_COUNT,
			  .decoder = &decoder,
			  .reader = &reader};
	for (uint32_t round = 0; round < 3; round++) { /* of which none leaves anything behind */
		for (uint32_t i = 0; i < batch->count; i++)
			batch->class_index[i] = i == DAMAGED ? X : turn[(i + round) % COUNT(turn)];
		run.first = RUN_FIRST * (1 + round);
		select_run(filtered.filter, &run);
	}
	batch_free(batch);
	filtered_close(&filtered);
}

/* ---- random rules: what replay says is written, and by which event ---- */

struct kept {
	const struct filtered *filtered;
	const uint32_t *attrs;
	size_t nattrs;
	bool passed[RANDOM_EVENTS], before[RANDOM_EVENTS];
	uint64_t seed;
	const char *rules;
};

static void mark(void *arg, const struct event_item *item)
{
	((struct kept *)arg)->passed[item->order.index] = true;
}

static void must_pass(void *arg, const struct change *change)
{
	const struct kept *kept = arg;
	struct buf path = {0};

	if (!change->item || change->item->kind != ITEM_EVENT ||
	    kept->passed[change->item->order.index])
		return;
	for (size_t i = 0; i < kept->nattrs; i++) {
		if (kept->attrs[i] != change->attr)
			continue;
		attr_add_text(kept->filtered->fake.state->attrs, change->attr, &path);
		fail_msg("seed %llu: an event at %lld was dropped that writes %s\n%s",
			 (unsigned long long)kept->seed, (long long)change->time, buf_text(&path),
			 kept->rules);
	}
}

static void replay_all(struct kept *kept)
{
	struct replay_options options = {
		.event_source = kept->filtered->fake.state->event_source,
		.program = kept->filtered->fake.state->program,
		.by_tree = true,
		.change = must_pass,
		.arg = kept,
	};
	struct order from = order_before(NSTIME_MIN), to = order_after(NSTIME_MAX);
	struct replay *replay = replay_new(&options);
	struct error err;

	assert_true(replay_run(replay, &from, &to, &err));
	replay_free(replay);
}

static void no_event_is_dropped_that_writes_what_is_asked(void **unused)
{
	static const char *const asked[] = {"a",      "k",      "n",        "t[0]/x",   "t[1]/x",
					    "t[2]/y", "t[3]/y", "cpu[0]/c", "cpu[2]/d", "q[1]"};
	uint64_t first, end = random_seeds(SETS, &first), dropped = 0;

	(void)unused;
	for (uint64_t seed = first; seed < end; seed++) {
		struct gen gen;
		struct fake_state fake;
		struct filtered filtered;
		uint32_t attrs[FAKE_PATHS];
		size_t count, nitems;

		fake_state_random(&gen, seed, &fake);
		count = 1 + pick(&gen, 3);
		for (size_t i = 0; i < count; i++)
			attrs[i] = fake_state_attr(&fake, asked[pick(&gen, COUNT(asked))]);
		filtered_open(&filtered, &fake, attrs, count);
		struct kept kept = {.filtered = &filtered, .attrs = attrs, .seed = seed};
		kept.rules = buf_text(&gen.text);
		nitems = fake.trace->nitems;
		while (kept.nattrs < count) { /* asking more drops nothing that passed */
			event_filter_add(filtered.filter, attrs[kept.nattrs++]);
			memcpy(kept.before, kept.passed, sizeof kept.before);
			memset(kept.passed, 0, sizeof kept.passed);
			read_all(&filtered, pick(&gen, 2), mark, &kept);
			for (size_t i = 0; i < nitems; i++)
				assert_true(kept.passed[i] || !kept.before[i]);
			replay_all(&kept);
		}
		for (size_t i = 0; i < nitems; i++) {
			const struct event_class *class = fake.trace->items[i].class;
			dropped += class && filtered.closure->classes[0] >> class->index & 1 &&
				   !kept.passed[fake.trace->items[i].order.index];
		}
		buf_release(&gen.text);
		filtered_close(&filtered);
	}
	print_message("%llu events were dropped\n", (unsigned long long)dropped);
	assert_true(dropped >= (end - first) / 4);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 7] = {
		cmocka_unit_test(only_what_was_added_passes),
		cmocka_unit_test(what_was_forgotten_does_not_pass),
		cmocka_unit_test(what_no_event_can_write_is_there_at_once),
		cmocka_unit_test(a_filter_chooses_until_all_classes_pass),
		cmocka_unit_test(many_keys_pass_each),
		cmocka_unit_test(a_run_gives_its_entries_in_order),
		cmocka_unit_test(no_event_is_dropped_that_writes_what_is_asked),
	};
	size_t n = 7;

	ADD_ROWS(tests, n, rows, passes);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
