/*
 * call_events.h - which events tell the system calls of a trace
 *
 *     LTTng             syscall_entry_openat, syscall_exit_openat
 *     raw               sys_enter, sys_exit: of all calls, by number
 *     by name           sys_enter_openat, sys_exit_openat
 *     LTTng 2.0 to 2.5  sys_openat, exit_syscall
 *
 * Where several kinds were recorded, each call is told more than once: the first kind of this order
 * that occurs tells the calls, and the others do not count.
 */
#ifndef STATE_EVENTS_CALL_EVENTS_H
#define STATE_EVENTS_CALL_EVENTS_H

#include "index/events.h"

enum call_kind { CALLS_LTTNG, CALLS_RAW, CALLS_NAMED, CALLS_OLD, CALL_KINDS };

struct call_event {
	enum call_kind kind;
	bool entry;
	const char *call; /* its name, borrowed from the class; NULL: the class is of all calls */
};
/* False: events of the class are no entry and no exit of a system call. */
bool call_event_of(const struct event_class *class, struct call_event *out);

/*
 * The kind that tells the calls of a range, for each part of the trace: of those of which the part
 * describes an entry, and with `exits` an exit, the first that occurs; where none occurs, the
 * first. CALL_KINDS: it describes none. `range` gives begin, end and progress. Events are read only
 * where a part describes several kinds, and only up to the first that decides. The caller frees
 * *out with mem_free(); it is NULL after an error.
 */
MUST_CHECK bool call_events_told(struct index *index, const struct events_options *range,
				 bool exits, enum call_kind **out, struct error *err);

#endif
