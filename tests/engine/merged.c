/* merged.c - see merged.h */
#include "tests/engine/merged.h"

#include "tests/harness.h"

void merged_each(struct trace *trace, const struct index_options *options,
		 void (*each)(void *arg, struct events *events, const struct event *event),
		 void *arg)
{
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct events *events;
	struct index *index;
	struct event event;
	struct error err;
	enum step step;

	assert_true(index_open(trace, options, &index, &err));
	assert_true(events_open(index, &all, &events, &err));
	while ((step = events_next(events, &event, &err)) == STEP_ITEM)
		each(arg, events, &event);
	assert_int_equal(step, STEP_END);
	events_close(events);
	index_close(index);
}
