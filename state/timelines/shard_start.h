/*
 * shard_start.h - values of single attributes at a shard's begin, by a backward pass from there
 *
 * A shard's lines may read at each event what the shard never writes, such as the interrupt of a
 * CPU that handles none. Without the value such lines would be deferred throughout the shard.
 */
#ifndef STATE_TIMELINES_SHARD_START_H
#define STATE_TIMELINES_SHARD_START_H

#include "state/events/event_source.h"
#include "state/program/program.h"

struct shard_start;

/*
 * For a shard that begins at `begin`; source and program are borrowed. `first`: events of the shard
 * before the first backward pass; 0: the usual number.
 */
struct shard_start *shard_start_new(struct event_source *event_source, struct program *program,
				    nstime begin, uint32_t first);
void shard_start_free(struct shard_start *start); /* NULL is fine */
/*
 * The value at the shard's begin. False: not known now. `events`: how many of the shard were read;
 * as long as they are few, requests are collected for one backward pass.
 */
bool shard_start_get(struct shard_start *start, uint32_t attr, uint64_t events, struct value *out);
/* Did reading fail? Then *err is set, and no further value will be found. `start` may be NULL. */
bool shard_start_failed(const struct shard_start *start, struct error *err);

#endif
