/* opened.h - for tests of libyore: opens traces, or fails the test */
#ifndef TESTS_LIB_OPENED_H
#define TESTS_LIB_OPENED_H

#include "tests/lib/api.h"

extern struct yore_error err;

static const struct yore_events_options all = YORE_EVENTS_ALL;

/* Without an index. The caller closes it. */
struct yore *open_trace(const char *path, struct yore_options more);
struct yore_events *open_events(struct yore *yore, struct yore_events_options options);
/* Closes both, and deletes the trace, which made.h made. */
void end(struct yore *yore, struct yore_events *events);

#endif
