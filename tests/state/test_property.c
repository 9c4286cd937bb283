/*
 * test_property.c - every way of evaluation gives replay's answer, on random rules and traces
 *
 * Small rule sets of all verbs, with keys, conditions and right sides that read state (cycles
 * allowed), section lines, losses and views; traces of one to four streams with ties, reused keys
 * and missing fields; random moments on both sides of an event. Seeds are fixed: a failure prints
 * its number. YORE_PROPERTY_SETS says how many rule sets are tried, YORE_PROPERTY_SECONDS for how
 * long at most.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/store/store.h"
#include "state/context/context.h"
#include "state/replay/replay.h"
#include "state/state.h"
#include "state/timelines/shards.h"
#include "tests/harness.h"
#include "tests/state/random_rules.h"
#include "tests/state/sums_check.h"
#include "tests/state/totals_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETS = 3000, MOMENTS = 6, LAST = RANDOM_LAST, STORED = 15 };

static const char *const paths[] = {"a",        "b",        "k",        "n",        "t[0]/x",
				    "t[1]/x",   "t[2]/x",   "t[3]/x",   "t[1]/y",   "t[2]/y",
				    "cpu[0]/c", "cpu[1]/c", "cpu[2]/c", "cpu[1]/d", "t[1]",
				    "u[0]/z",   "u[1]/z",   "w[1]/z",   "q[1]",     "v[1]/z"};
static const char *const lists[] = {"cpu[*]/c",  "t[*]/x",    "cpu[*]/**", "u[*]/z", "w[*]/z",
				    "v[*]/z",    "p[*]/z",    "p[*][*]/z", "q[*]",   "r/**",
				    "d[*][*]/e", "g[*][*]/h", "t[1]/**"};
enum { LIST_OF_ONE = COUNT(lists) - 1, ALL = COUNT(paths) + COUNT(lists) };

struct questions {
	struct query *queries[ALL];
	size_t count;
	struct moment moments[MOMENTS];
	size_t nmoments;
};

static void add_answer(const struct answer *answer, const char *path, struct buf *out)
{
	buf_printf(out, "%lld %s = ", (long long)answer->t, path);
	if (answer->value.kind == VALUE_UNKNOWN)
		buf_add_text(out, "unknown");
	else if (answer->value.kind == VALUE_NONE)
		buf_add_text(out, "none");
	else
		value_add_key(&answer->value, out);
	buf_printf(out, " since %lld\n", (long long)answer->since);
}

static void dump(struct state *state, const struct questions *questions, struct buf *out)
{
	struct answers answers;
	struct error err;

	if (!state_at(state, questions->moments, questions->nmoments,
		      (const struct query *const *)questions->queries, questions->count, false,
		      &answers, &err)) {
		buf_printf(out, "error: %s\n", err.text);
		return;
	}
	for (size_t i = 0; i < answers.count; i++)
		add_answer(&answers.items[i], answers.items[i].path, out);
	answers_release(&answers);
}

enum { PLACES = 12 };

static void dump_places(struct state *state, const struct query *const *queries,
			const struct moment *moments, struct buf *out)
{
	struct state_place places[PLACES];
	struct answers answers;
	struct error err;

	for (size_t i = 0; i < PLACES; i++) {
		places[i].moment = moments[i];
		assert_true(state_attribute(state, query_text(queries[i]), &places[i].attr, &err));
	}
	if (!state_at_places(state, places, PLACES, false, &answers, &err)) {
		buf_printf(out, "error: %s\n", err.text);
		return;
	}
	assert_int_equal(answers.count, PLACES);
	for (size_t i = 0; i < PLACES; i++)
		add_answer(&answers.items[i], query_text(queries[i]), out);
	answers_release(&answers);
}

static struct state *open_state(struct fake_trace *trace, struct rules *rules, enum force force)
{
	struct state_options options = {.rules = rules};
	struct state *state;
	struct error err;

	if (!state_over_source(&trace->event_source, &options, &state, &err))
		fail_msg("%s", err.text);
	state->force = force;
	state->spacing = state->share = 0;
	state->limits.rounds = 100000;
	return state;
}

/* A folder of this test's own, in memory where that is possible: the store waits for the disk. */
static char store_folder[64];

