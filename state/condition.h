/* condition.h - a condition on events (--where), compiled for a trace and its state */
#ifndef STATE_CONDITION_H
#define STATE_CONDITION_H

#include "state/interval_window.h"

struct condition { /* {0}: no condition */
	struct where *where;
	struct program *program;        /* of parts that read the state; NULL: none does */
	struct interval_window *window; /* likewise */
	struct where_reads reads;
	/*
	 * pass NULL: classes and streams decide all. by_state NULL: no part needs the state; it
	 * needs events in order of time.
	 */
	struct where_pass *pass, *by_state;
};

/* Adds a text in the syntax of --where; all texts must hold. False: *err shows the place. */
MUST_CHECK bool condition_add(struct condition *condition, const char *text, struct error *err);

struct condition_of { /* arguments of condition_compile(); all borrowed */
	struct rules *rules;
	const struct trace *trace;
	const struct notices *notices; /* receives messages */
	bool backward;                 /* events come from the last to the first */
	/* Called once, if the condition reads the state; returns the opened state. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	void *arg;
};
/* Compiles a condition that has a text. The caller calls condition_release(), also after false. */
MUST_CHECK bool condition_compile(struct condition *condition, const struct condition_of *of,
				  struct error *err);
/*
 * Adds all texts and compiles them, for an open state (borrowed). `backward`: events come from the
 * last to the first. Messages go to `notices`. The caller calls condition_release(), also after
 * false.
 */
MUST_CHECK bool condition_open(const char *const *texts, size_t count, struct state *state,
			       const struct notices *notices, bool backward, struct condition *out,
			       struct error *err);
void condition_release(struct condition *condition);
/* Clears the bits of the classes whose events can never meet the condition. */
void condition_classes(const struct condition *condition, const struct trace *trace,
		       uint64_t *classes);

#endif
