/*
 * test_windows.c - lists over a window tell what replay of the whole trace tells of it
 *
 * Random rules, traces and windows, half of these at an event's time. A window that may read all of
 * the trace gives the intervals of a run over all of it, clipped by nothing, of the attributes to
 * which its events give a value; only where a view's end rests on rules that cannot be read
 * backward, the end may be missing. One that may read little around it gives parts of these intervals
 * and nothing else, the same whether checkpoints and timelines are stored or not; so does one whose
 * begin is told by replay from where it may read. Which attributes
 * get a value is compared with a replay that notes each write. YORE_PROPERTY_SETS says how many
 * rule sets are tried, YORE_PROPERTY_SECONDS for how long at most.
 */
#include "engine/base/mem.h"
#include "state/context/context.h"
#include "state/context/wanted.h"
#include "state/replay/replay.h"
#include "state/rules/line.h"
#include "tests/harness.h"
#include "tests/state/random_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 2000, WINDOWS = 4, LAST = RANDOM_LAST, EVERYTHING = 1 << 20 };

static const char *const lists[] = {"cpu[*]/c",  "t[*]/x",    "cpu[*]/**", "u[*]/z", "w[*]/z",
				    "v[*]/z",    "p[*]/z",    "p[*][*]/z", "q[*]",   "r/**",
				    "d[*][*]/e", "g[*][*]/h", "t[1]/**",   "t[*]/y"};

struct told {
	struct span_of {
		char path[64];
		nstime begin, end;
		struct value value;
	} * items;
	size_t count, capacity;
	struct arena *arena;
	char error[512];
};

static bool keep(void *arg, const struct interval *interval)
{
	struct told *told = arg;
	struct span_of span = {.begin = interval->begin,
			       .end = interval->end,
			       .value = value_copy(told->arena, &interval->value)};

	snprintf(span.path, sizeof span.path, "%s", interval->path);
	*mem_push(told->items, told->count, told->capacity) = span;
	return true;
}

static void told_clear(struct told *told)
{
	if (!told->arena)
		told->arena = arena_new();
	told->count = 0;
	told->error[0] = '\0';
}

static void told_release(struct told *told)
{
	arena_free(told->arena);
	mem_free(told->items);
}

struct asked {
	struct query *queries[COUNT(lists)];
	size_t count;
	struct window_range window;
};

static void ask(struct state *state, const struct asked *asked, uint64_t packets,
		struct told *out)
{
	struct window_range window = asked->window;
	struct error err;

	told_clear(out);
	window.packets = packets;
	if (!state_window(state, &window, (const struct query *const *)asked->queries,
			  asked->count, keep, out, &err))
		snprintf(out->error, sizeof out->error, "%s", err.text);
}

static void add_text(struct buf *out, const struct told *told)
{
	buf_add_text(out, told->error);
	for (size_t i = 0; i < told->count; i++) {
		const struct span_of *span = &told->items[i];

		buf_printf(out, "%s [%lld, %lld) = ", span->path, (long long)span->begin,
			   (long long)span->end);
		value_add_key(&span->value, out);
		buf_add_char(out, '\n');
	}
}

static void differ(const struct gen *gen, uint64_t seed, const struct asked *asked,
		   const char *what, const struct told *expected, const struct told *got)
{
	struct buf text = {0};

	buf_add_text(&text, "expected:\n");
	add_text(&text, expected);
	buf_add_text(&text, "got:\n");
	add_text(&text, got);
	fail_msg("seed %llu, window [%lld, %lld): %s\n%s\nrules:\n%s", (unsigned long long)seed,
		 (long long)asked->window.begin, (long long)asked->window.end, what,
		 buf_text(&text), buf_text(&gen->text));
}

static uint64_t ends_left_out;

static bool same_span(const struct span_of *a, const struct span_of *b)
{
	return !strcmp(a->path, b->path) && a->begin == b->begin && a->end == b->end &&
	       value_equal(&a->value, &b->value);
}

static bool same(const struct told *a, const struct told *b)
{
	bool equal = a->count == b->count && !strcmp(a->error, b->error);

	for (size_t i = 0; i < a->count && equal; i++)
		equal = same_span(&a->items[i], &b->items[i]);
	return equal;
}

