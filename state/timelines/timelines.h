/*
 * timelines.h - building and locating the stored state changes of a trace
 *
 * Timelines are one store, or several: shards, one per stretch of time (shards.h). A build may be
 * killed at any moment: the next one continues from the last commit, to the same bytes.
 * docs/timelines.md has the format.
 */
#ifndef STATE_TIMELINES_TIMELINES_H
#define STATE_TIMELINES_TIMELINES_H

#include "state/slices/part.h"
#include "state/rules/rules.h"

struct state;
/* A hash of the sizes of all files, and their sum. */
uint64_t timelines_extent(const struct trace *trace, uint64_t *bytes);
struct timelines_key timelines_key_of(const struct rules *rules, const struct trace *trace);

/* ---- of an opened state ---- */

/* Path of the state's timelines; to be freed with mem_free(). NULL: the index is in memory only. */
char *timelines_path(struct state *state, const struct timelines_key *key);
/* Call before building: removes files at `path` that may be of another trace. */
MUST_CHECK bool timelines_prepare(struct state *state, const char *path, struct error *err);
/* Did this or another process call timelines_prepare() for this trace? */
bool timelines_prepared(struct state *state);
/*
 * Builds timelines of the whole trace: one store with one or two threads, shards (shards.h) with
 * more. Continues what was begun, a single store or shards, in its form.
 */
MUST_CHECK bool timelines_build(struct state *state, unsigned threads, struct timelines_built *out,
				struct error *err);
/*
 * For a growing trace whose index is kept (index_keep()): stores full slices of the events before
 * `until`, which must be final (state_settled()). *next: stored slices end before this time;
 * NSTIME_MIN: nothing is stored. *anew: the store was built again, since late events, new streams
 * or classes, or removed files made it invalid. Pass the same `known` in all calls for the trace.
 */
MUST_CHECK bool timelines_go_on(struct state *state, nstime until, struct tombstones_known *known,
				struct timelines_built *out, nstime *next, bool *anew,
				struct error *err);
/*
 * Where timelines_go_on() would continue; NSTIME_MIN: at the beginning. *anew: something is stored,
 * but it would be built again.
 */
nstime timelines_stored_until(struct state *state, bool *anew);
/* Removes the timelines of a trace for all rule sets. */
MUST_CHECK bool timelines_drop(struct trace *trace, const struct index_options *options,
			       struct error *err);
/* Removes all files whose paths begin with `path`. */
MUST_CHECK bool timelines_remove(const char *path, struct error *err);
/* Are there complete timelines of the files as they are? */
bool timelines_there(struct state *state);

#endif
