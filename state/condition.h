/* condition.h - a condition on events, compiled for an opened state, ready to select them */
#ifndef STATE_CONDITION_H
#define STATE_CONDITION_H

#include "state/interval_window.h"

struct condition { /* {0}: none */
	struct where *where;
	struct program *program;        /* of what reads the state; NULL: nothing does */
	struct interval_window *window; /* likewise */
	struct where_reads reads;
	/* NULL: classes and streams say all; nothing needs the state. For events in order. */
	struct where_pass *pass, *by_state;
};

/*
 * Texts as --where has them, of which all must hold; `backward`: in which order of time events
 * come. What is to be told goes to `notices`. The state is borrowed. The caller ends *out with
 * condition_release(), also after false.
 */
MUST_CHECK bool condition_open(const char *const *texts, size_t count, struct state *state,
			       const struct notices *notices, bool backward, struct condition *out,
			       struct error *err);
void condition_release(struct condition *condition);
/* Leaves of the classes, a bit each, those of which an event may pass. */
void condition_classes(const struct condition *condition, const struct trace *trace,
		       uint64_t *classes);

#endif
