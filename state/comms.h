/*
 * comms.h - names of threads: the last name known at a moment
 *
 * A rule deletes thread[T] when the kernel frees the thread, and the name goes with it. Code that
 * shows a thread wants the name of the thread that had this number at the moment or, if none had,
 * last before it.
 */
#ifndef STATE_COMMS_H
#define STATE_COMMS_H

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "index/events.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;

struct comm {             /* a question (tid, moment), and its answer (name, since) */
	struct value tid; /* an integer; other values have no name */
	struct moment moment;
	const char *name; /* in the arena, with '?' for bytes below 32 and 127; NULL: unknown */
	nstime since;     /* when it was last written; NSTIME_MIN: unknown */
};

struct comm_reach {
	bool some;   /* `progress` may end the search; the rest gets no names */
	bool window; /* read only what lists over the window [begin, end) read */
	nstime begin, end;
};
/*
 * Fills in name and since of all items in one evaluation; reach NULL: reads as far as needed. Skips
 * items that have a name.
 */
MUST_CHECK bool state_comms(struct state *state, struct comm *items, size_t count,
			    const struct comm_reach *reach, struct arena *arena, struct error *err);

#define COMMS_LIST "thread[*]/name" /* the path of all threads' names */
/* The value of such a path as a name, copied as in struct comm; NULL: it is no name. */
const char *comm_text(struct arena *arena, const struct value *value);
/* The T of thread[T]/...; false: the path is not of that form, or its key is no integer. */
bool comm_thread_of(const char *path, struct value *tid);
/* Is the value a thread number: does the path end with /thread, as cpu[3]/thread? */
bool comm_is_thread(const char *path, const struct value *value);

/* Names over a range: since when a thread had each. `arena` is the caller's and has the names. */
struct comm_spells {
	struct comm_spell {
		struct value tid;
		nstime begin;
		const char *name;
	} * items;
	size_t count, capacity;
	struct arena *arena;
	const char **names; /* each once: most have more than one thread */
	size_t nnames, names_capacity;
	struct hash_index by_name;
};

void comm_spells_clear(struct comm_spells *spells);   /* before the arena is reset */
void comm_spells_release(struct comm_spells *spells); /* all but the arena */
/* Adds an interval of thread[T]/name; ignores other paths, and values that are no names. */
void comm_spells_add(struct comm_spells *spells, const struct interval *interval);
/*
 * To be called after all intervals were added: sets the idle thread's name to the one it has at the
 * start, which lists leave out if no event wrote it, and sorts, as comm_spells_find() needs.
 */
MUST_CHECK bool comm_spells_add_idle(struct comm_spells *spells, struct state *state,
				     struct error *err);
/*
 * The name that began last at or before `t` (a name outlives its thread); else the first that
 * begins before `until`. NULL: there is none.
 */
const char *comm_spells_find(const struct comm_spells *spells, const struct value *tid, nstime t,
			     nstime until);

#endif
