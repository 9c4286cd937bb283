/*
 * segments_vtab.c - what threads did: the tables `thread_state`, `wakeups` and `syscalls`
 *
 *     thread_state(tid, cpu, comm, begin, end, dur, state; hidden: from, until)
 *     wakeups(ts, tid, comm, latency, cpu, waker, waker_comm, waker_kind; hidden: from, until)
 *     syscalls(tid, cpu, comm, begin, end, dur, name, ret; hidden: from, until)
 *
 * Rows are made of attributes of the rules, a stretch of time after the other:
 *
 *     thread[7]/state   |- sleeping -|-- ready --|- running -|       a row per part, what is ready
 *     thread[7]/cpu     |----- 0 ----------------|---- 1 -----       without having run just before
 *     thread[7]/waker   |--- 3 --|------ 12 -----------------        was woken
 *
 * A call has no end where it becomes unknown whether it goes on: beside a loss, or since its thread
 * may be on a CPU that is not recorded. Nor has it one where no exit of that call is (call_ends.h).
 *
 * All is clipped to the range: that of the arguments, as in thread_state(ts('+1ms'), ts('+2ms')),
 * and what was recorded. What reaches over a cut between stretches is carried on. thread_state.cpu
 * and syscalls.cpu are where the thread ran last at `begin`; wakeups.cpu is where it ran then.
 * wakeups.waker is a thread; of an interrupt it is NULL, and waker_comm has the text of
 * thread[T]/waker.
 * Pushed down, a letter of idxStr each: t, `tid = ?`; l and h, bounds of begin or ts; f, u: the
 * arguments; p: the trace. Bounds narrow the range where lists over it are those of a window
 * (state_set_lists()): it goes on behind them as far as a window is read, and the end of a row that
 * is not there is not known.
 */
#include "sql/call_counts.h"
#include "sql/call_ends.h"
#include "sql/call_state.h"
#include "sql/comms.h"
#include "sql/lookup.h"
#include "sql/notes.h"
#include "sql/sql_internal.h"

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/comms.h"
#include "state/intervals/stretches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_MAIN, OF_CPU, OF_WAKER, ATTRIBUTES, OF_NAME = ATTRIBUTES, QUERIES };
enum { COLUMNS_MAX = 8 }; /* of each kind; then: the trace, where it is told, from, until */

struct segments_kind {
	const char *names; /* of the columns, as declared, */
	int ncolumns;      /* and how many they are */
	const char *main;  /* the attribute whose parts are rows */
	bool wakeups;
	unsigned tid; /* column */
	int begin;    /* column: when a row begins */
	bool whole;   /* a row is something that begins and ends, and not a part of the range */
};

const struct segments_kind segments_thread_state = {
	.names = "tid INTEGER, cpu INTEGER, comm TEXT, begin INTEGER, end INTEGER, dur INTEGER, "
		 "state TEXT",
	.ncolumns = 7,
	.main = "state",
	.begin = 3};
const struct segments_kind segments_wakeups = {
	.names = "ts INTEGER, tid INTEGER, comm TEXT, latency INTEGER, cpu INTEGER, "
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

struct segments_table {
	struct sql_table table;
	const struct segments_kind *kind;
};

struct piece { /* of one attribute of a thread */
	int64_t tid;
	unsigned of;
	nstime begin, end;
	struct value value;
	bool lost; /* at `end` it is not known any more */
};

struct segment { /* a row */
	int64_t tid;
	nstime begin, end;
	bool lost;
	bool other; /* calls: what ends there is not that call; */
	bool doubt; /* an exit and an entry of it may be among events of unknown threads */
	struct value value, cpu, waker;
	bool ran;            /* wakeups: until it ran */
	struct call_ret ret; /* of calls */
};

struct open_part { /* what reaches over the cut, and the row that it is of */
	struct segment segment;
	bool woken; /* wakeups: not running just before */
};

struct segments_cursor {
	struct sql_cursor scan; /* of the rows */
	struct sql_host *host;
	struct query *queries[QUERIES];
	const struct query *asked[QUERIES]; /* those that are there */
	struct stretches todo;
	struct call_ends *ends;        /* of `whole` rows: NULL: any end will do */
	struct call_state calls;       /* of `whole` rows */
	nstime begin, end;             /* the range; end: half-open */
	bool is_over;                  /* the recording ends there */
	bool window;                   /* bounds of rows made the range one: names are read of it */
	bool along;                    /* names come with the parts */
	bool narrowed;                 /* bounds of rows end the range: what reaches over has no end */
	nstime low, high;              /* rows begin in [low, high) */
	struct call_counts counts;     /* of `whole` rows */
	int64_t tid;                   /* of the one thread that is asked for, */
	bool of_thread;                /* where there is one */
	nstime from, to;               /* the stretch */
	struct arena *arena, *carried; /* of parts and rows; of texts that reach over the cut */
	struct piece *parts;
	size_t nparts, parts_capacity;
	struct open_part *open; /* by rising tid */
	size_t nopen, open_capacity;
	struct open_part *next; /* those of the next cut, being made */
	size_t nnext, next_capacity;
	struct segment *rows;
	size_t capacity;
	bool silent; /* there was a row, or it is said why there is none */
};

/* ---- the tables ---- */

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
	buf_printf(&text, "CREATE TABLE x(%s%s, \"from\" INTEGER HIDDEN, until INTEGER HIDDEN)",
		   segments->kind->names, segments->table.host ? "" : ", trace TEXT HIDDEN");
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &segments->table.base;
	return code;
}

