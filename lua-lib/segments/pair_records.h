/*
 * pair_records.h - what pairing needs of the events of a window of time, read by any thread
 *
 *     window      time  class  cpu   slots: atoms in the window's own texts
 *                 120   entry  3     key 1, field 2
 *                 185   exit   3     key 1, field 3, number 4
 *
 * To pair events takes their order, but is cheap; what is expensive, and can be done in windows of
 * time at once (index/cursor/windows.h), is to read the columns. A slot is the value of one list of
 * columns; an event has those of its kinds, in the order in which the lists were added.
 */
#ifndef LUA_LIB_SEGMENTS_PAIR_RECORDS_H
#define LUA_LIB_SEGMENTS_PAIR_RECORDS_H

#include "index/cursor/windows.h"
#include "lua-lib/binding/event_reader.h"
#include "lua-lib/segments/segments.h"

enum { ALTERNATIVES_MAX = 8, PAIR_READS_MAX = 40 };
enum { KIND_BEGIN = 1, KIND_FINISH = 2, KIND_AT = 4, KINDS = 8 }; /* bits of an event class */

/* The slot is the thread that runs on the event's CPU, which the reader of the records knows. */
enum { PAIR_RUNNING = UINT32_MAX };

/* Columns with | between them: the first that the event has is read. */
struct alternatives {
	struct bind_column items[ALTERNATIVES_MAX];
	size_t count;
	uint8_t *may;  /* by class: bit set of `items` that its events may have */
	uint32_t read; /* its number in struct pair_reads */
};

/* Which columns are read of events, by their kinds. */
struct pair_reads {
	const struct trace *trace;
	const uint8_t *kinds; /* by class: KIND_... bits */
	struct pair_read {
		const struct alternatives *of;
		uint8_t kinds;
		bool number; /* a number that is not negative, not just any value */
	} items[PAIR_READS_MAX];
	uint32_t count;
	uint8_t place[KINDS][PAIR_READS_MAX]; /* of each in the slots of an event of these kinds */
	uint8_t nslots[KINDS];
};

/* Adds a list of columns that events of these kinds have, and sets of->read. */
void pair_reads_add(struct pair_reads *reads, struct alternatives *of, uint8_t kinds, bool number);
/* Can any thread read all of them? Not those that read the state by an expression. */
bool pair_reads_shared(const struct pair_reads *reads);

/*
 * Reads the columns of *left, a bit set of of->items, and removes those from it that were read:
 * up to the first that the current event has, whose value is interned `into`, or up to one that
 * reads the state, which stays. Returns the atom; 0: none was found.
 */
uint32_t alternatives_read(const struct alternatives *of, unsigned *left,
			   struct event_reader *reader, struct buf *scratch, struct segments *into);

struct pair_record {
	nstime time;
	uint32_t class; /* PAIR_LOSS: a loss, the next one of pair_window.losses */
	int32_t cpu;
};
enum { PAIR_LOSS = UINT32_MAX };

struct pair_window {
	struct pair_record *records;
	size_t nrecords, records_capacity;
	uint32_t *slots; /* of all records, one behind the other */
	size_t nslots, slots_capacity;
	struct event *losses;
	size_t nlosses, losses_capacity;
	struct segments atoms; /* has no segments, just the values */
};

void pair_window_free(struct pair_window *window); /* NULL is fine */

/* Reads windows; each thread has a maker. */
struct pair_makers {
	const struct pair_reads *reads;
	const void *arg;
	struct where_pass *(*pass_new)(const void *arg); /* see windows_setup.select_arg */
	bool (*interrupted)(const void *arg);            /* called by any thread */
	bool losses;                                     /* also records of losses */
};
/* Sets the functions of *setup that make windows, and its `arg`. */
void pair_windows_setup(struct pair_makers *makers, struct windows_setup *setup);

#endif