static bool is_computed(const struct state *state, const char *path)
{
	struct value values[ENV_VARIABLES];
	struct query *query;
	struct error err;

	assert_true(query_parse(path, &query, &err));
	bool computed = program_view_of(state->program, query_attr(query, state->attrs), values);
	query_free(query);
	return computed;
}

/* As same(), but for ends of computed attributes. */
static bool same_but_ends(const struct state *state, const struct told *expected,
			  const struct told *got)
{
	bool equal = expected->count == got->count && !strcmp(expected->error, got->error);

	for (size_t i = 0; i < expected->count && equal; i++) {
		const struct span_of *a = &expected->items[i], *b = &got->items[i];
		struct span_of joined = *b;

		if (is_computed(state, a->path)) {
			joined.begin = b->begin >= a->begin ? a->begin : b->begin;
			joined.end = b->end == NSTIME_MAX ? a->end : b->end;
			ends_left_out += !same_span(a, b);
		}
		equal = same_span(a, &joined);
	}
	return equal;
}

/* Is each of `got` a part of one of `all`? Its end may be told as not known. */
static bool are_parts(const struct told *all, const struct told *got)
{
	for (size_t i = 0; i < got->count; i++) {
		const struct span_of *part = &got->items[i];
		bool found = false;

		for (size_t k = 0; k < all->count && !found; k++) {
			const struct span_of *whole = &all->items[k];
			found = !strcmp(whole->path, part->path) && whole->begin <= part->begin &&
				(part->end == NSTIME_MAX || part->end <= whole->end) &&
				value_equal(&whole->value, &part->value);
		}
		if (!found)
			return false;
	}
	return true;
}

/* Is each attribute of `a` in `b`? */
static bool has_names(const struct told *a, const struct told *b)
{
	bool found = true;

	for (size_t i = 0; i < a->count && found; i++) {
		found = false;
		for (size_t k = 0; k < b->count && !found; k++)
			found = !strcmp(a->items[i].path, b->items[k].path);
	}
	return found;
}

/* ---- which attributes get a value ---- */

struct given {
	struct state *state;
	nstime begin, end;
	struct number_map attrs;
};

static void note(void *arg, const struct change *change)
{
	struct given *given = arg;
	uint32_t line = change->after->writer.line;

	if (!change->fill && change->item->stream && change->time >= given->begin && change->time < given->end &&
	    line != UINT32_MAX &&
	    verb_gives(program_statement(given->state->program, line)->verb))
		number_map_set(&given->attrs, change->attr, 1);
}

/* Are its keys known without reading? */
static bool is_known(struct state *state, const struct asked *asked, uint32_t attr)
{
	struct wanted wanted;
	uint32_t *attrs;
	bool known = false;
	struct error err;
	size_t count;

	wanted_init(state, (const struct query *const *)asked->queries, asked->count, &wanted);
	assert_true(wanted_enumerate_some(state, &wanted, &attrs, &count, &err));
	for (size_t i = 0; i < count && !known; i++)
		known = attrs[i] == attr;
	mem_free(attrs);
	wanted_release(&wanted);
	return known;
}

/* Stored attributes that are told were given a value; the others of these lists, with a value, were not. */
static bool lists_what_is_given(struct state *state, const struct asked *asked,
				const struct told *all, const struct told *got)
{
	struct given given = {state, asked->window.begin, asked->window.end, {0}};
	struct replay_options options = {.event_source = state->event_source,
					 .program = state->program,
					 .by_tree = true,
					 .change = note,
					 .arg = &given};
	struct order from = order_before(NSTIME_MIN), to = order_after(NSTIME_MAX);
	struct replay *replay = replay_new(&options);
	struct error err;
	bool right = true;

	assert_true(replay_run(replay, &from, &to, &err));
	for (size_t i = 0; i < all->count && right; i++) {
		const struct span_of *span = &all->items[i];
		bool overlaps = span->begin < given.end && span->end > given.begin, found = false;
		struct query *query;

		if (is_computed(state, span->path))
			continue;
		assert_true(query_parse(span->path, &query, &err));
		uint32_t attr = query_attr(query, state->attrs);
		query_free(query);
		for (size_t k = 0; k < got->count && !found; k++)
			found = !strcmp(got->items[k].path, span->path);
		right = !overlaps || found == (number_map_get(&given.attrs, attr) ||
					       is_known(state, asked, attr));
	}
	replay_free(replay);
	mem_free(given.attrs.items);
	return right;
}