/* 0: the scan has no use for the operator on the column. */
static char letter_of(const struct segments_table *segments, int column, int op)
{
	int told = !segments->table.host, hidden = segments->kind->ncolumns;

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

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct segments_table *segments = (struct segments_table *)base;
	struct buf letters = {0};
	int nargs = 0;

	sql_note_texts(&segments->table, info, segments->kind->names);
	for (int i = 0; i < info->nConstraint; i++) {
		char letter = letter_of(segments, info->aConstraint[i].iColumn,
					info->aConstraint[i].op);
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

/* ---- parts of attributes ---- */

static unsigned attribute_of(const char *path, const char *main)
{
	const char *name = strchr(path, '/') + 1;

	return !strcmp(name, main)   ? OF_MAIN
	       : !strcmp(name, "cpu")  ? OF_CPU
	       : !strcmp(name, "name") ? OF_NAME
				       : OF_WAKER;
}

static const struct segments_kind *kind_of(const struct segments_cursor *cursor)
{
	return ((const struct segments_table *)cursor->scan.base.pVtab)->kind;
}

static bool take_part(void *arg, const struct interval *interval)
{
	struct segments_cursor *cursor = arg;
	struct piece part = {.begin = interval->begin > cursor->from ? interval->begin
								     : cursor->from,
			     .end = interval->end < cursor->to ? interval->end : cursor->to,
			     .lost = interval->lost && interval->end <= cursor->to};
	struct value tid;

	if (!comm_thread_of(interval->path, &tid) || part.begin >= part.end)
		return true;
	part.tid = (int64_t)tid.u;
	part.of = attribute_of(interval->path, kind_of(cursor)->main);
	if (part.of == OF_NAME) {
		comms_along_add(cursor->host, interval);
		return true;
	}
	part.value = value_copy(cursor->arena, &interval->value);
	*mem_push(cursor->parts, cursor->nparts, cursor->parts_capacity) = part;
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The value of an attribute at `t` among parts [from, past) of it; none: not known. */
static struct value value_at(const struct piece *parts, size_t from, size_t past, nstime t)
{
	size_t low = search_first(i, from, past, parts[i].begin <= t);

	return low > from && t < parts[low - 1].end ? parts[low - 1].value
						    : (struct value){.kind = VALUE_NONE};
}

/* ---- rows ---- */

struct thread_parts { /* of one thread in the stretch: items of each attribute */
	int64_t tid;
	const struct piece *parts;
	size_t begin[ATTRIBUTES], end[ATTRIBUTES];
};

static struct value sample(const struct thread_parts *thread, unsigned of, nstime t)
{
	return value_at(thread->parts, thread->begin[of], thread->end[of], t);
}

static void copy_texts(struct arena *arena, struct segment *segment)
{
	segment->value = value_copy(arena, &segment->value);
	segment->waker = value_copy(arena, &segment->waker);
}

static void add_row(struct segments_cursor *cursor, const struct open_part *part)
{
	if (kind_of(cursor)->wakeups && !part->woken)
		return;
	struct segment *row = mem_push(cursor->rows, cursor->scan.count, cursor->capacity);
	*row = part->segment;
	copy_texts(cursor->arena, row); /* they may be of the carried ones */
}

static struct open_part begin_part(const struct segments_cursor *cursor,
				   const struct thread_parts *thread, const struct piece *part,
				   const struct open_part *before)
{
	/* it has its CPU while it exits, too */
	bool ran = before && before->segment.end == part->begin &&
		   (value_is_text(&before->segment.value, "running") ||
		    value_is_text(&before->segment.value, "exiting"));

	return (struct open_part){.segment = {.tid = part->tid,
					      .begin = part->begin,
					      .end = part->end,
					      .lost = part->lost,
					      .value = part->value,
					      .cpu = sample(thread, OF_CPU, part->begin),
					      .waker = sample(thread, OF_WAKER, part->begin)},
				  .woken = value_is_text(&part->value, "ready") && !ran &&
					   part->begin > cursor->begin};
}

/* Where the thread was just before the row's end; -1: not known. */
static int32_t cpu_before(const struct thread_parts *thread, const struct segment *segment)
{
	struct value cpu = sample(thread, OF_CPU, segment->end - 1);

	if (cpu.kind == VALUE_NONE)
		cpu = segment->cpu;
	return cpu.kind == VALUE_INT && cpu.u <= INT32_MAX ? (int32_t)cpu.u : -1;
}

/* The row that was open ends, by `next` or because nothing is known any more. */
static void end_part(struct segments_cursor *cursor, const struct thread_parts *thread,
		     struct open_part *open, const struct piece *next)
{
	struct segment *segment = &open->segment;

	if (kind_of(cursor)->wakeups) {
		segment->ran = next && next->begin == segment->end &&
			       value_is_text(&next->value, "running");
		segment->cpu = segment->ran ? sample(thread, OF_CPU, next->begin)
					    : (struct value){.kind = VALUE_NONE};
	}
	if (cursor->ends && segment->end < cursor->end) {
		bool ended = call_ends_at(cursor->ends, &segment->value, segment->end, segment->tid,
					  cpu_before(thread, segment), &segment->ret);

		segment->lost = segment->lost && !segment->ret.own;
		segment->other = !ended && !segment->lost;
		segment->lost = segment->lost || segment->other;
	}
	add_row(cursor, open);
}

/* What begins behind the bounds was read for the ends of rows. */
static void drop_outside(struct segments_cursor *cursor)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->scan.count; i++)
		if (cursor->rows[i].begin >= cursor->low && cursor->rows[i].begin < cursor->high)
			cursor->rows[kept++] = cursor->rows[i];
	cursor->scan.count = kept;
}

static void carry(struct segments_cursor *cursor, const struct open_part *open)
{
	*mem_push(cursor->next, cursor->nnext, cursor->next_capacity) = *open;
}

/* The rows of one thread; `open`: what reached over the last cut, NULL nothing did. */
static void read_thread(struct segments_cursor *cursor, const struct thread_parts *thread,
			const struct open_part *carried)
{
	struct open_part open = {0};
	bool any = carried;

	if (carried)
		open = *carried;
	for (size_t i = thread->begin[OF_MAIN]; i < thread->end[OF_MAIN]; i++) {
		const struct piece *part = &thread->parts[i];
		if (any && open.segment.end == part->begin &&
		    value_equal(&open.segment.value, &part->value)) {
			open.segment.end = part->end;
			open.segment.lost = part->lost;
			continue;
		}
		struct open_part begun = begin_part(cursor, thread, part, any ? &open : NULL);
		if (any)
			end_part(cursor, thread, &open, part);
		open = begun;
		any = true;
	}
	if (any && open.segment.end == cursor->to)
		carry(cursor, &open);
	else if (any)
		end_part(cursor, thread, &open, NULL);
}

/* Parts of one thread, from the first on; returns the first one behind them. */
static size_t split_thread(const struct segments_cursor *cursor, size_t at,
			   struct thread_parts *out)
{
	const struct piece *parts = cursor->parts;

	*out = (struct thread_parts){.tid = parts[at].tid, .parts = parts};
	for (unsigned of = 0; of < ATTRIBUTES; of++) {
		out->begin[of] = at;
		while (at < cursor->nparts && parts[at].tid == out->tid && parts[at].of == of)
			at++;
		out->end[of] = at;
	}
	return at;
}

/* All threads of the stretch, and those that only reached into it. */
static void read_threads(struct segments_cursor *cursor)
{
	struct thread_parts thread;
	size_t at = 0, k = 0;

	if (cursor->nparts)
		qsort(cursor->parts, cursor->nparts, sizeof *cursor->parts, by_thread);
	cursor->nnext = 0;
	while (at < cursor->nparts || k < cursor->nopen) {
		const struct open_part *open = k < cursor->nopen ? &cursor->open[k] : NULL;
		thread = (struct thread_parts){.tid = INT64_MAX, .parts = cursor->parts};
		if (at < cursor->nparts && (!open || cursor->parts[at].tid <= open->segment.tid))
			at = split_thread(cursor, at, &thread);
		else
			thread.tid = open->segment.tid;
		bool carried = open && open->segment.tid == thread.tid;
		read_thread(cursor, &thread, carried ? open : NULL);
		k += carried;
	}
}

/* What is carried on lives longer than the stretch: its texts are copied. */
static void keep_carried(struct segments_cursor *cursor)
{
	struct arena *fresh = arena_new();
	struct open_part *items = cursor->open;
	size_t capacity = cursor->open_capacity;

	cursor->open = cursor->next;
	cursor->nopen = cursor->nnext;
	cursor->open_capacity = cursor->next_capacity;
	cursor->next = items;
	cursor->next_capacity = capacity;
	for (size_t i = 0; i < cursor->nopen; i++)
		copy_texts(fresh, &cursor->open[i].segment);
	arena_free(cursor->carried);
	cursor->carried = fresh;
}

static bool goes_on(const struct segments_cursor *cursor, const struct segment *row)
{
	return (cursor->is_over || cursor->narrowed) && row->end == cursor->end;
}

/*
 * Two calls of one name are one part where the exit of the first is missing: that becomes a row,
 * and *last is the last one. False: it is one call.
 */
static bool split_call(struct segments_cursor *cursor, const struct segment *call,
		       struct segment *last)
{
	struct segment row;
	nstime t;
	int32_t cpu;

	if (!call_ends_entered(cursor->ends, call->tid, call->begin, call->end, &t, &cpu))
		return false;
	row = *call; /* rows may move */
	do {
		struct segment first = row;

		first.end = t;
		first.lost = first.other = true;
		first.ret = (struct call_ret){0};
		first.value = value_copy(cursor->arena, &first.value);
		*mem_push(cursor->rows, cursor->scan.count, cursor->capacity) = first;
		row.begin = t;
		row.cpu = cpu >= 0 ? value_s64(cpu) : (struct value){.kind = VALUE_NONE};
	} while (call_ends_entered(cursor->ends, row.tid, row.begin, row.end, &t, &cpu));
	*last = row;
	return true;
}

static void split_calls(struct segments_cursor *cursor)
{
	size_t count = cursor->scan.count;
	struct segment last;

	for (size_t i = 0; i < count; i++)
		if (split_call(cursor, &cursor->rows[i], &last))
			cursor->rows[i] = last;
	for (size_t i = 0; i < cursor->nopen; i++)
		split_call(cursor, &cursor->open[i].segment, &cursor->open[i].segment);
	cursor->counts.hidden += call_ends_hidden(cursor->ends);
}

/* The idle thread makes no calls: where it seems to, a switch is missing, and who ran is unknown.
 */
static void drop_idle(struct segments_cursor *cursor)
{
	size_t kept = 0;

	for (size_t i = 0; i < cursor->scan.count; i++)
		if (cursor->rows[i].tid)
			cursor->rows[kept++] = cursor->rows[i];
	cursor->scan.count = kept;
}

/* Which calls are in doubt since events do not name their thread? */
static void find_doubts(struct segments_cursor *cursor)
{
	struct call_ends *ends = cursor->ends;

	drop_idle(cursor);
	for (size_t i = 0; i < cursor->scan.count; i++) {
		const struct segment *row = &cursor->rows[i];

		call_ends_take(ends, &row->value, row->begin, true);
		if (!row->lost && !goes_on(cursor, row))
			call_ends_take(ends, &row->value, row->end, false);
	}
	for (size_t i = 0; i < cursor->nopen; i++)
		if (cursor->open[i].segment.tid)
			call_ends_take(ends, &cursor->open[i].segment.value,
				       cursor->open[i].segment.begin, true);
	cursor->counts.nameless += call_ends_nameless(ends);
	for (size_t i = 0; i < cursor->scan.count; i++) {
		struct segment *row = &cursor->rows[i];

		row->doubt = !row->lost && !goes_on(cursor, row) &&
			     call_ends_doubt(ends, &row->value, row->begin, row->end);
		row->lost = row->lost || row->doubt;
	}
}

/* Counts the calls of the stretch, and those without an end by the reason. */
static bool count_calls(struct segments_cursor *cursor, struct error *err)
{
	struct call_counts *counts = &cursor->counts;

	counts->all += cursor->scan.count;
	for (size_t i = 0; i < cursor->scan.count; i++) {
		const struct segment *row = &cursor->rows[i];

		if (goes_on(cursor, row))
			counts->without[CALL_OPEN]++;
		else if (row->other)
			counts->without[CALL_OTHER]++;
		else if (row->doubt)
			counts->without[CALL_SWITCH]++;
		else if (row->lost && !call_counts_unknown(counts, cursor->host, row->end, err))
			return false;
	}
	return true;
}

static bool finish_rows(struct segments_cursor *cursor, struct error *err)
{
	if (cursor->ends)
		split_calls(cursor);
	if (cursor->ends && !call_ends_named(cursor->ends))
		find_doubts(cursor);
	drop_outside(cursor);
	return !kind_of(cursor)->whole || count_calls(cursor, err);
}

static bool read_stretch(struct segments_cursor *cursor, struct error *err)
{
	nstime from, to;

	cursor->nparts = cursor->scan.count = cursor->scan.at = 0;
	arena_reset(cursor->arena);
	stretches_edges(&cursor->todo, &from, &to);
	cursor->from = from > cursor->begin ? from : cursor->begin;
	cursor->to = to < cursor->end ? to : cursor->end;
	if (!stretches_next_parts(&cursor->todo, take_part, cursor, err) ||
	    (cursor->along &&
	     !comms_along_end(cursor->host, cursor->begin, cursor->end, err)) ||
	    (cursor->ends && !call_ends_read(cursor->ends, cursor->from, cursor->to, err)))
		return false;
	read_threads(cursor);
	if (stretches_more(&cursor->todo)) {
		keep_carried(cursor);
		return finish_rows(cursor, err);
	}
	for (size_t i = 0; i < cursor->nnext; i++)
		end_part(cursor, &(struct thread_parts){0}, &cursor->next[i], NULL);
	cursor->nopen = 0;
	return finish_rows(cursor, err);
}

static void say_empty(const struct segments_cursor *cursor)
{
	const struct segments_kind *kind = kind_of(cursor);

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
	if (cursor->scan.at == cursor->scan.count && kind_of(cursor)->whole)
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
	call_ends_free(cursor->ends);
	cursor->ends = NULL;
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
	call_state_release(&cursor->calls);
	mem_free(cursor->parts);
	mem_free(cursor->open);
	mem_free(cursor->next);
	mem_free(cursor->rows);
	mem_free(cursor);
	return SQLITE_OK;
}

struct asked {
	bool thread, nothing;
	int64_t tid;
	bool names;                         /* of threads are shown */
	sqlite3_value *from, *until, *path; /* NULL: not told */
	nstime low, high;                   /* of rows' begins, half-open */
};

/* SQLite looks at rows again: > and >= need not be told apart. */
static void read_bound(struct asked *asked, char letter, nstime t)
{
	if (letter == 'l')
		asked->low = t;
	else if (t < NSTIME_MAX)
		asked->high = t + 1;
}

static void read_arguments(struct asked *asked, const char *letters, sqlite3_value **argv)
{
	*asked = (struct asked){.low = NSTIME_MIN, .high = NSTIME_MAX};
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
static bool clip(struct segments_cursor *cursor, struct asked *asked, struct error *err)
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
	cursor->end = last < end ? last + kind_of(cursor)->whole : end;
	cursor->is_over = last <= end;
	asked->nothing |= first > last || cursor->begin >= cursor->end;
	return true;
}

static bool get_state(struct segments_cursor *cursor, struct state **out, struct error *err)
{
	return kind_of(cursor)->whole ? call_state_get(&cursor->calls, cursor->host, cursor->begin,
						       cursor->end, out, err)
				      : sql_host_state(cursor->host, out, err);
}

/*
 * Rows that begin in [low, high) alone, where reading less than all tells them: with one nanosecond
 * before, since what is cut at the range's begin begins there.
 */
static bool narrow(struct segments_cursor *cursor, const struct asked *asked, struct state *state,
		   struct error *err)
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
		sql_note(host,
			 "wakeups: without sched_wakeup or sched_waking it is not known when "
			 "threads are woken: only new threads have rows");
	host->noted_wakeups = true;
}

