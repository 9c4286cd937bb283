/* judge.c - does a line of the rules write, and what, or is that not known yet? */
#include "state/program/program.h"

enum eval line_holds(const struct line *line, struct env *env, enum failure *failure)
{
	switch (expr_truth(line->when, env, failure)) {
	case TRUTH_YES:
		return EVAL_VALUE;
	case TRUTH_OPEN:
		return EVAL_OPEN;
	default:
		return EVAL_FAIL;
	}
}

enum eval line_gives(const struct line *line, struct env *env, struct value *out,
		     enum failure *failure)
{
	*failure = FAILURE_NONE;
	if (out)
		*out = (struct value){.kind = VALUE_NONE};
	if (!line->value)
		return EVAL_VALUE;
	return out ? expr_eval(line->value, env, out, failure)
		   : expr_check(line->value, env, failure);
}

enum eval line_judge(const struct line *line, struct env *env, struct value *out,
		     enum failure *failure)
{
	enum eval holds = line_holds(line, env, failure), gives;

	if (holds == EVAL_FAIL)
		return EVAL_FAIL;
	/* where the condition is open, all that counts is whether the right side fails */
	gives = line_gives(line, env, holds == EVAL_VALUE ? out : NULL, failure);
	return gives == EVAL_VALUE ? holds : gives;
}
