/*
 * summary.h - counts events per class and stream, with their size and first and last time
 *
 * One sweep on all threads counts; if a filter reads the state, a cursor does.
 */
#ifndef REPL_RENDER_SUMMARY_H
#define REPL_RENDER_SUMMARY_H

#include "index/sweep/sweep.h"
#include "repl/filter.h"
#include "repl/session.h"

struct tally {
	uint64_t events, bits;
	nstime first, last; /* times; first > last: no event has one */
};

struct summary {
	struct tally *classes, *streams; /* by the trace's indices */
	uint64_t *lost;                  /* lost events, per stream */
	uint64_t losses;                 /* places where events were lost */
};

/*
 * Counts events of [begin, end), which may be unbounded, that pass the filter. `chunk`: counts only
 * this chunk, unless the filter needs a cursor; NULL: all.
 */
MUST_CHECK bool summary_gather(struct session *session, struct filter *filter, nstime begin,
			       nstime end, struct sweep_chunk *chunk, struct summary *out,
			       struct error *err);
/* Sets *out to how many events these are. Also meets losses where the filter selects events. */
MUST_CHECK bool summary_count(struct session *session, struct filter *filter, nstime begin,
			      nstime end, uint64_t *out, struct error *err);
/* Counts the last event or loss of the cursor `events`. */
void summary_add(struct summary *sum, struct events *events, const struct event *event);
void summary_release(struct summary *summary);
/* Adds the counts of `from` to `to`. */
void tally_join(struct tally *to, const struct tally *from);

#endif
