/* build.h - a replay that feeds a builder, and how a killed one goes on: for build.c, resume.c */
#ifndef STATE_SLICES_BUILD_H
#define STATE_SLICES_BUILD_H

#include "state/replay/replay.h"
#include "state/slices/builder.h"
#include "state/slices/part.h"

struct building {
	const struct timelines_part *part;
	struct store *store;
	struct helper *helper; /* NULL: all is done by the calling thread */
	struct numbers *numbers;
	struct builder *builder;
	struct replay *replay;
	nstime from;            /* where the replay begins */
	uint64_t events_before; /* of builds that were killed */
	nstime tombstones_at;   /* time of the newest tombstone; how many were placed then */
	uint32_t tombstones;
	bool any_tombstone;
	struct error *err; /* of the slice that could not be stored */
	bool failed;
	bool damaged; /* what was to be gone on with */
};

/* replay_options.lines; see lines.c. */
enum replay_lines building_lines(void *arg, const struct plain *plain, struct env *env,
				 nstime time);

/* What must be known at `next`, besides the slices, to go on from there: with the slice that is
 * open. */
void building_put_resume(const struct building *building, nstime next, struct buf *out);
/*
 * Drops what was stored after that, makes numbers and builder, and fills them and the replay's
 * state. Nothing to resume: they are empty.
 */
MUST_CHECK bool building_begin(struct building *building, const struct buf *resume,
			       struct error *err);

/*
 * What the slices of a store leave that `resume`, its value of that name, tells of, as
 * cells_write() writes it. The store is read as it is in `txn`, and stays as it is.
 */
MUST_CHECK bool building_left(const struct timelines_part *part, struct store *store,
			      struct store_txn *txn, const struct buf *resume, struct buf *cells,
			      struct error *err);
/* How many slices a value of `resume` tells of, and the time from which on no event was applied. */
MUST_CHECK bool building_resume_head(const struct buf *resume, uint32_t *slices, nstime *next);

/* Appends a value of `M`, such as resume; false: there is none. */
bool timelines_value(struct store_txn *txn, const char *name, struct buf *out);
/* Is the store whole, for files of this extent? */
bool timelines_complete(struct store *store, uint64_t extent, struct timelines_built *out);

/* What of the trace could not be read when it was built: as if it were read now. */
void timelines_tell_damage(struct store *store, const struct event_source *event_source);

#endif
