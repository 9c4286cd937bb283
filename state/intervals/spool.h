/*
 * spool.h - spans that have ended, packed
 *
 *     run     back │ begin 8 │ count │ (length, value) × count
 *
 * Runs begin at multiples of 8 bytes; `back` is how many of these lie between this run's begin and
 * that of the track's run before; 0: there is none. Numbers without a size are varints.
 *
 * A pass over a whole trace writes here what has ended, so that its memory does not grow with the
 * trace: many bytes lie in a file (engine/base/paged.h). The runs of a track are linked from the
 * last one back. Spans of a run touch: each begins where the one before ends.
 */
#ifndef STATE_INTERVALS_SPOOL_H
#define STATE_INTERVALS_SPOOL_H

#include "engine/timebase.h"
#include "state/model/value.h"

struct span { /* up to where the next one begins */
	nstime begin;
	struct value value; /* text lives as long as the attribute table */
};
_Static_assert(sizeof(struct span) == 24, "there may be millions");

struct spool;

struct spool *spool_new(void);
void spool_free(struct spool *spool); /* NULL is fine */
/*
 * Adds a run of one span at least behind that at *last, which is 0 before the first. False: there
 * is no room for it, nor for any other.
 */
bool spool_add(struct spool *spool, const struct span *spans, size_t count, uint32_t *last);
/* Calls `each` with the spans of all runs up to that at `last`, in order; false from it ends that.
 */
void spool_read(const struct spool *spool, uint32_t last,
		bool (*each)(void *arg, const struct span *span), void *arg);

#endif
