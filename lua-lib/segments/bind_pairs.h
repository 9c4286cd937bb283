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

/* The events of one kind of pairs that several threads read. */
struct pair_feed {
	struct pair_window *window; /* NULL: events come from the cursor */
	uint32_t *atoms;            /* by atom of the window: the segments' own; 0: not looked up */
	size_t natoms;
	const struct pair_record *record; /* of the current event */
	struct event event;
};

/* One kind of pairs. */
struct pairs {
	struct pairs_reading *reading;
	struct bind_cursor *cursor; /* that of all kinds */
	const struct event *event;  /* the current one: the cursor's, or that of `feed` */
	struct pair_reads reads;
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

/* Pairs of several kinds, found while the trace is read once. */
struct pairs_reading {
	struct bind_trace *bound;
	struct bind_cursor *cursor;
	struct pairs items[PAIRS_MAX];
	size_t count;
	/* windows that several threads read; they are released before an error is raised: */
	struct pair_makers makers;
	struct thread_pool *pool;
	nstime *cuts;
	struct windows *windows;  /* NULL: events come from the cursor */
	struct pair_window *made; /* a window's records, for further kinds */
	uint64_t losses;          /* in windows so far */
};

/*
 * Pushes the option tables of the list at index 2, and checks them; *options are their indices.
 * Returns how many: without a list 1, the table itself. Raises errors.
 */
size_t pairs_push_options(lua_State *L, int *options);
/*
 * Pushes the cursor for the pairs whose option tables are at the stack indices `options`. The trace
 * is at index 1, the table that has from, to, where and cpu at 2. Raises errors.
 */
struct bind_cursor *pairs_push_cursor(lua_State *L, const int *options, size_t count);
/* Reads an option table, and sets all members that depend on it; reading and cursor are set. */
void pairs_read_options(lua_State *L, struct pairs *pairs, int options, struct segments *segments);
/* Calls the function `threads`, if it is given, and fills pairs->runs from what it returns. */
bool pairs_get_runs(lua_State *L, struct pairs *pairs);

#endif
