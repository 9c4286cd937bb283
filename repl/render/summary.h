/*
 * summary.h - how many events of each kind, how much room they take, from when to when
 *
 * Gathered in one sweep on all threads; where a filter looks at single events, by a cursor.
 */
#ifndef REPL_RENDER_SUMMARY_H
#define REPL_RENDER_SUMMARY_H

#include "follow/follow.h"
#include "index/sweep/sweep.h"
#include "repl/filter.h"
#include "repl/session.h"

struct tally {
	uint64_t events, bits;
	nstime first, last; /* of events that have a time; first > last: none has */
};

struct summary {
	struct tally all;
	struct tally *classes, *streams; /* as the trace numbers them */
	uint64_t *lost;                  /* events, per stream */
	uint64_t losses;                 /* places */
};

/*
 * Of what the filter leaves of [begin, end), which may be unbounded. `chunk`: of this part of it
 * alone, unless a filter looks at single events; NULL: all.
 */
MUST_CHECK bool summary_gather(struct session *session, struct filter *filter, nstime begin,
			       nstime end, struct sweep_chunk *chunk, struct summary *out,
			       struct error *err);
/* An event or a loss that `events` gave last; `all` is left to the caller. */
void summary_add(struct summary *sum, struct events *events, const struct event *event);
void summary_init(struct summary *out, const struct trace *trace); /* of no event */
void summary_release(struct summary *summary);
/* Adds what another one counted. */
void tally_join(struct tally *to, const struct tally *from);

/*
 * Counts of a trace that is opened again and again, added up. Classes are known by their names,
 * streams by their numbers (follow_number()): both have other indices when others came.
 */
struct summary_kept;

struct summary_kept *summary_kept_new(void);
void summary_kept_free(struct summary_kept *kept); /* NULL is fine */
/* Adds what was counted in the trace as it is open now. */
void summary_keep(struct summary_kept *kept, const struct follow *follow, const struct trace *trace,
		  const struct summary *sum);
/*
 * All of it as of the trace that is open now, of which something was kept last; classes of one name
 * are counted with the first. The caller ends *out with summary_release().
 */
void summary_of_kept(const struct summary_kept *kept, const struct trace *trace,
		     struct summary *out);

#endif
