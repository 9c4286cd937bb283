/* merged.h - for tests: all events of a trace in order, through an index and the merge */
#ifndef TESTS_ENGINE_MERGED_H
#define TESTS_ENGINE_MERGED_H

#include "index/events.h"
#include "index/index.h"

/*
 * Calls `each` for all events; events_fields() of `events` returns their fields. The test fails
 * unless reading comes to the trace's end.
 */
void merged_each(struct trace *trace, const struct index_options *options,
		 void (*each)(void *arg, struct events *events, const struct event *event),
		 void *arg);

#endif
