/*
 * merge.h - whose events come next, found many runs ahead
 *
 * A window is what a stream gives without being asked again: a run (events.h) whose entries are in
 * order, or a loss. Streams are leaves; at equal times the lower one is first. The merge looks at
 * times alone, and never beyond the end of a window: then its stream has to fill a new one, for
 * which it may throw away what the old one stood on, so that all before must have been given.
 */
#ifndef INDEX_CURSOR_MERGE_H
#define INDEX_CURSOR_MERGE_H

#include "index/events.h"
#include "index/cursor/loser.h"

#include <stddef.h>

enum { MERGE_AHEAD = 256 /* runs */, MERGE_NONE = UINT32_MAX, MERGE_SOON = 5 };

/* Leaves; what fewer lead to is near anyway. */
enum { MERGE_MANY = 32 };

struct merge_front; /* what is left of a window: all that the tree is played with */
struct merge_loss;

struct merge_window { /* a run without its loss: one line of a cache */
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
	bool far;    /* so many leaves that their batches lie in no near cache */
	bool bursts; /* runs were long of late */
	/*
	 * Where there are many leaves: told that a window has `left` entries left, MERGE_SOON and
	 * fewer. NULL: it is not told.
	 */
	void (*soon)(void *arg, uint32_t leaf, uint32_t left);
	void *soon_arg;
	uint32_t empty; /* the leaf whose window is used up; MERGE_NONE: none is */
	uint32_t nahead, given;
	struct merge_stretch ahead[MERGE_AHEAD];
};

void merge_init(struct merge *merge, uint32_t leaves, bool backward);
void merge_release(struct merge *merge); /* of zeros, too */

/* Where a leaf's next window goes; then merge_refilled(). */
struct run *merge_window(struct merge *merge);
/* Before merge_build(): all leaves; later the leaf that is `empty`. Not `some`: it has ended. */
void merge_refilled(struct merge *merge, uint32_t leaf, bool some);
void merge_build(struct merge *merge);

/*
 * The next run. False: merge->empty has to be filled first, or, when it is MERGE_NONE, all leaves
 * have ended. out->loss is set only when out->count is 0.
 */
bool merge_next(struct merge *merge, struct run *out);

#endif
