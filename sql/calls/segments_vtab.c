/*
 * segments_vtab.c - what threads did: the tables `thread_state`, `wakeups` and `syscalls`
 *
 *     thread_state(tid, cpu, comm, begin, end, dur, state; hidden: from, until, ts)
 *     wakeups(ts, tid, comm, dur, cpu, waker, waker_comm, waker_kind; hidden: from, until, latency)
 *     syscalls(tid, cpu, comm, begin, end, dur, name, ret; hidden: from, until, ts)
 *
 * Rows are made of attributes of the rules, a stretch of time after the other:
 *
 *     thread[7]/state   |- sleeping -|-- ready --|- running -|       a row per part, what is ready
 *     thread[7]/cpu     |----- 0 ----------------|---- 1 -----       without having run just before
 *     thread[7]/waker   |--- 3 --|------ 12 -----------------        was woken
 *
 * Calls are made of the events that enter and leave them (calls.h), and of thread[T]/syscall only
 * where the rules read other events. Those that last when the range begins are told by that, too.
 *
 * All is clipped to the range: that of the arguments, as in thread_state(ts('+1ms'), ts('+2ms')),
 * and what was recorded. What reaches over a cut between stretches is carried on. thread_state.cpu
 * is where the thread ran last at `begin`, syscalls.cpu where it was then, wakeups.cpu where it ran
 * then. wakeups.waker is a thread; of an interrupt it is NULL, and waker_comm has the text of
 * thread[T]/waker.
 * Pushed down, a letter of idxStr each: t, `tid = ?`; l and h, bounds of begin or ts; f, u: the
 * arguments; p: the trace. Bounds narrow the range where lists over it are those of a window
 * (state_set_lists()): it goes on behind them as far as a window is read, and the end of a row that
 * is not there is not known.
 */
#include "sql/calls/segments_internal.h"
#include "sql/tables/comms.h"
#include "sql/tables/lookup.h"
#include "sql/tables/notes.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct segments_kind segments_thread_state = {
	.names = "tid INTEGER, cpu INTEGER, comm TEXT, begin INTEGER, end INTEGER, dur INTEGER, "
		 "state TEXT",
	.ncolumns = 7,
	.main = "state",
	.begin = 3};
const struct segments_kind segments_wakeups = {
	.names = "ts INTEGER, tid INTEGER, comm TEXT, dur INTEGER, cpu INTEGER, "
		 "waker INTEGER, waker_comm TEXT, waker_kind TEXT",
	.ncolumns = 8,
	.main = "state",
	.wakeups = true,
	.tid = 1};
const struct segments_kind segments_syscalls = {
	.names = "tid INTEGER, cpu INTEGER, comm TEXT, begin INTEGER, end INTEGER, dur INTEGER, "
		 "name, ret INTEGER",
	.ncolumns = 8,
	.main = "syscall",
	.begin = 3,
	.whole = true};

/* ---- the tables ---- */

/* The last column is another name of column ALIAS_OF: `latency` of wakeups.dur, `ts` of `begin`. */
enum { ALIAS_OF = 3 };

static const char *alias_of(const struct segments_kind *kind)
{
	return kind->wakeups ? "latency" : "ts";
}

static int without_alias(const struct segments_table *segments, int column)
{
	return column == segments->kind->ncolumns + !segments->table.host + 2 ? ALIAS_OF : column;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	int rest, code;
	struct segments_table *segments =
		sql_table_begin(db, aux, argc, argv, sizeof *segments, &rest, &code, message);
	struct buf text = {0};

	if (!segments)
		return code;
	segments->kind = ((const struct sql_source *)aux)->name->segments;
	buf_printf(&text,
		   "CREATE TABLE x(%s%s, \"from\" INTEGER HIDDEN, until INTEGER HIDDEN, %s INTEGER "
		   "HIDDEN)",
		   segments->kind->names, segments->table.host ? "" : ", trace TEXT HIDDEN",
		   alias_of(segments->kind));
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &segments->table.base;
	return code;
}

/* 0: the scan has no use for the operator on the column. */
static char letter_of(const struct segments_table *segments, int column, int op)
{
	int told = !segments->table.host, hidden = segments->kind->ncolumns;

	column = without_alias(segments, column);
	if (column == segments->kind->begin && (told || segments->table.host->pushdown)) {
		if (op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT)
			return 'l';
		if (op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT)
			return 'h';
	}
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	if (told && column == hidden)
		return 'p';
	if (column == hidden + told)
		return 'f';
	if (column == hidden + told + 1)
		return 'u';
	bool pushdown = told || segments->table.host->pushdown;
	return pushdown && column == (int)segments->kind->tid ? 't' : 0;
}

