/* thread_rows.c - the ranges of rows of threads, and their cells: see thread_rows.h */
#include "rows/comms.h"
#include "rows/thread_rows_internal.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct row_column of_state[] = {
	{"tid", ROW_INTEGER}, {"cpu", ROW_INTEGER}, {"comm", ROW_TEXT}, {"begin", ROW_TIME},
	{"end", ROW_TIME},    {"dur", ROW_INTEGER}, {"state", ROW_TEXT}};
static const struct row_column of_wakeups[] = {{"ts", ROW_TIME},         {"tid", ROW_INTEGER},
					       {"comm", ROW_TEXT},       {"dur", ROW_INTEGER},
					       {"cpu", ROW_INTEGER},     {"waker", ROW_INTEGER},
					       {"waker_comm", ROW_TEXT}, {"waker_kind", ROW_TEXT}};
static const struct row_column of_syscalls[] = {
	{"tid", ROW_INTEGER}, {"cpu", ROW_INTEGER}, {"comm", ROW_TEXT}, {"begin", ROW_TIME},
	{"end", ROW_TIME},    {"dur", ROW_INTEGER}, {"name", ROW_ANY},  {"ret", ROW_INTEGER}};
const struct thread_rows_kind thread_rows_state = {
	.columns = of_state, .ncolumns = 7, .main = "state", .begin = 3};
const struct thread_rows_kind thread_rows_wakeups = {
	.columns = of_wakeups, .ncolumns = 8, .main = "state", .wakeups = true, .tid = 1};
const struct thread_rows_kind thread_rows_syscalls = {
	.columns = of_syscalls, .ncolumns = 8, .main = "syscall", .begin = 3, .whole = true};

/* ---- stretches ---- */

/* Drops rows that begin outside of [low, high): they were read for the ends of other rows. */
static void drop_outside(struct thread_rows *cursor)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->count; i++)
		if (cursor->rows[i].begin >= cursor->low && cursor->rows[i].begin < cursor->high)
			cursor->rows[kept++] = cursor->rows[i];
	cursor->count = kept;
}

static bool finish_rows(struct thread_rows *cursor, struct error *err)
{
	drop_outside(cursor);
	return !cursor->kind->whole || thread_rows_count_parts(cursor, err);
}

static bool read_stretch(struct thread_rows *cursor, struct error *err)
{
	nstime from, to;

	cursor->nparts = cursor->count = cursor->at = 0;
	arena_reset(cursor->arena);
	stretches_edges(&cursor->todo, &from, &to);
	cursor->from = from > cursor->begin ? from : cursor->begin;
	cursor->to = to < cursor->end ? to : cursor->end;
	if (cursor->calls && calls_need_runs(cursor->calls))
		cpu_runs_turn(calls_runs(cursor->calls));
	if (!stretches_next_parts(&cursor->todo, thread_rows_take_part, cursor, err) ||
	    (cursor->along && !comms_along_end(cursor->host, cursor->begin, cursor->end, err)))
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
		row_note(cursor->host,
			 "no row: no thread was woken in this range, as far as its events tell; "
			 "'yore info' says what can be asked");
	else
		row_note(cursor->host,
			 "no row: thread[*]/%s has no value in this range, it is unknown or none "
			 "throughout; 'yore info' says what can be asked",
			 kind->main);
}

static bool next_stretch(struct thread_rows *cursor, struct error *err)
{
	while (cursor->at == cursor->count && stretches_more(&cursor->todo))
		if (!read_stretch(cursor, err))
			return false;
	if (cursor->at == cursor->count && cursor->kind->whole)
		call_counts_note(&cursor->counts, cursor->host,
				 cursor->of_thread ? &cursor->tid : NULL);
	if (cursor->at == cursor->count && !cursor->silent)
		say_empty(cursor);
	cursor->silent = true;
	return true;
}

/* ---- a range ---- */

struct thread_rows *thread_rows_new(const struct thread_rows_kind *kind)
{
	struct thread_rows *cursor = mem_new(sizeof *cursor);

	cursor->kind = kind;
	cursor->arena = arena_new();
	cursor->carried = arena_new();
	return cursor;
}

static void end_scan(struct thread_rows *cursor)
{
	stretches_end(&cursor->todo);
	cursor->todo = (struct stretches){0};
	for (unsigned i = 0; i < QUERIES; i++) {
		query_free(cursor->queries[i]);
		cursor->queries[i] = NULL;
	}
	cursor->count = cursor->at = cursor->nopen = cursor->nnext = 0;
}

void thread_rows_free(struct thread_rows *cursor)
{
	if (!cursor)
		return;
	end_scan(cursor);
	arena_free(cursor->arena);
	arena_free(cursor->carried);
	calls_free(cursor->calls);
	mem_free(cursor->parts);
	mem_free(cursor->open);
	mem_free(cursor->next);
	mem_free(cursor->rows);
	mem_free(cursor);
}

