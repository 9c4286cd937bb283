/*
 * call_state.h - the state that has each system call of a range once
 *
 * Where raw system calls were recorded and calls by name, too, each call is told twice. The rules
 * see that of perf's recordings alone, which describe nothing that was not recorded. Of others it
 * takes a look at the range (call_events.h), and a state that does not see the events which do not
 * count.
 */
#ifndef SQL_CALL_STATE_H
#define SQL_CALL_STATE_H

#include "sql/sql_internal.h"

struct call_state { /* all zero at first */
	const struct sql_host *host;
	nstime begin, end;
	struct state *like, *own; /* own NULL: that of the host will do */
	uint64_t *without; /* bit per class: events of system calls that do not count */
};

/*
 * The state for calls in [begin, end), which lives until the next call or call_state_release(), and
 * of->without. Cheap where the last call was the same.
 */
MUST_CHECK bool call_state_get(struct call_state *of, struct sql_host *host, nstime begin,
			       nstime end, struct state **out, struct error *err);
void call_state_release(struct call_state *of);

#endif
