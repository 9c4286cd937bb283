/*
 * segments_internal.h - what the files of the tables `thread_state`, `wakeups` and `syscalls` share
 *
 * segments_vtab.c has the tables, segments_rows.c makes rows of parts of attributes, and
 * segments_calls.c makes those of `syscalls` of events.
 */
#ifndef SQL_CALLS_SEGMENTS_INTERNAL_H
#define SQL_CALLS_SEGMENTS_INTERNAL_H

#include "sql/calls/call_counts.h"
#include "sql/calls/calls.h"
#include "sql/sql_internal.h"

#include "engine/base/arena.h"
#include "state/intervals/stretches.h"

enum { OF_MAIN, OF_CPU, OF_WAKER, ATTRIBUTES, OF_NAME = ATTRIBUTES, OF_RUNS, QUERIES };
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

struct segments_table {
	struct sql_table table;
	const struct segments_kind *kind;
};

struct segment_piece { /* of one attribute of a thread */
	int64_t tid;
	unsigned of;
	nstime begin, end;
	struct value value;
	bool lost; /* at `end` it is not known any more */
};

struct thread_segment { /* a row */
	int64_t tid;
	nstime begin, end;
	bool lost;
	struct value value, cpu, waker;
	bool ran;       /* wakeups: until it ran */
	uint32_t class; /* calls: of the entry */
	bool returned;  /* calls: what is known: */
	int64_t ret;
};

struct open_part { /* what reaches over the cut, and the row that it is of */
	struct thread_segment segment;
	bool woken; /* wakeups: not running just before */
};

struct segments_cursor {
	struct sql_cursor scan; /* of the rows */
	struct sql_host *host;
	struct query *queries[QUERIES];
	const struct query *asked[QUERIES]; /* those that are there */
	struct stretches todo;
	struct calls *calls;       /* of `whole` rows; NULL: parts of attributes are these */
	nstime begin, end;         /* the range; end: half-open */
	bool is_over;              /* the recording ends there */
	bool window;               /* bounds of rows made the range one: names are read of it */
	bool along;                /* names come with the parts */
	bool narrowed;             /* bounds of rows end the range: what reaches over has no end */
	nstime low, high;          /* rows begin in [low, high) */
	struct call_counts counts; /* of `whole` rows */
	int64_t tid;               /* of the one thread that is asked for, */
	bool of_thread;            /* where there is one */
	nstime from, to;           /* the stretch */
	struct arena *arena, *carried; /* of parts and rows; of texts that reach over the cut */
	struct segment_piece *parts;
	size_t nparts, parts_capacity;
	struct open_part *open; /* by rising tid */
	size_t nopen, open_capacity;
	struct open_part *next; /* those of the next cut, being made */
	size_t nnext, next_capacity;
	struct thread_segment *rows;
	size_t capacity;
	bool silent; /* there was a row, or it is said why there is none */
};

struct thread_parts { /* of one thread in the stretch: items of each attribute */
	int64_t tid;
	const struct segment_piece *parts;
	size_t begin[ATTRIBUTES], end[ATTRIBUTES];
};

static inline const struct segments_kind *segments_kind_of(const struct segments_cursor *cursor)
{
	return ((const struct segments_table *)cursor->scan.base.pVtab)->kind;
}

/* A row of parts lasts until all of what is read ends: it may go on. */
static inline bool segments_goes_on(const struct segments_cursor *cursor,
				    const struct thread_segment *row)
{
	return (cursor->is_over || cursor->narrowed) && row->end == cursor->end;
}

/* ---- segments_rows.c ---- */

/* For state_intervals(): takes an interval as a part; `arg` is the cursor. */
bool segments_take_part(void *arg, const struct interval *interval);
/* Brings the parts into order, by thread, attribute and begin. */
void segments_sort_parts(struct segments_cursor *cursor);
/* Parts of one thread, from the first on; returns the first one behind them. */
size_t segments_split_thread(const struct segments_cursor *cursor, size_t at,
			     struct thread_parts *out);
/* The value of an attribute at `t`; none: not known. */
struct value segments_sample(const struct thread_parts *thread, unsigned of, nstime t);
/* Rows of the stretch whose parts were taken; `last`: no other one follows. */
void segments_read_threads(struct segments_cursor *cursor, bool last);

/* ---- segments_calls.c ---- */

/*
 * Sets cursor->calls, NULL where rows are parts of attributes. Of the whole range, also where
 * bounds of rows narrow what is read.
 */
MUST_CHECK bool segments_get_calls(struct segments_cursor *cursor, struct error *err);
/* Begins to read the calls of the cursor's range, whose stretches have begun. */
MUST_CHECK bool segments_begin_calls(struct segments_cursor *cursor, struct error *err);
/* The calls of the stretch whose parts were taken, as rows. */
MUST_CHECK bool segments_read_calls(struct segments_cursor *cursor, struct error *err);
/* Counts the rows of `syscalls` that are parts, and those without an end by the reason. */
MUST_CHECK bool segments_count_parts(struct segments_cursor *cursor, struct error *err);

#endif
