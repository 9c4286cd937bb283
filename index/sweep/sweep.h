/*
 * sweep.h - every event of a range in no order, on several threads: to count, to sum, to group
 *
 *     packets of the range ──> worker: begin ── run, run, run ... ─┐
 *     of all streams, in   ──> worker: begin ── run, run, run ... ─┼──> end, one after the other,
 *     small pieces         ──> worker: begin ── run, run, run ... ─┘    on the caller's thread
 *
 * The events are those of a cursor with the same options (events.h), each once. Each worker adds
 * up what it is given in a state of its own; the states are joined at the end. What adds up to the
 * same in any order and any grouping is the same on each run; nothing else is.
 */
#ifndef INDEX_SWEEP_SWEEP_H
#define INDEX_SWEEP_SWEEP_H

#include "index/events.h"
#include "index/filters/packet_filter.h"

/*
 * What a worker is given: a run as a cursor gives it (events.h), but entries are in the packet's
 * own order, and run_index() counts in it. Fields: run_fields().
 */
struct sweep_run {
	struct run run;       /* count 0: a loss */
	const uint64_t *bits; /* per entry of the batch, what it takes; NULL: not asked for */
};

/*
 * A part of a sweep that several processes do: chunk i of n has the packets that begin in every
 * n-th piece of the trace's bytes. A packet is in exactly one, whatever range is asked for and
 * whatever an index knows; so are the losses of a stream.
 *
 *     bytes of all files   |0 1 2|0 1 2|0 1 2| ...      n = 3: strata of n pieces each
 */
struct sweep_chunk {
	uint32_t i, n;
	/* what the sweep says: equal for all chunks of the same files */
	uint64_t bytes;   /* that were cut */
	uint64_t records; /* packets, of all chunks, that were looked at; */
	uint64_t taken;   /* of this one */
};

/* `bytes` of a chunk of this trace, without a sweep. */
uint64_t sweep_chunk_bytes(const struct trace *trace);

struct sweep {
	/*
	 * The range and the filters. `losses`: these, too; direction, order, progress: no meaning.
	 */
	const struct events_options *events;
	bool bits; /* also how many bits each event takes, see reader.h */
	struct sweep_chunk *chunk; /* this part alone; NULL: all */
	void *arg; /* of all below */
	/* Now and then, by the caller's thread, with packets done and all; false: interrupted. May
	   be NULL. */
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	/* A worker's own state; by its thread, before its first run. */
	void *(*begin)(void *arg);
	/* Run after run, by the worker's thread; what *run points to is borrowed for the call.
	   False ends the sweep with *err. */
	bool (*run)(void *own, const struct sweep_run *run, struct error *err);
	/*
	 * May be NULL. Before a packet is decoded, by the worker's thread. False: it is passed
	 * over. Else all of its events come, those outside of the range and the filters, too, and
	 * then packet_end(); `whole`: it was read without damage. Damage is not told here: the
	 * cursor that reads the packet for its events tells it.
	 */
	bool (*packet)(void *own, const struct stream *stream, const struct packet_info *info);
	void (*packet_end)(void *own, bool whole); /* where `packet` is */
	/*
	 * Takes a worker's state, by the caller's thread when all have stopped. Not `good`: the
	 * sweep failed, or begins again (a table proved wrong); the state is to be thrown away.
	 */
	void (*end)(void *arg, void *own, bool good);
};

/*
 * As many threads as the index was opened with (`jobs`). Damage is told to the trace's notices in
 * order of place, once all have stopped, and skipped. False: interrupted, I/O, or what `run` said.
 */
MUST_CHECK bool sweep(struct index *index, const struct sweep *sweep, struct error *err);

/* Values of entry i of the batch. *out is borrowed until the next call with the same decoder. */
MUST_CHECK static inline bool run_fields(const struct run *run, uint32_t i, struct fields *out,
					 struct error *err)
{
	return run->reader->decoder_fields(run->decoder, run->batch, i, out, err);
}

/*
 * Decodes all packets of the range (events.h: begin, end, streams) that have no packet filter, on
 * all threads, and makes theirs. Damaged packets, and the open end of a file, get none. `progress`
 * as in sweep.h; may be NULL.
 */
MUST_CHECK bool packet_filters_make(struct packet_filters *packet_filters,
				    const struct events_options *range,
				    bool (*progress)(void *arg, uint64_t done, uint64_t all),
				    void *arg, struct error *err);

#endif
