/*
 * test_steps.c - a run that goes on step by step tells what replay of the whole trace tells
 *
 * Random rules, traces and ends of steps. For each step a state is opened anew, as a trace that
 * grows is. Intervals that it tells are joined as a command with --follow joins them; what is final
 * is never taken back, and in the end all are those of replay. YORE_PROPERTY_SETS says how many
 * rule sets are tried, YORE_PROPERTY_SECONDS for how long at most.
 */
#include "engine/base/mem.h"
#include "state/context/context.h"
#include "state/context/wanted.h"
#include "state/rules/line.h"
#include "tests/harness.h"
#include "tests/state/random_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 4000, QUESTIONS = 3 };

static const char *const lists[] = {"cpu[*]/c",  "t[*]/x",    "cpu[*]/**", "u[*]/z", "w[*]/z",
				    "v[*]/z",    "p[*]/z",    "p[*][*]/z", "q[*]",   "r/**",
				    "d[*][*]/e", "g[*][*]/h", "t[1]/**",   "t[*]/y", "t[2]/x"};

struct row {
	char path[64];
	nstime begin, end;
	struct value value;
	bool lost;
};

struct rows {
	struct row *items;
	size_t count, capacity;
};

struct joining {
	struct arena *arena;
	struct rows waiting, done;
	size_t touched; /* rows that waited before the step */
};

static void rows_add(struct rows *rows, const struct row *row)
{
	*mem_push(rows->items, rows->count, rows->capacity) = *row;
}

static void rows_remove(struct rows *rows, size_t i)
{
	memmove(&rows->items[i], &rows->items[i + 1], (--rows->count - i) * sizeof *rows->items);
}

static struct row row_of(struct arena *arena, const struct interval *interval)
{
	struct row row = {.begin = interval->begin,
			  .end = interval->end,
			  .value = value_copy(arena, &interval->value),
			  .lost = interval->lost};

	snprintf(row.path, sizeof row.path, "%s", interval->path);
	return row;
}

static bool join(void *arg, const struct interval *interval)
{
	struct joining *joining = arg;
	struct row row = row_of(joining->arena, interval);

	for (size_t i = joining->waiting.count; i-- > 0;) {
		struct row *before = &joining->waiting.items[i];

		if (strcmp(before->path, row.path) != 0)
			continue;
		if (row.value.kind != VALUE_NONE && row.begin <= before->end &&
		    value_equal(&row.value, &before->value))
			row.begin = row.begin < before->begin ? row.begin : before->begin;
		else
			rows_add(&joining->done, before);
		rows_remove(&joining->waiting, i);
	}
	if (row.value.kind != VALUE_NONE)
		rows_add(&joining->waiting, &row);
	return true;
}

static void settle(struct joining *joining, nstime end)
{
	for (size_t i = joining->waiting.count; i-- > 0;) {
		struct row *row = &joining->waiting.items[i];

		if ((row->end >= end || row->lost) && end < NSTIME_MAX)
			continue;
		rows_add(&joining->done, row);
		rows_remove(&joining->waiting, i);
	}
}

static int by_path(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void rows_sort(struct rows *rows)
{
	if (rows->count)
		qsort(rows->items, rows->count, sizeof *rows->items, by_path);
}

static bool same(const struct rows *a, const struct rows *b)
{
	bool equal = a->count == b->count;

	for (size_t i = 0; i < a->count && equal; i++)
		equal = !by_path(&a->items[i], &b->items[i]) &&
			a->items[i].end == b->items[i].end &&
			value_equal(&a->items[i].value, &b->items[i].value);
	return equal;
}

static void add_text(struct buf *out, const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];

		buf_printf(out, "%s [%lld, %lld) = ", row->path, (long long)row->begin,
			   (long long)row->end);
		value_add_key(&row->value, out);
		buf_add_char(out, '\n');
	}
}

static struct state *open_state(struct fake_trace *trace, struct rules *rules, enum force force)
{
	struct state_options options = {.rules = rules};
	struct state *state;
	struct error err;

	if (!state_over_source(&trace->event_source, &options, &state, &err))
		fail_msg("%s", err.text);
	state->force = force;
	return state;
}

struct world {
	struct gen *gen;
	uint64_t seed;
	struct fake_trace *trace;
	struct rules *rules;
	struct query *queries[COUNT(lists)];
	size_t count;
};

static uint64_t steps, early, told, views;

/* What is computed late is not told step by step. */
static bool keep(void *arg, const struct interval *interval)
{
	void **args = arg;
	struct state *state = args[0];
	struct joining *all = args[1];
	struct row row = row_of(all->arena, interval);
	struct value values[ENV_VARIABLES];
	struct query *query;
	struct error err;

	assert_true(query_parse(interval->path, &query, &err));
	const struct view *view =
		program_view_of(state->program, query_attr(query, state->attrs), values);
	query_free(query);
	views += view && !view_is_late(state, view);
	if (!view || !view_is_late(state, view))
		rows_add(&all->done, &row);
	return true;
}

