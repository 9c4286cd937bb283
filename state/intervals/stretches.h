/*
 * stretches.h - intervals of a large trace, one stretch of time after the other
 *
 *     begin ├── cut ──┼── cut ──┼── ... ──┤ end      intervals over a cut are held until they end
 *
 * state_intervals() has its whole answer in memory, which for a whole trace is larger than the
 * trace. Asked in stretches, memory holds the answer of one stretch, and one interval for each
 * attribute that has a value. An interval is given in the stretch in which it ends; those of one
 * path come in order of time. Each stretch must be answered without reading all of the trace: where
 * neither stored timelines nor nearby events suffice, timelines are built for these questions
 * alone.
 */
#ifndef STATE_INTERVALS_STRETCHES_H
#define STATE_INTERVALS_STRETCHES_H

#include "state/intervals/named.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct stretches {
	struct state *state;
	struct state *asked; /* `state`, or one with timelines of its own (own_timelines.h) */
	const struct query *const *queries; /* borrowed, as in state_intervals() */
	size_t nqueries;
	struct named_queries named;  /* replaces queries that name threads; else empty */
	nstime begin, end, from, to; /* the range passed; the part of it that has events */
	unsigned next, count;
	nstime cut;                  /* where the next stretch begins */
	struct held_intervals *held; /* intervals that reach over `cut`; NULL: none yet */
};

/* Divides [begin, end); a small range is one stretch. Call stretches_end() also after false. */
MUST_CHECK bool stretches_begin(struct stretches *stretches, struct state *state, nstime begin,
				nstime end, const struct query *const *queries, size_t nqueries,
				struct error *err);
/* The same; timelines that are made for it also answer state_intervals() of the other queries. */
MUST_CHECK bool stretches_begin_with(struct stretches *stretches, struct state *state, nstime begin,
				     nstime end, const struct query *const *queries,
				     size_t nqueries, const struct query *const *others,
				     size_t nothers, struct error *err);
void stretches_end(struct stretches *stretches);
/* Calls `each` for the intervals that end in the next stretch; false from it ends all. */
MUST_CHECK bool stretches_next(struct stretches *stretches,
			       bool (*each)(void *arg, const struct interval *interval), void *arg,
			       struct error *err);
/* Sets [*from, *to) to the next stretch. */
void stretches_edges(const struct stretches *stretches, nstime *from, nstime *to);
/*
 * As stretches_next(), but all intervals of the stretch: one that reaches over an edge ends or
 * begins at the edge or beyond, and is given again in the next stretch. Use one of the two
 * functions only.
 */
MUST_CHECK bool stretches_next_parts(struct stretches *stretches,
				     bool (*each)(void *arg, const struct interval *interval),
				     void *arg, struct error *err);
static inline bool stretches_more(const struct stretches *stretches)
{
	return stretches->next < stretches->count;
}

#endif
