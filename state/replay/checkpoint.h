/*
 * checkpoint.h - whole states left behind by long runs, so that the next one begins nearby
 *
 * A checkpoint at t is the state after all events before t. It waits in memory and is kept in the
 * index's store, many in a transaction: a process that is killed leaves the older ones. Where there
 * is no store, memory holds them up to a bound, then every second of them, and so on.
 */
#ifndef STATE_REPLAY_CHECKPOINT_H
#define STATE_REPLAY_CHECKPOINT_H

#include "state/replay/cells.h"

struct checkpoints;

/* `index` may be NULL: memory only. `identity` is of the rules. */
struct checkpoints *checkpoints_new(struct index *index, const uint64_t identity[2]);
void checkpoints_free(struct checkpoints *checkpoints); /* NULL is fine */

/* Returns how many bytes it takes. */
size_t checkpoints_put(struct checkpoints *checkpoints, nstime t, const struct cells *cells);
/* Stores those that wait, as far as there is a store. */
void checkpoints_store(struct checkpoints *checkpoints);
/* All go, stored ones too: what they were made of was read out of order. */
void checkpoints_forget(struct checkpoints *checkpoints);
/*
 * Reads the newest at or before t, *out is its time; cells NULL: it only says that. False: there is
 * none.
 */
bool checkpoints_get(struct checkpoints *checkpoints, nstime t, struct cells *cells, nstime *out);

#endif
