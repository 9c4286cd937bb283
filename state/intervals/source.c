/* source.c - where spans of stored attributes come from */
#include "state/intervals/intervals.h"

/*
 * Fills the tracks from the first source that does not give up. Timelines come first; they have all
 * changes. near.c then reads events near the range, if the attributes are known before reading. A
 * run sees all events from the trace's begin or a checkpoint; it is not worth it for operands that
 * views read in addition (by_need), nor for a short range of a large trace (no_runs). Under a
 * horizon, the range is replayed instead; of single CPUs near.c reads less. A window whose rules
 * cannot be read backward, and a growing trace, always take a run.
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