/* Is comm, or waker_comm, among the columns? A bit each. */
static bool shows_names(const struct segments_kind *kind, sqlite3_uint64 columns)
{
	return columns & (kind->wakeups ? 1 << 2 | 1 << 6 : 1 << 2);
}

/* `latency` was the name of wakeups.dur. */
static void note_alias(const struct segments_table *segments, const sqlite3_index_info *info)
{
	if (!segments->kind->wakeups || !segments->table.host)
		return;
	for (int i = segments->kind->ncolumns; i < 63; i++)
		if (info->colUsed >> i & 1 && without_alias(segments, i) != i)
			sql_note(segments->table.host,
				 "wakeups.latency is 'dur' now; 'latency' still is an alias in "
				 "this release");
}

/* The arguments are times as texts, which are no mistake. */
static void note_texts(struct segments_table *segments, sqlite3_index_info *info)
{
	struct buf columns = {0};

	buf_printf(&columns, "%s, \"from\", until, %s INTEGER", segments->kind->names,
		   alias_of(segments->kind));
	sql_note_texts(&segments->table, info, buf_text(&columns));
	buf_release(&columns);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct segments_table *segments = (struct segments_table *)base;
	struct buf letters = {0};
	int nargs = 0;

	note_alias(segments, info);
	note_texts(segments, info);
	for (int i = 0; i < info->nConstraint; i++) {
		char letter =
			letter_of(segments, info->aConstraint[i].iColumn, info->aConstraint[i].op);
		if (!letter || strchr(buf_text(&letters), letter))
			continue;
		if (!info->aConstraint[i].usable) {
			if (strchr("tlh", letter))
				continue;
			buf_release(&letters);
			return SQLITE_CONSTRAINT;
		}
		sql_take(info, i, &nargs, !strchr("tlh", letter));
		buf_add_char(&letters, letter);
	}
	bool thread = strchr(buf_text(&letters), 't');
	bool bounded = strchr(buf_text(&letters), 'l') && strchr(buf_text(&letters), 'h');
	bool path = segments->table.host || strchr(buf_text(&letters), 'p');
	info->idxNum = shows_names(segments->kind, info->colUsed);
	info->estimatedCost = (thread ? 1e4 : 1e7) / (bounded ? 100 : 1);
	info->estimatedRows = (thread ? 1000 : 1000000) / (bounded ? 100 : 1);
	buf_add_text(&letters, thread ? " tid=?" : " all threads");
	buf_add_text(&letters, bounded ? ", a range of time" : "");
	sql_set_plan(info, buf_text(&letters));
	buf_release(&letters);
	return path ? SQLITE_OK
		    : sql_table_untold(&segments->table, info, segments->kind->ncolumns,
				       SQL_NEEDS_PATH);
}

/* ---- stretches ---- */

/* What begins behind the bounds was read for the ends of rows. */
static void drop_outside(struct segments_cursor *cursor)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->scan.count; i++)
		if (cursor->rows[i].begin >= cursor->low && cursor->rows[i].begin < cursor->high)
			cursor->rows[kept++] = cursor->rows[i];
	cursor->scan.count = kept;
}

static bool finish_rows(struct segments_cursor *cursor, struct error *err)
{
	drop_outside(cursor);
	return !segments_kind_of(cursor)->whole || segments_count_parts(cursor, err);
}

static bool read_stretch(struct segments_cursor *cursor, struct error *err)
{
	nstime from, to;

	cursor->nparts = cursor->scan.count = cursor->scan.at = 0;
	arena_reset(cursor->arena);
	stretches_edges(&cursor->todo, &from, &to);
	cursor->from = from > cursor->begin ? from : cursor->begin;
	cursor->to = to < cursor->end ? to : cursor->end;
	if (cursor->calls && calls_need_runs(cursor->calls))
		cpu_runs_turn(calls_runs(cursor->calls));
	if (!stretches_next_parts(&cursor->todo, segments_take_part, cursor, err) ||
	    (cursor->along && !comms_along_end(cursor->host, cursor->begin, cursor->end, err)))
		return false;
	if (cursor->calls)
		return segments_read_calls(cursor, err);
	segments_read_threads(cursor, !stretches_more(&cursor->todo));
	return finish_rows(cursor, err);
}

