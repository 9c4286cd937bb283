/*
 * contradictions_internal.h - what a stream says and what of it was read: inside contradictions
 * only
 */
#ifndef STATE_REPLAY_CONTRADICTIONS_INTERNAL_H
#define STATE_REPLAY_CONTRADICTIONS_INTERNAL_H

#include "state/program/internal.h"
#include "state/program/mirror_classes.h"
#include "state/replay/contradictions.h"
#include "state/replay/known_ranges.h"

#include <pthread.h>

struct claim_of { /* what the last event that tells says */
	bool known;
	bool first;   /* no event told since `time`: begin or end of a loss, or of the stream */
	nstime whole; /* with `first`: events from then on are whole, up to the next loss */
	bool has_before;
	bool perhaps;          /* the rules say so, or that it is unknown */
	int64_t value, before; /* what it says holds from then on, and what did until then */
	nstime time;
	uint32_t entry; /* of the run in hand, where time, place and class are to be had, */
	bool placed;    /* unless they are here */
	struct position place;
	const struct event_class *class;
};

struct watched {                /* a stream */
	bool any;               /* there may be contradictions in it */
	pthread_mutex_t lock;   /* of all below */
	struct events *forward; /* stands at `at`, the end of a known range; NULL: not yet */
	nstime at;
	struct claim_of claim;       /* there */
	struct contradiction *found; /* by rising told_at */
	size_t nfound, capacity;
	struct known_ranges known; /* in which contradictions were looked for */
	uint64_t disorder;         /* the trace's, when the first of them was read */
};

struct contradictions {
	struct index *index;
	struct program *program;
	struct mirror_classes classes;
	struct inferred inferred;
	struct packet_filters *packet_filters; /* of packets; may be NULL */
	struct findings *findings; /* its own: what is found of a stream is one answer for all */
	uint64_t *none;            /* bit per class: not set */
	struct watched *streams;   /* by stream */
};

static inline bool is_of_tasks(const struct contradictions *own, const struct stream *stream)
{
	return own->program->trace->parts[stream->part]->recording == RECORDING_TASKS;
}

/*
 * contradictions_stream.c: one stream, whose lock is held. Each false: *err.
 */

/* Puts the stream's cursor at `begin`, and makes what the last event before that says its claim. */
MUST_CHECK bool contradictions_turn(struct contradictions *own, const struct stream *stream,
				    nstime begin, struct error *err);
/*
 * Reads on from `at`, keeping what contradicts, until an event tells at `end` or later, or all was
 * read.
 */
MUST_CHECK bool contradictions_read_on(struct contradictions *own, const struct stream *stream,
				       nstime end, struct error *err);
/*
 * The newest event of the stream that tells, or loss, at `least` or later; else where the stream
 * begins, before which it lacks all (NSTIME_MAX: it has nothing), or NSTIME_MIN if it has
 * late_events. Needs no lock.
 */
MUST_CHECK bool contradictions_newest(struct contradictions *own, const struct stream *stream,
				      nstime least, nstime *newest, struct error *err);

#endif
