/*
 * kept.h - where the events of some classes stand in packets that were passed over: found once
 *
 *     packet ── heads ── heads ── HEADS ── heads ── HEADS ── ...
 *                                   │                 │
 *                 kept: time, place, number, class ───┴──> the next question begins here
 *
 * A question about one class of many costs the decoding of all other heads. So the heads of the
 * wanted classes are kept, 12 bytes each, packet by packet and set of classes by set of classes,
 * while there is room; nothing of the events' values is. What is kept is true of packets that were
 * read to their end without damage and whose times never fall; all others are read as ever.
 */
#ifndef INDEX_PACKETS_KEPT_H
#define INDEX_PACKETS_KEPT_H

#include "engine/reader.h"
#include "index/index.h"

struct kept; /* of an index; any thread may ask and put */

enum { KEPT_MOST = 64 << 20 };

struct kept *kept_new(size_t nclasses, size_t most); /* `most`: bytes of all that is kept */
void kept_free(struct kept *kept);                   /* no set may be held any more */
struct kept *index_kept(struct index *index);        /* borrowed until index_close() */

/*
 * What is kept of a set of classes, bit per class. While it is held nothing of it goes. NULL:
 * nothing is kept of these.
 */
struct kept_set *kept_hold(struct kept *kept, const uint64_t *classes);
void kept_drop(struct kept_set *set); /* NULL is fine */

/* All events of the set in one packet; lives while the set is held. */
struct kept_packet {
	nstime least, greatest; /* of all events of the packet, wanted or not; there are some */
	uint32_t count;
	struct kept_stretch *stretches;
	uint32_t nstretches;
	struct kept_kind *kinds;
	struct kept_head *heads;

	/* private */
	struct kept_packet *next;
	const struct stream *stream;
	uint64_t off, digest;
};

/* NULL: this packet has to be read. */
const struct kept_packet *kept_find(struct kept_set *set, const struct stream *stream,
				    const struct packet_info *info);

struct kept_at { /* how far one was read; zeros: nothing yet */
	uint32_t stretch, inside, head;
};
/*
 * Fills the batch with the next events, and index[] with their numbers in the packet; both have
 * room for BATCH_MAX. False: none are left.
 */
bool kept_next(const struct kept_packet *packet, struct kept_at *at, struct batch *batch,
	       uint32_t *index);

/* Finds what is to be kept while a packet is read; belongs to one thread. */
struct keeper;

struct keeper *keeper_new(struct kept_set *set); /* the set is borrowed */
void keeper_free(struct keeper *keeper);         /* NULL is fine */
void keeper_begin(struct keeper *keeper, const struct stream *stream,
		  const struct packet_info *info);
/* The batches of the packet in order; entries[0..n) are those of the set. */
void keeper_add(struct keeper *keeper, const struct batch *batch, const uint16_t *entries,
		uint32_t n);
/* In place of a batch: `count` events, none of the set, whose times rise from first to last. */
void keeper_pass(struct keeper *keeper, nstime first, nstime last, uint32_t count);
/* The packet was read to its end without damage: keeps what was found. Without it nothing is. */
void keeper_end(struct keeper *keeper);

#endif