static int make_folder(void **unused)
{
	(void)unused;
	snprintf(store_folder, sizeof store_folder, "%s/test_property-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".");
	return mkdtemp(store_folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
	char all[sizeof store_folder + 1];
	struct error err;

	(void)unused;
	snprintf(all, sizeof all, "%s/", store_folder);
	return folder_remove_beside(all, &err) && rmdir(store_folder) == 0 ? 0 : -1;
}

static const char *store_path(void)
{
	static char path[sizeof store_folder + 16];

	snprintf(path, sizeof path, "%s/timelines", store_folder);
	return path;
}

/* As commands would: pass 1 of each shard, in any order, the join, pass 2 of each. */
static bool build_shards(struct state *state, uint32_t n, struct error *err)
{
	struct shards_plan plan = {0};
	struct timelines_built built;
	struct shards_work work;
	uint64_t replayed;
	bool ok = shards_plan(state, n, &plan, err);

	work = shards_work_of(state, &plan);
	for (uint32_t i = n - 1; i-- > 0 && ok;)
		ok = shards_summarize(&work, i, err);
	ok = ok && shards_merge(&work, 0, &replayed, err);
	for (uint32_t i = n; i-- > 0 && ok;)
		ok = shards_build(&work, i, &built, err);
	shards_plan_release(&plan);
	return ok;
}

/* As threads would, whose steps hand on what they leave in memory. */
static bool build_kept(struct state *state, uint32_t n, struct error *err)
{
	struct shard_kept *kept = mem_new_array(n, sizeof *kept);
	struct shards_plan plan = {0};
	struct timelines_built built;
	struct shards_join join = {0};
	struct shards_work work;
	struct buf left = {0};
	bool any, ok = shards_plan(state, n, &plan, err);

	work = shards_work_of(state, &plan);
	work.kept = kept;
	work.left = &left;
	ok = ok && shards_build(&work, 0, &built, err);
	work.left = NULL;
	ok = ok && shards_join_begin(&work, 0, &join, err) &&
	     (n == 1 || shards_join_left(&work, &join, &left, built.events, err));
	for (uint32_t i = 1; i < n && ok; i++) {
		ok = shards_summarize(&work, i, err) &&
		     (i + 1 == n || shards_join_next(&work, &join, &any, err)) &&
		     shards_build(&work, i, &built, err);
		shard_kept_release(&kept[i]);
	}
	if (join.merge)
		shards_join_end(&join);
	buf_release(&left);
	mem_free(kept);
	shards_plan_release(&plan);
	return ok;
}

/* With timelines of the whole trace, in one part or in several. */
static struct state *open_stored(struct gen *gen, struct fake_trace *trace, struct rules *rules)
{
	struct state *state = open_state(trace, rules, FORCE_SLICES);
	struct timelines_built built;
	struct error err;

	state->timelines = store_path();
	state->timelines_least = 1 + pick(gen, pick(gen, 2) ? 3 : 20);
	if (!timelines_remove(state->timelines, &err) ||
	    !(pick(gen, 2)   ? timelines_build(state, 1 + pick(gen, 2), &built, &err)
	      : pick(gen, 2) ? build_shards(state, 1 + pick(gen, 7), &err)
			     : build_kept(state, 1 + pick(gen, 7), &err)))
		fail_msg("%s", err.text);
	assert_true(timelines_there(state));
	return state;
}

static void first_difference(const char *a, const char *b, struct buf *out)
{
	while (*a && *b) {
		size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");

		if (na != nb || memcmp(a, b, na))
			break;
		a += na + (a[na] == '\n');
		b += nb + (b[nb] == '\n');
	}
	buf_printf(out, "replay: %.*s\nother:  %.*s\n", (int)strcspn(a, "\n"), a,
		   (int)strcspn(b, "\n"), b);
}

static void compare(struct gen *gen, uint64_t seed, const char *way, const struct buf *replay,
		    const struct buf *other)
{
	struct buf text = {0};

	if (!strcmp(buf_text(replay), buf_text(other)))
		return;
	first_difference(buf_text(replay), buf_text(other), &text);
	fail_msg("seed %llu: %s differs from replay\n%s\nrules:\n%s", (unsigned long long)seed, way,
		 buf_text(&text), buf_text(&gen->text));
}

/*
 * Some of the paths, each at a moment of its own; `replay` is asked one by one. What is drawn here
 * does not change what is drawn later.
 */
static void compare_places(struct gen *gen, uint64_t seed, struct state *replay,
			   struct state *other, const struct questions *questions)
{
	struct gen own = {.rng = gen->rng};
	const struct query *queries[PLACES];
	struct moment moments[PLACES];
	struct buf expected = {0}, got = {0};
	size_t plain = 0;

	while (plain < questions->count && !query_has_wildcard(questions->queries[plain]))
		plain++;
	if (!plain)
		return;

	for (size_t i = 0; i < PLACES; i++) {
		struct questions one = {.count = 1, .nmoments = 1};

		one.queries[0] = questions->queries[pick(&own, (uint32_t)plain)];
		one.moments[0] = (struct moment){pick(&own, LAST + 2) - 1, pick(&own, 2)};
		queries[i] = one.queries[0];
		moments[i] = one.moments[0];
		dump(replay, &one, &expected);
	}
	dump_places(other, queries, moments, &got);
	compare(gen, seed, "places", &expected, &got);
	buf_release(&expected);
	buf_release(&got);
}

static void ask_all_ways(struct gen *gen, uint64_t seed, struct fake_trace *trace,
			 struct rules *rules, const struct questions *questions)
{
	static const struct {
		const char *name;
		enum force force;
	} ways[] = {{"backward", FORCE_BACKWARD},
		    {"from a checkpoint", FORCE_CHECKPOINT},
		    {"timelines", FORCE_SLICES},
		    {"the planner", FORCE_NONE}};
	struct state *replay = open_state(trace, rules, FORCE_REPLAY);
	struct questions all = *questions;
	struct buf expected = {0}, got = {0}, ignored = {0};

	replay->options.no_checkpoints = true;
	dump(replay, questions, &expected);
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct state *state = ways[i].force == FORCE_SLICES
					      ? open_stored(gen, trace, rules)
					      : open_state(trace, rules, ways[i].force);

		all.count = 0; /* the whole state, at the end: leaves checkpoints */
		all.moments[0] = (struct moment){LAST, false};
		all.nmoments = 1;
		if (ways[i].force != FORCE_BACKWARD && ways[i].force != FORCE_SLICES)
			dump(state, &all, &ignored);
		for (size_t m = 0; m < questions->nmoments; m++) {
			struct questions one = *questions;

			one.moments[0] = questions->moments[m];
			one.nmoments = 1;
			dump(state, &one, &got);
		}
		compare(gen, seed, ways[i].name, &expected, &got);
		buf_clear(&got);
		dump(state, questions, &got);
		compare(gen, seed, "many moments at once", &expected, &got);
		buf_clear(&got);
		compare_places(gen, seed, replay, state, questions);
		state_close(state);
	}
	state_close(replay);
	buf_release(&expected);
	buf_release(&got);
	buf_release(&ignored);
}

/* ---- ranges ---- */

struct ranges {
	struct buf text;
	nstime begin, end; /* what is kept */
};

static bool keep_interval(void *arg, const struct interval *interval)
{
	struct ranges *ranges = arg;

	if (interval->begin >= ranges->end || interval->end <= ranges->begin)
		return true;
	buf_printf(&ranges->text, "%s [%lld, %lld) = ", interval->path, (long long)interval->begin,
		   (long long)interval->end);
	value_add_key(&interval->value, &ranges->text);
	buf_add_char(&ranges->text, '\n');
	return true;
}

static void ranges_of(struct state *state, const struct questions *questions, nstime begin,
		      nstime end, struct ranges *out)
{
	struct error err;

	buf_clear(&out->text);
	if (!state_intervals(state, begin, end, INTERVALS_WHOLE,
			     (const struct query *const *)questions->queries, questions->count,
			     keep_interval, out, &err))
		buf_printf(&out->text, "error: %s\n", err.text);
}

static uint64_t near_ranges;   /* that were answered without a run from the start */
enum spooled { SPOOLED_WHOLE, SPOOLED_RUN, SPOOLED_NEAR, SPOOLED_STORED, SPOOLED_WAYS };
static uint64_t spooled[SPOOLED_WAYS]; /* ranges of which something was written away */
static uint64_t handed_ranges; /* whose ends were looked for behind the run */

static void compare_ranges(struct gen *gen, uint64_t seed, struct fake_trace *trace,
			   struct rules *rules, const struct questions *questions, enum force force)
{
	struct state *replay = open_state(trace, rules, FORCE_REPLAY);
	struct state *other = force == FORCE_SLICES ? open_stored(gen, trace, rules)
						    : open_state(trace, rules, force);
	struct questions all = {.nmoments = 1, .moments = {{LAST, false}}};
	struct ranges expected = {0}, got = {0};
	struct buf ignored = {0};

	if (force != FORCE_SLICES && pick(gen, 2)) { /* runs from the start, which leave nothing */
		other->options.no_checkpoints = true;
		other->prune = 1 + pick(gen, 8);
	} else if (force == FORCE_NONE && pick(gen, 2)) {
		dump(other, &all, &ignored); /* leaves checkpoints */
	} else if (force == FORCE_NONE) {
		state_set_lists(other, LISTS_PASS, 0); /* the first range does so for the others */
	}
	for (int i = 0; i < 3; i++) {
		nstime begin = pick(gen, LAST), end = begin + 1 + pick(gen, 6);

		if (pick(gen, 8) == 0)
			begin = NSTIME_MIN;
		if (pick(gen, 8) == 0)
			end = NSTIME_MAX;

		expected.begin = got.begin = begin;
		expected.end = got.end = end;
		ranges_of(replay, questions, NSTIME_MIN, NSTIME_MAX, &expected);
		ranges_of(other, questions, begin, end, &got);
		near_ranges += !strcmp(state_evaluation(other), "backward");
		if (force == FORCE_SLICES)
			assert_string_equal(state_evaluation(other), "slices");
		buf_printf(&gen->text, "# range [%lld, %lld) by %s\n", (long long)begin,
			   (long long)end, state_evaluation(other));
		compare(gen, seed, "a range", &expected.text, &got.text);
	}
	handed_ranges += other->handed;
	state_close(replay);
	state_close(other);
	buf_release(&expected.text);
	buf_release(&got.text);
	buf_release(&ignored);
}

static bool keep_clipped(void *arg, const struct interval *interval)
{
	const struct ranges *ranges = arg;
	struct interval clipped = *interval;

	if (clipped.begin < ranges->begin)
		clipped.begin = ranges->begin;
	if (clipped.end > ranges->end)
		clipped.end = ranges->end;
	return keep_interval(arg, &clipped);
}

/*
 * What holds within a range, where ends that reach over it are cut and what has ended is written
 * away: of all of the trace, which only runs the lines that count, or of a part.
 */
static void compare_cut(struct gen *gen, uint64_t seed, struct fake_trace *trace,
			struct rules *rules, const struct questions *questions, enum force force,
			bool whole)
{
	struct state *replay = open_state(trace, rules, FORCE_REPLAY);
	struct state *other = force == FORCE_SLICES ? open_stored(gen, trace, rules)
						    : open_state(trace, rules, force);
	const struct query *const *queries = (const struct query *const *)questions->queries;
	struct ranges expected = {.begin = -10, .end = LAST + 10}, got;
	struct error err;

	enum interval_ends ends = INTERVALS_CUT;

	other->spool_changes = pick(gen, 4); /* 0: as many as is usual */
	if (whole && pick(gen, 2) == 0) {    /* then there is nothing beyond to be looked for */
		other->options.no_checkpoints = pick(gen, 2) == 0;
		ends = pick(gen, 2) == 0 ? INTERVALS_WHOLE : INTERVALS_CUT;
	}
	if (!whole) {
		expected.begin = pick(gen, LAST / 2);
		expected.end = expected.begin + 1 + pick(gen, LAST);
		buf_printf(&gen->text, "# cut to [%lld, %lld)\n", (long long)expected.begin,
			   (long long)expected.end);
	}
	got = expected;
	if (!state_intervals(replay, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE, queries,
			     questions->count, keep_clipped, &expected, &err))
		buf_printf(&expected.text, "error: %s\n", err.text);
	if (!state_intervals(other, got.begin, got.end, ends, queries, questions->count,
			     keep_clipped, &got, &err))
		buf_printf(&got.text, "error: %s\n", err.text);
	buf_printf(&gen->text, "# by %s\n", state_evaluation(other));
	compare(gen, seed, whole ? "all of the trace" : "a range that is cut", &expected.text,
		&got.text);
	const char *wrong = totals_check(replay, other, got.begin, got.end, pick(gen, 3), queries,
					 questions->count);
	if (wrong)
		fail_msg("seed %llu: totals of [%lld, %lld): %s\n%s", (unsigned long long)seed,
			 (long long)got.begin, (long long)got.end, wrong, buf_text(&gen->text));
	if (other->spooled)
		spooled[whole                                              ? SPOOLED_WHOLE
			: strcmp(state_evaluation(other), "backward") == 0 ? SPOOLED_NEAR
			: strcmp(state_evaluation(other), "slices") == 0   ? SPOOLED_STORED
									   : SPOOLED_RUN]++;
	state_close(replay);
	state_close(other);
	buf_release(&expected.text);
	buf_release(&got.text);
}

/* Of random columns; the oracle is replay. */
static void columns_add_up(struct gen *gen, uint64_t seed, struct fake_trace *trace,
			   struct rules *rules, const struct questions *questions)
{
	struct state *replay = open_state(trace, rules, FORCE_REPLAY);
	struct state *stored = open_stored(gen, trace, rules);
	nstime edges[4] = {pick(gen, LAST / 4)};
	size_t count = 2 + pick(gen, 3);

	for (size_t i = 1; i < count; i++)
		edges[i] = edges[i - 1] + 1 + pick(gen, LAST);
	const char *wrong =
		sums_check(replay, stored, edges, count,
			   (const struct query *const *)questions->queries, questions->count);
	if (wrong)
		fail_msg("seed %llu: columns from %lld on: %s\n%s", (unsigned long long)seed,
			 (long long)edges[0], wrong, buf_text(&gen->text));
	state_close(replay);
	state_close(stored);
}

/* What a moment says must be what the range around it says. */
struct covering {
	const struct answer *answer; /* NULL: intervals of any path are counted */
	nstime t;
	size_t found;
	bool right;
};

static bool cover(void *arg, const struct interval *interval)
{
	struct covering *covering = arg;
	const struct answer *answer = covering->answer;

	if (covering->t < interval->begin || covering->t >= interval->end ||
	    (answer && strcmp(interval->path, answer->path)))
		return true;
	covering->right =
		answer && !covering->found && value_equal(&interval->value, &answer->value);
	covering->found++;
	return true;
}

/* A view of a view is listed where the inner one is. */
static void views_list_alike(struct gen *gen, uint64_t seed, struct fake_trace *trace,
			     struct rules *rules, const struct questions *questions)
{
	struct state *state = open_state(trace, rules, FORCE_REPLAY);
	struct query *inner, *outer;
	struct answers u, w;
	struct error err;

	assert_true(query_parse("u[*]/z", &inner, &err) && query_parse("w[*]/z", &outer, &err));
	assert_true(state_at(state, questions->moments, 1, (const struct query *const *)&inner, 1,
			     false, &u, &err));
	assert_true(state_at(state, questions->moments, 1, (const struct query *const *)&outer, 1,
			     false, &w, &err));
	bool same = u.count == w.count;
	for (size_t i = 0; i < u.count && same; i++)
		same = !strcmp(u.items[i].path + 1, w.items[i].path + 1) &&
		       value_equal(&u.items[i].value, &w.items[i].value);
	if (!same)
		fail_msg("seed %llu: a view of a view lists %zu of %zu\n%s",
			 (unsigned long long)seed, w.count, u.count, buf_text(&gen->text));
	answers_release(&u);
	answers_release(&w);
	query_free(inner);
	query_free(outer);
	state_close(state);
}

static void ranges_hold_moments(struct gen *gen, uint64_t seed, struct fake_trace *trace,
				struct rules *rules, const struct questions *questions)
{
	struct state *state = open_state(trace, rules, FORCE_REPLAY);
	struct moment moment = {questions->moments[0].t, false};
	const struct query *const *queries = (const struct query *const *)questions->queries;
	struct answers answers;
	size_t known = 0;
	struct error err;

	assert_true(state_at(state, &moment, 1, queries, ALL, false, &answers, &err));
	for (size_t i = 0; i <= answers.count; i++) {
		const struct answer *answer = i < answers.count ? &answers.items[i] : NULL;
		struct covering covering = {.answer = answer, .t = moment.t};
		bool one = answer && answer->value.kind > VALUE_NONE;

		known += one;
		assert_true(state_intervals(state, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE, queries,
					    ALL, cover, &covering, &err));
		if (covering.found != (answer ? one : known) || (one && !covering.right))
			fail_msg("seed %llu: ranges and moment %lld differ about %s\n%s",
				 (unsigned long long)seed, (long long)moment.t,
				 answer ? answer->path : "what is listed", buf_text(&gen->text));
	}
	answers_release(&answers);
	state_close(state);
}

/* ---- builds of timelines that are killed, and of traces that grow ---- */

/* All keys and values of the store, from the last to the first. */
static void dump_store(struct buf *out)
{
	struct bytes key = {(const uint8_t *)"~", 1}, found, value;
	struct store_txn *txn;
	struct store *store;
	struct error err;
	bool remade;

	buf_clear(out);
	assert_true(store_open(store_path(), &store, &remade, &err));
	assert_true(store_read(store, &txn, &err));
	for (; store_before(txn, key, false, &found, &value); key = found) {
		for (size_t i = 0; i < found.size; i++)
			buf_printf(out, "%02x", found.data[i]);
		buf_add_text(out, ": ");
		for (size_t i = 0; i < value.size; i++)
			buf_printf(out, "%02x", value.data[i]);
		buf_add_char(out, '\n');
	}
	store_read_end(txn);
	store_close(store);
}

struct patience {
	uint32_t left;
};

static bool be_patient(void *arg, nstime at)
{
	struct patience *patience = arg;

	(void)at;
	return patience->left-- > 0;
}

/* The state before `t`, as a shard that begins there is given it. */
static void start_at(struct fake_trace *trace, struct rules *rules, nstime t, struct buf *out)
{
	struct state *state = open_state(trace, rules, FORCE_SLICES);
	struct replay_options options = {.event_source = state->event_source,
					 .program = state->program};
	struct order from = order_before(NSTIME_MIN), to = order_before(t);
	struct replay *replay = replay_new(&options);
	struct error err;

	assert_true(replay_run(replay, &from, &to, &err));
	cells_settle(replay_cells(replay), NULL, NULL);
	buf_clear(out);
	cells_write(replay_cells(replay), out);
	replay_free(replay);
	state_close(state);
}

/* What a build is of: the whole, or a shard that begins with a state. */
struct built_part {
	nstime begin;
	const struct buf *start; /* NULL: the whole */
};

/* False: interrupted after so many slices. */
static bool build(struct fake_trace *trace, struct rules *rules, const struct built_part *of,
		  uint32_t least, uint64_t extent, uint32_t slices, bool thread)
{
	struct state *state = open_state(trace, rules, FORCE_SLICES);
	struct patience patience = {slices};
	struct timelines_part part = {.event_source = state->event_source,
				      .program = state->program,
				      .path = store_path(),
				      .shard = of->start != NULL,
				      .of = of->start ? 2 : 1,
				      .begin = of->begin,
				      .end = NSTIME_MAX,
				      .start = of->start ? of->start->data : NULL,
				      .nstart = of->start ? of->start->len : 0,
				      .progress = be_patient,
				      .progress_arg = &patience,
				      .thread = thread,
				      .least = least};
	struct timelines_built built;
	struct error err;
	bool done;

	part.key = timelines_key_of(rules, trace->event_source.trace);
	part.key.extent = extent;
	done = timelines_build_part(&part, &built, &err);
	if (!done && err.kind != ERR_INTERRUPTED)
		fail_msg("%s", err.text);
	state_close(state);
	return done;
}

static void killed_part_is_equal(struct gen *gen, uint64_t seed, struct fake_trace *trace,
				 struct rules *rules, const struct built_part *of)
{
	uint32_t least = 1 + pick(gen, 8);
	struct buf expected = {0}, got = {0};
	struct error err;

	assert_true(timelines_remove(store_path(), &err));
	assert_true(build(trace, rules, of, least, 1, UINT32_MAX, false));
	dump_store(&expected);
	assert_true(timelines_remove(store_path(), &err));
	while (!build(trace, rules, of, least, 1, pick(gen, 3), pick(gen, 2)))
		;
	dump_store(&got);
	compare(gen, seed,
		of->start ? "a shard's build that was interrupted" : "an interrupted build",
		&expected, &got);
	buf_release(&expected);
	buf_release(&got);
}

static void killed_builds_are_equal(struct gen *gen, uint64_t seed, struct fake_trace *trace,
				    struct fake_trace *shorter, struct rules *rules)
{
	struct built_part whole = {.begin = NSTIME_MIN}, behind = {.begin = 1 + pick(gen, LAST)};
	uint32_t least = 1 + pick(gen, 8);
	struct buf expected = {0}, got = {0}, start = {0};
	struct error err;

	killed_part_is_equal(gen, seed, trace, rules, &whole);
	start_at(trace, rules, behind.begin, &start);
	behind.start = &start;
	killed_part_is_equal(gen, seed, trace, rules, &behind);
	buf_release(&start);
	assert_true(timelines_remove(store_path(), &err));
	assert_true(build(trace, rules, &whole, least, 1, UINT32_MAX, false));
	dump_store(&expected);
	assert_true(timelines_remove(store_path(), &err));
	assert_true(build(shorter, rules, &whole, least, 0, UINT32_MAX, pick(gen, 2)));
	assert_true(build(trace, rules, &whole, least, 1, UINT32_MAX, true));
	dump_store(&got);
	compare(gen, seed, "a trace that grew", &expected, &got);
	buf_release(&expected);
	buf_release(&got);
}

/* Events before a time. */
static size_t cut_events(const struct fake_event *events, size_t count, nstime end,
			 struct fake_event *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (events[i].time < end)
			out[kept++] = events[i];
	return kept;
}

static void one_set(uint64_t seed)
{
	struct gen gen = {.cumulative = seed % 5 == 0, .pairs = seed % 7 < 2};
	struct fake_event events[RANDOM_EVENTS], fewer[RANDOM_EVENTS];
	struct questions questions = {0}, list = {0};
	struct rules *rules = rules_new();
	struct fake_trace *trace, *shorter;
	nstime begins[4];
	uint32_t nstreams;
	size_t count;
	struct error err;

	gen.rng.state = seed;
	nstreams = 1 + pick(&gen, 4);
	count = make_events(&gen, events, nstreams);
	trace = fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, events, count);
	shorter = fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, fewer,
				 cut_events(events, count, 2 + (nstime)(seed % LAST), fewer));
	for (uint32_t i = 0; i < nstreams; i++) /* up to its first event */
		begins[i] = seed % 3 ? NSTIME_MIN : (nstime)((seed / 3 + i) % 4);
	for (size_t i = count; i-- > 0;)
		if (begins[events[i].stream] > events[i].time)
			begins[events[i].stream] = events[i].time;
	fake_trace_begins(trace, begins);
	fake_trace_begins(shorter, begins);
	fake_trace_late_events(trace, seed / 5 % 16);
	fake_trace_late_events(shorter, seed / 5 % 16);
	add_rules(&gen);
	if (!rules_add(rules, "random.rules", gen.text.data, gen.text.len, &err))
		fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.text, gen.text.data);
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_true(query_parse(paths[i], &questions.queries[questions.count++], &err));
	for (size_t i = 0; i < COUNT(lists); i++)
		assert_true(query_parse(lists[i], &questions.queries[questions.count++], &err));
	if (pick(&gen, 2))
		questions.count -= COUNT(lists); /* so that many stay with the backward pass */
	for (size_t i = 0; i < MOMENTS; i++)
		questions.moments[i] = (struct moment){pick(&gen, LAST), pick(&gen, 2)};
	questions.nmoments = list.nmoments = MOMENTS;
	memcpy(list.moments, questions.moments, sizeof list.moments);
	ask_all_ways(&gen, seed, trace, rules, &questions);
	if (seed % 4 == 2)
		views_list_alike(&gen, seed, trace, rules, &questions);
	if (seed % 4 == 0)
		ranges_hold_moments(&gen, seed, trace, rules, &questions);
	compare_cut(&gen, seed, trace, rules, &questions, FORCE_NONE, true);
	compare_cut(&gen, seed, trace, rules, &questions, FORCE_SLICES, false);
	compare_ranges(&gen, seed, trace, rules, &questions, FORCE_NONE);
	compare_ranges(&gen, seed, trace, rules, &questions, FORCE_SLICES);
	columns_add_up(&gen, seed, trace, rules, &questions);
	questions.count = STORED; /* nothing computed: may be read where it is */
	compare_ranges(&gen, seed, trace, rules, &questions, FORCE_NONE);
	compare_ranges(&gen, seed, trace, rules, &questions, FORCE_BACKWARD);
	compare_cut(&gen, seed, trace, rules, &questions, FORCE_NONE, false);
	columns_add_up(&gen, seed, trace, rules, &questions);
	list.queries[list.count++] = questions.queries[COUNT(paths)]; /* cpu[*]/c */
	compare_cut(&gen, seed, trace, rules, &list, FORCE_NONE, true);
	compare_cut(&gen, seed, trace, rules, &list, FORCE_NONE, false);
	compare_cut(&gen, seed, trace, rules, &list, FORCE_SLICES, false);
	compare_ranges(&gen, seed, trace, rules, &list, FORCE_NONE);
	list.queries[list.count++] = questions.queries[COUNT(paths) + LIST_OF_ONE];
	compare_ranges(&gen, seed, trace, rules, &list, FORCE_NONE);
	if (seed % 4 == 1)
		ask_all_ways(&gen, seed, trace, rules, &list);
	columns_add_up(&gen, seed, trace, rules, &list);
	if (seed % 3 == 0)
		killed_builds_are_equal(&gen, seed, trace, shorter, rules);
	for (size_t i = 0; i < ALL; i++)
		query_free(questions.queries[i]);
	rules_free(rules);
	fake_trace_free(trace);
	fake_trace_free(shorter);
	buf_release(&gen.text);
}