static void say_empty(const struct segments_cursor *cursor)
{
	const struct segments_kind *kind = segments_kind_of(cursor);

	if (kind->wakeups)
		sql_note(cursor->host,
			 "no row: no thread was woken in this range, as far as its events tell; "
			 "'yore info' says what can be asked");
	else
		sql_note(cursor->host,
			 "no row: thread[*]/%s has no value in this range, it is unknown or none "
			 "throughout; 'yore info' says what can be asked",
			 kind->main);
}

static bool next_stretch(struct segments_cursor *cursor, struct error *err)
{
	while (cursor->scan.at == cursor->scan.count && stretches_more(&cursor->todo))
		if (!read_stretch(cursor, err))
			return false;
	if (cursor->scan.at == cursor->scan.count && segments_kind_of(cursor)->whole)
		call_counts_note(&cursor->counts, cursor->host,
				 cursor->of_thread ? &cursor->tid : NULL);
	if (cursor->scan.at == cursor->scan.count && !cursor->silent)
		say_empty(cursor);
	cursor->silent = true;
	return true;
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct segments_cursor *cursor = mem_new(sizeof *cursor);

	(void)base;
	cursor->arena = arena_new();
	cursor->carried = arena_new();
	*out = &cursor->scan.base;
	return SQLITE_OK;
}

static void end_scan(struct segments_cursor *cursor)
{
	stretches_end(&cursor->todo);
	cursor->todo = (struct stretches){0};
	for (unsigned i = 0; i < QUERIES; i++) {
		query_free(cursor->queries[i]);
		cursor->queries[i] = NULL;
	}
	cursor->scan.count = cursor->scan.at = cursor->nopen = cursor->nnext = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct segments_cursor *cursor = (struct segments_cursor *)base;

	end_scan(cursor);
	arena_free(cursor->arena);
	arena_free(cursor->carried);
	calls_free(cursor->calls);
	mem_free(cursor->parts);
	mem_free(cursor->open);
	mem_free(cursor->next);
	mem_free(cursor->rows);
	mem_free(cursor);
	return SQLITE_OK;
}

struct segments_arguments {
	bool thread, nothing;
	int64_t tid;
	bool names;                         /* of threads are shown */
	sqlite3_value *from, *until, *path; /* NULL: not told */
	nstime low, high;                   /* of rows' begins, half-open */
};

/* SQLite looks at rows again: > and >= need not be told apart. */
static void read_bound(struct segments_arguments *asked, char letter, nstime t)
{
	if (letter == 'l')
		asked->low = t;
	else if (t < NSTIME_MAX)
		asked->high = t + 1;
}

static void read_arguments(struct segments_arguments *asked, const char *letters,
			   sqlite3_value **argv)
{
	*asked = (struct segments_arguments){.low = NSTIME_MIN, .high = NSTIME_MAX};
	for (size_t i = 0; letters[i] && letters[i] != ' '; i++) {
		int type = sqlite3_value_numeric_type(argv[i]);
		if (letters[i] == 'p') {
			asked->path = argv[i];
			continue;
		}
		if (letters[i] == 'l' || letters[i] == 'h') {
			if (type == SQLITE_INTEGER)
				read_bound(asked, letters[i], sqlite3_value_int64(argv[i]));
			continue;
		}
		if (letters[i] == 't') {
			asked->nothing |= type != SQLITE_INTEGER;
			asked->tid = sqlite3_value_int64(argv[i]);
			asked->thread = true;
			continue;
		}
		asked->nothing |= type != SQLITE_INTEGER && type != SQLITE_TEXT;
		*(letters[i] == 'f' ? &asked->from : &asked->until) = argv[i];
	}
}

/* The range is that of the arguments, the host's, and what has events. */
static bool clip(struct segments_cursor *cursor, struct segments_arguments *asked,
		 struct error *err)
{
	nstime begin, end, first, last, from = NSTIME_MIN, until = NSTIME_MAX;

	sql_host_range(cursor->host, &begin, &end);
	if (!sql_host_bounds(cursor->host, &first, &last, err) ||
	    (asked->from && !sql_host_moment(cursor->host, asked->from, &from, err)) ||
	    (asked->until && !sql_host_moment(cursor->host, asked->until, &until, err)))
		return false;
	begin = from > begin ? from : begin;
	end = until < end ? until : end;
	cursor->begin = first > begin ? first : begin;
	/* the last event may be the exit of a call */
	cursor->end = last < end ? last + segments_kind_of(cursor)->whole : end;
	cursor->is_over = last <= end;
	asked->nothing |= first > last || cursor->begin >= cursor->end;
	return true;
}

