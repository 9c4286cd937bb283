/* source.c - where spans of stored attributes come from */
#include "state/intervals/intervals.h"

/*
 * Timelines have all changes. Else attributes that are told before reading are read near the range,
 * and a run, which sees all events from the trace's begin or a checkpoint, is for the rest. What
 * views need in addition is not worth a run. A window is read where it is, whatever is stored; a
 * run is for rules that cannot be read backward, and for a trace that grows, where it goes on.
 */
enum outcome tracks_read(struct tracks *tracks, struct error *err)
{
	static enum outcome (*const sources[])(struct tracks * tracks, struct error * err) = {
		tracks_stored, tracks_near, tracks_run};
	bool window = tracks->range.window, bounded = tracks->state->horizon != NULL;
	bool goes_on = tracks->state->handover != NULL;
	size_t first = 0, count = tracks->by_need || bounded ? 2 : 3;
	enum outcome outcome = OUTCOME_GAVE_UP;

	if (bounded)
		first = 1;
	else if (window || goes_on)
		first = 2;
	for (size_t i = first; i < count && outcome == OUTCOME_GAVE_UP; i++) {
		tracks_forget(tracks);
		tracks_spool_begin(tracks);
		outcome = sources[i](tracks, err);
	}
	return outcome;
}
