/* stored_tracks.h - feeding tracks from timelines: for stored_tracks.c and stored_walk.c */
#ifndef STATE_INTERVALS_STORED_TRACKS_H
#define STATE_INTERVALS_STORED_TRACKS_H

#include "state/intervals/intervals.h"
#include "state/timelines/stored.h"

/* Of a span that was there before all that was fed. */
#define BEFORE_ALL (NSTIME_MIN + 1)

/* stored_sums.c: slices whose sums are taken in place of their changes */
struct summing {
	uint32_t *in;   /* by number: 1 + the slice of which its sums were taken last */
	uint32_t *open; /* numbers of which no slice behind that one was fed yet */
	size_t nopen, capacity;
};

/* Fills the tracks from timelines; false: damage. */
MUST_CHECK bool tracks_stored(struct tracks *tracks, struct stored *stored, struct error *err);

struct feeding {
	struct tracks *tracks;
	struct stored *stored;
	struct state *state;
	nstime low, high; /* what was fed: [low, high] */
	bool failed;
	uint32_t *whole; /* attributes with an `initial` value */
	size_t nwhole, whole_capacity;
	/* of the shard that is fed */
	struct shard *shard;
	uint8_t *choices; /* by number: 0 not looked at, 1 no, 2 yes */
	uint32_t *named;  /* numbers asked for by name, rising */
	size_t nnamed;
	bool all; /* other numbers may be wanted too */
	/* of the slice */
	const struct slice *slice;
	struct slice_walk walk;
	struct slice_fill *fills; /* with `keys` */
	uint64_t *fill_keys;
	size_t nfills, fills_room;
	struct summing summing;
};

struct next_change {
	nstime at;
	struct value value;
	bool deleted;
	bool filled; /* what it says begins earlier, at `from`; final: `value` is what it says */
	nstime from;
	struct value fill;
	bool final;
};

/* A value from `at` on. */
void feed_value(struct feeding *feeding, struct track *track, nstime at, const struct value *value,
		bool deleted);
void feed_next_change(struct feeding *feeding, struct track *track, const struct next_change *next);

/* What a stored value says. */
void feed_stored(struct feeding *feeding, struct track *track, nstime at,
		 struct slice_value stored);
/* Is the number wanted? */
bool feed_takes(struct feeding *feeding, uint64_t number);
/* Its track; NULL: damage. Until another is added. */
struct track *feed_track(struct feeding *feeding, uint64_t number);

/* ---- stored_sums.c: slices whose sums are taken ---- */

void summing_begin(struct feeding *feeding); /* a shard */
void summing_release(struct summing *summing);
/* Takes sums where the slice lies in one column. True: nothing else of it is wanted. */
bool summing_slice(struct feeding *feeding, uint32_t s);
/* The slice is loaded: feeds what its snapshot has of numbers that were not fed. */
void summing_resume(struct feeding *feeding, uint32_t s);
static inline bool summing_has(const struct feeding *feeding, uint64_t number, uint32_t s)
{
	return feeding->summing.in && feeding->summing.in[number] == s + 1;
}

/* ---- stored_walk.c: from change to change of one attribute ---- */

/* The first change behind `after`; false: there is none. */
bool walk_next(struct feeding *feeding, uint32_t attr, nstime after, struct next_change *out);
enum slice_found walk_next_in(struct shard *shard, uint32_t number, nstime after,
			      struct next_change *out);
/* The true end of what reaches over the range's end. */
void walk_on(struct feeding *feeding, struct track *track);
/* The true beginning of what was there before all that was fed. */
void walk_back(struct feeding *feeding, struct track *track);

#endif