/*
 * Rows that begin in [low, high) alone, where reading less than all tells them: with one nanosecond
 * before, since what is cut at the range's begin begins there.
 */
static bool narrow(struct segments_cursor *cursor, const struct segments_arguments *asked,
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

/* Whose wake-ups no event tells seems to sleep until it runs; then only new threads have rows. */
static void note_no_wakeups(struct sql_host *host)
{
	static const char *const wakes[] = {"sched_wakeup", "sched_waking"};
	const struct trace *trace = host->trace;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const char *name = event_bare_name(trace->classes[c]->name);

		if (!strcmp(name, wakes[0]) || !strcmp(name, wakes[1]))
			return;
	}
	if (!host->noted_wakeups)
		sql_note(host, "wakeups: without sched_wakeup or sched_waking it is not known when "
			       "threads are woken: only new threads have rows");
	host->noted_wakeups = true;
}

static bool parse_query(struct segments_cursor *cursor, size_t of, struct error *err)
{
	const char *const names[QUERIES] = {segments_kind_of(cursor)->main, "cpu", "waker", "name"};
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

/* Does each stretch ask for that? */
static bool is_asked(const struct segments_cursor *cursor, size_t of)
{
	switch (of) {
	case OF_WAKER:
		return segments_kind_of(cursor)->wakeups;
	case OF_NAME:
		return cursor->along;
	case OF_RUNS:
		return cursor->calls && calls_need_runs(cursor->calls);
	default:
		return !cursor->calls;
	}
}

/* Reads of `state`, in the range that narrow() left. */
static bool begin_scan(struct segments_cursor *cursor, const struct segments_arguments *asked,
		       struct state *state, struct error *err)
{
	const struct segments_kind *kind = segments_kind_of(cursor);
	nstime begin = cursor->begin;
	size_t count = 0;

	cursor->of_thread = asked->thread;
	cursor->tid = asked->tid;
	cursor->along = !cursor->calls && cursor->window && asked->names && !cursor->of_thread &&
			!comms_have_window(cursor->host, cursor->begin, cursor->end);
	if (cursor->along)
		comms_along_begin(cursor->host);
	for (size_t of = 0; of < QUERIES; of++) {
		if (!parse_query(cursor, of, err))
			return false;
		if (is_asked(cursor, of))
			cursor->asked[count++] = cursor->queries[of];
	}
	if (!sql_host_look_up(cursor->host, state, cursor->queries[OF_MAIN], &cursor->silent, err))
		return false;
	if (kind->wakeups && !cursor->silent)
		note_no_wakeups(cursor->host);
	cursor->silent |= asked->thread || (kind->wakeups && cursor->host->noted_wakeups);
	if (cursor->calls) /* who runs just before the first event */
		begin = time_earlier(begin, 1);
	return stretches_begin(&cursor->todo, state, begin, cursor->end, cursor->asked, count,
			       err) &&
	       (!cursor->calls || segments_begin_calls(cursor, err));
}

static int fail(struct segments_cursor *cursor, const struct error *err)
{
	end_scan(cursor);
	return sql_table_fail((struct sql_table *)cursor->scan.base.pVtab, err);
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		  sqlite3_value **argv)
{
	struct segments_cursor *cursor = (struct segments_cursor *)base;
	struct state *state;
	struct segments_arguments asked;
	struct error err;

	(void)argc;
	end_scan(cursor);
	read_arguments(&asked, words, argv);
	asked.names = number;
	cursor->counts = (struct call_counts){0};
	cursor->host = sql_table_host((struct sql_table *)base->pVtab, asked.path, &err);
	if (!cursor->host || !clip(cursor, &asked, &err))
		return fail(cursor, &err);
	if (asked.nothing)
		return SQLITE_OK;
	if (!segments_get_calls(cursor, &err) || !sql_host_state(cursor->host, &state, &err) ||
	    !narrow(cursor, &asked, state, &err) || !begin_scan(cursor, &asked, state, &err) ||
	    !next_stretch(cursor, &err))
		return fail(cursor, &err);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct segments_cursor *cursor = (struct segments_cursor *)base;
	struct error err;

	cursor->scan.at++;
	return next_stretch(cursor, &err) ? SQLITE_OK : fail(cursor, &err);
}

/* ---- values ---- */

static int put_comm(struct segments_cursor *cursor, sqlite3_context *out, const struct value *tid,
		    nstime t)
{
	const char *name;
	struct error err;

	if (tid->kind != VALUE_INT)
		return SQLITE_OK;
	/* rows begin before the bound; those of parts come with the names of all that was read */
	nstime end = cursor->calls && cursor->high < cursor->end ? cursor->high : cursor->end;
	if (cursor->window && !comms_of_window(cursor->host, cursor->begin, end, &err))
		return fail(cursor, &err);
	if (!comms_at(cursor->host, tid, t, &name, &err))
		return fail(cursor, &err);
	sqlite3_result_text(out, name, -1, SQLITE_TRANSIENT); /* NULL is NULL */
	return SQLITE_OK;
}

/* "thread", or the first word of what thread[T]/waker says of an interrupt. */
static void put_waker_kind(sqlite3_context *out, const struct value *waker)
{
	if (waker->kind == VALUE_INT) {
		sqlite3_result_text(out, "thread", -1, SQLITE_STATIC);
	} else if (waker->kind == VALUE_STRING) {
		const char *end = memchr(waker->text, ' ', waker->len);
		int len = (int)(end ? (size_t)(end - waker->text) : waker->len);
		sqlite3_result_text(out, waker->text, len, SQLITE_TRANSIENT);
	}
}

static bool is_end_known(const struct segments_cursor *cursor, const struct thread_segment *row)
{
	if (cursor->narrowed && row->end == cursor->end)
		return false;
	return !segments_kind_of(cursor)->whole || !(row->lost || segments_goes_on(cursor, row));
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	/* of each kind's columns, in the order of all */
	enum { TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET, WAIT, WAKER, WAKER_COMM, WAKER_KIND };
	static const int plain[COLUMNS_MAX] = {TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET},
			 wakeups[COLUMNS_MAX] = {BEGIN, TID,   COMM,       WAIT,
						 CPU,   WAKER, WAKER_COMM, WAKER_KIND};
	struct segments_cursor *cursor = (struct segments_cursor *)base;
	const struct thread_segment *row = &cursor->rows[cursor->scan.at];
	struct value tid = value_s64(row->tid);

	i = without_alias((const struct segments_table *)base->pVtab, i);
	if (i >= segments_kind_of(cursor)->ncolumns)
		return SQLITE_OK;
	switch (segments_kind_of(cursor)->wakeups ? wakeups[i] : plain[i]) {
	case TID:
		sqlite3_result_int64(out, row->tid);
		break;
	case CPU:
		sql_result_state(out, &row->cpu);
		break;
	case COMM:
		return put_comm(cursor, out, &tid, row->begin);
	case BEGIN:
		sqlite3_result_int64(out, row->begin);
		break;
	case END:
		if (is_end_known(cursor, row))
			sqlite3_result_int64(out, row->end);
		break;
	case DUR:
		if (is_end_known(cursor, row))
			sqlite3_result_int64(out, row->end - row->begin);
		break;
	case VALUE:
		sql_result_state(out, &row->value);
		break;
	case RET:
		if (is_end_known(cursor, row) && row->returned)
			sqlite3_result_int64(out, row->ret);
		break;
	case WAIT:
		if (row->ran)
			sqlite3_result_int64(out, row->end - row->begin);
		break;
	case WAKER:
		if (row->waker.kind == VALUE_INT)
			sql_result_state(out, &row->waker);
		break;
	case WAKER_COMM:
		if (row->waker.kind == VALUE_INT)
			return put_comm(cursor, out, &row->waker, row->begin);
		sql_result_state(out, &row->waker);
		break;
	default:
		put_waker_kind(out, &row->waker);
	}
	return SQLITE_OK;
}

/* The same row has the same number in every scan: OR over two of them tells rows by it. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct segments_cursor *cursor = (const struct segments_cursor *)base;
	const struct thread_segment *row = &cursor->rows[cursor->scan.at];

	/* a thread may enter two calls at one time, of which the first has no end then */
	*out = (sqlite3_int64)hash_number(hash_number((uint64_t)row->tid) + (uint64_t)row->begin +
					  row->class);
	return SQLITE_OK;
}

const sqlite3_module sql_segments_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_table_disconnect,
	.xDestroy = sql_table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = sql_cursor_eof,
	.xColumn = column,
	.xRowid = rowid,
};
