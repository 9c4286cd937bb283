/* source.c - where spans of stored attributes come from */
#include "state/intervals/intervals.h"

/*
 * Timelines have all changes. Else attributes that are told before reading are read near the range,
 * and a run, which sees all events from the trace's begin or a checkpoint, is for the rest. What
 * views need in addition is not worth a run.
 */
enum outcome tracks_read(struct tracks *tracks, struct error *err)
{
	static enum outcome (*const sources[])(struct tracks * tracks, struct error * err) = {
		tracks_stored, tracks_near, tracks_run};
	size_t count = tracks->by_need ? 2 : 3;
	enum outcome outcome = OUTCOME_GAVE_UP;

	for (size_t i = 0; i < count && outcome == OUTCOME_GAVE_UP; i++) {
		tracks_forget(tracks);
		tracks_spool_begin(tracks);
		outcome = sources[i](tracks, err);
	}
	return outcome;
}
