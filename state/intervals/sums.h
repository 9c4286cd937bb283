/*
 * sums.h - values over a range, where only the one that held longest in each part counts
 *
 *     columns        |                  |                  |
 *     given     ---- a ---[ sums ][ sums ]-- b --- a --[ sums ]- a ---
 *
 * Where timelines have sums of a stretch that lies in one column, these are given in place of its
 * intervals: the values that held longest, with how long, and bounds for all others. Where
 * these do not decide, the column's intervals are asked for.
 *
 * Totals are exact: how long an attribute had each value in the range, in place of all its
 * intervals. Each interval is added when it will not change any more, so that none is kept.
 */
#ifndef STATE_INTERVALS_SUMS_H
#define STATE_INTERVALS_SUMS_H

#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct summed_value {
	struct value value; /* not none; it held for some time */
	uint64_t time;      /* ns at least, */
};

/* [begin, end) of an attribute that is known all the time. */
struct sums {
	nstime begin, end;
	const struct summed_value *values;
	size_t count;
	uint64_t slack; /* and so many more at most: of each value */
	bool none;      /* for some of the time it is none */
	bool others;    /* there are values that are not listed: */
	uint64_t most;  /* each held so long at most, and `slack` */
};

/* All the intervals of an attribute that have one value. Ends that reach over [begin, end) are cut.
 */
struct value_total {
	struct value value; /* not none; its text is valid during the call */
	uint64_t time;      /* ns, the sum of their lengths */
	uint64_t count;
	uint64_t begun;  /* of them those that begin at or behind `begin` */
	nstime last_end; /* when the last of them ends */
};

struct sums_sink {
	/* As state_intervals(), but ends may be cut where they reach over the range. */
	bool (*interval)(void *arg, const struct interval *interval);
	/* In order of time with the intervals of the path; false ends the work. */
	bool (*sums)(void *arg, const char *path, const struct sums *sums);
	/*
	 * True: totals of [begin, end), which lies in the range, are wanted of the path in place of
	 * its intervals. Asked once. NULL: of none.
	 */
	bool (*wants_totals)(void *arg, const char *path);
	/* Values in the order in which they appear; false ends the work. */
	bool (*total)(void *arg, const char *path, const struct value_total *total);
	nstime begin, end;
	void *arg;
};

/*
 * All of [edges[0], edges[nedges - 1]): edges are rising, two at least, and columns lie between
 * them. A stretch that is neither in an interval nor in sums is unknown or none.
 */
MUST_CHECK bool state_sums(struct state *state, const nstime *edges, size_t nedges,
			   const struct query *const *queries, size_t nqueries,
			   const struct sums_sink *sink, struct error *err);
/*
 * As state_intervals() with INTERVALS_CUT, with totals of what the sink wants them of; it gets no
 * sums.
 */
MUST_CHECK bool state_totals(struct state *state, nstime begin, nstime end,
			     const struct query *const *queries, size_t nqueries,
			     const struct sums_sink *sink, struct error *err);

#endif
