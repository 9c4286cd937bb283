/*
 * packet_filter.h - a summary of each packet, by which a search for rare events can skip it
 *
 *     packet ──> which event classes it has           exactly
 *            ──> which values its key fields have      a Bloom filter: no false negatives
 *
 * Packet filters are made for a set of key fields, those of a rule set. The values of all fields of
 * one role are one set, in which an attribute's key is looked up. Without key fields a packet
 * filter has only the classes. They are stored in the index, or in memory as far as there is room;
 * a packet without a packet filter may have any events.
 *
 * One is made whenever a packet is read to its end, for any purpose: the code that decodes events
 * (open_packet.c, sweep_packet.c) adds them to the packet filter that is being made.
 */
#ifndef INDEX_FILTERS_PACKET_FILTER_H
#define INDEX_FILTERS_PACKET_FILTER_H

#include "index/filters/run_column.h"

struct index;

struct packet_filter_field {
	uint32_t class_index;
	uint64_t role;
	struct run_field of; /* an integer */
	bool skips;          /* the value `skipped` is not added: no search looks for it */
	uint64_t skipped;
};

struct packet_filters; /* for any thread */

/* `fields` are copied. The index must outlive it. */
struct packet_filters *packet_filters_new(struct index *index,
					  const struct packet_filter_field *fields, size_t count);
/* Stores what is new, unless that is too little to be worth a commit. NULL is fine. */
void packet_filters_free(struct packet_filters *packet_filters);

/* The hash of a role's value that filters contain. */
uint64_t packet_filter_hash(uint64_t role, uint64_t value);

/* The wanted events: all of the classes `always`, and those of `keyed` with one of the hashes. */
struct packet_filter_wanted {
	const uint64_t *always, *keyed; /* bit per class */
	const uint64_t *hashes;
	size_t nhashes;
};

enum filtered_by_packet { FILTERED_NOT /* there is none */, FILTERED_MAY, FILTERED_CANNOT };

struct packet_filter_of { /* a packet */
	const struct stream *stream;
	uint32_t source, flags;
	uint64_t off, len; /* bytes, of all extents */
};
struct packet_filter_of packet_filter_of(const struct stream *stream,
					 const struct packet_info *info);

/*
 * Can the packet have a wanted event? FILTERED_CANNOT: *range is set to the times of its events. If
 * the packet has no filter here, uses that of the index, which has only classes.
 */
enum filtered_by_packet packet_filters_ask(struct packet_filters *packet_filters,
					   const struct packet_filter_of *packet,
					   const struct packet_filter_wanted *wanted,
					   struct packet_range *range);

/* The index's own, of classes alone; NULL: it has none. */
struct packet_filters *index_packet_filters(struct index *index);

/*
 * The memory that filter makers of one thread share, for a pass with such options. NULL: the pass
 * makes none, since they would not be stored. A pass that only needs heads and has no key fields
 * makes them for one packet in eight, since each takes a tenth of the packet's decoding time.
 */
struct filter_room;
struct filter_room *filter_room_new(struct index *index, const struct events_options *options);
void filter_room_free(struct filter_room *room); /* NULL is fine */

/* Makes the packet filters of packets while they are decoded, one after the other. */
struct filter_making;
struct filter_making *filter_making_new(struct filter_room *room); /* room is borrowed */
void filter_making_free(struct filter_making *filter_making);      /* NULL is fine */
/* Begins a packet. False: it needs no packet filter. Drops one that was not ended. */
bool filter_making_begin(struct filter_making *filter_making, const struct stream *stream,
			 const struct packet_info *info);
/* Adds decoded events of the packet, before any filter. Each must be added at least once. */
void filter_making_add(struct filter_making *filter_making, const struct run *run);
/* Ends it, after all events of an undamaged packet were added; `range`: their times. */
void filter_making_end(struct filter_making *filter_making, const struct packet_range *range);

#endif
