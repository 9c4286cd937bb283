/* moment.h - when values are asked for, and for how long they hold */
#ifndef STATE_MODEL_MOMENT_H
#define STATE_MODEL_MOMENT_H

#include "engine/timebase.h"
#include "state/model/value.h"

struct moment {
	nstime t;
	bool before; /* just before t instead of after all events of t */
};

/* The last time whose events count at the moment. */
static inline nstime moment_time(const struct moment *moment)
{
	return moment->t - (moment->before && moment->t > NSTIME_MIN);
}

/* < 0, 0, > 0: just before a time comes before the time itself. */
static inline int moment_compare(const struct moment *a, const struct moment *b)
{
	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	return (int)b->before - (int)a->before;
}

struct interval {
	const char *path;
	nstime begin, end; /* NSTIME_MIN: not known; end NSTIME_MAX: not known (goes on) */
	struct value value;
	bool lost; /* at `end` it is not known any more: it may have gone on */
};

#endif
