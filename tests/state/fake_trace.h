/*
 * fake_trace.h - traces in memory, and an event source over them: what a test says is what
 * evaluation sees
 *
 * Events carry integer and string fields by name; a class lacks the fields it does not name.
 */
#ifndef TESTS_STATE_FAKE_TRACE_H
#define TESTS_STATE_FAKE_TRACE_H

#include "state/events/event_source.h"

enum { FAKE_FIELDS = 6 };

struct fake_class {
	const char *name;
	/*
	 * "v": unsigned; "-v": signed; "$name": a string; "@tid", in front of others: unsigned, of
	 * the context
	 */
	const char *fields[FAKE_FIELDS];
};

struct fake_event {
	nstime time;
	uint32_t stream;
	uint32_t class; /* into the classes; FAKE_LOSS: events are missing until `until` */
	uint64_t numbers[FAKE_FIELDS];
	const char *texts[FAKE_FIELDS];
	nstime until;
};
#define FAKE_LOSS UINT32_MAX

struct fake_trace {
	struct event_source event_source; /* first */
	struct trace trace;
	struct event_item *items; /* in order */
	struct slot *slots;      /* FAKE_FIELDS per item */
	size_t nitems;
	const struct fake_class *classes; /* borrowed while it is made */
	uint64_t given; /* items that cursors gave */
};

/* Streams are named s0, s1 ..., of section "ch", and have the CPUs 0, 1 ... */
struct fake_trace *fake_trace_new(uint32_t nstreams, const struct fake_class *classes,
				  size_t nclasses, const struct fake_event *events, size_t nevents);
/* When the recording of each stream began; without it all hold from the start. */
void fake_trace_begins(struct fake_trace *fake, const nstime *begins);
/* In streams of these bits each class of events begins with its own first event. */
void fake_trace_late_events(struct fake_trace *fake, uint64_t streams);
void fake_trace_free(struct fake_trace *fake);

#endif
