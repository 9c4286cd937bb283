/*
 * line_key.h - the field of an event that says which attributes a line can write
 *
 *     thread[field/next]/state = ...      depth 2, role "thread", field next_tid
 *
 * A line writes only attributes that have the field's value as their key at that depth.
 */
#ifndef STATE_EVENTS_LINE_KEY_H
#define STATE_EVENTS_LINE_KEY_H

#include "index/filters/packet_filter.h"
#include "state/events/closure.h"

struct line_key {
	uint32_t depth;          /* attr_depth() of the key */
	uint64_t role;           /* of the name that the key stands below */
	struct field_path field; /* an integer of the event's own scopes */
	const struct value *but; /* not with this value, says its condition; NULL: it does not */
};

/* The first such key of its target; false: it has none, and may write with any event. */
bool line_key(const struct line *line, struct line_key *out);
/*
 * Is its condition surely not true where its key's field has this value? `thread[field/next]/name =
 * ... when field/next != 0` never writes thread[0]/name.
 */
bool line_refuses(const struct line *line, const struct line_key *key, const struct value *value);

/* Of all such keys of a rule set. The caller owns them. */
struct packet_filters *packet_filters_of_lines(struct index *index, const struct program *program);

#endif
