/* clocks.h - which clocks of merged traces are the same, and how others relate to the first trace
 */
#ifndef ENGINE_CLOCKS_H
#define ENGINE_CLOCKS_H

#include "engine/trace.h"

/* The clocks of one of the merged paths: those behind the group before, up to `nclocks`. */
struct clock_group {
	size_t nclocks; /* trace->nclocks after it was opened */
	bool shifted;   /* --offset names it */
};

/*
 * Sets the host of parts without one, if all other parts name the same. Where parts name one host
 * by its short and its full name ("node0", "node0.example.org"), all get the name that comes first.
 */
void hosts_complete(struct trace *trace);

/*
 * Sets path, relation and same_as of all clocks. Clocks that are the same get one origin: that of
 * the first of them which counts from the Unix epoch, else of the first. A clock of a path with an
 * --offset can only be the same as others of its path. Call it after hosts_complete().
 */
void clocks_relate(struct trace *trace, const struct clock_group *groups);

/* The first clock without a relation to the first trace; NULL: all have one. */
const struct clock *clocks_unrelated(const struct trace *trace);

#endif
