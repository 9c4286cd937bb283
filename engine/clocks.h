/* clocks.h - which clocks of several traces are one, and how others relate to the first trace's */
#ifndef ENGINE_CLOCKS_H
#define ENGINE_CLOCKS_H

#include "engine/trace.h"

/* The clocks that one of the merged paths has added. */
struct clock_group {
	size_t nclocks; /* trace->nclocks after it was opened */
	bool shifted;   /* --offset names it */
};

/*
 * Gives parts that do not tell their host the only one that others tell, and a short name and its
 * full one ("node0", "node0.example.org") the first one's spelling.
 */
void hosts_complete(struct trace *trace);

/*
 * Sets path, relation and same_as of all clocks. Clocks that are one get one origin: that of the
 * first of them which counts from the Unix epoch, else of the first. Clocks of a path with an
 * offset are one with those of their own path only. Call it after hosts_complete().
 */
void clocks_relate(struct trace *trace, const struct clock_group *groups);

/* The first clock without a relation to the first trace; NULL: all have one. */
const struct clock *clocks_unrelated(const struct trace *trace);

#endif
