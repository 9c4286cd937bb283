/*
 * own_timelines.h - timelines for some queries, which live as long as their state
 *
 * A list over a long range is evaluated in stretches of time. Without timelines each stretch would
 * need a run from the trace's begin. These timelines take one run; their files have no names.
 */
#ifndef STATE_INTERVALS_OWN_TIMELINES_H
#define STATE_INTERVALS_OWN_TIMELINES_H

#include "engine/base/error.h"
#include "state/rules/rules.h"

#include <stddef.h>

struct state;
/*
 * Makes timelines for the queries. `state` has no timelines yet. Sets *out to the state that
 * answers the queries, borrowed until `state` is closed. For the first queries that is a second
 * state, which evaluates only the event classes that the queries depend on; for later queries the
 * same one if it has all of their classes, else `state`. If the disk has no room, *out has no
 * timelines, and later calls do not try again.
 */
MUST_CHECK bool own_timelines(struct state *state, const struct query *const *queries,
			      size_t nqueries, struct state **out, struct error *err);
/* The second state if it was made and answers the queries, else `state`. */
struct state *own_timelines_of(struct state *state, const struct query *const *queries,
			       size_t nqueries);

#endif
