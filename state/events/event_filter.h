/*
 * event_filter.h - of the events that a pass reads, those that may write what it asks for
 *
 *     thread[42]/state is asked     sched_switch passes with prev_tid or next_tid 42,
 *                                   sched_waking never
 *     cpu[3]/irq is asked           irq_handler_entry passes in streams of CPU 3
 *
 * Values are compared batch by batch, before events are merged. A range is read in windows. Packets
 * that their packet filters show to hold no such event are not opened; where a pass finds nothing
 * for long, packet filters of a window are made first, on all threads. What passes is never too
 * little.
 */
#ifndef STATE_EVENTS_EVENT_FILTER_H
#define STATE_EVENTS_EVENT_FILTER_H

#include "state/events/line_key.h"

struct event_source_range;
struct events_options;
struct event_filter;

/*
 * All is borrowed. Without an index, or packet filters (NULL), no packet is skipped. `patience`: how
 * many packets may be read for nothing before packet filters are made; 0: a few a stream.
 */
struct event_filter *event_filter_new(const struct closure *closure,
				      struct event_source *event_source, struct index *index,
				      struct packet_filters *packet_filters, uint64_t patience);
void event_filter_free(struct event_filter *filter); /* NULL is fine */
/*
 * So many packets may be opened in all, about; then no more are read, and event_filter_is_spent().
 * 0, as at first: any number.
 */
void event_filter_limit(struct event_filter *filter, uint64_t packets);
bool event_filter_is_spent(const struct event_filter *filter);

/* From now on nothing passes; then all that may write the attribute. */
void event_filter_clear(struct event_filter *filter);
void event_filter_add(struct event_filter *filter, uint32_t attr);
/* Does all that may write it pass already? */
bool event_filter_has(const struct event_filter *filter, uint32_t attr);

/* For event sources: a range is read now (borrowed), whose times are [begin, end). */
void event_filter_begin(struct event_filter *filter, const struct event_source_range *range,
			nstime begin, nstime end);
/* Its next part, in the range's direction; false: there is none. All are read one after the other.
 */
bool event_filter_window(struct event_filter *filter, nstime *begin, nstime *end);
void event_filter_passed(struct event_filter *filter); /* an event did */
/* event_filter_begin() and the first window: what a cursor over the range is to be opened with. */
void event_filter_open(struct event_filter *filter, const struct event_source_range *range,
		       struct events_options *options);
/* Is there no event that may write an attribute which was added? */
bool event_filter_is_empty(const struct event_filter *filter);
/* Is of every class that passes only what has one of some values? */
bool event_filter_is_keyed(const struct event_filter *filter);
/* Has one of these classes, or streams, nothing that passes any more? */
bool event_filter_has_fewer(const struct event_filter *filter);
/* False: all of the classes pass. */
bool event_filter_chooses(const struct event_filter *filter);
/* As `select` of events.h. */
uint32_t event_filter_select(void *event_filter, const struct run *run, uint16_t *entries);

#endif
