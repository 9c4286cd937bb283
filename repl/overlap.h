/* overlap.h - have the traces that --with merges any time in common? */
#ifndef REPL_OVERLAP_H
#define REPL_OVERLAP_H

#include "repl/session.h"

/*
 * Notes each trace of --with whose range does not touch the first trace's, unless both have the
 * same clock. Ranges are those of packet tables. The index is open.
 */
void overlap_note(struct session *session);

#endif
