/*
 * checkpoint.h - whole states that long runs store, so that later runs begin near their range
 *
 * A checkpoint at t is the state after all events before t. It waits in memory until a batch is
 * written to the index's store in one transaction: a process that is killed leaves the older ones.
 * Without a store they stay in memory; at a limit every second one is dropped.
 */
#ifndef STATE_REPLAY_CHECKPOINT_H
#define STATE_REPLAY_CHECKPOINT_H

#include "state/replay/cells.h"

struct checkpoints;

/* `index` may be NULL: memory only. `identity` identifies the rules (rules_identity()). */
struct checkpoints *checkpoints_new(struct index *index, const uint64_t identity[2]);
void checkpoints_free(struct checkpoints *checkpoints); /* NULL is fine */

/* Adds a checkpoint at t. Returns its size in bytes. */
size_t checkpoints_put(struct checkpoints *checkpoints, nstime t, const struct cells *cells);
/* Writes those that wait to the store, if there is one. */
void checkpoints_store(struct checkpoints *checkpoints);
/* Deletes all checkpoints, stored ones too: for a trace that turned out to be in disorder. */
void checkpoints_forget(struct checkpoints *checkpoints);
/*
 * Reads the newest checkpoint at or before t into `cells` (NULL: reads nothing), and sets *out to
 * its time. False: there is none.
 */
bool checkpoints_get(struct checkpoints *checkpoints, nstime t, struct cells *cells, nstime *out);

#endif
