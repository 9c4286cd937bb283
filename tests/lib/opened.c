/* opened.c - see opened.h */
#include "tests/lib/opened.h"

#include "tests/harness.h"
#include "tests/lib/made.h"

struct yore_error err;

struct yore *open_trace(const char *path, struct yore_options more)
{
	struct yore *yore;

	more.size = sizeof more;
	more.no_index = 1;
	if (api.open(path, &more, &yore, &err) != 0)
		fail_msg("%s", err.text);
	return yore;
}

struct yore_events *open_events(struct yore *yore, struct yore_events_options options)
{
	struct yore_events *events;

	if (api.events_open(yore, &options, &events, &err) != 0)
		fail_msg("%s", err.text);
	return events;
}

void end(struct yore *yore, struct yore_events *events)
{
	api.events_close(events);
	api.close(yore);
	made_remove();
}
