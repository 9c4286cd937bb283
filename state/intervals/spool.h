/*
 * spool.h - a packed store for spans that have ended
 *
 *     run     back │ begin 8 │ count │ (length, value) × count
 *
 * Runs begin at multiples of 8 bytes. `back` is the distance, in units of 8 bytes, to the previous
 * run of the same track; 0: there is none. Numbers without a size are varints.
 *
 * A pass over a whole trace appends ended spans here, so that its memory does not grow with the
 * trace: a large spool lies in a file (engine/base/paged.h). Within a run each span begins where
 * the one before ends.
 */
#ifndef STATE_INTERVALS_SPOOL_H
#define STATE_INTERVALS_SPOOL_H

#include "engine/timebase.h"
#include "state/model/value.h"

struct span { /* holds up to where the next one begins */
	nstime begin;
	struct value value; /* text lives as long as the attribute table */
};
_Static_assert(sizeof(struct span) == 24, "there may be millions");

struct spool;

struct spool *spool_new(void);
void spool_free(struct spool *spool); /* NULL is fine */
/*
 * Appends a run of `count` >= 1 spans; spans[count].begin is where the last one ends. *last is the
 * place of the track's last run, 0 before the first, and is updated. False: the spool is full.
 */
bool spool_add(struct spool *spool, const struct span *spans, size_t count, uint32_t *last);
/* Calls `each` for the spans of the runs up to `last`, in order of time, until it returns false. */
void spool_read(const struct spool *spool, uint32_t last,
		bool (*each)(void *arg, const struct span *span), void *arg);

#endif