/* Reads of `state`, in the range that narrow() left. */
static bool begin_scan(struct segments_cursor *cursor, const struct asked *asked,
		       struct state *state, struct error *err)
{
	const struct segments_kind *kind = kind_of(cursor);
	const char *const names[QUERIES] = {kind->main, "cpu", "waker", "name"};
	size_t count = 0;
	char path[64];

	/* whose events do not name their thread is known of all threads together; SQLite selects */
	cursor->ends =
		kind->whole ? call_ends_new(cursor->host, cursor->calls.without) : NULL;
	cursor->of_thread = asked->thread && (!cursor->ends || call_ends_named(cursor->ends));
	cursor->tid = asked->tid;
	cursor->along = cursor->window && asked->names && !cursor->of_thread &&
			!comms_have_window(cursor->host, cursor->begin, cursor->end);
	if (cursor->along)
		comms_along_begin(cursor->host);
	for (size_t i = 0; i < QUERIES; i++) {
		if ((i == OF_WAKER && !kind->wakeups) || (i == OF_NAME && !cursor->along))
			continue;
		if (cursor->of_thread)
			snprintf(path, sizeof path, "thread[%" PRId64 "]/%s", asked->tid, names[i]);
		else
			snprintf(path, sizeof path, "thread[*]/%s", names[i]);
		if (!query_parse(path, &cursor->queries[i], err)) {
			cursor->queries[i] = NULL;
			return false;
		}
		cursor->asked[count++] = cursor->queries[i];
	}
	if (!sql_host_look_up(cursor->host, state, cursor->queries[OF_MAIN], &cursor->silent, err))
		return false;
	if (kind->wakeups && !cursor->silent)
		note_no_wakeups(cursor->host);
	cursor->silent |= asked->thread || (kind->wakeups && cursor->host->noted_wakeups);
	return stretches_begin(&cursor->todo, state, cursor->begin, cursor->end, cursor->asked,
			       count, err);
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
	struct asked asked;
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
	if (!get_state(cursor, &state, &err) || !narrow(cursor, &asked, state, &err) ||
	    !begin_scan(cursor, &asked, state, &err) || !next_stretch(cursor, &err))
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
	if (cursor->window &&
	    !comms_of_window(cursor->host, cursor->begin, cursor->end, &err))
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

static bool is_end_known(const struct segments_cursor *cursor, const struct segment *row)
{
	if (cursor->narrowed && row->end == cursor->end)
		return false;
	return !kind_of(cursor)->whole || !(row->lost || goes_on(cursor, row));
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	/* of each kind's columns, in the order of all */
	enum {
		TID,
		CPU,
		COMM,
		BEGIN,
		END,
		DUR,
		VALUE,
		RET,
		LATENCY,
		WAKER,
		WAKER_COMM,
		WAKER_KIND
	};
	static const int plain[COLUMNS_MAX] = {TID, CPU, COMM, BEGIN, END, DUR, VALUE, RET},
			 wakeups[COLUMNS_MAX] = {BEGIN, TID,   COMM,       LATENCY,
						 CPU,   WAKER, WAKER_COMM, WAKER_KIND};
	struct segments_cursor *cursor = (struct segments_cursor *)base;
	const struct segment *row = &cursor->rows[cursor->scan.at];
	struct value tid = value_s64(row->tid);

	if (i >= kind_of(cursor)->ncolumns)
		return SQLITE_OK;
	switch (kind_of(cursor)->wakeups ? wakeups[i] : plain[i]) {
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
		if (is_end_known(cursor, row) && row->ret.known)
			sqlite3_result_int64(out, row->ret.value);
		break;
	case LATENCY:
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
	const struct segment *row = &cursor->rows[cursor->scan.at];

	*out = (sqlite3_int64)hash_number(hash_number((uint64_t)row->tid) + (uint64_t)row->begin);
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
