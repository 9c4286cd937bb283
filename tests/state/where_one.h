/* where_one.h - for tests: evaluates a condition at one event, as rules do */
#ifndef TESTS_STATE_WHERE_ONE_H
#define TESTS_STATE_WHERE_ONE_H

#include "state/filter/internal.h"

/*
 * Does the event pass? The caller sets in env: `event` (with a class), `decode`, `scratch`, `arg`,
 * and `read` if the condition reads state; `program` is set here. A loss never passes.
 */
static inline bool where_one(const struct where *where, struct env *env)
{
	const struct event_class *class = env->event->class;

	if (!class || !where->tests[class->index].passes)
		return false;
	env->program = where->program;
	return expr_holds(where->tests[class->index].expr, env) == EVAL_VALUE;
}

#endif
