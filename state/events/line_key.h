/*
 * line_key.h - the field of an event that says which attributes a line can write
 *
 *     thread[field/next]/state = ...      depth 2, role "thread", field next_tid
 *
 * Such a line writes only attributes with the field's value as key at that depth.
 */
#ifndef STATE_EVENTS_LINE_KEY_H
#define STATE_EVENTS_LINE_KEY_H

#include "index/filters/packet_filter.h"
#include "state/events/closure.h"

struct line_key {
	uint32_t depth;          /* attr_depth() of the key */
	uint64_t role;           /* hash of the name before the key */
	struct field_path field; /* an integer of the event's own scopes */
	const struct value *but; /* the condition excludes this value; NULL: none */
};

/* Finds the first such key of the target; false: none, so any event may make the line write. */
bool line_key(const struct line *line, struct line_key *out);
/*
 * Does this value of the key's field make the line's condition false? `thread[field/next]/name =
 * ... when field/next != 0` never writes thread[0]/name.
 */
bool line_refuses(const struct line *line, const struct line_key *key, const struct value *value);

/* Packet filters over all such keys of the rules. The caller owns them. */
struct packet_filters *packet_filters_of_lines(struct index *index, const struct program *program);

#endif
