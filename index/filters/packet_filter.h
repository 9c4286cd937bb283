/*
 * packet_filter.h - what a packet may hold, in few bytes: a search for something rare passes it
 * over
 *
 *     packet ──> which event classes it has           exactly
 *            ──> which values its key fields have      a filter that never says no wrongly
 *
 * Packet filters belong to a set of key fields: those of a rule set. Values of fields of one role
 * are one set; an attribute's key is looked for among the values of its role. Without fields they
 * tell of classes alone. Kept in the index, or in memory as far as there is room; a packet without
 * a packet filter may hold anything.
 *
 * They are made of every packet that somebody reads to its end, whatever for: where its events are
 * decoded (open_packet.c, sweep_packet.c) they are added to one that is being made.
 */
#ifndef INDEX_FILTERS_PACKET_FILTER_H
#define INDEX_FILTERS_PACKET_FILTER_H

#include "index/filters/run_column.h"

struct index;

struct packet_filter_field {
	uint32_t class_index;
	uint64_t role;
	struct run_field of; /* an integer */
	bool skips;          /* no search is for events with one value: it is left out */
	uint64_t skipped;
};

struct packet_filters; /* any thread may ask */

/* `fields` are copied. The index must outlive it. */
struct packet_filters *packet_filters_new(struct index *index,
					  const struct packet_filter_field *fields, size_t count);
/* Stores what is new, unless that is too little to be worth a commit. NULL is fine. */
void packet_filters_free(struct packet_filters *packet_filters);

/* A value of a role, as filters know it. */
uint64_t packet_filter_hash(uint64_t role, uint64_t value);

/* What is looked for: all events of some classes, others only with one of some values. */
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
 * CANNOT: *range is of the times of its events. Where there is none, the index's own are asked,
 * which tell of classes.
 */
enum filtered_by_packet packet_filters_ask(struct packet_filters *packet_filters,
					   const struct packet_filter_of *packet,
					   const struct packet_filter_wanted *wanted,
					   struct packet_range *range);

/* The index's own, of classes alone; NULL: it has none. */
struct packet_filters *index_packet_filters(struct index *index);

/*
 * What makers of one thread share, for a pass with such options. NULL: it makes none, since they
 * would not be kept. A pass that wants heads alone and knows no fields makes one in eight: each
 * costs it a tenth of its packet.
 */
struct filter_room;
struct filter_room *filter_room_new(struct index *index, const struct events_options *options);
void filter_room_free(struct filter_room *room); /* NULL is fine */

/* The packet filter of a packet that is being decoded; one after the other. */
struct filter_making;
struct filter_making *filter_making_new(struct filter_room *room); /* room is borrowed */
void filter_making_free(struct filter_making *filter_making);      /* NULL is fine */
/* False: none is made of it, there is one or there is to be none. Drops what was not ended. */
bool filter_making_begin(struct filter_making *filter_making, const struct stream *stream,
			 const struct packet_info *info);
/* Events of the packet as they are decoded: before filters, each once or more often. */
void filter_making_add(struct filter_making *filter_making, const struct run *run);
/* All of them were, and the packet is not damaged; their times. */
void filter_making_end(struct filter_making *filter_making, const struct packet_range *range);

#endif
