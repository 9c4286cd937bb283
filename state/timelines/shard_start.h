/*
 * shard_start.h - what single attributes are where a shard begins, found by reading back from there
 *
 * A shard may never write what its lines read at each event: which interrupt a CPU handles that
 * handles none. Such lines would be deferred from its begin to its end.
 */
#ifndef STATE_TIMELINES_SHARD_START_H
#define STATE_TIMELINES_SHARD_START_H

#include "state/events/event_source.h"
#include "state/program/program.h"

struct shard_start;

/*
 * Of a shard that begins at that time; source and program are borrowed. `first`: events before the
 * first look, 0: as many as is usual.
 */
struct shard_start *shard_start_new(struct event_source *event_source, struct program *program,
				    nstime begin, uint32_t first);
void shard_start_free(struct shard_start *start); /* NULL is fine */
/*
 * The value there, as lines read it. False: it is not known now. `events`: of the shard, so far; as
 * long as they are few, what is asked for is gathered, and looked for together.
 */
bool shard_start_get(struct shard_start *start, uint32_t attr, uint64_t events, struct value *out);
/* Reading failed: *err, and no value is to be had any more. `start` may be NULL. */
bool shard_start_failed(const struct shard_start *start, struct error *err);

#endif
