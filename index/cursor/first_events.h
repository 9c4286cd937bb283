/*
 * first_events.h - when events of a kind begin in a stream
 *
 *     first record                first sched_switch
 *     |- fork -- comm -- mmap ----|- switch --- wakeup --- switch ---
 *     stream_recorded()           nothing is known of switches before it
 *
 * perf opens its events first, and enables them up to a second later, each at its own time; in
 * between it writes records of processes. So in such a stream (stream->late_events) events of a
 * class may be missing before the first one of that class. A search reads the stream from its begin
 * to that event; its result is cached.
 */
#ifndef INDEX_CURSOR_FIRST_EVENTS_H
#define INDEX_CURSOR_FIRST_EVENTS_H

#include "index/index.h"

struct first_events;

/*
 * `telling`: the classes, a bit each, of which the first event begins a stream; NULL: none. The
 * object owns it. The index is borrowed until first_events_free(). For any thread.
 */
struct first_events *first_events_new(struct index *index, uint64_t *telling);
void first_events_free(struct first_events *firsts); /* NULL is fine */
/* Drops cached results, after trace_disorder() has grown. NULL is fine. */
void first_events_forget(struct first_events *firsts);

/* The time of the first event of the `telling` classes; NSTIME_MAX: the stream has none. */
MUST_CHECK bool first_events_told(struct first_events *firsts, const struct stream *stream,
				  nstime *out, struct error *err);
/* When the stream begins: the same if it has late_events and such an event, else as recorded. */
MUST_CHECK bool first_events_begin(struct first_events *firsts, const struct stream *stream,
				   nstime *out, struct error *err);
/* The time of the first event of that class; NSTIME_MAX: the stream has none. */
MUST_CHECK bool first_events_of(struct first_events *firsts, const struct stream *stream,
				uint32_t class_index, nstime *out, struct error *err);

#endif
