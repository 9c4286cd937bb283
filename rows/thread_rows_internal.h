/*
 * thread_rows_internal.h - what the files of thread_rows.h share
 *
 * thread_rows.c reads ranges and has the cells, thread_parts.c makes rows of parts of attributes,
 * and thread_calls.c makes those of `syscalls` of events.
 */
#ifndef ROWS_THREAD_ROWS_INTERNAL_H
#define ROWS_THREAD_ROWS_INTERNAL_H

#include "rows/calls.h"
#include "rows/thread_rows.h"

#include "engine/base/arena.h"
#include "state/intervals/stretches.h"

enum { OF_MAIN, OF_CPU, OF_WAKER, ATTRIBUTES, OF_NAME = ATTRIBUTES, OF_RUNS, QUERIES };

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

struct call_counts { /* of calls whose end is not known: how many there are, and why */
	uint64_t all, without[PAIR_ENDS];
	uint64_t nameless; /* entries of no known thread, which are no rows */
};

struct thread_rows {
	const struct thread_rows_kind *kind;
	struct row_host *host;
	size_t at, count; /* the current one of `rows`, the stretch's; of how many */
	struct query *queries[QUERIES];
	const struct query *asked[QUERIES]; /* those that are there */
	struct stretches todo;
	struct calls *calls;       /* of `whole` rows; NULL: parts of attributes are these */
	nstime first;              /* event of the trace */
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

/* A row of parts lasts until all of what is read ends: it may go on. */
static inline bool thread_rows_goes_on(const struct thread_rows *cursor,
				       const struct thread_segment *row)
{
	return (cursor->is_over || cursor->narrowed) && row->end == cursor->end;
}

/* ---- thread_parts.c ---- */

/* For state_intervals(): takes an interval as a part; `arg` is the cursor. */
bool thread_rows_take_part(void *arg, const struct interval *interval);
/* Brings the parts into order, by thread, attribute and begin. */
void thread_rows_sort_parts(struct thread_rows *cursor);
/* Parts of one thread, from the first on; returns the first one behind them. */
size_t thread_rows_split_thread(const struct thread_rows *cursor, size_t at,
				struct thread_parts *out);
/* The value of an attribute at `t`; none: not known. */
struct value thread_rows_sample(const struct thread_parts *thread, unsigned of, nstime t);
/* Rows of the stretch whose parts were taken; `last`: no other one follows. */
void thread_rows_read_threads(struct thread_rows *cursor, bool last);

/* ---- thread_calls.c ---- */

/*
 * Sets cursor->calls, NULL where rows are parts of attributes. Of the whole range, also where
 * bounds of rows narrow what is read.
 */
MUST_CHECK bool thread_rows_get_calls(struct thread_rows *cursor, struct error *err);
/* Begins to read the calls of the cursor's range, whose stretches have begun. */
MUST_CHECK bool thread_rows_begin_calls(struct thread_rows *cursor, struct error *err);
/* The calls of the stretch whose parts were taken, as rows. */
MUST_CHECK bool thread_rows_read_calls(struct thread_rows *cursor, struct error *err);
/* Counts the rows of `syscalls` that are parts, and those without an end by the reason. */
MUST_CHECK bool thread_rows_count_parts(struct thread_rows *cursor, struct error *err);
/* Notes how many calls have no end, and why; of one thread, or (`tid` NULL) of all. */
void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid);

#endif
