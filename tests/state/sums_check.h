/* sums_check.h - compares sums and intervals of a state with intervals of another state */
#ifndef TESTS_STATE_SUMS_CHECK_H
#define TESTS_STATE_SUMS_CHECK_H

#include "state/intervals/sums.h"

/*
 * Asks `state` for sums, and `truth` for all intervals: between the edges both say the same of each
 * nanosecond, but for what sums cover, which keep to what they promise. NULL, or what is wrong.
 */
const char *sums_check(struct state *truth, struct state *state, const nstime *edges, size_t nedges,
		       const struct query *const *queries, size_t nqueries);
/* Number of sums compared so far, and of those that did not list all values. */
extern uint64_t sums_checked, sums_checked_others;

#endif
