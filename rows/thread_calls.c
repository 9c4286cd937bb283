/* thread_calls.c - rows of `syscalls`: see calls.h */
#include "rows/thread_rows_internal.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/state.h"

#include <stdlib.h>

bool thread_rows_get_calls(struct thread_rows *cursor, struct error *err)
{
	nstime begin = cursor->begin, end = cursor->end;

	if (!cursor->kind->whole ||
	    (cursor->calls && calls_are_of(cursor->calls, cursor->host, begin, end)))
		return true;
	calls_free(cursor->calls);
	return calls_new(cursor->host, begin, end, &cursor->calls, err);
}

/* Parts of thread[*]/syscall and /cpu, of [from, to), by thread; those at the moment t alone, and
 * just behind it. */
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

/* The calls that last when the range begins, from the state there. */
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

/* The calls that last when the range is cut: a thread that ended is in none. */
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
	*mem_push(cursor->rows, cursor->count, cursor->capacity) = (struct thread_segment){
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
	if (cursor->count)
		qsort(cursor->rows, cursor->count, sizeof *cursor->rows, by_thread_and_begin);
	cursor->counts.nameless = calls_nameless(cursor->calls);
	return true;
}

bool thread_rows_count_parts(struct thread_rows *cursor, struct error *err)
{
	struct call_counts *counts = &cursor->counts;

	counts->all += cursor->count;
	for (size_t i = 0; i < cursor->count; i++) {
		const struct thread_segment *row = &cursor->rows[i];

		if (thread_rows_goes_on(cursor, row))
			counts->without[PAIR_OPEN]++;
		else if (row->lost && !call_counts_unknown(counts, cursor->host, row->end, err))
			return false;
	}
	return true;
}
