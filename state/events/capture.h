/* capture.h - copies of events, for lines that cannot be decided yet */
#ifndef STATE_EVENTS_CAPTURE_H
#define STATE_EVENTS_CAPTURE_H

#include "engine/base/arena.h"
#include "state/events/event_source.h"

struct capture {
	struct event_item item;
	struct fields fields;
	bool has_fields;
};

/*
 * Copies the item and its fields (unless NULL) into the arena. False: not possible, since arrays of
 * anything but plain numbers and text point into their packet.
 */
bool capture_item(const struct event_item *item, const struct fields *fields, struct arena *arena,
		  struct capture *out);

#endif
