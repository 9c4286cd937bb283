/*
 * writes.h - evaluates the lines of one event against the state before it, without applying them
 *
 * Replay and shard summaries share this half of their work; each applies the writes in its own way.
 */
#ifndef STATE_REPLAY_WRITES_H
#define STATE_REPLAY_WRITES_H

#include "state/program/program.h"

struct write {
	const struct line *line;
	enum verb verb;   /* the line's */
	uint32_t attr;    /* ATTR_ABSENT: see `pattern`, or the target is open */
	uint32_t pattern; /* index into writes->patterns */
	bool open;        /* whether it writes, where or what, is not decided */
	bool interned;    /* its text is interned in the attribute table */
	struct value value;
};

struct writes {
	struct write *items; /* in the order in which they are applied: `was` lines first */
	size_t count, capacity;
	struct pattern *patterns;
	size_t npatterns, patterns_capacity;
	uint64_t *failures; /* counts by [statement][failure], borrowed; NULL: not counted */
};

void writes_release(struct writes *writes);
/* Counts a failure of the line. */
void writes_fail(struct writes *writes, const struct line *line, enum failure why);
/* Evaluates all lines of the event, and replaces the contents of *writes. */
void writes_evaluate(struct writes *writes, const struct class_program *class, struct env *env);
/*
 * Evaluates a line's condition and right side. EVAL_VALUE: *out is the value; EVAL_OPEN: not
 * decided; EVAL_FAIL: the line does nothing.
 */
enum eval writes_value(struct writes *writes, const struct line *line, struct env *env,
		       struct value *out);

#endif
