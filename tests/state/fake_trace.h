/*
 * fake_trace.h - traces in memory, made of lists in a test, and an event source over them
 *
 * Events have integer and string fields by name; a class has only the fields that it lists.
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
	uint32_t class; /* index in the classes; FAKE_LOSS: events are missing until `until` */
	uint64_t numbers[FAKE_FIELDS];
	const char *texts[FAKE_FIELDS];
	nstime until;
};
#define FAKE_LOSS UINT32_MAX

struct fake_trace {
	struct event_source event_source; /* first member */
	struct trace trace;
	struct event_item *items; /* ordered */
	struct slot *slots;      /* FAKE_FIELDS per item */
	size_t nitems;
	const struct fake_class *classes; /* borrowed by fake_trace_new() alone */
	uint64_t given;                   /* items that cursors have returned */
};

/* Streams are named s0, s1 ..., of section "ch", and have the CPUs 0, 1 ... */
struct fake_trace *fake_trace_new(uint32_t nstreams, const struct fake_class *classes,
				  size_t nclasses, const struct fake_event *events, size_t nevents);
/* Sets when the recording of each stream began; by default before all events. */
void fake_trace_begins(struct fake_trace *fake, const nstime *begins);
/* `streams`: a bit per stream. In these each class of events begins with its own first event. */
void fake_trace_late_events(struct fake_trace *fake, uint64_t streams);
void fake_trace_free(struct fake_trace *fake);

#endif