/* Sets the range: that of the caller, cut to the trace's events. False: there are none in it. */
static bool clip(struct thread_rows *cursor, const struct thread_rows_ask *asked)
{
	cursor->first = asked->first;
	cursor->begin = asked->first > asked->begin ? asked->first : asked->begin;
	/* `end` is exclusive, and the last event may be the exit of a call */
	cursor->end = asked->last < asked->end ? asked->last + cursor->kind->whole : asked->end;
	cursor->is_over = asked->last <= asked->end;
	return asked->first <= asked->last && cursor->begin < cursor->end;
}

/*
 * Narrows the range to the rows that begin in [low, high), if that reads less. It begins one
 * nanosecond before `low`, so that a row cut at the begin of the range does not seem to begin
 * there.
 */
static bool narrow(struct thread_rows *cursor, const struct thread_rows_ask *asked,
		   struct state *state, struct error *err)
{
	nstime begin = time_earlier(asked->low, 1), end = asked->high, floor, ceil;
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
	cursor->low = asked->low;
	cursor->high = asked->high;
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

/* Reads of `state`, in the range that narrow() left. */
static bool begin_scan(struct thread_rows *cursor, const struct thread_rows_ask *asked,
		       struct state *state, struct error *err)
{
	const struct thread_rows_kind *kind = cursor->kind;
	nstime begin = cursor->begin;
	size_t count = 0;

	cursor->of_thread = asked->tid != NULL;
	cursor->tid = asked->tid ? *asked->tid : 0;
	cursor->along = !cursor->calls && cursor->window && asked->shows_names &&
			!cursor->of_thread &&
			!comms_have_window(cursor->host, cursor->begin, cursor->end);
	if (cursor->along)
		comms_along_begin(cursor->host);
	for (size_t of = 0; of < QUERIES; of++) {
		if (!parse_query(cursor, of, err))
			return false;
		if (is_asked(cursor, of))
			cursor->asked[count++] = cursor->queries[of];
	}
	if (!row_host_look_up(cursor->host, state, cursor->queries[OF_MAIN], &cursor->silent, err))
		return false;
	if (kind->wakeups && !cursor->silent)
		note_no_wakeups(cursor->host);
	cursor->silent |= asked->tid || (kind->wakeups && cursor->host->noted_wakeups);
	if (cursor->calls) /* which thread runs just before the first event */
		begin = time_earlier(begin, 1);
	return stretches_begin(&cursor->todo, state, begin, cursor->end, cursor->asked, count,
			       err) &&
	       (!cursor->calls || thread_rows_begin_calls(cursor, err));
}

bool thread_rows_begin(struct thread_rows *cursor, struct row_host *host,
		       const struct thread_rows_ask *ask, struct error *err)
{
	struct state *state;

	end_scan(cursor);
	cursor->counts = (struct call_counts){0};
	cursor->host = host;
	if (!clip(cursor, ask))
		return true;
	if (thread_rows_get_calls(cursor, err) && row_host_state(host, &state, err) &&
	    narrow(cursor, ask, state, err) && begin_scan(cursor, ask, state, err) &&
	    next_stretch(cursor, err))
		return true;
	end_scan(cursor);
	return false;
}

bool thread_rows_more(const struct thread_rows *cursor)
{
	return cursor->at < cursor->count;
}

bool thread_rows_next(struct thread_rows *cursor, struct error *err)
{
	cursor->at++;
	if (next_stretch(cursor, err))
		return true;
	end_scan(cursor);
	return false;
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
	if ((cursor->window && !comms_of_window(cursor->host, cursor->begin, end, err)) ||
	    !comms_at(cursor->host, tid, t, &name, err))
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
enum { TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET, WAIT, WAKER, WAKER_COMM, WAKER_KIND };

bool thread_rows_cell(struct thread_rows *cursor, size_t column, struct value *out,
		      struct error *err)
{
	static const int plain[] = {TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET},
			 wakeups[] = {BEGIN, TID, COMM, WAIT, CPU, WAKER, WAKER_COMM, WAKER_KIND};
	const struct thread_segment *row = &cursor->rows[cursor->at];
	struct value tid = value_s64(row->tid);

	*out = (struct value){.kind = VALUE_UNKNOWN};
	switch (cursor->kind->wakeups ? wakeups[column] : plain[column]) {
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
	default:
		put_waker_kind(out, &row->waker);
	}
	return true;
}

uint64_t thread_rows_key(const struct thread_rows *cursor)
{
	const struct thread_segment *row = &cursor->rows[cursor->at];

	/* `class`: with damage a thread may enter two calls at one time */
	return hash_number(hash_number((uint64_t)row->tid) + (uint64_t)row->begin + row->class);
}
