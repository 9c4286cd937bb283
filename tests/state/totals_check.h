/* totals_check.h - compares totals of a state with sums of intervals of another state */
#ifndef TESTS_STATE_TOTALS_CHECK_H
#define TESTS_STATE_TOTALS_CHECK_H

#include "state/intervals/sums.h"

/*
 * Compares totals of `state` over [begin, end) with sums of the intervals of `truth`. `part`: 0:
 * all paths have totals; else those whose length is a multiple of it keep their intervals. Returns
 * NULL, or what is wrong.
 */
const char *totals_check(struct state *truth, struct state *state, nstime begin, nstime end,
			 unsigned part, const struct query *const *queries, size_t nqueries);
/* Number of totals of several intervals that were compared so far. */
extern uint64_t totals_checked;

#endif
