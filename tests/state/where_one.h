/* where_one.h - for tests: a condition at one event, by the evaluator that rules use */
#ifndef TESTS_STATE_WHERE_ONE_H
#define TESTS_STATE_WHERE_ONE_H

#include "state/filter/internal.h"

/*
 * Does the event pass? env: `event` (with a class), `decode`, `scratch`, `arg`, and `read` when
 * state is read; `program` is set by the call. A loss never passes.
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
