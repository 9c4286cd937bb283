/*
 * plain.h - lines without trees: what most lines are, told in a few numbers
 *
 *     thread[field/next]/state = "running" when field/next != 0
 *            input 1             constant       test 0: input 1 != 0
 *
 * An input is a value that lines of the class read: an integer or text of the event, the CPU, an
 * attribute, a map of another input. Each is loaded once per event, however many lines use it;
 * likewise tests. A line is plain when its condition is some tests, its key an input, and its right
 * side an input or a constant. All others, and plain ones whose inputs are not simply there
 * (damaged fields, a key that is unknown, a read that is not decided), are evaluated as trees.
 */
#ifndef STATE_PLAIN_H
#define STATE_PLAIN_H

#include "state/program.h"

enum { PLAIN_INPUTS = 24, PLAIN_TESTS = 24, PLAIN_NONE = UINT8_MAX };

struct plain;

struct plain_line {
	const struct line *line;
	bool is_plain;
	bool kept;             /* the right side's text is the attribute table's */
	uint8_t key;           /* input; PLAIN_NONE: `attr` */
	uint8_t value;         /* input; PLAIN_NONE: `constant` */
	uint32_t needs, tests; /* bit per input, per test */
	uint32_t attr;
	const struct value *constant; /* its text is the attribute table's */
};

/* Of one event. */
struct plain_event {
	struct value values[PLAIN_INPUTS];
	uint32_t had; /* bit per input: it has a value */
	uint32_t yes; /* bit per test: it holds */
};

/* `class` NULL: not of events. The lines are borrowed. */
const struct plain *plain_new(struct arena *arena, const struct event_class *class,
			      const struct line *lines, uint32_t nlines);
/* The same of some of its lines. */
const struct plain *plain_again(const struct plain *plain, struct arena *arena,
				const struct line *lines, uint32_t nlines);
/* In the order in which writes are applied: `was` lines first. */
const struct plain_line *plain_lines(const struct plain *plain, uint32_t *count);
void plain_load(const struct plain *plain, struct env *env, struct plain_event *out);

/* Are the line's inputs there? Else the tree is to be asked. */
static inline bool plain_has(const struct plain_line *line, const struct plain_event *event)
{
	return line->is_plain && (event->had & line->needs) == line->needs;
}

/* Its condition. */
static inline bool plain_holds(const struct plain_line *line, const struct plain_event *event)
{
	return (event->yes & line->tests) == line->tests;
}

/* The attribute of a path with one key; false: this value is no key. */
static inline bool plain_attr(const struct path *path, struct attrs *attrs, const struct value *key,
			      uint32_t *attr)
{
	if (key->kind != VALUE_INT && key->kind != VALUE_STRING && key->kind != VALUE_BOOL)
		return false;
	*attr = path_attr(path, attrs, key);
	return true;
}

#endif
