/*
 * sketch.h - what a packet may hold, in few bytes: a search for something rare passes it over
 *
 *     packet ──> which event classes it has           exactly
 *            ──> which values its key fields have      a filter that never says no wrongly
 *
 * Sketches belong to a set of key fields: those of a rule set. Values of fields of one role are
 * one set; an attribute's key is looked for among the values of its role. Without fields they tell
 * of classes alone. Kept in the index, or in memory as far as there is room; a packet without a
 * sketch may hold anything.
 *
 * They are made of every packet that somebody reads to its end, whatever for: where its events are
 * decoded (open_packet.c, sweep_packet.c) they are added to one that is being made.
 */
#ifndef INDEX_FILTERS_SKETCH_H
#define INDEX_FILTERS_SKETCH_H

#include "index/filters/run_column.h"

struct index;

struct sketch_field {
	uint32_t class_index;
	uint64_t role;
	struct run_field of; /* an integer */
	bool skips;          /* no search is for events with one value: it is left out */
	uint64_t skipped;
};

struct sketches; /* any thread may ask */

/* `fields` are copied. The index must outlive it. */
struct sketches *sketches_new(struct index *index, const struct sketch_field *fields, size_t count);
/* Stores what is new, unless that is too little to be worth a commit. NULL is fine. */
void sketches_free(struct sketches *sketches);

/* A value of a role, as filters know it. */
uint64_t sketch_hash(uint64_t role, uint64_t value);

/* What is looked for: all events of some classes, others only with one of some values. */
struct sketch_wanted {
	const uint64_t *always, *keyed; /* bit per class */
	const uint64_t *hashes;
	size_t nhashes;
};

enum sketched { SKETCHED_NOT /* there is none */, SKETCHED_MAY, SKETCHED_CANNOT };

struct sketch_of { /* a packet */
	const struct stream *stream;
	uint32_t source, flags;
	uint64_t off, len; /* bytes, of all extents */
};
struct sketch_of sketch_of(const struct stream *stream, const struct packet_info *info);

/*
 * CANNOT: *range is of the times of its events. Where there is none, the index's own are asked,
 * which tell of classes.
 */
enum sketched sketches_ask(struct sketches *sketches, const struct sketch_of *packet,
			   const struct sketch_wanted *wanted, struct packet_range *range);

/* The index's own, of classes alone; NULL: it has none. */
struct sketches *index_sketches(struct index *index);

/*
 * What makers of one thread share, for a pass with such options. NULL: it makes none, since they
 * would not be kept. A pass that wants heads alone and knows no fields makes one in eight: each
 * costs it a tenth of its packet.
 */
struct sketch_room;
struct sketch_room *sketch_room_new(struct index *index, const struct events_options *options);
void sketch_room_free(struct sketch_room *room); /* NULL is fine */

/* The sketch of a packet that is being decoded; one after the other. */
struct sketching;
struct sketching *sketching_new(struct sketch_room *room); /* room is borrowed */
void sketching_free(struct sketching *sketching);          /* NULL is fine */
/* False: none is made of it, there is one or there is to be none. Drops what was not ended. */
bool sketching_begin(struct sketching *sketching, const struct stream *stream,
		     const struct packet_info *info);
/* Events of the packet as they are decoded: before filters, each once or more often. */
void sketching_add(struct sketching *sketching, const struct run *run);
/* All of them were, and the packet is not damaged; their times. */
void sketching_end(struct sketching *sketching, const struct packet_range *range);

#endif