/* ---- one set ---- */

static struct state *open_state(struct fake_trace *trace, struct rules *rules, enum force force)
{
	struct state_options options = {.rules = rules};
	struct state *state;
	struct error err;

	if (!state_over_source(&trace->event_source, &options, &state, &err))
		fail_msg("%s", err.text);
	state->force = force;
	state->spacing = state->share = 0;
	return state;
}

static uint64_t read_where_they_are, windows, parts, told_more, told_less,
	lists_others;

struct world {
	struct gen *gen;
	uint64_t seed;
	struct state *replay, *plain, *stored, *floor;
};

static void one_window(const struct world *world, const struct asked *asked)
{
	struct told all = {0}, expected = {0}, got = {0}, near = {0}, again = {0}, floor = {0};
	uint64_t packets = pick(world->gen, 6);
	struct error err;

	told_clear(&all);
	assert_true(state_intervals(world->replay, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE,
				    (const struct query *const *)asked->queries, asked->count, keep,
				    &all, &err));
	ask(world->replay, asked, EVERYTHING, &expected);
	ask(world->plain, asked, EVERYTHING, &got);
	windows++;
	bool backward = !strcmp(state_evaluation(world->plain), "backward");
	read_where_they_are += backward;
	if (!same_but_ends(world->replay, &expected, &got))
		differ(world->gen, world->seed, asked, "replay and a window differ", &expected, &got);
	if (!lists_what_is_given(world->replay, asked, &all, &expected))
		differ(world->gen, world->seed, asked, "the lists are not what was given a value",
		       &all, &expected);
	ask(world->plain, asked, packets, &near);
	if (!are_parts(&all, &near))
		differ(world->gen, world->seed, asked, "a narrow window tells what is not so", &all,
		       &near);
	parts += backward && !same(&near, &expected);
	ask(world->stored, asked, packets, &again);
	if (!same(&near, &again))
		differ(world->gen, world->seed, asked, "what is stored changes a window", &near,
		       &again);
	ask(world->floor, asked, packets, &floor);
	if (!are_parts(&all, &floor))
		differ(world->gen, world->seed, asked, "replay from the floor tells what is not so",
		       &all, &floor);
	lists_others += !has_names(&floor, &expected); /* what may have been given a value */
	told_more += backward && !are_parts(&near, &floor);
	told_less += backward && !are_parts(&floor, &near);
	told_release(&floor);
	told_release(&all);
	told_release(&expected);
	told_release(&got);
	told_release(&near);
	told_release(&again);
}

/* The whole state at the end: leaves checkpoints. */
static void leave_checkpoints(struct state *state)
{
	const struct moment last = {LAST, false};
	struct answers answers;
	struct error err;

	assert_true(state_at(state, &last, 1, NULL, 0, false, &answers, &err));
	answers_release(&answers);
}

