/* build.h - building slices by a replay, and resuming a killed build: for build.c, resume.c */
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
	uint64_t events_before; /* applied by builds that were killed */
	nstime tombstones_at;   /* time of the newest tombstone; `tombstones`: how many then */
	uint32_t tombstones;
	bool any_tombstone;
	struct error *err; /* why a slice could not be stored */
	bool failed;
	bool damaged; /* the stored data to resume from is damaged */
};

/* replay_options.lines; see lines.c. */
enum replay_lines building_lines(void *arg, const struct plain *plain, struct env *env,
				 nstime time);

/* Appends what a build needs besides slices to continue at `next`; stored with the open slice. */
void building_put_resume(const struct building *building, nstime next, struct buf *out);
/*
 * Removes what was stored after `resume`, makes numbers and builder, and loads them and the
 * replay's state; they are empty when `resume` is.
 */
MUST_CHECK bool building_begin(struct building *building, const struct buf *resume,
			       struct error *err);

/*
 * Appends to *cells, as cells_write() does, the state at the end of the slices that `resume` (the
 * store's value of that name) is about. Reads the store in `txn` and does not change it.
 */
MUST_CHECK bool building_left(const struct timelines_part *part, struct store *store,
			      struct store_txn *txn, const struct buf *resume, struct buf *cells,
			      struct error *err);
/* How many slices a `resume` value covers, and the time from which on no event was applied. */
MUST_CHECK bool building_resume_head(const struct buf *resume, uint32_t *slices, nstime *next);

/* Appends a metadata value (key letter M) such as "resume"; false: there is none. */
bool timelines_value(struct store_txn *txn, const char *name, struct buf *out);
/* Is the store complete, for files of this extent? */
bool timelines_complete(struct store *store, uint64_t extent, struct timelines_built *out);

/* Reports the damage of the trace that the build noted, as if it were read now. */
void timelines_tell_damage(struct store *store, const struct event_source *event_source);

#endif
