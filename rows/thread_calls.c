/* thread_calls.c - rows of `syscalls`: see calls.h */
#include "rows/thread_rows.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdlib.h>

bool thread_rows_get_calls(struct thread_rows *cursor, struct error *err)
{
	nstime begin = cursor->begin, end = cursor->end;

	if (!cursor->kind->whole ||
	    (cursor->calls && calls_are_of(cursor->calls, cursor->head.host, begin, end)))
		return true;
	calls_free(cursor->calls);
	return calls_new(cursor->head.host, begin, end, &cursor->calls, err);
}

/* Reads intervals of thread[*]/syscall and /cpu over [from, to) into parts, cut to [t, to) and
 * sorted by thread. */
static bool read_parts(struct thread_rows *cursor, nstime from, nstime to, nstime t,
		       struct error *err)
{
	const struct query *const queries[] = {cursor->queries[OF_MAIN], cursor->queries[OF_CPU]};
	struct state *state;

	if (!calls_state(cursor->calls, cursor->todo.state, &state, err))
		return false;
	cursor->from = t;
	cursor->to = to;
	cursor->nparts = 0;
	if (!(cursor->todo.count > 1 ? state_intervals_all : state_intervals)(
		    state, from, to, INTERVALS_CUT, queries, 2, thread_rows_take_part, cursor, err))
		return false;
	thread_rows_sort_parts(cursor);
	return true;
}

/* Adds the calls that last when the range begins, from the state. */
static bool add_open_calls(struct thread_rows *cursor, struct error *err)
{
	nstime before = time_earlier(cursor->begin, 1), from, to;

	stretches_edges(&cursor->todo, &from, &to);
	if (!read_parts(cursor, before, to < cursor->end ? to : cursor->end, before, err))
		return false;
	for (size_t at = 0; at < cursor->nparts;) {
		struct thread_parts thread;
		at = thread_rows_split_thread(cursor, at, &thread);
		const struct segment_piece *call = &thread.parts[thread.begin[OF_MAIN]];
		const struct value cpu = thread_rows_sample(&thread, OF_CPU, before);

		if (thread.begin[OF_MAIN] < thread.end[OF_MAIN] && call->begin < cursor->begin &&
		    call->end > cursor->begin)
			calls_add_open(cursor->calls, thread.tid,
				       cpu.kind == VALUE_INT ? (int32_t)cpu.u : -1, &call->value);
	}
	return true;
}

/* Keeps the calls that last when the range ends before the recording, by the state. */
static bool keep_lasting_calls(struct thread_rows *cursor, nstime from, struct error *err)
{
	if (!read_parts(cursor, from, cursor->end, time_earlier(cursor->end, 1), err))
		return false;
	for (size_t i = 0; i < cursor->nparts; i++)
		if (cursor->parts[i].of == OF_MAIN)
			calls_keep_open(cursor->calls, cursor->parts[i].tid,
					&cursor->parts[i].value);
	return true;
}

bool thread_rows_begin_calls(struct thread_rows *cursor, struct error *err)
{
	const struct calls_range range = {.begin = cursor->begin,
					  .end = cursor->end,
					  .low = cursor->low,
					  .high = cursor->high,
					  .tid = cursor->of_thread ? &cursor->tid : NULL,
					  .runs = cursor->queries[OF_RUNS]};

	if (!calls_begin(cursor->calls, &range, err))
		return false;
	return cursor->window || cursor->begin <= cursor->first || add_open_calls(cursor, err);
}

static void add_call(void *arg, const struct call *call)
{
	struct thread_rows *cursor = arg;

	cursor->counts.all++;
	cursor->counts.without[call->gap]++;
	*mem_push(cursor->rows, cursor->head.count, cursor->capacity) = (struct thread_segment){
		.tid = call->tid,
		.begin = call->begin,
		.end = call->end,
		.lost = call->gap != PAIR_WHOLE,
		.value = call->name,
		.cpu = call->cpu < 0 ? (struct value){.kind = VALUE_NONE} : value_s64(call->cpu),
		.class = call->class,
		.returned = call->returned,
		.ret = call->ret};
}