static void one_set(uint64_t seed)
{
	struct gen gen = {.cumulative = seed % 5 == 0, .pairs = seed % 7 < 2};
	struct fake_event events[RANDOM_EVENTS];
	struct rules *rules = rules_new();
	struct asked asked = {0};
	struct fake_trace *trace;
	nstime begins[4];
	uint32_t nstreams;
	size_t count;
	struct error err;

	gen.rng.state = seed;
	nstreams = 1 + pick(&gen, 4);
	count = make_events(&gen, events, nstreams);
	trace = fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, events, count);
	for (uint32_t i = 0; i < nstreams; i++) /* up to its first event */
		begins[i] = seed % 3 ? NSTIME_MIN : (nstime)((seed / 3 + i) % 4);
	for (size_t i = count; i-- > 0;)
		if (begins[events[i].stream] > events[i].time)
			begins[events[i].stream] = events[i].time;
	fake_trace_begins(trace, begins);
	fake_trace_late_events(trace, seed / 5 % 16);
	add_rules(&gen);
	if (!rules_add(rules, "random.rules", gen.text.data, gen.text.len, &err))
		fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.text, gen.text.data);
	struct world world = {&gen, seed, open_state(trace, rules, FORCE_REPLAY),
			      open_state(trace, rules, FORCE_NONE),
			      open_state(trace, rules, FORCE_NONE),
			      open_state(trace, rules, FORCE_NONE)};
	world.plain->options.no_checkpoints = true;
	world.floor->window_visits = 1;
	leave_checkpoints(world.stored);
	for (int i = 0; i < WINDOWS; i++) {
		nstime begin = pick(&gen, 2) && count ? events[pick(&gen, (uint32_t)count)].time +
							       (nstime)pick(&gen, 3) - 1
						     : (nstime)pick(&gen, LAST);

		asked.window =
			(struct window_range){.begin = begin, .end = begin + 1 + pick(&gen, 8)};
		if (pick(&gen, 8) == 0)
			asked.window.begin = NSTIME_MIN;
		if (pick(&gen, 8) == 0)
			asked.window.end = NSTIME_MAX;
		asked.count = 0;
		for (size_t k = 0; k < COUNT(lists); k++)
			if (pick(&gen, 4) == 0)
				assert_true(query_parse(lists[k], &asked.queries[asked.count++],
							&err));
		if (asked.count)
			one_window(&world, &asked);
		for (size_t k = 0; k < asked.count; k++)
			query_free(asked.queries[k]);
	}
	state_close(world.replay);
	state_close(world.plain);
	state_close(world.stored);
	state_close(world.floor);
	rules_free(rules);
	fake_trace_free(trace);
	buf_release(&gen.text);
}

static void windows_agree_with_replay(void **unused)
{
	uint64_t first, end = random_seeds(SETS, &first), seed = first;

	(void)unused;
	for (; seed < end && random_time_left(); seed++)
		one_set(seed);
	print_message("%llu rule sets, %llu windows, %llu read where they are, of %llu a part is "
		      "told; replay from the floor tells more of %llu and less of %llu\n",
		      (unsigned long long)(seed - first), (unsigned long long)windows,
		      (unsigned long long)read_where_they_are, (unsigned long long)parts,
		      (unsigned long long)told_more, (unsigned long long)told_less);
	assert_true(read_where_they_are >= windows / 4);
	assert_true(parts >= read_where_they_are / 16);
	assert_true(ends_left_out <= read_where_they_are / 16);
	assert_true(told_less <= read_where_they_are / 1000);
	assert_true(lists_others <= read_where_they_are / 2000);
}

/* An operand that has an initial value and was deleted before the range is read below it alone. */
static void beginnings_know_deleted_operands(void **unused)
{
	(void)unused;
	one_set(105467);
}

/* A run of the lines on which a question rests has those that delete what nothing sets. */
static void runs_have_deletes_of_operands(void **unused)
{
	(void)unused;
	one_set(540603);
}

/* The rest is read again, from the start, once more is known of the window's begin. */
static void a_second_reading_begins_anew(void **unused)
{
	(void)unused;
	one_set(515176);
}

/* Lines of @start read what was before all of them, also where the range has no beginning. */
static void ranges_without_begin_begin_before_start(void **unused)
{
	(void)unused;
	one_set(59332);
}

/* An initial value of a list begins where it was written again, though it was the same before. */
static void initial_values_are_named_where_they_are_written(void **unused)
{
	(void)unused;
	one_set(31356516);
}

/* Between two checkpoints only events are read that may write what ends there. */
static void ends_are_of_what_is_looked_for(void **unused)
{
	(void)unused;
	one_set(7265415);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_without_begin_begin_before_start),
		cmocka_unit_test(runs_have_deletes_of_operands),
		cmocka_unit_test(a_second_reading_begins_anew),
		cmocka_unit_test(beginnings_know_deleted_operands),
		cmocka_unit_test(ends_are_of_what_is_looked_for),
		cmocka_unit_test(initial_values_are_named_where_they_are_written),
		cmocka_unit_test(windows_agree_with_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
