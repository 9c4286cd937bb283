/*
 * checkpoint.h - whole states left behind by long runs, so that the next one begins nearby
 *
 * A checkpoint at t is the state after all events before t. It is kept in the index's store, one
 * transaction each, else in memory up to a bound; a process killed while it puts one leaves the
 * older ones.
 */
#ifndef STATE_CHECKPOINT_H
#define STATE_CHECKPOINT_H

#include "state/cells.h"

struct checkpoints;

/* `index` may be NULL: memory only. `identity` is of the rules. */
struct checkpoints *checkpoints_new(struct index *index, const uint64_t identity[2]);
void checkpoints_free(struct checkpoints *checkpoints); /* NULL is fine */

void checkpoints_put(struct checkpoints *checkpoints, nstime t, const struct cells *cells);
/* The time of the newest at or before t; false: there is none. */
bool checkpoints_before(struct checkpoints *checkpoints, nstime t, nstime *out);
/* Reads the newest at or before t. */
bool checkpoints_get(struct checkpoints *checkpoints, nstime t, struct cells *cells, nstime *out);

#endif
