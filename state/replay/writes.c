/*
 * writes.c - see writes.h
 *
 * Lines are evaluated in file order, and applied with `was` first. The order of evaluation does not
 * matter, since all see the state before the event.
 */
#include "state/replay/writes.h"

#include "engine/base/mem.h"
#include "state/program/expr.h"

#include <string.h>

void writes_release(struct writes *writes)
{
	mem_free(writes->items);
	mem_free(writes->patterns);
}

void writes_fail(struct writes *writes, const struct line *line, enum failure why)
{
	if (writes->failures && why != FAILURE_NONE)
		writes->failures[(size_t)line->id * FAILURE_COUNT + why]++;
}

/* Counts a failure. */
static enum eval noted(struct writes *writes, const struct line *line, enum eval result,
		       const struct env *env)
{
	if (result == EVAL_FAIL)
		writes_fail(writes, line, env->failure);
	return result;
}

enum eval writes_value(struct writes *writes, const struct line *line, struct env *env,
		       struct value *out)
{
	return noted(writes, line, line_judge(line, env, out), env);
}

static enum eval target(struct writes *writes, const struct line *line, struct env *env,
			struct write *out)
{
	enum eval result;

	out->attr = ATTR_ABSENT;
	if (!verb_buries(line->verb)) {
		result = path_eval(&line->target, env, &out->attr);
		if (result != EVAL_VALUE)
			out->attr = ATTR_ABSENT;
	} else {
		writes->patterns = mem_grow(writes->patterns, writes->npatterns,
					    &writes->patterns_capacity, sizeof *writes->patterns);
		out->pattern = (uint32_t)writes->npatterns;
		result = path_pattern(&line->target, env, &writes->patterns[out->pattern]);
		writes->npatterns += result == EVAL_VALUE;
	}
	return noted(writes, line, result, env);
}

/* Evaluates a line. False: it does nothing. `when`: the part of its condition not yet evaluated. */
static bool evaluate(struct writes *writes, const struct line *line, const struct expr *when,
		     struct env *env, struct write *out)
{
	enum eval holds, where, what;

	if (line->flags & LINE_FAILS && !writes->failures)
		return false;
	*out = (struct write){.line = line,
			      .verb = line->verb,
			      .interned = line->flags & LINE_INTERNED,
			      .value.kind = VALUE_NONE};
	holds = expr_holds(when, env);
	if (noted(writes, line, holds, env) == EVAL_FAIL)
		return false;
	where = target(writes, line, env, out);
	if (where == EVAL_FAIL)
		return false;
	what = line_gives(line, env, holds == EVAL_VALUE ? &out->value : NULL);
	out->open = holds == EVAL_OPEN || what == EVAL_OPEN || where == EVAL_OPEN;
	return noted(writes, line, what, env) != EVAL_FAIL;
}

/* Moves the last write before all that are not `was`. */
static void put_was(struct writes *writes, size_t nwas)
{
	struct write last = writes->items[writes->count - 1];

	memmove(&writes->items[nwas + 1], &writes->items[nwas],
		(writes->count - 1 - nwas) * sizeof *writes->items);
	writes->items[nwas] = last;
}

void writes_evaluate(struct writes *writes, const struct class_program *class, struct env *env)
{
	struct block_head head = {0};
	const struct expr *when;
	size_t nwas = 0;

	writes->count = writes->npatterns = 0;
	if (writes->capacity < class->nevent) {
		writes->capacity = class->nevent * 2;
		writes->items = mem_resize(writes->items, writes->capacity, sizeof *writes->items);
	}
	for (uint32_t i = 0; i < class->nevent; i++) {
		const struct line *line = &class->event[i];

		if (!line_may_hold(line, &head, env, &when) ||
		    !evaluate(writes, line, when, env, &writes->items[writes->count]))
			continue;
		writes->count++;
		if (line->verb == VERB_WAS)
			put_was(writes, nwas++);
	}
}
