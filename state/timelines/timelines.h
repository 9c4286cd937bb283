/*
 * timelines.h - all state changes of a trace, stored once: building, and where they are kept
 *
 * A store is one file, or several: shards, each of a stretch of time (shards.h). Building may be
 * killed at any moment: what was committed is kept, and the next build goes on from there, to the
 * same bytes. docs/timelines.md has the format.
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

/* Where its timelines are; to be freed with mem_free(). NULL: the index is in memory only. */
char *timelines_path(struct state *state, const struct timelines_key *key);
/*
 * To be called before anything is built for it: makes sure that files at that path are of this
 * trace, and removes them where they cannot be.
 */
MUST_CHECK bool timelines_prepare(struct state *state, const char *path, struct error *err);
/* Was that done, by this process or another? */
bool timelines_prepared(struct state *state);
/*
 * Of the whole trace: one store by one thread or two, which is what a second one gains most by;
 * shards (shards.h) by more. A store of one part that was begun is gone on with as it is, and
 * shards as shards.
 */
MUST_CHECK bool timelines_build(struct state *state, unsigned threads, struct timelines_built *out,
				struct error *err);
/*
 * Of a trace that grows, whose index is kept (index_keep()): stores slices of what is before
 * `until`, all of which is there and settled (state_settled()). *next: no event from then on is in
 * what is stored, NSTIME_MIN: nothing is. *anew: what was stored did not hold any more, since
 * events of its time came late, streams or classes turned up, or files went, and was made anew.
 * `known` is that of the calls before for the same trace.
 */
MUST_CHECK bool timelines_go_on(struct state *state, nstime until, struct tombstones_known *known,
				struct timelines_built *out, nstime *next, bool *anew,
				struct error *err);
/*
 * Where timelines_go_on() would go on; NSTIME_MIN: at the beginning. *anew: so it would, although
 * something is stored.
 */
nstime timelines_stored_until(struct state *state, bool *anew);
/* Removes the timelines of a trace, of all rules. */
MUST_CHECK bool timelines_drop(struct trace *trace, const struct index_options *options,
			       struct error *err);
/* Removes the files at `path` and all whose names begin so. */
MUST_CHECK bool timelines_remove(const char *path, struct error *err);
/* Are there any, complete and of these files? */
bool timelines_there(struct state *state);

#endif