/* A value is deleted, becomes unknown later, and an event behind the range says what it was. */
static void ranges_end_where_deleted_values_were_unknown(void **unused)
{
	(void)unused;
	one_set(505648);
}

/*
 * Operands written in the nanosecond of their delete; a beginning before the range; a filled one,
 * also where a line of @start had made the value unknown.
 */
static void computed_and_filled_values_begin_where_they_did(void **unused)
{
	static const uint64_t seeds[] = {100545, 102374, 105332, 201716, 514727};

	(void)unused;
	for (size_t i = 0; i < COUNT(seeds); i++)
		one_set(seeds[i]);
}

static void all_ways_agree(void **unused)
{
	uint64_t first, end = random_seeds(SETS, &first);

	(void)unused;
	uint64_t seed = first;
	for (; seed < end && random_time_left(); seed++)
		one_set(seed);
	end = seed;
	print_message("%llu rule sets\n", (unsigned long long)(end - first));
	struct error err;
	assert_true(timelines_remove(store_path(), &err));
	print_message("%llu ranges were read where they are, of %llu the ends\n",
		      (unsigned long long)near_ranges, (unsigned long long)handed_ranges);
	assert_true(near_ranges >= end - first);
	assert_true(handed_ranges >= (end - first) / 2);
	print_message("written away: %llu wholes, %llu ranges by runs, %llu read where they are, "
		      "%llu from timelines\n",
		      (unsigned long long)spooled[SPOOLED_WHOLE],
		      (unsigned long long)spooled[SPOOLED_RUN],
		      (unsigned long long)spooled[SPOOLED_NEAR],
		      (unsigned long long)spooled[SPOOLED_STORED]);
	for (int i = 0; i < SPOOLED_WAYS; i++)
		assert_true(spooled[i] >= (end - first) / 8);
	print_message("%llu sums took the place of changes\n", (unsigned long long)sums_checked);
	assert_true(sums_checked >= (end - first) / 2);
	print_message("%llu totals of more than one interval\n",
		      (unsigned long long)totals_checked);
	assert_true(totals_checked >= (end - first) / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_end_where_deleted_values_were_unknown),
		cmocka_unit_test(computed_and_filled_values_begin_where_they_did),
		cmocka_unit_test(all_ways_agree),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
