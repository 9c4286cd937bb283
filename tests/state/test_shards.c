/*
 * test_shards.c - digests and joins give the state that replay gives, wherever a trace is cut
 *
 * Random rule sets and traces are cut at random times; of every shard a digest is made, by a
 * program of its own as another process would have. The state that the join gives at each shard's
 * start is compared with replay's there in all that counts: values, last writes and who wrote them,
 * what lists name, tombstones, section values, ends of losses. Then each shard is replayed from it,
 * and all changes are compared; those of a build likewise with what it makes of pass 1's log.
 * YORE_PROPERTY_SETS says how many rule sets are tried, YORE_PROPERTY_SECONDS for how long at most.
 */
#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/replay/replay.h"
#include "state/timelines/shard_merge.h"
#include "tests/harness.h"
#include "tests/state/dump_cells.h"
#include "tests/state/random_rules.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 2000, CUTS = 63 };

/* ---- changes as text ---- */

struct told { /* a change as text */
	struct buf text;
	struct order order;
	const char *path; /* into text */
	size_t number;
};

struct changes {
	struct told *items;
	size_t count, capacity;
};

/* A burial tells of what it covers in no order that means anything. */
static int by_event_and_path(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	int order = order_compare(&x->order, &y->order);

	if (!order)
		order = strcmp(x->path, y->path);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void changes_text(struct changes *changes, struct buf *out)
{
	if (changes->count)
		qsort(changes->items, changes->count, sizeof *changes->items, by_event_and_path);
	for (size_t i = 0; i < changes->count; i++) {
		struct told *told = &changes->items[i];

		buf_printf(out, "%lld.%u.%u %s%s\n", (long long)told->order.time, told->order.rank,
			   told->order.index, told->path, told->path + strlen(told->path) + 1);
		buf_release(&told->text);
	}
	mem_free(changes->items);
}

struct watch {
	struct replay *replay;
	struct program *program;
	struct changes changes;
	struct buf text;                    /* of all changes, in the end */
	struct buf states[RANDOM_LAST + 1]; /* by time: before the events of that time */
	size_t dumped;
};

static void on_change(void *arg, const struct change *change)
{
	struct watch *watch = arg;
	struct changes *changes = &watch->changes;
	struct told told = {.order = change->order, .number = changes->count};

	if (!change->before->named && !change->after->named)
		return; /* deleted before, buried again: its tombstone says it */
	attr_add_text(program_attrs(watch->program), change->attr, &told.text);
	buf_add_char(&told.text, '\0');
	buf_add_text(&told.text, change->fill ? " fill: " : ": ");
	dump_value(&change->before->value, &told.text);
	buf_printf(&told.text, " since %lld%s -> ", (long long)change->before->since,
		   change->before->named ? " named" : "");
	dump_value(&change->after->value, &told.text);
	buf_printf(&told.text, " since %lld%s", (long long)change->after->since,
		   change->after->named ? " named" : "");
	told.path = buf_text(&told.text);
	changes->items = mem_grow(changes->items, changes->count, &changes->capacity,
				  sizeof *changes->items);
	changes->items[changes->count++] = told;
}

static bool at_moment(void *arg, nstime next)
{
	struct watch *watch = arg;

	for (; watch->dumped <= RANDOM_LAST && (nstime)watch->dumped <= next; watch->dumped++)
		dump_cells(replay_cells(watch->replay), &watch->states[watch->dumped]);
	return true;
}

static struct program *compile(struct fake_trace *trace, struct rules *rules)
{
	struct notices silent = {0};
	struct program *program;
	struct error err;

	if (!program_compile(rules, &trace->trace, &silent, &program, &err))
		fail_msg("%s", err.text);
	return program;
}

static void replay_all(struct fake_trace *trace, struct rules *rules, struct watch *watch)
{
	struct replay_options options = {.event_source = &trace->event_source,
					 .by_tree = true,
					 .change = on_change,
					 .moment = at_moment,
					 .arg = watch};
	struct order from = order_before(NSTIME_MIN), to = order_after(NSTIME_MAX);
	struct error err;

	watch->program = options.program = compile(trace, rules);
	watch->replay = replay_new(&options);
	assert_true(replay_run(watch->replay, &from, &to, &err));
	cells_settle(replay_cells(watch->replay), NULL, NULL);
	at_moment(watch, NSTIME_MAX);
	changes_text(&watch->changes, &watch->text);
	replay_free(watch->replay);
	program_free(watch->program);
}

/* ---- shards ---- */

struct set {
	struct gen gen;
	uint64_t seed;
	struct fake_trace *trace;
	struct rules *rules;
	struct watch expected;
	nstime cuts[CUTS + 2]; /* [0] NSTIME_MIN, then rising, then NSTIME_MAX */
	size_t nshards;
	uint32_t looks; /* see struct timelines_part */
};

static void expect(const struct set *set, const char *what, size_t shard, const char *expected,
		   const char *got)
{
	size_t n = 0, line = 0;

	if (!strcmp(expected, got))
		return;
	for (; expected[n] && expected[n] == got[n]; n++)
		if (expected[n] == '\n')
			line = n + 1;
	if (getenv("YORE_PROPERTY_SHOW"))
		print_message("replay:\n%s\nshards:\n%s\n", expected, got);
	for (size_t i = 0; i + 1 < set->nshards; i++)
		print_message("cut at %lld\n", (long long)set->cuts[i + 1]);
	fail_msg("seed %llu: %s of shard %zu of %zu\nreplay: %.*s\nshards: %.*s\nrules:\n%s",
		 (unsigned long long)set->seed, what, shard, set->nshards,
		 (int)strcspn(expected + line, "\n"), expected + line,
		 (int)strcspn(got + line, "\n"), got + line, buf_text(&set->gen.text));
}

static void shard_summary_of(const struct set *set, size_t shard, struct buf *out)
{
	struct timelines_part part = {.event_source = &set->trace->event_source,
				      .program = compile(set->trace, set->rules),
				      .begin = set->cuts[shard],
				      .end = set->cuts[shard + 1],
				      .looks = set->looks};
	struct error err;
	uint64_t events;

	if (!shard_summary_make(&part, out, &events, &err))
		fail_msg("%s", err.text);
	program_free(part.program);
}

/* Pass 2 from the state that the join gave, as bytes. */
static void replay_shard(const struct set *set, size_t shard, const struct buf *start,
			 struct buf *changes)
{
	struct watch watch = {0};
	struct replay_options options = {
		.event_source = &set->trace->event_source, .change = on_change, .arg = &watch};
	struct order from = order_before(set->cuts[shard]);
	struct order to = order_before(set->cuts[shard + 1]);
	struct error err;

	if (set->cuts[shard + 1] == NSTIME_MAX)
		to = order_after(NSTIME_MAX);
	watch.program = options.program = compile(set->trace, set->rules);
	watch.replay = replay_new(&options);
	assert_true(cells_read(replay_cells(watch.replay), start->data, start->len));
	assert_true(replay_run(watch.replay, &from, &to, &err));
	changes_text(&watch.changes, changes);
	replay_free(watch.replay);
	program_free(watch.program);
}

/* ---- the log of pass 1 ---- */

struct heard { /* by a build that takes events, or that takes the log */
	struct replay *replay;
	struct program *program;
	struct changes changes;
	uint64_t events[RANDOM_LAST + 1]; /* by time: up to it */
	bool logged;                      /* compare these, which are known */
};

static void hear(struct heard *heard, nstime time, uint32_t attr, const char *what,
		 const struct value *value, nstime since)
{
	struct told told = {.order.time = time, .number = heard->changes.count};

	attr_add_text(program_attrs(heard->program), attr, &told.text);
	buf_add_char(&told.text, '\0');
	buf_printf(&told.text, "%s ", what);
	dump_value(value, &told.text);
	buf_printf(&told.text, " since %lld", (long long)since);
	told.path = buf_text(&told.text);
	*mem_push(heard->changes.items, heard->changes.count, heard->changes.capacity) = told;
}

static void hear_put(void *arg, uint32_t attr, const struct value *value, nstime time)
{
	hear(arg, time, attr, "put", value, time);
}

static void hear_change(void *arg, const struct change *change)
{
	if (change->before->named || change->after->named)
		hear(arg, change->time, change->attr, change->fill ? "fill" : "bury",
		     &change->after->value, change->after->since);
}

static void hear_bury(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time)
{
	const struct value value = {.kind = kind};

	hear(arg, time, pattern->any ? ATTR_ROOT : pattern->attr,
	     pattern->below ? "tombstone below" : "tombstone", &value, time);
}

static bool hear_moment(void *arg, nstime next)
{
	struct heard *heard = arg;
	nstime time = replay_time(heard->replay);
	uint64_t *events;

	(void)next;
	if (time < 0) /* @start */
		return true;
	events = &heard->events[time];
	assert_true(!heard->logged || !replay_events(heard->replay) ||
		    *events == replay_events(heard->replay));
	*events = replay_events(heard->replay);
	return true;
}

/* Takes the events up to log->after and then the log; NULL: all events. */
static void build_heard(const struct set *set, size_t shard, const struct buf *start,
			const struct write_log *log, struct heard *heard, struct buf *out)
{
	struct replay_options options = {.event_source = &set->trace->event_source,
					 .program = heard->program,
					 .brief = true,
					 .put = hear_put,
					 .change = hear_change,
					 .bury = hear_bury,
					 .moment = hear_moment,
					 .arg = heard};
	struct order from = order_before(set->cuts[shard]), to = order_after(NSTIME_MAX), end;
	struct error err;

	if (set->cuts[shard + 1] != NSTIME_MAX)
		to = order_before(set->cuts[shard + 1]);
	end = to;
	if (log)
		to = order_after(log->after);
	heard->logged = log != NULL;
	heard->replay = replay_new(&options);
	assert_true(cells_read(replay_cells(heard->replay), start->data, start->len));
	if (order_compare(&from, &to) < 0)
		assert_true(replay_run(heard->replay, &from, &to, &err));
	if (log)
		assert_true(replay_logged(heard->replay, log, 0, &err));
	from = log ? order_after(log->time) : end;
	if (log && log->full && order_compare(&from, &end) < 0)
		assert_true(replay_run(heard->replay, &from, &end, &err));
	if (!log)
		hear_moment(heard, NSTIME_MAX);
	buf_printf(out, "%llu events\n", (unsigned long long)replay_events(heard->replay));
	changes_text(&heard->changes, out);
	cells_settle(replay_cells(heard->replay), NULL, NULL);
	for (size_t i = 0; i < replay_cells(heard->replay)->ntombstones; i++) /* not in the log */
		replay_cells(heard->replay)->tombstones[i].writer = (struct writer){0};
	dump_cells(replay_cells(heard->replay), out);
	heard->changes = (struct changes){0};
	replay_free(heard->replay);
}

static uint64_t logs, logged_bytes, full_logs;

/* `most`: bytes of the log; 0: all. */
static void check_log(const struct set *set, size_t shard, const struct buf *start, size_t most)
{
	struct heard heard = {.program = compile(set->trace, set->rules)};
	struct write_log log = {.most = most};
	struct timelines_part part = {.event_source = &set->trace->event_source,
				      .program = heard.program,
				      .begin = set->cuts[shard],
				      .end = set->cuts[shard + 1],
				      .log = &log,
				      .looks = set->looks};
	struct buf expected = {0}, got = {0};
	struct error err;
	uint64_t events;

	assert_true(shard_summary_make(&part, NULL, &events, &err));
	if (log.made && log.after < NSTIME_MAX) {
		build_heard(set, shard, start, NULL, &heard, &expected);
		build_heard(set, shard, start, &log, &heard, &got);
		expect(set, "what the log gives", shard, buf_text(&expected), buf_text(&got));
		logs++;
		full_logs += log.full;
		logged_bytes += log.bytes;
	}
	write_log_release(&log);
	buf_release(&expected);
	buf_release(&got);
	program_free(heard.program);
}

static uint64_t replayed, digested;

static void check_shards(const struct set *set)
{
	struct program *program = compile(set->trace, set->rules);
	struct shard_merge *merge = shard_merge_new(&set->trace->event_source, program);
	struct buf changes = {0}, bytes = {0}, state = {0};
	struct error err;

	for (size_t i = 0; i < set->nshards; i++) {
		buf_clear(&bytes);
		cells_write(merge->state, &bytes);
		if (i > 0) {
			buf_clear(&state);
			dump_cells(merge->state, &state);
			expect(set, "start", i,
			       buf_text(&set->expected.states[(size_t)set->cuts[i]]),
			       buf_text(&state));
		}
		replay_shard(set, i, &bytes, &changes);
		check_log(set, i, &bytes, 0);
		check_log(set, i, &bytes, 1 + i * 7 % 60);
		buf_clear(&bytes);
		shard_summary_of(set, i, &bytes);
		if (!shard_merge_add(merge, set->cuts[i], bytes.data, bytes.len, &err))
			fail_msg("%s", err.text);
	}
	expect(set, "changes", set->nshards, buf_text(&set->expected.text), buf_text(&changes));
	replayed += merge->replayed;
	digested += set->trace->nitems;
	buf_release(&changes);
	buf_release(&bytes);
	buf_release(&state);
	shard_merge_free(merge);
	program_free(program);
}

static int by_time(const void *a, const void *b)
{
	nstime x = *(const nstime *)a, y = *(const nstime *)b;

	return (x > y) - (x < y);
}

static void cut(struct set *set, size_t nshards)
{
	set->nshards = nshards;
	set->looks = pick(&set->gen, 2) ? 1 : 1 + pick(&set->gen, 30);
	set->cuts[0] = NSTIME_MIN;
	for (size_t i = 1; i < nshards; i++)
		set->cuts[i] = pick(&set->gen, RANDOM_LAST + 1);
	qsort(set->cuts + 1, nshards - 1, sizeof *set->cuts, by_time);
	set->cuts[nshards] = NSTIME_MAX;
}

static void one_set(uint64_t seed)
{
	static const size_t counts[] = {1, 2, 3, 7, CUTS + 1};
	struct set set = {.gen = {.cumulative = seed % 3 == 0}, .seed = seed};
	struct fake_event events[RANDOM_EVENTS];
	nstime begins[4];
	uint32_t nstreams;
	struct error err;

	set.gen.rng.state = seed;
	nstreams = 1 + pick(&set.gen, 4);
	set.trace = fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, events,
				   make_events(&set.gen, events, nstreams));
	for (uint32_t i = 0; i < 4; i++)
		begins[i] = seed % 3 ? NSTIME_MIN : 0; /* no later than any event */
	fake_trace_begins(set.trace, begins);
	fake_trace_late_events(set.trace, seed / 5 % 16);
	add_rules(&set.gen);
	set.rules = rules_new();
	if (!rules_add(set.rules, "random.rules", set.gen.text.data, set.gen.text.len, &err))
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
	replay_all(set.trace, set.rules, &set.expected);
	for (size_t i = 0; i < COUNT(counts); i++) {
		if (counts[i] > 7 && seed % 16)
			continue;
		cut(&set, counts[i]);
		check_shards(&set);
	}
	for (size_t i = 0; i <= RANDOM_LAST; i++)
		buf_release(&set.expected.states[i]);
	buf_release(&set.expected.text);
	buf_release(&set.gen.text);
	rules_free(set.rules);
	fake_trace_free(set.trace);
}

static void shards_give_what_replay_gives(void **unused)
{
	uint64_t first, end = random_seeds(SETS, &first);

	(void)unused;
	for (uint64_t seed = first; seed < end && random_time_left(); seed++)
		one_set(seed);
	print_message("%llu of %llu events were replayed by joins\n", (unsigned long long)replayed,
		      (unsigned long long)digested);
	print_message("%llu logs of %llu bytes, %llu full\n", (unsigned long long)logs,
		      (unsigned long long)logged_bytes, (unsigned long long)full_logs);
	assert_true(replayed < digested && logged_bytes > logs && full_logs > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(shards_give_what_replay_gives)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
