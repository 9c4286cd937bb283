/*
 * cmd_longest.c - the longest intervals
 *
 * Keeps a heap of the N longest intervals so far, shortest on top. An interval with an unknown
 * begin or end counts from the first or up to the last event of the trace.
 */
#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/intervals.h"

#include <stdlib.h>

enum { LIMIT = 10 };

struct longest_interval {
	uint64_t length, number; /* number: order of arrival, for ties */
	struct interval interval;
	char *path, *text; /* owned */
};

struct longest {
	struct wanteds *wanteds;
	struct longest_interval *heap;
	size_t count, capacity, limit;
	uint64_t seen;
	nstime first, last;
};

static bool shorter(const struct longest_interval *a, const struct longest_interval *b)
{
	return a->length != b->length ? a->length < b->length : a->number > b->number;
}

/* Puts an entry into the heap, whose place `hole` is free. */
static void cmd_longest_settle(struct longest *longest, size_t hole,
			       const struct longest_interval *entry)
{
	heap_settle(longest->heap, longest->count, hole, *entry, a, b, shorter(a, b), place, (void)0);
}

static void entry_own(struct longest_interval *entry)
{
	struct value *value = &entry->interval.value;

	entry->path = mem_strdup(entry->interval.path);
	entry->interval.path = entry->path;
	entry->text = NULL;
	if (value->kind != VALUE_STRING)
		return;
	entry->text = mem_new((size_t)value->len + 1);
	for (uint32_t i = 0; i < value->len; i++)
		entry->text[i] = value->text[i];
	value->text = entry->text;
}

static void entry_release(struct longest_interval *entry)
{
	mem_free(entry->path);
	mem_free(entry->text);
}

static bool take_interval(void *arg, const struct interval *interval)
{
	struct longest *longest = arg;
	nstime begin = interval->begin == NSTIME_MIN ? longest->first : interval->begin;
	nstime end = interval->end == NSTIME_MAX ? longest->last : interval->end;
	struct longest_interval entry = {
		.length = time_span(begin, end), .number = longest->seen++, .interval = *interval};

	if (!wanteds_hold(longest->wanteds, interval))
		return true;
	if (longest->count == longest->limit) {
		if (!longest->limit || !shorter(&longest->heap[0], &entry))
			return true;
		entry_release(&longest->heap[0]);
		entry_own(&entry);
		cmd_longest_settle(longest, 0, &entry);
		return true;
	}
	(void)mem_push(longest->heap, longest->count, longest->capacity);
	entry_own(&entry);
	cmd_longest_settle(longest, longest->count - 1, &entry);
	return true;
}

static int by_length(const void *a, const void *b)
{
	return shorter(a, b) ? 1 : -1;
}

static bool cmd_longest_print(struct longest *longest, struct session *session,
			      const struct options *options, struct sink *sink, struct error *err)
{
	struct interval_writer *writer;

	if (longest->count)
		qsort(longest->heap, longest->count, sizeof *longest->heap, by_length);
	if (!interval_writer_new(session, options, true, sink, &writer, err))
		return false;
	for (size_t i = 0; i < longest->count; i++)
		if (!interval_write(writer, &longest->heap[i].interval))
			break;
	return interval_writer_finish(writer, false, err);
}

static bool run_longest(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	struct wanteds wanteds;
	struct longest longest = {.wanteds = &wanteds, .limit = LIMIT};

	if (options->has_limit)
		longest.limit = options->limit > SIZE_MAX ? SIZE_MAX : (size_t)options->limit;
	if (!wanteds_parse(&options->words, VALUE_OPTIONAL, &wanteds, err))
		return false;
	bool ok = asked_paths(session, &wanteds, err) &&
		  session_bounds(session, &longest.first, &longest.last, err) &&
		  intervals_each(session, &wanteds, NULL, take_interval, &longest, err) &&
		  cmd_longest_print(&longest, session, options, sink, err);
	if (ok && !longest.count && longest.limit)
		asked_no_intervals(session, &wanteds);
	for (size_t i = 0; i < longest.count; i++)
		entry_release(&longest.heap[i]);
	mem_free(longest.heap);
	wanteds_release(&wanteds);
	return ok;
}

const struct cmd cmd_longest = {
	/* clang-format off */
	.name = "longest",
	.args = "PATH[=VALUE]...",
	.summary = "the longest intervals of attributes",
	.help = "Prints the longest intervals (10, or --limit N), longest first; with =VALUE, of\n"
		"that value. An interval with an unknown beginning or end counts from the begin, or\n"
		"to the end, of the trace.\n"
		"\n"
		"Examples:\n"
		"  $ yore longest fixtures/golden/sched-demo 'cpu[*]/thread' --limit 5\n"
		"  $ yore longest fixtures/golden/sched-demo 'cpu[0]/thread=10891' --limit 1\n"
		"  $ yore longest fixtures/golden/sched-demo 'thread[*]/state=ready' --comm 'demo-*'\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT,
	.words = WORD_PATH_VALUE,
	.min_words = 1,
	.max_words = -1,
	.run = run_longest,
	.explain = intervals_explain,
}; /* clang-format on */
