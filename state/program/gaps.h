/*
 * gaps.h - gaps: times at which a stream lacks events that could have changed the state
 *
 *     stream 0   ──────●··············●──────    a loss, counted by neighbouring packets
 *     stream 1   ·········●──────────────────    it begins late
 *                      └── a gap ─────┘          what stream 1 says of a thread that sleeps
 *                                                may be changed there by stream 0, untold
 *
 * has(recording/gap) is true in a gap, has(recording/loss) in one known from packets. Answers come
 * from packet records alone, and are cached per stream with the time for which they hold. If each
 * kind of event is enabled at its own time (perf.data), a stream has a gap until the first event
 * that the rules' `mirror` statement is about. Missing switches that no counter reports are no gap:
 * contradicting events show which threads they concern.
 */
#ifndef STATE_PROGRAM_GAPS_H
#define STATE_PROGRAM_GAPS_H

#include "index/index.h"

struct program;
struct first_events;
struct gaps;

/* All arguments are borrowed and must outlive it. NULL: losses change the state in no stream. */
struct gaps *gaps_new(struct index *index, const struct program *program,
		      struct first_events *firsts);
/* Drops cached answers, after events were found out of order. NULL is fine. */
void gaps_forget(struct gaps *gaps);
void gaps_free(struct gaps *gaps); /* NULL is fine */

struct gap {
	bool open;
	bool loss; /* known from counters, or from where a stream's packets begin and end */
	nstime from, until; /* both hold in [from, until); not set if from >= until */
};

/*
 * The gap at time t among the streams of the part's host. Unreadable packets count as a gap; the
 * cursor that reads the stream reports the error. Thread-safe. `gaps` NULL: there is no gap.
 */
void gaps_at(struct gaps *gaps, uint32_t part, nstime t, struct gap *out);

#endif
