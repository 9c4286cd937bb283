/* thread_rows.c - the ranges of rows of threads, and their cells: see thread_rows.h */
#include "rows/thread_rows.h"
#include "rows/comms.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- stretches ---- */

/* Drops rows that begin outside of [low, high): they were read for the ends of other rows. */
static void drop_outside(struct thread_rows *cursor)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->head.count; i++)
		if (cursor->rows[i].begin >= cursor->low && cursor->rows[i].begin < cursor->high)
			cursor->rows[kept++] = cursor->rows[i];
	cursor->head.count = kept;
}

static bool finish_rows(struct thread_rows *cursor, struct error *err)
{
	drop_outside(cursor);
	return !cursor->kind->whole || thread_rows_count_parts(cursor, err);
}

static bool read_stretch(struct thread_rows *cursor, struct error *err)
{
	nstime from, to;

	cursor->nparts = cursor->head.count = cursor->head.at = 0;
	arena_reset(cursor->arena);
	stretches_edges(&cursor->todo, &from, &to);
	cursor->from = from > cursor->begin ? from : cursor->begin;
	cursor->to = to < cursor->end ? to : cursor->end;
	if (cursor->calls && calls_need_runs(cursor->calls))
		cpu_runs_turn(calls_runs(cursor->calls));
	if (!stretches_next_parts(&cursor->todo, thread_rows_take_part, cursor, err) ||
	    (cursor->along && !comms_along_end(cursor->head.host, cursor->begin, cursor->end, err)))
		return false;
	if (cursor->calls)
		return thread_rows_read_calls(cursor, err);
	thread_rows_read_threads(cursor, !stretches_more(&cursor->todo));
	return finish_rows(cursor, err);
}

static void say_empty(const struct thread_rows *cursor)
{
	const struct thread_rows_kind *kind = cursor->kind;

	if (kind->wakeups)
		row_note(cursor->head.host,
			 "no row: no thread was woken in this range, as far as its events tell; "
			 "'yore info' says what can be asked");
	else
		row_note(cursor->head.host,
			 "no row: thread[*]/%s has no value in this range, it is unknown or none "
			 "throughout; 'yore info' says what can be asked",
			 kind->main);
}

static bool thread_rows_more(void *arg, struct error *err)
{
	struct thread_rows *cursor = arg;

	while (cursor->head.at == cursor->head.count && stretches_more(&cursor->todo))
		if (!read_stretch(cursor, err))
			return false;
	if (cursor->head.at == cursor->head.count && cursor->kind->whole)
		call_counts_note(&cursor->counts, cursor->head.host,
				 cursor->of_thread ? &cursor->tid : NULL);
	if (cursor->head.at == cursor->head.count && !cursor->silent)
		say_empty(cursor);
	cursor->silent = true;
	return true;
}

/* ---- a range ---- */

static void end_scan(struct thread_rows *cursor)
{
	stretches_end(&cursor->todo);
	cursor->todo = (struct stretches){0};
	for (unsigned i = 0; i < QUERIES; i++) {
		query_free(cursor->queries[i]);
		cursor->queries[i] = NULL;
	}
	cursor->nopen = cursor->nnext = 0;
}

static void thread_rows_release(void *arg)
{
	struct thread_rows *cursor = arg;

	end_scan(cursor);
	arena_free(cursor->arena);
	arena_free(cursor->carried);
	calls_free(cursor->calls);
	mem_free(cursor->parts);
	mem_free(cursor->open);
	mem_free(cursor->next);
	mem_free(cursor->rows);
}

/*
 * Sets the range: that of the caller, cut to the trace's events. False: there are none in it, or no
 * row of it can begin where it is needed.
 */
static bool clip(struct thread_rows *cursor, nstime first, nstime last)
{
	const struct row_ask *ask = &cursor->head.ask;

	cursor->first = first;
	cursor->begin = first > ask->begin ? first : ask->begin;
	/* `end` is exclusive, and the last event may be the exit of a call */
	cursor->end = last < ask->end ? last + cursor->kind->whole : ask->end;
	cursor->is_over = last <= ask->end;
	return first <= last && cursor->begin < cursor->end && ask->low < cursor->end &&
	       ask->high >= cursor->begin;
}

/*
 * Narrows the range to the rows that begin in [low, high], if that reads less. It begins one
 * nanosecond before `low`, so that a row cut at the begin of the range does not seem to begin
 * there.
 */
