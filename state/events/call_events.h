/*
 * call_events.h - which events represent the system calls of a trace
 *
 *     LTTng             syscall_entry_openat, syscall_exit_openat
 *     raw               sys_enter, sys_exit: of all calls, by number
 *     by name           sys_enter_openat, sys_exit_openat
 *     LTTng 2.0 to 2.5  sys_openat, exit_syscall
 *
 * If several kinds were recorded, each call occurs more than once: only the first kind of this
 * order that occurs counts.
 */
#ifndef STATE_EVENTS_CALL_EVENTS_H
#define STATE_EVENTS_CALL_EVENTS_H

#include "index/events.h"

enum call_kind { CALLS_LTTNG, CALLS_RAW, CALLS_NAMED, CALLS_OLD, CALL_KINDS };

struct call_event {
	enum call_kind kind;
	bool entry;
	const char *call; /* the call's name, borrowed from the class; NULL: events of all calls */
};
/* False: the class is neither entry nor exit of a system call. */
bool call_event_of(const struct event_class *class, struct call_event *out);

/*
 * Finds for each part of the trace the kind of event that counts in a range: of the kinds of which
 * the part describes an entry (with `exits` also an exit), the first that occurs, or the first if
 * none occurs; CALL_KINDS: it describes none. `range` gives begin, end and progress. Reads events
 * only if a part describes several kinds, up to the first that decides. The caller frees *out with
 * mem_free(); it is NULL after an error.
 */
MUST_CHECK bool call_events_told(struct index *index, const struct events_options *range,
				 bool exits, enum call_kind **out, struct error *err);

#endif
