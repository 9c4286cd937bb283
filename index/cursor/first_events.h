/*
 * first_events.h - when events of a kind begin in a stream
 *
 *     first record                first sched_switch
 *     |- fork -- comm -- mmap ----|- switch --- wakeup --- switch ---
 *     stream_recorded()           nothing is known of switches before it
 *
 * perf opens its events first, and enables them up to a second later, each at its own time. Records
 * of processes come in between. So such a stream (stream->late_events) knows nothing of an event
 * before the first one of that class. A search reads the stream from its begin to that event, and
 * is remembered.
 */
#ifndef INDEX_CURSOR_FIRST_EVENTS_H
#define INDEX_CURSOR_FIRST_EVENTS_H

#include "index/index.h"

struct first_events;

/*
 * `telling`, a bit per class: of these the first one is when the stream begins to tell; NULL: of
 * none. It is taken. The index is borrowed until first_events_free(). Any thread may ask.
 */
struct first_events *first_events_new(struct index *index, uint64_t *telling);
void first_events_free(struct first_events *firsts); /* NULL is fine */
/* What was found so far, of a trace that is in disorder. NULL is fine. */
void first_events_forget(struct first_events *firsts);

/* The first event of a class that tells; NSTIME_MAX: the stream has none. */
MUST_CHECK bool first_events_told(struct first_events *firsts, const struct stream *stream,
				  nstime *out, struct error *err);
/* When the stream begins: the same where it is of late events and has one, else as recorded. */
MUST_CHECK bool first_events_begin(struct first_events *firsts, const struct stream *stream,
				   nstime *out, struct error *err);
/* The first event of that class; NSTIME_MAX: the stream has none. */
MUST_CHECK bool first_events_of(struct first_events *firsts, const struct stream *stream,
				uint32_t class_index, nstime *out, struct error *err);

#endif