static bool thread_rows_narrow(struct thread_rows *cursor, struct state *state, struct error *err)
{
	const struct row_ask *ask = &cursor->head.ask;
	nstime high = ask->high < NSTIME_MAX ? ask->high + 1 : NSTIME_MAX;
	nstime begin = time_earlier(ask->low, 1), end = high, floor, ceil;
	bool window;

	cursor->narrowed = cursor->window = false;
	cursor->low = NSTIME_MIN;
	cursor->high = NSTIME_MAX;
	begin = begin > cursor->begin ? begin : cursor->begin;
	end = end < cursor->end ? end : cursor->end;
	if (begin >= end || (begin == cursor->begin && end == cursor->end))
		return true;
	if (!state_lists_window(state, begin, end, NULL, 0, &window, err))
		return false;
	if (!window)
		return true;
	if (!state_window_reach(state, begin, end, &floor, &ceil, err))
		return false;
	cursor->begin = begin;
	cursor->low = ask->low;
	cursor->high = high;
	cursor->narrowed = ceil < cursor->end;
	cursor->window = true;
	cursor->is_over = cursor->is_over && !cursor->narrowed;
	cursor->end = cursor->narrowed ? ceil : cursor->end;
	return true;
}

/* Without wake-up events a thread sleeps until it runs, so that only new threads have wake-ups. */
static void note_no_wakeups(struct row_host *host)
{
	static const char *const wakes[] = {"sched_wakeup", "sched_waking"};
	const struct trace *trace = host->trace;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const char *name = event_bare_name(trace->classes[c]->name);

		if (!strcmp(name, wakes[0]) || !strcmp(name, wakes[1]))
			return;
	}
	if (!host->noted_wakeups)
		row_note(host, "wakeups: without sched_wakeup or sched_waking it is not known when "
			       "threads are woken: only new threads have rows");
	host->noted_wakeups = true;
}

static bool parse_query(struct thread_rows *cursor, size_t of, struct error *err)
{
	const char *const names[QUERIES] = {cursor->kind->main, "cpu", "waker", "name"};
	char path[64];

	if (of == OF_RUNS)
		snprintf(path, sizeof path, "cpu[*]/thread");
	else if (cursor->of_thread)
		snprintf(path, sizeof path, "thread[%" PRId64 "]/%s", cursor->tid, names[of]);
	else
		snprintf(path, sizeof path, "thread[*]/%s", names[of]);
	if (query_parse(path, &cursor->queries[of], err))
		return true;
	cursor->queries[of] = NULL;
	return false;
}

/* Do stretches read the attribute? */
static bool is_asked(const struct thread_rows *cursor, size_t of)
{
	switch (of) {
	case OF_WAKER:
		return cursor->kind->wakeups;
	case OF_NAME:
		return cursor->along;
	case OF_RUNS:
		return cursor->calls && calls_need_runs(cursor->calls);
	default:
		return !cursor->calls;
	}
}

/* Reads of `state`, in the range that thread_rows_narrow() left. */
static bool begin_scan(struct thread_rows *cursor, struct state *state, struct error *err)
{
	const struct row_ask *asked = &cursor->head.ask;
	const struct thread_rows_kind *kind = cursor->kind;
	nstime begin = cursor->begin;
	size_t count = 0;

	cursor->of_thread = asked->tid != NULL;
	cursor->tid = asked->tid ? *asked->tid : 0;
	cursor->along = !cursor->calls && cursor->window && asked->shows_names &&
			!cursor->of_thread &&
			!comms_have_window(cursor->head.host, cursor->begin, cursor->end);
	if (cursor->along)
		comms_along_begin(cursor->head.host);
	for (size_t of = 0; of < QUERIES; of++) {
		if (!parse_query(cursor, of, err))
			return false;
		if (is_asked(cursor, of))
			cursor->asked[count++] = cursor->queries[of];
	}
	if (!row_host_look_up(cursor->head.host, state, cursor->queries[OF_MAIN], &cursor->silent,
			      err))
		return false;
	if (kind->wakeups && !cursor->silent)
		note_no_wakeups(cursor->head.host);
	cursor->silent |= asked->tid || (kind->wakeups && cursor->head.host->noted_wakeups);
	if (cursor->calls) /* which thread runs just before the first event */
		begin = time_earlier(begin, 1);
	return stretches_begin(&cursor->todo, state, begin, cursor->end, cursor->asked, count,
			       err) &&
	       (!cursor->calls || thread_rows_begin_calls(cursor, err));
}

