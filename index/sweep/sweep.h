/*
 * sweep.h - every event of a range in no order, on several threads: to count, to sum, to group
 *
 *     packets of the range ──> worker: begin ── run, run, run ... ─┐
 *     of all streams, in   ──> worker: begin ── run, run, run ... ─┼──> end, one after the other,
 *     small pieces         ──> worker: begin ── run, run, run ... ─┘    on the caller's thread
 *
 * The events are those of a cursor with the same options (events.h), each once. Each worker sums up
 * its events in a state of its own; the states are joined at the end. The result is reproducible
 * only if it does not depend on the order and grouping of events.
 */
#ifndef INDEX_SWEEP_SWEEP_H
#define INDEX_SWEEP_SWEEP_H

#include "index/events.h"
#include "index/filters/packet_filter.h"

/*
 * The input of a worker: a run as of a cursor (events.h), but with entries in file order, in which
 * run_index() counts, too. run_fields() decodes values.
 */
struct sweep_run {
	struct run run;       /* count 0: a loss */
	const uint64_t *bits; /* with sweep->bits: size of the event, by entry of the batch */
};

/*
 * A part of a sweep that several processes share: chunk i of n has the packets that begin in every
 * n-th piece of the trace's bytes. Each packet is in exactly one chunk, for any range and whatever
 * the index knows; so are the losses of a stream.
 *
 *     bytes of all files   |0 1 2|0 1 2|0 1 2| ...      n = 3: strata of n pieces each
 */
struct sweep_chunk {
	uint32_t i, n;
	/* set by the sweep; the first two are equal for all chunks of the same files */
	uint64_t bytes;   /* of all files that were cut into chunks */
	uint64_t records; /* packets of all chunks that the sweep found; */
	uint64_t taken;   /* those of this chunk */
};

/* What a sweep of this trace would set chunk->bytes to. */
uint64_t sweep_chunk_bytes(const struct trace *trace);

struct sweep {
	/*
	 * The range and the filters. `losses`: also losses; backward, unordered and progress are
	 * ignored.
	 */
	const struct events_options *events;
	bool bits;                 /* also compute each event's size, see reader->event_bits */
	struct sweep_chunk *chunk; /* sweep this part alone; NULL: all */
	void *arg;                 /* of all functions below */
	/* Called by the caller's thread now and then, with packets done and packets in all; false:
	   interrupted. May be NULL. */
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	/* Called by each worker's thread before its first run; returns the worker's state `own`. */
	void *(*begin)(void *arg);
	/* Called by the worker's thread for each run; what *run points to is borrowed for the call.
	   False ends the sweep with *err. */
	bool (*run)(void *own, const struct sweep_run *run, struct error *err);
	/*
	 * May be NULL. Called by the worker's thread before a packet is decoded. False: skip it.
	 * Otherwise run() gets all of its events, also those outside of the range and the filters,
	 * and then packet_end() is called; `whole`: the packet was read without damage. Such damage
	 * is not reported: the cursor that reads the packet for its events reports it.
	 */
	bool (*packet)(void *own, const struct stream *stream, const struct packet_info *info);
	void (*packet_end)(void *own, bool whole); /* required with `packet` */
	/*
	 * Called by the caller's thread for each worker's state, when all have stopped. `good`
	 * false: the sweep failed, or begins again (records were renumbered); discard the state.
	 */
	void (*end)(void *arg, void *own, bool good);
};

/*
 * Runs a sweep on as many threads as the index was opened with (`jobs`). Damage is skipped, and
 * reported by the trace's notices, sorted by place, when all threads have stopped. False:
 * interrupted, I/O failed, or run() returned false.
 */
MUST_CHECK bool sweep(struct index *index, const struct sweep *sweep, struct error *err);

/*
 * Makes packet filters for all packets of the range (events.h: begin, end, streams) that have none:
 * decodes these on all threads. Damaged packets and PACKET_OPEN ones get none. `progress`: as in
 * struct sweep; may be NULL.
 */
MUST_CHECK bool packet_filters_make(struct packet_filters *packet_filters,
				    const struct events_options *range,
				    bool (*progress)(void *arg, uint64_t done, uint64_t all),
				    void *arg, struct error *err);

#endif
