/* sums_check.h - sums and intervals of columns against the intervals of another state */
#ifndef TESTS_STATE_SUMS_CHECK_H
#define TESTS_STATE_SUMS_CHECK_H

#include "state/intervals/sums.h"

/*
 * Asks `state` for sums, and `truth` for all intervals: between the edges both say the same of each
 * nanosecond, but for what sums cover, which keep to what they promise. NULL, or what is wrong.
 */
const char *sums_check(struct state *truth, struct state *state, const nstime *edges, size_t nedges,
		       const struct query *const *queries, size_t nqueries);
/* How many sums were seen so far, and of these, which listed not all values. */
extern uint64_t sums_checked, sums_checked_others;

#endif
