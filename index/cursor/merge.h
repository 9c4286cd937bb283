/*
 * merge.h - merges streams in order of time, and finds the order many runs ahead
 *
 * A window is a run (events.h) of one stream whose entries are in order, or a loss. Streams are the
 * leaves of a loser tree; at equal times the lower leaf is first. The merge reads only times, and
 * only up to the end of a window. Then the stream must fill a new window; since it may reuse the
 * old one's memory, the merge returns all runs before that point first.
 */
#ifndef INDEX_CURSOR_MERGE_H
#define INDEX_CURSOR_MERGE_H

#include "index/events.h"
#include "index/cursor/loser.h"

#include <stddef.h>

enum { MERGE_AHEAD = 256 /* runs */, MERGE_NONE = UINT32_MAX, MERGE_SOON = 5 };

/* From so many leaves on memory is prefetched: that of fewer stays in the caches anyway. */
enum { MERGE_MANY = 32 };

struct merge_front; /* the rest of a window: all that the tree needs */
struct merge_loss;

struct merge_window { /* a run without its loss: one cache line */
	unsigned char run[offsetof(struct run, loss)];
};

struct merge_stretch { /* consecutive entries of one window */
	uint32_t leaf, pos, count;
};

struct merge {
	struct loser tree;
	struct merge_front *fronts;   /* per leaf */
	struct merge_window *windows; /* per leaf */
	struct merge_loss *losses;    /* per leaf */
	int64_t *next;                /* per leaf, the key behind its head, loaded early */
	struct run coming;
	bool backward;
	bool far;    /* there are so many leaves that their batches are not in a near cache */
	bool bursts; /* recent runs were long */
	/*
	 * With many leaves: called when a window has `left` entries left, for each number from
	 * MERGE_SOON down. May be NULL.
	 */
	void (*soon)(void *arg, uint32_t leaf, uint32_t left);
	void *soon_arg;
	uint32_t empty; /* the leaf whose window is used up; MERGE_NONE: none is */
	uint32_t nahead, given;
	struct merge_stretch ahead[MERGE_AHEAD];
};

void merge_init(struct merge *merge, uint32_t leaves, bool backward);
void merge_release(struct merge *merge); /* of zeros, too */

/* Returns where to write a leaf's next window; call merge_refilled() afterwards. */
struct run *merge_window(struct merge *merge);
/* To be called for all leaves before merge_build(); later for merge->empty. `some` false: the leaf
 * has ended. */
void merge_refilled(struct merge *merge, uint32_t leaf, bool some);
void merge_build(struct merge *merge);

/*
 * The next run. False: merge->empty has to be filled first, or, when it is MERGE_NONE, all leaves
 * have ended. out->loss is set only when out->count is 0.
 */
bool merge_next(struct merge *merge, struct run *out);
/*
 * The last `count` entries, at least one, of the run that merge_next() returned last are to be
 * returned again. To be called at most once for a run, forward.
 */
void merge_put_back(struct merge *merge, uint32_t count);
/*
 * Drops entries and losses before time `to`, forward; *last rises to the time of the last of them.
 * False: merge->empty has to be filled first.
 */
bool merge_skip(struct merge *merge, nstime to, nstime *last);

#endif
