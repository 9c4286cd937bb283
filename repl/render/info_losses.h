/*
 * info_losses.h - lost events, delivery of packets, and contradictions between events, as `info`
 * prints them
 *
 * Losses and delivery come from counters in the packet tables; no packet is read for them.
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
	bool lost_unknown;  /* more than `lost` events are missing */
	struct loss *items; /* in order of time */
	size_t count, capacity;
	struct delivery delivery;
};

/* The caller ends *out with info_losses_release(), also after false. */
MUST_CHECK bool info_losses_read(const struct stream *stream, struct table *table,
				 struct info_losses *out, struct error *err);
void info_losses_release(struct info_losses *losses);

/* The members from "lost" to "losses" of a stream's JSON object. */
void info_json_losses(const struct stream *stream, const struct info_losses *losses,
		      struct sink *out);
/*
 * At the end of a recording, perf writes how many events it lost in all (LOST_SAMPLES). Sets *out
 * to how many of them are missing from `told`, the sum of all losses with a place; 0: none.
 */
MUST_CHECK bool info_losses_untold(struct session *session, uint64_t told, uint64_t *out,
				   struct error *err);
/*
 * The lines on losses and deliveries; `losses` has an element for each of the trace's streams.
 * `untold`: events that were lost at an unknown place, see info_losses_untold().
 */
void info_text_losses(const struct trace *trace, const struct info_losses *losses, uint64_t untold,
		      struct times *times, struct sink *out);

/* How often events of a stream contradict each other, which shows that some are missing. */
struct contradicted {
	uint64_t count;
	struct contradiction first; /* if count > 0 */
};

/* Finds contradictions, for which it reads the stream's switches, unless that was done before. */
MUST_CHECK bool contradicted_find(struct state *state, const struct stream *stream,
				  struct contradicted *out, struct error *err);

#endif
