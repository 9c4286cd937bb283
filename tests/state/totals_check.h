/* totals_check.h - totals of values over a range against the intervals of another state */
#ifndef TESTS_STATE_TOTALS_CHECK_H
#define TESTS_STATE_TOTALS_CHECK_H

#include "state/intervals/sums.h"

/*
 * Asks `state` for totals of [begin, end), and `truth` for all intervals, which are added up here.
 * `part`: 0 all paths have totals; else those whose length is a multiple of it keep their
 * intervals. NULL, or what is wrong.
 */
const char *totals_check(struct state *truth, struct state *state, nstime begin, nstime end,
			 unsigned part, const struct query *const *queries, size_t nqueries);
/* How many totals of more than one interval were seen so far. */
extern uint64_t totals_checked;

#endif
