/*
 * stretches.h - intervals of a large trace, a stretch of time after the other
 *
 *     begin ├── cut ──┼── cut ──┼── ... ──┤ end      what reaches over a cut is held until it ends
 *
 * An answer of state_intervals() is in memory as a whole, and over a whole trace it is larger than
 * the trace. Asked in stretches, one stretch is, and an interval for each attribute that lives. An
 * interval comes in the stretch in which it ends; those of one path come in order of time. What is
 * asked for must be found without going through all that is before and behind: where neither
 * timelines nor the events around say it, timelines are made for these questions alone.
 */
#ifndef STATE_INTERVALS_STRETCHES_H
#define STATE_INTERVALS_STRETCHES_H

#include "state/intervals/named.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct stretches {
	struct state *state;
	const struct query *const *queries; /* borrowed, as in state_intervals() */
	size_t nqueries;
	struct named_queries named; /* of queries that name threads; else empty */
	nstime begin, end, from, to; /* asked for; of it, what has events */
	unsigned next, count;
	nstime cut;        /* where the next one begins */
	struct held_intervals *held; /* what reaches over it; NULL: nothing yet */
};

/* [begin, end); a small range is one stretch. Also when it fails: to be ended. */
MUST_CHECK bool stretches_begin(struct stretches *stretches, struct state *state, nstime begin,
				nstime end, const struct query *const *queries, size_t nqueries,
				struct error *err);
void stretches_end(struct stretches *stretches);
/* The next stretch; false from `each` ends all of them. */
MUST_CHECK bool stretches_next(struct stretches *stretches,
			       bool (*each)(void *arg, const struct interval *interval), void *arg,
			       struct error *err);
/* [*from, *to) of the next stretch. */
void stretches_edges(const struct stretches *stretches, nstime *from, nstime *to);
/*
 * As stretches_next(), but as they are in the stretch alone: what reaches over an edge of it ends or
 * begins there or beyond, and comes again in the next one. Not to be mixed with the other.
 */
MUST_CHECK bool stretches_next_parts(struct stretches *stretches,
				     bool (*each)(void *arg, const struct interval *interval),
				     void *arg, struct error *err);
static inline bool stretches_more(const struct stretches *stretches)
{
	return stretches->next < stretches->count;
}

#endif
