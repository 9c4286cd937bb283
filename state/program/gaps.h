/*
 * gaps.h - at which moments some stream lacks events that could have changed the state unseen
 *
 *     stream 0   ──────●··············●──────    a loss, counted by neighbouring packets
 *     stream 1   ·········●──────────────────    it begins late
 *                      └── a gap ─────┘          what stream 1 says of a thread that sleeps
 *                                                may be changed there by stream 0, untold
 *
 * has(recording/gap) asks for it, has(recording/loss) where packets tell it. Answers come from packet records alone, and are remembered per
 * stream for as long as they hold. Where each kind of event is enabled at its own time (perf.data),
 * a stream lacks events until the first one tells what the rules mirror. Switches that are missing
 * without a word are no gap: the events that contradict each other say which threads they are of.
 */
#ifndef STATE_PROGRAM_GAPS_H
#define STATE_PROGRAM_GAPS_H

#include "index/index.h"

struct program;
struct first_events;
struct gaps;

/* All are borrowed and must outlive it. NULL: no loss of any stream changes the state. */
struct gaps *gaps_new(struct index *index, const struct program *program,
		      struct first_events *firsts);
/* What was found in events so far, of a trace that is in disorder. NULL is fine. */
void gaps_forget(struct gaps *gaps);
void gaps_free(struct gaps *gaps); /* NULL is fine */

struct gap {
	bool open;
	bool loss;          /* counters say so, or where a stream's packets begin and end */
	nstime from, until; /* both are so in [from, until); nothing where from >= until */
};

/*
 * At time t, of the streams recorded on the same host as the part. What cannot be read counts as a
 * gap; the cursor that reads the stream reports the error. Any thread may ask. NULL: no gap at any
 * time.
 */
void gaps_at(struct gaps *gaps, uint32_t part, nstime t, struct gap *out);

#endif
