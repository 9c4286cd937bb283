/*
 * real_shards.c - compares shard summaries and merges with replay on a real trace, cut at random
 * times
 *
 *     real_shards TRACE SEED COUNT...
 *
 * Cuts into COUNT shards, at most 64, one COUNT after the other. Compares what a build hears from
 * the events of each shard with what it hears from the log of its first pass, too. Prints what
 * differs and exits with 1; else lines of figures: CPU seconds of replay, of all digests, of the
 * join, how many events the join replayed, and of how many shards the log was compared.
 */
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "index/index.h"
#include "state/replay/cells_internal.h"
#include "state/replay/replay.h"
#include "state/timelines/shard_merge.h"
#include "tests/state/dump_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

enum { SHARDS = 64 };

struct check {
	struct event_source *event_source;
	struct rules *rules;
	nstime cuts[SHARDS + 1]; /* [0] NSTIME_MIN; [n] NSTIME_MAX */
	size_t n;
	struct replay *replay;
	struct buf states[SHARDS + 1];
	size_t dumped;
};

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int die(const struct error *err)
{
	fprintf(stderr, "real_shards: %s\n", err->text);
	return 1;
}

static struct program *compile(const struct check *check)
{
	struct notices silent = {0};
	struct program *program;
	struct error err;

	if (!program_compile(check->rules, check->event_source->trace, &silent, &program, &err))
		exit(die(&err));
	return program;
}

static bool at_moment(void *arg, nstime next)
{
	struct check *check = arg;

	for (; check->dumped < check->n && check->cuts[check->dumped] <= next; check->dumped++)
		dump_cells(replay_cells(check->replay), &check->states[check->dumped]);
	return true;
}

/* Dumps the state at every cut, by replay; runs a second time without dumps to measure replay. */
static double replay_all(struct check *check)
{
	struct order from = order_before(NSTIME_MIN), to = order_after(NSTIME_MAX);
	double begin = 0;

	for (int looks = 1; looks >= 0; looks--) {
		struct replay_options options = {.event_source = check->event_source,
						 .program = compile(check),
						 .by_tree = looks,
						 .moment = looks ? at_moment : NULL,
						 .arg = check};
		struct error err;

		begin = cpu();
		check->dumped = 0;
		check->replay = replay_new(&options);
		if (!replay_run(check->replay, &from, &to, &err))
			exit(die(&err));
		if (looks) {
			cells_settle(replay_cells(check->replay), NULL, NULL);
			at_moment(check, NSTIME_MAX);
		}
		replay_free(check->replay);
		program_free(options.program);
	}
	return cpu() - begin;
}

static bool same(const struct check *check, size_t i, const struct cells *cells)
{
	const char *expected = buf_text(&check->states[i]), *got;
	struct buf text = {0};
	size_t n = 0, line = 0;
	bool equal;

	dump_cells(cells, &text);
	got = buf_text(&text);
	equal = !strcmp(expected, got);
	for (; !equal && expected[n] && expected[n] == got[n]; n++)
		if (expected[n] == '\n')
			line = n + 1;
	if (!equal)
		printf("shard %zu of %zu at %lld differs\nreplay: %.*s\nshards: %.*s\n", i,
		       check->n, (long long)check->cuts[i], (int)strcspn(expected + line, "\n"),
		       expected + line, (int)strcspn(got + line, "\n"), got + line);
	buf_release(&text);
	return equal;
}

/* ---- the log of pass 1 ---- */

struct heard { /* by a build, in any order */
	uint64_t sum, count, events;
	struct buf state; /* in the end */
};

static void hear(void *arg, const void *what, size_t size)
{
	struct heard *heard = arg;

	heard->sum += XXH3_64bits(what, size);
	heard->count++;
}

static void hear_put(void *arg, uint32_t attr, const struct value *value, nstime time)
{
	const uint64_t what[] = {attr, (uint64_t)time, value_hash(value)};

	hear(arg, what, sizeof what);
}

static void hear_change(void *arg, const struct change *change)
{
	const uint64_t what[] = {change->attr,
				 (uint64_t)change->time,
				 (uint64_t)change->after->since,
				 value_hash(&change->after->value),
				 change->after->named,
				 change->fill};

	if (change->before->named || change->after->named)
		hear(arg, what, sizeof what);
}

static void hear_bury(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time)
{
	const uint64_t what[] = {pattern->any ? 0 : pattern->attr, pattern->below, kind,
				 (uint64_t)time};

	hear(arg, what, sizeof what);
}

