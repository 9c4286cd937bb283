/*
 * grown.h - timelines of a trace that grows: going on with them, and reading them meanwhile
 *
 *     stored     | slice | slice | slice |
 *     tail                               | events behind: slices of the reader's own
 *
 * Who follows the trace stores slices that are full, of what is final (timelines_go_on()). A reader
 * opens the trace as it is by then, makes slices of what lies behind the stored ones in a folder of
 * its own, and has both as two shards: so its answers are those of the whole trace. What ties
 * stored slices to the trace (which streams it has, how many of their packets begin before the
 * slices end, what rules mean for its classes) is stored with them, and compared before they are
 * used.
 */
#ifndef STATE_TIMELINES_GROWN_H
#define STATE_TIMELINES_GROWN_H

#include "state/timelines/stored.h"
#include "state/timelines/timelines.h"

/*
 * Opens the timelines at `path` of a trace that grew, and makes the tail. False: there are none
 * that hold, or they are damaged (stored->damaged).
 */
bool grown_open(struct stored *stored, const char *path, const struct timelines_key *key);
void grown_close(struct stored *stored); /* the tail's folder */
/*
 * Before a build of the whole trace goes on with what is stored at `path`: is that of a trace that
 * grew, and does it not hold any more, it is removed.
 */
MUST_CHECK bool grown_drop_unfit(struct state *state, const char *path, struct error *err);

#endif
