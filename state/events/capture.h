/* capture.h - an event kept beyond its turn: for lines that cannot be decided yet */
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
 * Copies the item and, unless NULL, its fields into the arena. False when they cannot be kept:
 * arrays of anything but plain numbers and text still lean on their packet.
 */
bool capture_item(const struct event_item *item, const struct fields *fields, struct arena *arena,
		  struct capture *out);

#endif
