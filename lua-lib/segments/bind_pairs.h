/* bind_pairs.h - shared by bind_pairs.c and bind_pairs_options.c */
#ifndef LUA_LIB_SEGMENTS_BIND_PAIRS_H
#define LUA_LIB_SEGMENTS_BIND_PAIRS_H

#include "lua-lib/binding/bind_column.h"
#include "lua-lib/segments/bind_segments.h"
#include "lua-lib/segments/pair_records.h"
#include "state/events/pair_doubts.h"

struct captured {
	uint32_t column;
	bool at_end;
	struct alternatives from;
};

struct open_pair {
	struct pair_event begin;
	int64_t same;        /* number of column `same`; -1: the event has none */
	uint32_t key, below; /* below: the next outer open pair of the same key; 0: none */
	uint32_t cells[SEGMENTS_COLUMNS_MAX];
};

/* Events that several threads read. It is released before an error is raised. */
struct pair_feed {
	struct bind_trace *bound;
	struct thread_pool *pool;
	nstime *cuts;
	struct windows *windows;
	struct pair_window *window; /* NULL: events come from the cursor */
	uint32_t *atoms;            /* by atom of the window: the segments' own; 0: not looked up */
	size_t natoms;
	const struct pair_record *record; /* of the current event */
	uint64_t losses;                  /* in windows so far */
	struct event event;
};

struct pairs {
	struct bind_cursor *cursor;
	const struct event *event; /* the current one: the cursor's, or that of `feed` */
	struct pair_reads reads;
	struct pair_makers makers;
	struct pair_feed feed;
	struct segments *segments;
	int options; /* stack index of the option table */
	struct pair_key begin_key, finish_key;
	struct alternatives same; /* option `same` */
	struct captured fields[SEGMENTS_COLUMNS_MAX];
	size_t nfields;
	bool by_cpu;
	bool named;       /* the last key came from the event's own fields, not from the state */
	uint32_t left_by; /* the column by which begins without a segment are counted */
	uint8_t *kinds;   /* by class: KIND_... bits */
	uint32_t *names;  /* by class: the atom of its name; 0: not interned yet */
	uint32_t *same_names[2]; /* option `same_name`: see reads.begin_names and finish_names */
	struct open_pair *open;  /* from 1 on; free ones are linked by `below` */
	size_t nopen, capacity, depth;
	uint32_t spare;  /* the first free one; 0: none */
	uint32_t *heads; /* by atom of the key: its innermost open pair; 0: none */
	size_t nheads;
	struct paged heads_memory; /* there may be as many atoms as segments */
	struct pair_doubts *doubts;
	bool has_runs;        /* the function `threads` was called and has filled */
	struct cpu_runs runs; /* this; else the state is read */
	struct buf scratch;
};

/*
 * Reads the option table at stack index `options`, which is replaced by a copy for the cursor, and
 * sets all members that depend on it. The trace is at index 1. Raises errors.
 */
void pairs_read_options(lua_State *L, struct pairs *pairs, struct bind_trace *bound, int options,
			struct segments *segments);
/* Calls the function `threads`, if it is given, and fills pairs->runs from what it returns. */
bool pairs_get_runs(lua_State *L, struct pairs *pairs);

#endif