static bool thread_rows_begin(void *arg, struct error *err)
{
	struct thread_rows *cursor = arg;
	struct state *state;
	nstime first, last;

	end_scan(cursor);
	if (!cursor->arena) {
		cursor->kind = cursor->head.table->kind;
		cursor->arena = arena_new();
		cursor->carried = arena_new();
	}
	cursor->counts = (struct call_counts){0};
	cursor->silent = true;
	if (!row_host_bounds(cursor->head.host, &first, &last, err))
		return false;
	return !clip(cursor, first, last) ||
	       (thread_rows_get_calls(cursor, err) &&
		row_host_state(cursor->head.host, &state, err) &&
		thread_rows_narrow(cursor, state, err) && begin_scan(cursor, state, err));
}

/* ---- values ---- */

static bool put_comm(struct thread_rows *cursor, struct value *out, const struct value *tid,
		     nstime t, struct error *err)
{
	const char *name;

	if (tid->kind != VALUE_INT)
		return true;
	/* names are needed up to the last begin of a row; without calls, `along` read them all */
	nstime end = cursor->calls && cursor->high < cursor->end ? cursor->high : cursor->end;
	if ((cursor->window && !comms_of_window(cursor->head.host, cursor->begin, end, err)) ||
	    !comms_at(cursor->head.host, tid, t, &name, err))
		return false;
	if (name)
		*out = value_text(name, strlen(name));
	return true;
}

/* "thread", or of an interrupt the first word of thread[T]/waker. */
static void put_waker_kind(struct value *out, const struct value *waker)
{
	if (waker->kind == VALUE_INT) {
		*out = value_text("thread", strlen("thread"));
	} else if (waker->kind == VALUE_STRING) {
		const char *end = memchr(waker->text, ' ', waker->len);
		*out = value_text(waker->text, end ? (size_t)(end - waker->text) : waker->len);
	}
}

static bool is_end_known(const struct thread_rows *cursor, const struct thread_segment *row)
{
	if (cursor->narrowed && row->end == cursor->end)
		return false;
	return !cursor->kind->whole || !(row->lost || thread_rows_goes_on(cursor, row));
}

/* columns of all kinds */
enum { TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET, WAIT, WAKER, WAKER_COMM, WAKER_KIND, ARGUMENT };

static bool cell(void *arg, size_t column, struct value *out, struct error *err)
{
	struct thread_rows *cursor = arg;
	const struct thread_segment *row = &cursor->rows[cursor->head.at];
	struct value tid = value_s64(row->tid);

	switch (cursor->kind->cells[column]) {
	case TID:
		*out = tid;
		break;
	case CPU:
		*out = row->cpu;
		break;
	case COMM:
		return put_comm(cursor, out, &tid, row->begin, err);
	case BEGIN:
		*out = value_s64(row->begin);
		break;
	case END:
		if (is_end_known(cursor, row))
			*out = value_s64(row->end);
		break;
	case DUR:
		if (is_end_known(cursor, row))
			*out = value_s64(row->end - row->begin);
		break;
	case VALUE:
		*out = row->value;
		break;
	case RET:
		if (is_end_known(cursor, row) && row->returned)
			*out = value_s64(row->ret);
		break;
	case WAIT:
		if (row->ran)
			*out = value_s64(row->end - row->begin);
		break;
	case WAKER:
		if (row->waker.kind == VALUE_INT)
			*out = row->waker;
		break;
	case WAKER_COMM:
		if (row->waker.kind == VALUE_INT)
			return put_comm(cursor, out, &row->waker, row->begin, err);
		*out = row->waker;
		break;
	case WAKER_KIND:
		put_waker_kind(out, &row->waker);
	}
	return true;
}

static uint64_t key(const void *arg)
{
	const struct thread_rows *cursor = arg;
	const struct thread_segment *row = &cursor->rows[cursor->head.at];

	/* `class`: with damage a thread may enter two calls at one time */
	return hash_number(hash_number((uint64_t)row->tid) + (uint64_t)row->begin + row->class);
}

/* ---- the tables ---- */

