/*
 * contradictions.h - where events of one stream contradict each other: some must be missing
 *
 *     A: = 10        evidence for 10     evidence for 7    B: was 7
 *     |─────── 10 ───────|...................|─────── 7 ─────|
 *     claimed_at         from                until           told_at      unknown in between
 *
 * `mirror` names an attribute of the stream's own CPU. The `was` of one event (B) must say what the
 * last `=` before it (A) said. Where it does not, the value holds until the last event that
 * supports it, and nothing is known from there until an event supports what B says. So it is, too,
 * in the tail of a stream, where no event follows that tells and packets do not say when they end; and
 * what the first event of a stream says was before reaches no further than what supports it. Packets are read as far as
 * somebody asks; what was read is remembered.
 */
#ifndef STATE_REPLAY_CONTRADICTIONS_H
#define STATE_REPLAY_CONTRADICTIONS_H

#include "index/events.h"

struct index;
struct program;
struct packet_filters;

struct contradictions;

struct contradiction {
	nstime claimed_at, told_at; /* of A and B */
	nstime from, until;         /* nothing is known in [from, until) */
	int64_t claimed, told;
	bool lone; /* there is no A, or no B (told_at is NSTIME_MAX): the stream begins, or ends */
	struct position claimed_by, told_by;
	const struct event_class *claimed_class, *told_class;
};

/*
 * NULL: the rules have no mirror, or no event of the trace tells of it. The index and the program
 * must outlive it, and the packet filters, which may be NULL; index NULL gives NULL. Evaluations
 * may ask from any thread.
 */
struct contradictions *contradictions_new(struct index *index, struct program *program,
					  struct packet_filters *packet_filters);
void contradictions_free(struct contradictions *contradictions); /* NULL is fine */
/* What was found so far, of a trace that is in disorder; nothing of it is in use. NULL is fine. */
void contradictions_forget(struct contradictions *contradictions);
/* For event sources and cursors; NULL for NULL. Borrowed. */
const struct inferred *contradictions_inferred(const struct contradictions *contradictions);

/*
 * All of a stream that two events make; it is read as far as it was not yet: calls `each`, in order of told_at.
 * Streams that are not watched have none.
 */
MUST_CHECK bool contradictions_of(struct contradictions *contradictions,
				  const struct stream *stream,
				  void (*each)(void *arg, const struct contradiction *found),
				  void *arg, struct error *err);
/*
 * All events before `end` are there: from which moment on may events to come make things unknown?
 * *out, `end` at most: at the newest event that tells of each stream. Where each kind of event is
 * enabled at its own time, the first one to come says that the stream lacked all before: nothing is
 * settled until it is there. What is before `least` is not read; then *out is earlier than that.
 */
MUST_CHECK bool contradictions_settled(struct contradictions *contradictions, nstime least,
				       nstime end, nstime *out, struct error *err);
/* The one that makes things unknown at time t, of that stream; false: there is none. NULL has none. */
bool contradictions_at(struct contradictions *contradictions, const struct stream *stream,
		       nstime t, struct contradiction *out);

#endif
