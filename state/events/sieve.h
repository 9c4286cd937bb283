/*
 * sieve.h - of the events that a pass reads, those that may write what it asks for
 *
 *     thread[42]/state is asked     sched_switch passes with prev_tid or next_tid 42,
 *                                   sched_waking never
 *
 * Values are compared batch by batch, before events are merged. A range is read in windows. Packets
 * that their sketches show to hold no such event are not opened; where a pass finds nothing for
 * long, sketches of a window are made first, on all threads. What passes is never too little.
 */
#ifndef STATE_EVENTS_SIEVE_H
#define STATE_EVENTS_SIEVE_H

#include "state/events/line_key.h"

struct feed_range;
struct sieve;

/* All is borrowed. Without an index, or sketches (NULL), no packet is skipped. */
struct sieve *sieve_new(const struct closure *closure, struct feed *feed, struct index *index,
			struct sketches *sketches);
void sieve_free(struct sieve *sieve); /* NULL is fine */

/* How many packets may be read for nothing before sketches are made; usually a few a stream. */
void sieve_patience(struct sieve *sieve, uint64_t packets);

/* From now on nothing passes; then all that may write the attribute. */
void sieve_clear(struct sieve *sieve);
void sieve_add(struct sieve *sieve, uint32_t attr);
/* Does all that may write it pass already? */
bool sieve_has(const struct sieve *sieve, uint32_t attr);

/* For feeds: a range is read now (borrowed), whose times are [begin, end). */
void sieve_begin(struct sieve *sieve, const struct feed_range *range, nstime begin, nstime end);
/* Its next part, in the range's direction; false: there is none. All are read one after the other.
 */
bool sieve_window(struct sieve *sieve, nstime *begin, nstime *end);
void sieve_passed(struct sieve *sieve); /* an event did */
/* As `progress` of events.h: of the range, not of a window. */
bool sieve_progress(void *sieve, nstime at, nstime first, nstime last);
/* Is of every class that passes only what has one of some values? */
bool sieve_is_keyed(const struct sieve *sieve);
/* False: all of the classes pass. */
bool sieve_chooses(const struct sieve *sieve);
/* As `select`, `lacks` and `skips` of events.h. */
uint32_t sieve_select(void *sieve, const struct run *run, uint16_t *entries);
bool sieve_lacks(void *sieve, const struct stream *stream, const struct packet_info *info);
bool sieve_skips(void *sieve, const struct stream *stream, const struct packet_info *info,
		 struct packet_range *range);

#endif
