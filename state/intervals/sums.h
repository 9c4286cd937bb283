/*
 * sums.h - values over a range, if only the longest-held value of each column matters
 *
 *     columns        |                  |                  |
 *     given     ---- a ---[ sums ][ sums ]-- b --- a --[ sums ]- a ---
 *
 * Where timelines have sums of a stretch that lies in one column, the sink gets these in place of
 * the intervals: the values that held longest, with their times, and bounds for all others. Where
 * these bounds do not decide, the caller asks for the column's intervals.
 *
 * Totals are exact: how long an attribute had each value in the range. Each interval is added to
 * its total as soon as it is final, so that intervals need no memory.
 */
#ifndef STATE_INTERVALS_SUMS_H
#define STATE_INTERVALS_SUMS_H

#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct summed_value {
	struct value value; /* never VALUE_NONE */
	uint64_t time;      /* ns that it held, at least */
};

/* Sums of an attribute over [begin, end), in which it is never unknown. */
struct sums {
	nstime begin, end;
	const struct summed_value *values;
	size_t count;
	uint64_t slack; /* ns: each value held for at most `slack` longer */
	bool none;      /* it is VALUE_NONE for some of the time */
	bool others;    /* it had other values than `values` */
	uint64_t most;  /* ns: each of these held for at most most + slack */
};

/* All intervals of an attribute with one value, cut to [begin, end). */
struct value_total {
	struct value value; /* not none; its text is valid during the call */
	uint64_t time;      /* ns, the sum of their lengths */
	uint64_t count;
	uint64_t begun;  /* how many of them begin at or after `begin` */
	nstime last_end; /* where the last of them ends */
};

struct sums_sink {
	/* As state_intervals(), but intervals may be cut at the range's ends. */
	bool (*interval)(void *arg, const struct interval *interval);
	/* Called between intervals of the path, in order of time; false ends the work. NULL: no
	 * sums */
	bool (*sums)(void *arg, const char *path, const struct sums *sums);
	/*
	 * Called once per path; true: give the totals of [begin, end) (a part of the range) in
	 * place of its intervals. NULL: no totals.
	 */
	bool (*wants_totals)(void *arg, const char *path);
	/* Called for each value, in order of first appearance; false ends the work. */
	bool (*total)(void *arg, const char *path, const struct value_total *total);
	nstime begin, end;
	void *arg;
};

/*
 * Answers for [edges[0], edges[nedges - 1]), by totals where sink->wants_totals(), or by sums where
 * possible. Edges of columns rise; two at least. Time that neither an interval nor sums cover is
 * unknown or none.
 */
MUST_CHECK bool state_sums(struct state *state, const nstime *edges, size_t nedges,
			   const struct query *const *queries, size_t nqueries,
			   const struct sums_sink *sink, struct error *err);

#endif