static int by_thread_and_begin(const void *a, const void *b)
{
	const struct thread_segment *x = a, *y = b;

	return three_way(x->tid, y->tid) ?: three_way(x->begin, y->begin);
}

bool thread_rows_read_calls(struct thread_rows *cursor, struct error *err)
{
	nstime from = cursor->from > cursor->begin ? cursor->from : cursor->begin;

	if (!calls_read(cursor->calls, cursor->todo.state, from, cursor->to, add_call, cursor, err))
		return false;
	bool last = !stretches_more(&cursor->todo), cut = !cursor->is_over && !cursor->narrowed;
	if ((last && cut && !keep_lasting_calls(cursor, from, err)) ||
	    (last && !calls_end(cursor->calls, add_call, cursor, err)))
		return false;
	if (cursor->head.count)
		qsort(cursor->rows, cursor->head.count, sizeof *cursor->rows, by_thread_and_begin);
	cursor->counts.nameless = calls_nameless(cursor->calls);
	return true;
}

/* Counts a call that became unknown at `t`, by the events that streams lack at that time. */
static bool count_unknown(struct call_counts *counts, const struct row_host *host, nstime t,
			  struct error *err)
{
	enum pair_end why;

	if (!pair_doubts_at(host->index, t, &why, err))
		return false;
	counts->without[why]++;
	return true;
}

bool thread_rows_count_parts(struct thread_rows *cursor, struct error *err)
{
	struct call_counts *counts = &cursor->counts;

	counts->all += cursor->head.count;
	for (size_t i = 0; i < cursor->head.count; i++) {
		const struct thread_segment *row = &cursor->rows[i];

		if (thread_rows_goes_on(cursor, row))
			counts->without[PAIR_OPEN]++;
		else if (row->lost && !count_unknown(counts, cursor->head.host, row->end, err))
			return false;
	}
	return true;
}

enum { NOTED_THREADS = 3 }; /* notes per statement: a join may scan once for each thread */

void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid)
{
	static const char *const texts[PAIR_ENDS] = {
		[PAIR_OPEN] = "have no end of their own in the range",
		[PAIR_OTHER] = "are followed by the end of another one",
		[PAIR_LOST] = "lasted while events were lost",
		[PAIR_UNRECORDED] = "lasted while a CPU was not recorded",
		[PAIR_SWITCH] = ("lasted while a switch is missing, and their events do not name "
				 "the thread (see 'yore check')")};
	struct buf why = {0}, of = {0}, text = {0};
	uint64_t without = 0;

	for (size_t i = PAIR_OPEN; i < PAIR_ENDS; i++) {
		if (!counts->without[i])
			continue;
		buf_printf(&why, "%s%" PRIu64 " %s", without ? "; " : "", counts->without[i],
			   texts[i]);
		without += counts->without[i];
	}
	if (tid)
		buf_printf(&of, " of thread %" PRId64, *tid);
	if (without)
		buf_printf(&text,
			   "%" PRIu64 " of %" PRIu64
			   " calls%s have no end that is known, and their dur is NULL: %s",
			   without, counts->all, buf_text(&of), buf_text(&why));
	if (counts->nameless && !tid)
		buf_printf(&text,
			   "%s%" PRIu64 " entries are of an unknown thread and have no row: they "
			   "do not name it, and it is not known who ran",
			   text.len ? "; " : "", counts->nameless);
	if (text.len && (!tid || host->noted_threads < NOTED_THREADS))
		row_note(host, "syscalls: %s", buf_text(&text));
	else if (text.len)
		row_note(host,
			 "syscalls: more threads have calls that have no end that is known, and "
			 "their dur is NULL");
	host->noted_threads += tid && text.len;
	buf_release(&text);
	buf_release(&why);
	buf_release(&of);
}
