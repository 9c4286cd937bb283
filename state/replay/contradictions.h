/*
 * contradictions.h - finds where events of one stream contradict each other: some must be missing
 *
 *     A: = 10        evidence for 10     evidence for 7    B: was 7
 *     |─────── 10 ───────|...................|─────── 7 ─────|
 *     claimed_at         from                until           told_at      unknown in between
 *
 * `mirror` in the rules names an attribute of the stream's own CPU. The `was` of an event (B) must
 * have the value of the last `=` before it (A). If not, A's value holds up to the last event that
 * supports it, B's from the first that supports that; in between nothing is known. So it is, too,
 * at the end of a stream whose packets have no end time (no B), and at its begin (no A). Packets
 * are read as far as a caller needs, once.
 */
#ifndef STATE_REPLAY_CONTRADICTIONS_H
#define STATE_REPLAY_CONTRADICTIONS_H

#include "index/events.h"

struct index;
struct program;
struct packet_filters;

struct contradictions;

struct contradiction {
	nstime claimed_at, told_at; /* times of A and B */
	nstime from, until;         /* the value is unknown in [from, until) */
	int64_t claimed, told;
	bool lone; /* there is no A (the stream begins) or no B (it ends; told_at is NSTIME_MAX) */
	struct position claimed_by, told_by;
	const struct event_class *claimed_class, *told_class;
};

/*
 * NULL: `index` is NULL, the rules have no mirror, or no event tells of it. Index, program and
 * packet filters (may be NULL) must outlive it. Evaluations may use it from any thread.
 */
struct contradictions *contradictions_new(struct index *index, struct program *program,
					  struct packet_filters *packet_filters);
void contradictions_free(struct contradictions *contradictions); /* NULL is fine */
/*
 * Forgets what was found in a trace in disorder. No other thread may use it meanwhile. NULL is
 * fine.
 */
void contradictions_forget(struct contradictions *contradictions);
/* For event sources and cursors; NULL for NULL. Borrowed. */
const struct inferred *contradictions_inferred(const struct contradictions *contradictions);
/* Bit per class with lines that write the mirrored attribute; borrowed. NULL for NULL. */
const uint64_t *contradictions_telling(const struct contradictions *contradictions);

/*
 * Calls `each`, by rising told_at, for all contradictions of two events in the stream; reads what
 * was not read yet. Streams that are not watched have none.
 */
MUST_CHECK bool contradictions_of(struct contradictions *contradictions,
				  const struct stream *stream,
				  void (*each)(void *arg, const struct contradiction *found),
				  void *arg, struct error *err);
/*
 * The trace is complete before `end`. Sets *out (<= end) to the time from which on later events may
 * make values unknown: the oldest of the streams' newest events that tell of the mirrored
 * attribute. If each kind of event was enabled at its own time, the first such event shows that the
 * stream lacked all before, so nothing is settled until it is there. Nothing before `least` is
 * read; *out is then earlier.
 */
MUST_CHECK bool contradictions_settled(struct contradictions *contradictions, nstime least,
				       nstime end, nstime *out, struct error *err);
/* Sets *out to the contradiction that makes values unknown at t; false: there is none, or NULL. */
bool contradictions_at(struct contradictions *contradictions, const struct stream *stream,
		       nstime t, struct contradiction *out);

#endif
