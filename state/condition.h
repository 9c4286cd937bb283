/* condition.h - a condition on events, compiled for a trace and its state, ready to select them */
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

/* One more text, as --where has it: all must hold. False: *err shows the place. */
MUST_CHECK bool condition_add(struct condition *condition, const char *text, struct error *err);

struct condition_of { /* what a condition is compiled for; all is borrowed */
	struct rules *rules;
	const struct trace *trace;
	const struct notices *notices; /* what is to be told goes there */
	bool backward;                 /* in which order of time events come */
	/* Called once, where the condition reads the state. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	void *arg;
};
/* Of a condition that has a text. The caller ends it with condition_release(), also after false. */
MUST_CHECK bool condition_compile(struct condition *condition, const struct condition_of *of,
				  struct error *err);
/*
 * Both, for a state that is open. Texts as --where has them, of which all must hold; `backward`: in
 * which order of time events come. What is to be told goes to `notices`. The state is borrowed. The
 * caller ends *out with condition_release(), also after false.
 */
MUST_CHECK bool condition_open(const char *const *texts, size_t count, struct state *state,
			       const struct notices *notices, bool backward, struct condition *out,
			       struct error *err);
void condition_release(struct condition *condition);
/* Leaves of the classes, a bit each, those of which an event may pass. */
void condition_classes(const struct condition *condition, const struct trace *trace,
		       uint64_t *classes);

#endif
