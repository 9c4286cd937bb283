/* stored_tracks.h - filling tracks from timelines: shared by stored_tracks.c and stored_sums.c */
#ifndef STATE_INTERVALS_STORED_TRACKS_H
#define STATE_INTERVALS_STORED_TRACKS_H

#include "state/intervals/intervals.h"
#include "state/timelines/stored.h"

/* Slices of which the stored sums are read in place of the changes. */
struct summing {
	uint32_t *in;   /* by number: 1 + the last slice whose sums were used */
	uint32_t *open; /* numbers for which no later slice was fed yet */
	size_t nopen, capacity;
};

struct feeding {
	struct tracks *tracks;
	struct stored *stored; /* remembers damage, which ends the reading */
	struct state *state;
	nstime low, high;       /* what was fed: [low, high] */
	bool all;               /* attributes without a name may be wanted too */
	struct attr_list whole; /* attributes with an `initial` value */
	/* of the shard that is fed */
	struct shard *shard;
	nstime begin;     /* changes before are of shards before, and make what it begins with */
	bool first;       /* of those that are fed */
	uint8_t *choices; /* by number: 0 not looked at, 1 no, 2 yes */
	uint32_t *named;  /* numbers of names, rising */
	size_t nnamed;
	/* of the slice */
	struct slice slice; /* a copy, since others are read while it is fed */
	struct slice_opened changes; /* a block of its changes */
	struct summing summing;
};

/* Adds to the track: `value` holds from `at` on. `deleted`: a delete wrote it. */
void feed_value(struct feeding *feeding, struct track *track, nstime at, const struct value *value,
		bool deleted);
/* What a stored value of the number says; its track must not be told otherwise. */
void feed_stored(struct feeding *feeding, uint64_t number, nstime at, struct slice_value stored);
/* Is the attribute with this number wanted? */
bool feed_takes(struct feeding *feeding, uint64_t number);
/* The track of the number, valid until another is added; NULL: the timelines are damaged. */
struct track *feed_track(struct feeding *feeding, uint64_t number);

/* ---- stored_sums.c: slices whose sums are taken ---- */

void summing_begin(struct feeding *feeding); /* a shard */
void summing_release(struct summing *summing);
/* Reads the sums of slice s if it lies within one column. True: its changes need not be read. */
bool summing_slice(struct feeding *feeding, uint32_t s);
/* Slice s is loaded: feeds its snapshot values of numbers whose changes were skipped before it. */
void summing_resume(struct feeding *feeding, uint32_t s);
static inline bool summing_has(const struct feeding *feeding, uint64_t number, uint32_t s)
{
	return feeding->summing.in && feeding->summing.in[number] == s + 1;
}

#endif
