/*
 * mirror_classes.h - what events say about the attribute of a `mirror` statement
 *
 * A class with one `was` and one `=` line without conditions, such as a switch, needs two columns
 * only. Lines of other classes are evaluated if they need nothing but the event. A class with any
 * other line that writes the attribute only says that its value ends.
 */
#ifndef STATE_PROGRAM_MIRROR_CLASSES_H
#define STATE_PROGRAM_MIRROR_CLASSES_H

#include "index/filters/run_column.h"
#include "state/program/program.h"

struct mirror_def;

struct mirror_class {             /* an event class */
	const struct line *lines; /* its lines about the attribute */
	uint32_t nlines;          /* 0: none */
	bool ends;                /* its events end what earlier events said */
	bool columns;             /* each event has both values: `before` and `after` */
	struct run_field before, after;
	const struct expr *evidence; /* its value at such an event; NULL: not said */
	/*
	 * An integer of the event: the value from then on is that integer or unknown, depending on
	 * the state (thread[field/next]/recorded); NULL: no such line.
	 */
	const struct expr *perhaps;
};

struct mirror_classes {
	struct arena *arena;
	struct program *program;
	const struct mirror_def *mirror;
	uint32_t shape;                 /* of the mirrored attribute */
	struct mirror_class *of;        /* by class */
	uint64_t *telling, *supporting; /* bit per class: lines or `ends`; evidence */
};

/* The program and its rules, which own `mirror`, must outlive it. */
void mirror_classes_init(struct mirror_classes *classes, struct program *program,
			 const struct mirror_def *mirror);
void mirror_classes_release(struct mirror_classes *classes);
/* Bit per class whose events give the attribute's value; to be freed. NULL: there is no mirror. */
uint64_t *mirror_telling(struct program *program);

struct class_effect { /* what one event says */
	bool was, is, ends;
	bool agrees;           /* a `was` value of the event equals `claimed` */
	bool perhaps;          /* the value is `after` or unknown */
	int64_t before, after; /* `before` is of the first `was` line: it fills unknown time */
};

/* The effect of env->event; `claimed` is the value according to earlier events. */
struct class_effect mirror_told(const struct mirror_class *mirrored, struct env *env,
				int64_t claimed);
/* The same for a recording of tasks, where each event gives the value at its time. */
struct class_effect mirror_told_of_tasks(const struct mirror_class *mirrored, struct env *env,
					 int64_t claimed);
/* Does the event give the attribute's value at its time? Then sets *out. */
bool mirror_evidence(const struct mirror_class *mirrored, struct env *env, int64_t *out);

#endif
