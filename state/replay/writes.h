/*
 * writes.h - what the lines of one event write: evaluated against the state before it, and not
 * applied yet
 *
 * Replay and summaries of shards share this half of their work; what a write then does is their
 * own.
 */
#ifndef STATE_REPLAY_WRITES_H
#define STATE_REPLAY_WRITES_H

#include "state/program/program.h"

struct write {
	const struct line *line;
	enum verb verb;   /* the line's */
	uint32_t attr;    /* ATTR_ABSENT: `pattern`, or not known */
	uint32_t pattern; /* into writes->patterns */
	bool open;        /* of summaries: not decided */
	bool interned;    /* its text is the attribute table's */
	struct value value;
};

struct writes {
	struct write *items; /* in the order in which they are applied: `was` lines first */
	size_t count, capacity;
	struct pattern *patterns;
	size_t npatterns, patterns_capacity;
	uint64_t *failures; /* [statement][failure], borrowed; NULL: they are not counted */
};

void writes_release(struct writes *writes);
/* Counts that the line did nothing, and why. */
void writes_fail(struct writes *writes, const struct line *line, enum failure why);
/* All that the event's lines write; replaces what was there. */
void writes_evaluate(struct writes *writes, const struct class_program *class, struct env *env);
/*
 * Condition and right side of a line. VALUE: *out is the value; OPEN: not decided; FAIL: the line
 * does nothing.
 */
enum eval writes_value(struct writes *writes, const struct line *line, struct env *env,
		       struct value *out);

#endif
