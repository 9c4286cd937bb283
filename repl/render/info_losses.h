/*
 * info_losses.h - what streams lost and how their packets were delivered, as `info` prints it;
 * where their events contradict each other
 *
 * The first two come from the counters of the packet tables; no packet is read.
 */
#ifndef REPL_RENDER_INFO_LOSSES_H
#define REPL_RENDER_INFO_LOSSES_H

#include "index/tables/delivery.h"
#include "index/tables/losses.h"
#include "repl/session.h"
#include "repl/times.h"
#include "state/replay/contradictions.h"

struct state;

struct info_losses { /* of one stream */
	uint64_t lost, lost_packets;
	bool lost_unknown;  /* `lost` is not all */
	struct loss *items; /* in order of time */
	size_t count, capacity;
	struct delivery delivery;
};

/* *out is to be ended with info_losses_release(), also after false. */
MUST_CHECK bool info_losses_read(const struct stream *stream, struct table *table,
				 struct info_losses *out, struct error *err);
void info_losses_release(struct info_losses *losses);

/* The members from "lost" to "losses" of a stream's JSON object. */
void info_json_losses(const struct stream *stream, const struct info_losses *losses,
		      struct sink *out);
/*
 * perf counts what it lost once more when the recording ends (LOST_SAMPLES). *out: by how much that
 * is more than the `told` events of all places; when these were lost nobody knows.
 */
MUST_CHECK bool info_losses_untold(struct session *session, uint64_t told, uint64_t *out,
				   struct error *err);
/*
 * The lines on losses and deliveries; `losses` has an element for each of the trace's streams.
 * `untold`: events that were lost at no place that is known.
 */
void info_text_losses(const struct trace *trace, const struct info_losses *losses, uint64_t untold,
		      struct times *times, struct sink *out);

/* How often events of a stream contradict each other, so that some must be missing. */
struct contradicted {
	uint64_t count;
	struct contradiction first; /* when there is any */
};

/* Reads the events of the stream that tell what runs, unless that was done before. */
MUST_CHECK bool contradicted_find(struct state *state, const struct stream *stream,
				  struct contradicted *out, struct error *err);

#endif
