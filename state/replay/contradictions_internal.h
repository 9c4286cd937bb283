/* contradictions_internal.h - streams and their claims, for contradictions*.c only */
#ifndef STATE_REPLAY_CONTRADICTIONS_INTERNAL_H
#define STATE_REPLAY_CONTRADICTIONS_INTERNAL_H

#include "state/program/internal.h"
#include "state/program/mirror_classes.h"
#include "state/replay/contradictions.h"
#include "state/replay/known_ranges.h"

#include <pthread.h>

struct claim_of { /* what the last event with a `was` or `=` of the attribute says */
	bool known;
	bool first;   /* no such event since `time`, where a loss or the stream begins or ends */
	nstime whole; /* with `first`: from here to the next loss no event is missing */
	bool has_before;
	bool perhaps;          /* it may be `value`, or unknown */
	int64_t value, before; /* value from the event on, and before it */
	nstime time;
	uint32_t entry; /* in the present run, if !placed; */
	bool placed;    /* time, place and class are set */
	struct position place;
	const struct event_class *class;
};

struct watched {                /* a stream */
	bool any;               /* it is watched for contradictions */
	pthread_mutex_t lock;   /* of all below */
	struct events *forward; /* at `at`, the end of a known range; NULL: none yet */
	nstime at;
	struct claim_of claim;       /* the claim at `at` */
	struct contradiction *found; /* by rising told_at */
	size_t nfound, capacity;
	struct known_ranges known; /* ranges that were searched for contradictions */
	uint64_t disorder;         /* trace_disorder() when the first range was read */
};

struct contradictions {
	struct index *index;
	struct program *program;
	struct mirror_classes classes;
	struct inferred inferred;
	struct packet_filters *packet_filters; /* may be NULL */
	struct findings *findings; /* own ones, since the results are shared by all questions */
	uint64_t *none;            /* an empty set of classes */
	struct watched *streams;   /* by stream */
};

static inline bool is_of_tasks(const struct contradictions *own, const struct stream *stream)
{
	return own->program->trace->parts[stream->part]->recording == RECORDING_TASKS;
}

/* contradictions_stream.c: functions on one stream, whose lock is held. False: *err. */

/* Moves the stream's cursor to `begin`, and sets the claim to that of the last event before it. */
MUST_CHECK bool contradictions_turn(struct contradictions *own, const struct stream *stream,
				    nstime begin, struct error *err);
/*
 * Reads on from `at` and stores contradictions, up to the first event at `end` or later that gives
 * a claim, or to the stream's end.
 */
MUST_CHECK bool contradictions_read_on(struct contradictions *own, const struct stream *stream,
				       nstime end, struct error *err);
/*
 * Sets *newest to the time of the newest loss or event with a claim at `least` or later. Without
 * one: the stream's begin, before which it lacks all (NSTIME_MAX: it has nothing), or NSTIME_MIN if
 * it has late_events. Needs no lock.
 */
MUST_CHECK bool contradictions_newest(struct contradictions *own, const struct stream *stream,
				      nstime least, nstime *newest, struct error *err);

#endif
