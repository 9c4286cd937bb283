/*
 * pair_records.h - what pairing needs of the events of a window of time, read by any thread
 *
 *     window   number  time  class  cpu  begin  slots: atoms in the window's own texts
 *                   0   120  entry    3      -  key 1, field 2
 *                   1   150  exit     1      -  key 5, number 4      begun in an earlier window
 *                   2   185  exit     3      0  key 1, number 6
 *
 * What is expensive is to read the columns, which threads do in windows of time at once
 * (index/cursor/windows.h). A slot is the value of one list of columns; an event has those of its
 * kinds, in the order in which the lists were added. An end whose begin is certain, whatever
 * earlier windows have, gets the number of the begin's record. The thread that gets the windows in
 * order pairs the other ones.
 */
#ifndef LUA_LIB_SEGMENTS_PAIR_RECORDS_H
#define LUA_LIB_SEGMENTS_PAIR_RECORDS_H

#include "index/cursor/windows.h"
#include "lua-lib/binding/event_reader.h"
#include "lua-lib/segments/segments.h"
#include "state/events/cpu_runs.h"

#include <pthread.h>

enum { ALTERNATIVES_MAX = 8, PAIR_READS_MAX = 40, PAIRS_MAX = 4 };
enum { KIND_BEGIN = 1, KIND_FINISH = 2, KIND_AT = 4, KINDS = 8 }; /* bits of an event class */

/* The column that is the thread on the event's CPU, as pair_reads.runs says. */
extern const char pairs_who_runs[];

/* Columns with | between them: the first that the event has is read. */
struct alternatives {
	struct bind_column items[ALTERNATIVES_MAX];
	size_t count;
	uint8_t *may;  /* by class: bit set of `items` that its events may have */
	uint32_t read; /* its number in struct pair_reads */
};

enum { PARTS_MAX = 4 };
struct pair_key { /* columns with + between them */
	struct alternatives parts[PARTS_MAX];
	size_t count;
	uint32_t read; /* its number in struct pair_reads */
};

/* Which columns are read of events, by their kinds. */
struct pair_reads {
	const struct trace *trace;
	const uint8_t *kinds; /* by class: KIND_... bits */
	struct pair_read {
		const struct pair_key *key; /* NULL: the value of `of` is read */
		const struct alternatives *of;
		uint8_t kinds;
		bool number; /* a number that is not negative, not just any value */
	} items[PAIR_READS_MAX];
	uint32_t count;
	uint8_t place[KINDS][PAIR_READS_MAX]; /* of each in the slots of an event of these kinds */
	uint8_t nslots[KINDS];
	/* conditions of KIND_BEGIN and KIND_AT, and of KIND_FINISH; count 0: none */
	struct alternatives begin_where, finish_where;
	/* how records are paired: */
	const struct pair_key *begin_key, *finish_key;
	const struct alternatives *same; /* a number of both ends; count 0: none */
	/* by class: atoms of the names of begins and ends that must be equal; 0: fits; or NULL */
	const uint32_t *begin_names, *finish_names;
	bool nested, not_idle;
	const struct cpu_runs *runs; /* not changed while records are made */
};

/* Adds a list of columns that events of these kinds have, and sets of->read. */
void pair_reads_add(struct pair_reads *reads, struct alternatives *of, uint8_t kinds, bool number);
/* Adds a key, and sets key->read. */
void pair_reads_add_key(struct pair_reads *reads, struct pair_key *key, uint8_t kinds);
/* Can any thread read all of them? Not those that read the state by an expression. */
bool pair_reads_shared(const struct pair_reads *reads);
/* Do the names of their classes show that two events are no pair? */
static inline bool pair_names_differ(const struct pair_reads *reads, uint32_t begin,
				     uint32_t finish)
{
	return reads->finish_names && reads->finish_names[finish] &&
	       reads->finish_names[finish] != reads->begin_names[begin];
}

/*
 * Reads the columns of *left, a bit set of of->items, and removes those from it that were read:
 * up to the first that the current event has, whose value is interned `into`, or up to one that
 * reads the state, which stays. Returns the atom; 0: none was found.
 */
uint32_t alternatives_read(const struct alternatives *of, unsigned *left,
			   struct event_reader *reader, struct buf *scratch, struct segments *into);
/* Adds part `i` of a key of several columns to the text that is its value. */
void pair_key_join(struct buf *joined, size_t i, const struct value *part);
/* The atom of the thread that ran just before the event on its CPU; 0: unknown. */
uint32_t pair_running_atom(const struct pair_reads *reads, struct cpu_runs *runs,
			   const struct event *event, struct segments *into);

struct pair_record {
	nstime time;
	uint32_t class; /* PAIR_LOSS: a loss, the next one of pair_window.losses */
	int32_t cpu;
	uint32_t slots; /* number of the first one in pair_window.slots */
	uint32_t begin; /* of an end: 1 + number of the record that begins its pair; 0: not known */
	uint32_t below; /* used while records are made */
	uint8_t kinds;  /* what it still has to be taken for; its conditions hold */
	uint8_t unnamed; /* kinds whose key is read from the state */
};
enum { PAIR_LOSS = UINT32_MAX };

struct pair_window {
	struct pair_record *records;
	size_t nrecords, records_capacity;
	uint32_t *slots;
	size_t nslots, slots_capacity;
	struct event *losses;
	size_t nlosses, losses_capacity;
	struct segments atoms; /* has no segments, just the values */
	struct pair_window *next; /* of the same time, for the next pair_reads; or spare ones */
};

static inline uint32_t pair_slot(const struct pair_reads *reads, const struct pair_window *window,
				 const struct pair_record *record, uint32_t read)
{
	return window->slots[record->slots + reads->place[reads->kinds[record->class]][read]];
}

/* Reads windows; each thread has a maker. A result is a list of windows, one for each of `reads`.
 */
struct pair_makers {
	const struct pair_reads *reads[PAIRS_MAX]; /* the first `count` */
	size_t count;
	const void *arg;
	struct where_pass *(*pass_new)(const void *arg); /* see windows_setup.select_arg */
	bool (*interrupted)(const void *arg);            /* called by any thread */
	bool losses;                                     /* also records of losses */
	pthread_mutex_t lock;
	struct pair_window *spare; /* under the lock: a list of windows, whose memory is reused */
};
/* Sets the functions of *setup that make windows, and its `arg`. */
void pair_windows_setup(struct pair_makers *makers, struct windows_setup *setup);
/* Gives the memory of a list of windows back; NULL is fine. */
void pair_windows_done(struct pair_makers *makers, struct pair_window *first);
/* Frees this memory, after windows_close(). */
void pair_makers_release(struct pair_makers *makers);

#endif
