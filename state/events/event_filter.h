/*
 * event_filter.h - selects the events that may write the attributes that a pass needs
 *
 *     thread[42]/state is asked     sched_switch passes with prev_tid or next_tid 42,
 *                                   sched_waking never
 *     cpu[3]/irq is asked           irq_handler_entry passes in streams of CPU 3
 *
 * Key values are compared batch by batch, before events are merged. A range is read in windows.
 * Packets without such events according to their packet filters are not opened; if a pass finds
 * nothing for long, the packet filters of a window are built first, on all threads. The filter may
 * pass too many events, never too few.
 */
#ifndef STATE_EVENTS_EVENT_FILTER_H
#define STATE_EVENTS_EVENT_FILTER_H

#include "state/events/line_key.h"

struct event_source_range;
struct events_options;
struct event_filter;

/*
 * All arguments are borrowed. Without an index or packet filters (NULL) no packet is skipped.
 * `patience`: how many packets may be read in vain before packet filters are built; 0: a few per
 * stream.
 */
struct event_filter *event_filter_new(const struct closure *closure,
				      struct event_source *event_source, struct index *index,
				      struct packet_filters *packet_filters, uint64_t patience);
void event_filter_free(struct event_filter *filter); /* NULL is fine */
/*
 * Limits how many packets may be opened, roughly; then reading ends and event_filter_is_spent() is
 * true. 0 (the default): no limit.
 */
void event_filter_limit(struct event_filter *filter, uint64_t packets);
bool event_filter_is_spent(const struct event_filter *filter);

/* clear: nothing passes any more. add: all events that may write the attribute pass, too. */
void event_filter_clear(struct event_filter *filter);
void event_filter_add(struct event_filter *filter, uint32_t attr);
/* Do all events that may write the attribute pass already? */
bool event_filter_has(const struct event_filter *filter, uint32_t attr);

/* For event sources: begins a range (borrowed) with the times [begin, end). */
void event_filter_begin(struct event_filter *filter, const struct event_source_range *range,
			nstime begin, nstime end);
/* The next window in the range's direction; false: there is none. */
bool event_filter_window(struct event_filter *filter, nstime *begin, nstime *end);
void event_filter_passed(struct event_filter *filter); /* an event passed */
/* event_filter_begin() and the first window; sets the options for a cursor over it. */
void event_filter_open(struct event_filter *filter, const struct event_source_range *range,
		       struct events_options *options);
/* Can no event write any of the added attributes? */
bool event_filter_is_empty(const struct event_filter *filter);
/* Do events of all passing classes pass only by key values? */
bool event_filter_is_keyed(const struct event_filter *filter);
/* Since the range began, has some class or stream ceased to have events that pass? */
bool event_filter_has_fewer(const struct event_filter *filter);
/* False: all events of the closure's classes pass. */
bool event_filter_chooses(const struct event_filter *filter);
/* As `select` of events.h. */
uint32_t event_filter_select(void *event_filter, const struct run *run, uint16_t *entries);

#endif
