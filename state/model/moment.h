/* moment.h - moments of questions, and intervals over which values hold */
#ifndef STATE_MODEL_MOMENT_H
#define STATE_MODEL_MOMENT_H

#include "engine/timebase.h"
#include "state/model/value.h"

struct moment {
	nstime t;
	bool before; /* just before t instead of after all events of t */
};

/* The last timestamp whose events the moment includes. */
static inline nstime moment_time(const struct moment *moment)
{
	return moment->t - (moment->before && moment->t > NSTIME_MIN);
}

/* Orders moments like strcmp(): just before a time is less than the time itself. */
static inline int moment_compare(const struct moment *a, const struct moment *b)
{
	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	return (int)b->before - (int)a->before;
}

struct interval {
	const char *path;
	nstime begin, end; /* unknown begin: NSTIME_MIN; unknown end: NSTIME_MAX */
	struct value value;
	bool lost; /* the value is unknown from `end` on; it may have held longer */
};

#endif
