/* source.c - where spans of stored attributes come from */
#include "state/intervals/intervals.h"

/*
 * Timelines have all changes. Else attributes that are told before reading are read near the range,
 * and a run, which sees all events from the trace's begin or a checkpoint, is for the rest. What
 * views need in addition is not worth a run, and neither is a short range of a large trace. Under a
 * horizon the range is replayed, unless it is of single CPUs. A window is read where it is,
 * whatever is stored; a run is for rules that cannot be read backward, and for a trace that grows,
 * where it goes on.
 */
enum outcome tracks_read(struct tracks *tracks, struct error *err)
{
	enum { STORED, REPLAYED, NEAR, RUN, SOURCES };
	static enum outcome (*const sources[SOURCES])(
		struct tracks * tracks, struct error * err) = {[STORED] = tracks_stored,
							       [REPLAYED] = tracks_replayed,
							       [NEAR] = tracks_near,
							       [RUN] = tracks_run};
	const struct state *state = tracks->state;
	size_t first = STORED, count = tracks->by_need || state->no_runs ? RUN : SOURCES;
	enum outcome outcome = OUTCOME_GAVE_UP;

	if (state->horizon) {
		first = REPLAYED;
		count = RUN;
	} else if (tracks->range.window || state->handover) {
		first = RUN;
	}
	for (size_t i = first; i < count && outcome == OUTCOME_GAVE_UP; i++) {
		if (i == REPLAYED && !state->horizon)
			continue;
		tracks_forget(tracks);
		tracks_spool_begin(tracks);
		outcome = sources[i](tracks, err);
	}
	return outcome;
}
