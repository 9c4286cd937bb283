/*
 * known.h - values of attributes while a pass goes through events: a window of intervals
 *
 * Filters such as --tid ask at every event which thread ran on its CPU. Asking the state per event
 * would be a pass per event, so intervals are fetched for a window of time at once; its width
 * follows how many intervals there were, so that memory is bounded whatever the trace.
 */
#ifndef REPL_KNOWN_H
#define REPL_KNOWN_H

#include "repl/session.h"

struct known;

struct known *known_new(struct session *session, bool backward);
void known_free(struct known *known); /* NULL is fine */

/* The value of `path` just before t (VALUE_UNKNOWN, too); valid until the next call. */
bool known_value(struct known *known, const char *path, nstime t, struct value *out,
		 struct error *err);
/* The thread that ran on the CPU just before t. */
bool known_thread(struct known *known, int32_t cpu, nstime t, struct value *out, struct error *err);
/* thread[tid]/WHAT just before t; fetched for all threads of the window at once. */
bool known_of_thread(struct known *known, const struct value *tid, const char *what, nstime t,
		     struct value *out, struct error *err);

#endif
