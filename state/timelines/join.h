/*
 * join.h - from the digests of shards to the complete state at every shard's start
 *
 * Serial, shard after shard: a pass over what the state and the digest hold, and a replay of what
 * could not be decided without the state.
 */
#ifndef STATE_TIMELINES_JOIN_H
#define STATE_TIMELINES_JOIN_H

#include "state/timelines/digest.h"

struct join;

/* Both are borrowed until join_free(). The state is the one before the first shard. */
struct join *join_new(struct feed *feed, struct program *program);
void join_free(struct join *join); /* NULL is fine */
/*
 * The state after the shards that were added: values, since, named, writers, tombs, section values,
 * ends of losses. What only replay's own ranges need (run, last, named_at) is not in it.
 */
struct cells *join_state(struct join *join);
/* Puts a state of an earlier join in place. False: the bytes are not of this program. */
bool join_set_state(struct join *join, const void *bytes, size_t len);
/* Forgets writers, and what is not promised: of no use to work that goes on from here. */
void join_forget(struct join *join);
/* Lays the digest of the next shard, which begins at `begin`, over the state. */
bool join_add(struct join *join, nstime begin, const void *digest, size_t len, struct error *err);
/* Events that were replayed because lines could not be decided in their shard. */
uint64_t join_replayed(const struct join *join);

/* Of what the state says: paths, values and last writes, whatever their order. */
uint64_t cells_hash(const struct cells *cells);

#endif
