/*
 * comms.h - names of threads: the last that was known at a moment
 *
 * A rule deletes thread[T] when the kernel frees the thread, and its name goes with it. Code
 * that shows the thread asks for the name that it had then: that of the life of the id that was
 * there at the moment, or was the last before it.
 */
#ifndef STATE_COMMS_H
#define STATE_COMMS_H

#include "engine/base/arena.h"
#include "index/events.h"
#include "state/model/moment.h"
#include "state/model/spells.h"
#include "state/rules/rules.h"

struct state;

struct comm {             /* a question, and its answer */
	struct value tid; /* an integer; of anything else there is no name */
	struct moment moment;
	const char *name; /* NULL: none is known; in the arena, bytes below 32 and 127 as '?' */
	nstime since;     /* when it was told last; NSTIME_MIN: not known */
};

struct comm_reach {
	bool some;   /* until `progress` ends the search: the rest has no names then */
	bool window; /* what is read is that of lists over the window [begin, end) */
	nstime begin, end;
};
/*
 * One reading for all, which goes as far as it takes where `reach` is NULL. Names that are there
 * already are not asked for.
 */
MUST_CHECK bool state_comms(struct state *state, struct comm *items, size_t count,
			    const struct comm_reach *reach, struct arena *arena, struct error *err);

#define COMMS_LIST "thread[*]/name" /* the path of all threads' names */
/* The name that a value of such a path is, as above; NULL: it is none. */
const char *comm_text(struct arena *arena, const struct value *value);
/* The T of thread[T]/...; false: the path is not of that form, or its key is no integer. */
bool comm_thread_of(const char *path, struct value *tid);
/* Is the value of such a path a thread, as in cpu[3]/thread? */
bool comm_is_thread(const char *path, const struct value *value);

/* Names over a range: from when on a thread had each; see state/model/spells.h. */

/* Adds an interval of thread[T]/name; others, and values that are no names, are passed over. */
void comm_spells_add(struct spells *spells, const struct interval *interval);
/*
 * All were added: puts the idle thread's name, which is that of the start, in place of its own.
 * Lists do not name what no event wrote.
 */
MUST_CHECK bool comm_spells_add_idle(struct spells *spells, struct state *state, struct error *err);
/*
 * The last that began at or before `t`, since a name outlives its thread; else the first that
 * begins before `until`. NULL: there is none.
 */
const char *comm_spells_find(const struct spells *spells, const struct value *tid, nstime t,
			     nstime until);

#endif