/* Takes events up to the end or, with a log, up to where that begins. */
static void build_heard(const struct timelines_part *part, const struct buf *start,
			const struct write_log *log, struct heard *out)
{
	struct replay_options options = {.event_source = part->event_source,
					 .program = part->program,
					 .brief = true,
					 .put = hear_put,
					 .change = hear_change,
					 .bury = hear_bury,
					 .arg = out};
	struct order from = order_before(part->begin);
	struct order to = log ? order_after(log->after) : timelines_part_end(part);
	struct replay *replay = replay_new(&options);
	struct cells *cells = replay_cells(replay);
	struct error err;

	if (!cells_read(cells, start->data, start->len) ||
	    (order_compare(&from, &to) < 0 && !replay_run(replay, &from, &to, &err)) ||
	    (log && !replay_logged(replay, log, 0, &err)))
		exit(die(&err));
	out->events = replay_events(replay);
	cells_settle(cells, NULL, NULL);
	for (size_t i = 0; i < cells->ntombstones; i++) /* not in the log */
		cells->tombstones[i].writer = (struct writer){0};
	dump_cells(cells, &out->state);
	replay_free(replay);
}

/* False: they differ. *compared counts logs that say anything. */
static bool same_log(const struct timelines_part *part, const struct cells *state, size_t *compared)
{
	const struct write_log *log = part->log;
	struct heard events = {0}, logged = {0};
	struct buf start = {0};
	bool same = true;

	if (log->made && log->bytes) {
		cells_write(state, &start);
		build_heard(part, &start, NULL, &events);
		build_heard(part, &start, log, &logged);
		same = events.sum == logged.sum && events.count == logged.count &&
		       events.events == logged.events &&
		       !strcmp(buf_text(&events.state), buf_text(&logged.state));
		++*compared;
	}
	buf_release(&start);
	buf_release(&events.state);
	buf_release(&logged.state);
	return same;
}

static bool check_shards(struct check *check)
{
	double replay = replay_all(check), summaries = 0, joins = 0, begin;
	struct program *program = compile(check);
	struct shard_merge *merge = shard_merge_new(check->event_source, program);
	size_t bytes = 0, logs = 0;
	bool ok = true;

	for (size_t i = 0; i < check->n && ok; i++) {
		struct write_log log = {0};
		struct timelines_part part = {.event_source = check->event_source,
					      .program = compile(check),
					      .log = &log,
					      .begin = check->cuts[i],
					      .end = check->cuts[i + 1]};
		struct buf summary = {0};
		uint64_t events;
		struct error err;

		if (i > 0)
			ok = same(check, i, merge->state);
		begin = cpu();
		if (!shard_summary_make(&part, &summary, &events, &err))
			exit(die(&err));
		summaries += cpu() - begin;
		if (!same_log(&part, merge->state, &logs)) {
			printf("the log of shard %zu of %zu gives something else\n", i, check->n);
			ok = false;
		}
		write_log_release(&log);
		begin = cpu();
		if (!shard_merge_add(merge, part.begin, summary.data, summary.len, &err))
			exit(die(&err));
		joins += cpu() - begin;
		bytes += summary.len;
		buf_release(&summary);
		program_free(part.program);
	}
	printf("%zu shards: replay %.3f s, digests %.3f s, %zu bytes, join %.3f s, %llu events "
	       "replayed, %zu logs\n",
	       check->n, replay, summaries, bytes, joins, (unsigned long long)merge->replayed,
	       logs);
	for (size_t i = 0; i <= SHARDS; i++)
		buf_release(&check->states[i]);
	shard_merge_free(merge);
	program_free(program);
	return ok;
}

static int by_time(const void *a, const void *b)
{
	nstime x = *(const nstime *)a, y = *(const nstime *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const char *paths[] = {argc > 1 ? argv[1] : ""};
	struct trace_options trace_options = {.paths = paths, .npaths = 1};
	struct index_options index_options = {.none = true};
	struct rng rng = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
	struct check check = {.rules = rules_new()};
	struct trace *trace;
	struct index *index;
	struct error err;
	nstime first, last;
	bool ok = true;

	if (argc < 2 || !trace_open(&trace_options, &trace, &err) ||
	    !index_open(trace, &index_options, &index, &err) ||
	    !rules_add_builtin(check.rules, "linux", &err) ||
	    !events_range(index, &first, &last, &err))
		return die(&err);
	check.event_source = event_source_over_index(index);
	for (int c = 3; c < argc; c++) {
		check.n = strtoull(argv[c], NULL, 10);
		if (check.n < 1 || check.n > SHARDS)
			return 2;
		check.cuts[0] = NSTIME_MIN;
		for (size_t i = 1; i < check.n; i++)
			check.cuts[i] =
				first + (nstime)(rng_next(&rng) % (uint64_t)(last - first + 1));
		qsort(check.cuts + 1, check.n - 1, sizeof *check.cuts, by_time);
		check.cuts[check.n] = NSTIME_MAX;
		ok = check_shards(&check) && ok;
	}
	event_source_over_index_free(check.event_source);
	index_close(index);
	trace_close(trace);
	rules_free(check.rules);
	return ok ? 0 : 1;
}
