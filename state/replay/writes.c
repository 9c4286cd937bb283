/*
 * writes.c - see writes.h
 *
 * Lines are evaluated in the order in which they are applied: all see the state before the event,
 * so that it makes no difference to them. Plain forms (plain.h) say nothing of failures: where
 * something may fail, an input is not there, and the tree says what failed.
 */
#include "state/replay/writes.h"

#include "engine/base/mem.h"
#include "state/program/expr.h"
#include "state/program/plain_load.h"

#include <string.h>

void writes_release(struct writes *writes)
{
	mem_free(writes->items);
	mem_free(writes->patterns);
}

static void fail(struct writes *writes, const struct line *line, enum failure why)
{
	if (writes->failures && why != FAILURE_NONE)
		writes->failures[(size_t)line->id * FAILURE_COUNT + why]++;
}

/* Counts why the line does nothing. */
static enum eval noted(struct writes *writes, const struct line *line, enum eval result,
		       enum failure why)
{
	if (result == EVAL_FAIL)
		fail(writes, line, why);
	return result;
}

enum eval writes_value(struct writes *writes, const struct line *line, struct env *env,
		       struct value *out)
{
	enum failure why;
	enum eval result = line_judge(line, env, out, &why);

	return noted(writes, line, result, why);
}

static enum eval target(struct writes *writes, const struct line *line, struct env *env,
			struct write *out)
{
	enum failure why = FAILURE_NONE;
	enum eval result;

	out->attr = ATTR_ABSENT;
	if (!verb_buries(line->verb)) {
		result = path_eval(&line->target, env, &out->attr, &why);
		if (result != EVAL_VALUE)
			out->attr = ATTR_ABSENT;
	} else {
		writes->patterns = mem_grow(writes->patterns, writes->npatterns,
					    &writes->patterns_capacity, sizeof *writes->patterns);
		out->pattern = (uint32_t)writes->npatterns;
		result = path_pattern(&line->target, env, &writes->patterns[out->pattern], &why);
		writes->npatterns += result == EVAL_VALUE;
	}
	return noted(writes, line, result, why);
}

/* By the line's tree. False: it does nothing. */
static bool by_tree(struct writes *writes, const struct line *line, struct env *env,
		    struct write *out)
{
	enum failure why;
	enum eval holds, where, what;

	if (line->flags & LINE_FAILS && !writes->failures)
		return false;
	*out = (struct write){.line = line,
			      .verb = line->verb,
			      .kept = line->flags & LINE_KEPT,
			      .value.kind = VALUE_NONE};
	holds = line_holds(line, env, &why);
	if (noted(writes, line, holds, why) == EVAL_FAIL)
		return false;
	where = target(writes, line, env, out);
	if (where == EVAL_FAIL)
		return false;
	what = line_gives(line, env, holds == EVAL_VALUE ? &out->value : NULL, &why);
	out->open = holds == EVAL_OPEN || what == EVAL_OPEN || where == EVAL_OPEN;
	return noted(writes, line, what, why) != EVAL_FAIL;
}

/* ---- lines ---- */

/* Are the line's inputs there? Else the tree is to be asked. */
static inline bool has_inputs(const struct plain_line *line, const struct plain_loaded *event)
{
	return line->is_plain && (event->had & line->needs) == line->needs;
}

/* Does its condition not hold? False where an input of a test is not there, too. */
static inline bool is_out(const struct plain_line *line, const struct plain_loaded *event)
{
	return line->is_plain && (event->had & line->tested) == line->tested &&
	       (event->yes & line->tests) != line->tests;
}

/* By its plain form; false: the tree is to be asked. */
static inline bool by_inputs(const struct plain_line *line, const struct plain_loaded *event,
			     struct attrs *attrs, struct write *out)
{
	const struct value *key = line->key == PLAIN_NONE ? NULL : &event->values[line->key];

	if (key && key->kind != VALUE_INT && key->kind != VALUE_STRING && key->kind != VALUE_BOOL)
		return false; /* this value is no key */
	out->attr = key ? path_attr(&line->line->target, attrs, key) : line->attr;
	out->line = line->line;
	out->verb = line->verb;
	out->open = false;
	out->kept = line->kept;
	out->value = *(line->value == PLAIN_NONE ? &line->constant : &event->values[line->value]);
	return true;
}

void writes_evaluate(struct writes *writes, const struct class_program *class, struct env *env)
{
	struct attrs *attrs = program_attrs(env->program);
	const struct plain *plain = class->plain;
	struct plain_loaded event;

	writes->count = writes->npatterns = 0;
	if (!plain)
		return;
	if (plain->nlines > writes->capacity) {
		writes->capacity = plain->nlines * 2;
		writes->items = mem_resize(writes->items, writes->capacity, sizeof *writes->items);
	}
	if (writes->by_tree)
		event.had = 0;
	else
		plain_load(plain, env, &event);
	for (uint32_t i = 0; i < plain->nlines; i++) {
		const struct plain_line *line = &plain->lines[i];
		struct write *write = &writes->items[writes->count];
		bool has = !writes->by_tree && has_inputs(line, &event);

		if (!writes->by_tree && is_out(line, &event))
			continue;
		writes->count += (has && by_inputs(line, &event, attrs, write)) ||
				 by_tree(writes, line->line, env, write);
	}
}