static void find_expected(const struct world *world, struct joining *out)
{
	struct state *state = open_state(world->trace, world->rules, FORCE_REPLAY);
	void *args[] = {state, out};
	struct error err;

	assert_true(state_intervals(state, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE,
				    (const struct query *const *)world->queries, world->count, keep,
				    args, &err));
	state_close(state);
	rows_sort(&out->done);
}

/* Returns where the step ended. */
static nstime step(const struct world *world, struct handover *handover, nstime begin, nstime end,
		   struct joining *joining)
{
	struct state *state = open_state(world->trace, world->rules, FORCE_NONE);
	struct error err;

	if (end < NSTIME_MAX)
		assert_true(state_settled(state, NSTIME_MIN, end, &end, &err));
	if (end <= begin) {
		state_close(state);
		return begin;
	}
	if (!state_intervals_on(state, handover, begin, end,
				(const struct query *const *)world->queries, world->count, NULL,
				join, joining, &err))
		fail_msg("%s", err.text);
	state_close(state);
	settle(joining, end);
	steps++;
	return end;
}

static void release(struct joining *joining)
{
	arena_free(joining->arena);
	mem_free(joining->waiting.items);
	mem_free(joining->done.items);
}

/* Without queries for what is computed late by name, which no step tells. */
static void one_question(const struct world *world)
{
	struct joining expected = {.arena = arena_new()}, got = {.arena = arena_new()};
	struct handover *handover = handover_new();
	nstime from = NSTIME_MIN;

	find_expected(world, &expected);
	for (nstime end = (nstime)pick(world->gen, 6); end < RANDOM_LAST;
	     end += 1 + (nstime)pick(world->gen, 5))
		from = step(world, handover, from, end, &got);
	early += got.done.count;
	step(world, handover, from, NSTIME_MAX, &got);
	told += got.done.count;
	rows_sort(&got.done);
	if (!same(&expected.done, &got.done)) {
		struct buf text = {0};

		buf_add_text(&text, "expected:\n");
		add_text(&text, &expected.done);
		buf_add_text(&text, "got:\n");
		add_text(&text, &got.done);
		fail_msg("seed %llu\n%s\nrules:\n%s", (unsigned long long)world->seed,
			 buf_text(&text), buf_text(&world->gen->text));
	}
	handover_free(handover);
	release(&expected);
	release(&got);
}

static void one_set(uint64_t seed)
{
	struct gen gen = {.cumulative = seed % 5 == 0, .pairs = seed % 7 < 2};
	struct fake_event events[RANDOM_EVENTS];
	struct world world = {.gen = &gen, .seed = seed, .rules = rules_new()};
	nstime begins[4];
	uint32_t nstreams;
	size_t count;
	struct error err;

	gen.rng.state = seed;
	nstreams = 1 + pick(&gen, 4);
	count = make_events(&gen, events, nstreams);
	world.trace = fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, events, count);
	for (uint32_t i = 0; i < nstreams; i++) /* up to its first event */
		begins[i] = seed % 3 ? NSTIME_MIN : (nstime)((seed / 3 + i) % 4);
	for (size_t i = count; i-- > 0;)
		if (begins[events[i].stream] > events[i].time)
			begins[events[i].stream] = events[i].time;
	fake_trace_begins(world.trace, begins);
	fake_trace_late_events(world.trace, seed / 5 % 16);
	add_rules(&gen);
	if (!rules_add(world.rules, "random.rules", gen.text.data, gen.text.len, &err))
		fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.text, gen.text.data);
	for (int i = 0; i < QUESTIONS; i++) {
		world.count = 0;
		for (size_t k = 0; k < COUNT(lists); k++)
			if (pick(&gen, 4) == 0)
				assert_true(
					query_parse(lists[k], &world.queries[world.count++], &err));
		if (world.count)
			one_question(&world);
		for (size_t k = 0; k < world.count; k++)
			query_free(world.queries[k]);
	}
	rules_free(world.rules);
	fake_trace_free(world.trace);
	buf_release(&gen.text);
}

static void steps_agree_with_replay(void **unused)
{
	uint64_t first, end = random_seeds(SETS, &first), seed = first;

	(void)unused;
	for (; seed < end && random_time_left(); seed++)
		one_set(seed);
	print_message(
		"%llu rule sets, %llu steps, %llu of %llu intervals before the last one, %llu "
		"of them computed\n",
		(unsigned long long)(seed - first), (unsigned long long)steps,
		(unsigned long long)early, (unsigned long long)told, (unsigned long long)views);
	assert_true(early * 4 > told && views > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(steps_agree_with_replay)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
