/*
 * mirror_classes.h - which event classes tell of the attribute that a `mirror` names, and what one
 * event tells
 *
 * Of a class with one `was` and one `=` without conditions, which is what a switch is, two columns
 * tell all. Other lines are evaluated, where they need nothing but the event: what belongs to one
 * thread is not asked. A class with another line tells only that something ends.
 */
#ifndef STATE_PROGRAM_MIRROR_CLASSES_H
#define STATE_PROGRAM_MIRROR_CLASSES_H

#include "index/filters/run_column.h"
#include "state/program/program.h"

struct mirror_def;

struct mirror_class {             /* an event class */
	const struct line *lines; /* that tell, */
	uint32_t nlines;          /* 0: it tells nothing */
	bool ends;                /* it makes the attribute unknown: what was said ends */
	bool columns;             /* it always tells both: these integers */
	struct run_field before, after;
	const struct expr *evidence; /* what the value is at such an event; NULL: it does not say */
	/*
	 * An integer of the event: the value from then on is that or unknown, as the state says
	 * (thread[field/next]/recorded); NULL: no line says so.
	 */
	const struct expr *perhaps;
};

struct mirror_classes {
	struct arena *arena;
	struct program *program;
	const struct mirror_def *mirror;
	uint32_t shape;                 /* of what is mirrored */
	struct mirror_class *of;        /* by class */
	uint64_t *telling, *supporting; /* bit per class: it tells, it has evidence */
};

/* The program and its rules, which have the mirror, must outlive it. */
void mirror_classes_init(struct mirror_classes *classes, struct program *program,
			 const struct mirror_def *mirror);
void mirror_classes_release(struct mirror_classes *classes);
/* Bit per class: its events say what the attribute is. To be freed; NULL: the rules have no mirror.
 */
uint64_t *mirror_telling(struct program *program);

struct class_effect { /* by one event */
	bool was, is, ends;
	bool agrees;  /* one of the values that it says were before is the one that is claimed */
	bool perhaps; /* `after`, or unknown */
	int64_t before, after; /* `before` by the first line that says so: it fills unknown time */
};

/* By the event that `env` has, where `claimed` is what earlier ones say. */
struct class_effect mirror_told(const struct mirror_class *mirrored, struct env *env,
				int64_t claimed);
/* The same in a recording of tasks, where each event says what the value is at it. */
struct class_effect mirror_told_of_tasks(const struct mirror_class *mirrored, struct env *env,
					 int64_t claimed);
/* Does the event say what the value is there? Then *out is that. */
bool mirror_evidence(const struct mirror_class *mirrored, struct env *env, int64_t *out);

#endif
