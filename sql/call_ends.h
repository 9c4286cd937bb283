/*
 * call_ends.h - the ends of system calls that events tell
 *
 * Rules end a thread's call at the exit of any call, since a line that compares the two reads what
 * it writes. Where events are missing that may be another call's exit, and a call that does not
 * return ends where its thread is freed; a call whose exit is missing goes on in the next one of
 * its name. Here the exits and entries of a range are read, to see which calls they end and begin.
 */
#ifndef SQL_CALL_ENDS_H
#define SQL_CALL_ENDS_H

#include "sql/sql_internal.h"

struct call_ends;

/*
 * Events of the classes `without`, a bit each, are no entries and no exits. NULL: the trace has no
 * events of system calls that tell of which call they are.
 */
struct call_ends *call_ends_new(const struct sql_host *host, const uint64_t *without);
void call_ends_free(struct call_ends *ends); /* NULL is fine */
/* Reads the exits and entries in [begin, end), in place of those that were there. */
MUST_CHECK bool call_ends_read(struct call_ends *ends, nstime begin, nstime end, struct error *err);
/* What an exit returned. */
struct call_ret {
	bool known; /* false: no exit says it, or several calls that end then differ */
	int64_t value;
	bool own; /* the exit names its thread */
};

/*
 * Is there an exit of that call at `t`? True, too, where the value is no call that the trace has.
 * An exit that names its thread is that thread's alone, `tid`. *ret: what it returned; of exits
 * that name none those on that CPU count, where there are any (-1: of which is not known).
 */
bool call_ends_at(const struct call_ends *ends, const struct value *call, nstime t, int64_t tid,
		  int32_t cpu, struct call_ret *ret);

/*
 * A call of the thread begins at `begin`, or another one at an entry that this function said. Does
 * the thread enter a call in (begin, end), of the events that were read, as far as they name their
 * thread? *t: when it does first, *cpu: where. Calls of a thread are asked about in order of time.
 */
bool call_ends_entered(struct call_ends *ends, int64_t tid, nstime begin, nstime end, nstime *t,
		       int32_t *cpu);
/* After all calls: at how many entries that name their thread does none begin? */
uint64_t call_ends_hidden(const struct call_ends *ends);
/*
 * Where events do not name their thread, it is the one that runs, and that is unknown where
 * switches are missing. Then entries are read as well: each call takes its own, and what is left is
 * of no known thread. A call is in doubt that lasts while an entry and an exit of it are left,
 * since both may be of its thread.
 */
/* Do all events of calls name their thread? Then nothing is to be taken. */
bool call_ends_named(const struct call_ends *ends);
/* The call has its entry, or its exit, at `t`. */
void call_ends_take(struct call_ends *ends, const struct value *call, nstime t, bool entry);
/* After all calls of the events that were read: keeps what is left; how many of that are entries?
 */
uint64_t call_ends_nameless(struct call_ends *ends);
/* By all that is left so far. */
bool call_ends_doubt(const struct call_ends *ends, const struct value *call, nstime begin,
		     nstime end);

#endif
