/*
 * call_ends.h - the ends of system calls that events tell
 *
 * Rules end a thread's call at the exit of any call, since a line that compares the two reads what
 * it writes. Where events are missing that may be another call's exit, and a call that does not
 * return ends where its thread is freed. Here the exits of a range are read, to see which calls
 * they end.
 */
#ifndef SQL_CALL_ENDS_H
#define SQL_CALL_ENDS_H

#include "sql/sql_internal.h"

struct call_ends;

/* NULL: the trace has no events of system calls that tell of which call they are. */
struct call_ends *call_ends_new(const struct sql_host *host);
void call_ends_free(struct call_ends *ends); /* NULL is fine */
/* Reads the exits in [begin, end), in place of those that were there. */
MUST_CHECK bool call_ends_read(struct call_ends *ends, nstime begin, nstime end, struct error *err);
/* What an exit returned. */
struct call_ret {
	bool known; /* false: no exit says it, or several calls that end then differ */
	int64_t value;
};

/*
 * Is there an exit of that call at `t`? True, too, where the value is no call that the trace has.
 * *ret: what it returned, of the exits on that CPU where there are any (-1: of which is not known).
 */
bool call_ends_at(const struct call_ends *ends, const struct value *call, nstime t, int32_t cpu,
		  struct call_ret *ret);

#endif