enum { INEXACT_ALIAS = ROW_ARGUMENT | ROW_INEXACT };

#define RANGE_COLUMNS                                                        \
	{"trace", ROW_TEXT, ROW_TRACE, .flags = ROW_ARGUMENT | ROW_FOREIGN}, \
		{"from", ROW_TIME, ROW_RANGE_BEGIN, .flags = ROW_ARGUMENT},  \
	{                                                                    \
		"until", ROW_TIME, ROW_RANGE_END, .flags = ROW_ARGUMENT      \
	}
static const struct row_column of_state[] = {{"tid", ROW_INTEGER, ROW_TID, .flags = ROW_INEXACT},
					     {"cpu", .type = ROW_INTEGER},
					     {"comm", ROW_TEXT, .flags = ROW_COMM},
					     {"begin", ROW_TIME, ROW_STARTS, .flags = ROW_INEXACT},
					     {"end", .type = ROW_TIME},
					     {"dur", .type = ROW_INTEGER},
					     {"state", .type = ROW_TEXT},
					     RANGE_COLUMNS,
					     {"ts", ROW_TIME, ROW_STARTS, .flags = INEXACT_ALIAS}};
static const struct row_column of_wakeups[] = {
	{"ts", ROW_TIME, ROW_STARTS, .flags = ROW_INEXACT},
	{"tid", ROW_INTEGER, ROW_TID, .flags = ROW_INEXACT},
	{"comm", ROW_TEXT, .flags = ROW_COMM},
	{"dur", .type = ROW_INTEGER},
	{"cpu", .type = ROW_INTEGER},
	{"waker", .type = ROW_INTEGER},
	{"waker_comm", ROW_TEXT, .flags = ROW_COMM},
	{"waker_kind", .type = ROW_TEXT},
	RANGE_COLUMNS,
	{"latency", ROW_INTEGER, .flags = ROW_ARGUMENT,
	 .note = "wakeups.latency is 'dur' now; 'latency' still is an alias in this release"}};
static const struct row_column of_syscalls[] = {
	{"tid", ROW_INTEGER, ROW_TID, .flags = ROW_INEXACT},
	{"cpu", .type = ROW_INTEGER},
	{"comm", ROW_TEXT, .flags = ROW_COMM},
	{"begin", ROW_TIME, ROW_STARTS, .flags = ROW_INEXACT},
	{"end", .type = ROW_TIME},
	{"dur", .type = ROW_INTEGER},
	{"name", .type = ROW_ANY},
	{"ret", .type = ROW_INTEGER},
	RANGE_COLUMNS,
	{"ts", ROW_TIME, ROW_STARTS, .flags = INEXACT_ALIAS}};

#define ARGUMENTS ARGUMENT, ARGUMENT, ARGUMENT
static const uint8_t cells_of_state[] = {TID, CPU, COMM, BEGIN, END, DUR, VALUE, ARGUMENTS, BEGIN};
static const uint8_t cells_of_wakeups[] = {BEGIN, TID,        COMM,       WAIT,      CPU,
					   WAKER, WAKER_COMM, WAKER_KIND, ARGUMENTS, WAIT};
static const uint8_t cells_of_syscalls[] = {TID, CPU,   COMM, BEGIN,     END,
					    DUR, VALUE, RET,  ARGUMENTS, BEGIN};

static const struct thread_rows_kind state_kind = {.main = "state", .cells = cells_of_state};
static const struct thread_rows_kind wakeups_kind = {
	.main = "state", .wakeups = true, .cells = cells_of_wakeups};
static const struct thread_rows_kind syscalls_kind = {
	.main = "syscall", .whole = true, .cells = cells_of_syscalls};

#define THREAD_ROWS(of, its)                                                                       \
	{                                                                                          \
		.columns = of, .ncolumns = sizeof of / sizeof *of, .rows = 1e7,                    \
		.size = sizeof(struct thread_rows), .kind = &its, .begin = thread_rows_begin,      \
		.more = thread_rows_more, .cell = cell, .key = key, .release = thread_rows_release \
	}
const struct row_table row_thread_state = THREAD_ROWS(of_state, state_kind),
		       row_wakeups = THREAD_ROWS(of_wakeups, wakeups_kind),
		       row_syscalls = THREAD_ROWS(of_syscalls, syscalls_kind);
