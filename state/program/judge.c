/* judge.c - does a line of the rules write, and what, or is that not known yet? */
#include "state/program/program.h"

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
	enum eval holds = expr_holds(line->when, env, failure), gives;

	if (holds == EVAL_FAIL)
		return EVAL_FAIL;
	/* where the condition is open, all that counts is whether the right side fails */
	gives = line_gives(line, env, holds == EVAL_VALUE ? out : NULL, failure);
	return gives == EVAL_VALUE ? holds : gives;
}
