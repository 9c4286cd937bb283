/* overlap.h - have the traces that --with merges a clock and any time in common? */
#ifndef REPL_OVERLAP_H
#define REPL_OVERLAP_H

#include "repl/session.h"

/*
 * An error for the first trace of --with whose clock has no relation to the first trace's (see
 * engine/clocks.h); it says which --offset lets both begin together. Notes each of the others whose
 * range does not touch the first trace's, unless both have the same clock by its UUID. Ranges are
 * those of packet tables. The index is open.
 */
MUST_CHECK bool overlap_check(struct session *session, struct error *err);

#endif
