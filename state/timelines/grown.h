/*
 * grown.h - reading timelines of a growing trace while another process extends them
 *
 *     stored     | slice | slice | slice |
 *     tail                               | events behind: slices of the reader's own
 *
 * The process that follows the trace stores full slices of the final part (timelines_go_on()). A
 * reader opens the trace as it is now, builds slices of the rest in a temporary folder (the tail),
 * and reads both as two shards, so it answers for the whole trace. "Ties" are stored with the
 * slices and compared before use: the streams, how many packets of each begin before the slices
 * end, and the compiled rules of the event classes.
 */
#ifndef STATE_TIMELINES_GROWN_H
#define STATE_TIMELINES_GROWN_H

#include "state/timelines/stored.h"
#include "state/timelines/timelines.h"

/*
 * Opens the timelines at `path` and builds the tail. False: none are there, their ties do not hold,
 * or they are damaged (stored->damaged).
 */
bool grown_open(struct stored *stored, const char *path, const struct timelines_key *key);
void grown_close(struct stored *stored); /* the tail's folder */
/*
 * Call before a build of the whole trace continues the store at `path`: removes the store if its
 * ties do not hold any more.
 */
MUST_CHECK bool grown_drop_unfit(struct state *state, const char *path, struct error *err);

#endif
