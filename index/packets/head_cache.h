/*
 * head_cache.h - a cache of the heads of wanted event classes, packet by packet
 *
 *     packet ── heads ── heads ── HEADS ── heads ── HEADS ── ...
 *                                   │                 │
 *                 kept: time, place, number, class ───┴──> the next question begins here
 *
 * A query on one event class must decode the heads of all classes. So for each set of classes that
 * was wanted, the heads of its events are cached by packet, 12 bytes each, without values, while
 * there is room. Only packets that were read to their end without damage, and whose times never
 * fall, are in the cache; others are decoded each time.
 */
#ifndef INDEX_PACKETS_HEAD_CACHE_H
#define INDEX_PACKETS_HEAD_CACHE_H

#include "engine/reader.h"
#include "index/index.h"

struct head_cache; /* of an index; for any thread */

enum { HEAD_CACHE_MOST = 64 << 20 };

struct head_cache *head_cache_new(size_t nclasses,
				  size_t most);           /* `most`: bytes of all that is kept */
void head_cache_free(struct head_cache *head_cache);      /* no set may be held any more */
struct head_cache *index_head_cache(struct index *index); /* borrowed until index_close() */

/*
 * Finds or adds the cached heads of a set of classes (a bit each). Nothing of it is evicted until
 * head_cache_drop(). NULL: heads of this set are not cached.
 */
struct head_cache_set *head_cache_hold(struct head_cache *head_cache, const uint64_t *classes);
void head_cache_drop(struct head_cache_set *set); /* NULL is fine */

/* All events of the set in one packet; lives while the set is held. */
struct head_cache_packet {
	nstime least, greatest; /* of all events of the packet, wanted or not; there are some */
	uint32_t count;
	struct head_cache_stretch *stretches;
	uint32_t nstretches;
	struct head_cache_kind *kinds;
	struct head_cache_head *heads;

	/* private */
	const struct stream *stream;
	uint64_t off, digest;
};

/* The packet's cached heads; NULL: they are not cached, and the packet must be decoded. */
const struct head_cache_packet *head_cache_find(struct head_cache_set *set,
						const struct stream *stream,
						const struct packet_info *info);

struct head_cache_at { /* position of the next head in a cached packet; zeros: the first */
	uint32_t stretch, inside, head;
};
/*
 * Fills the batch with the next events, and index[] with their numbers in the packet; both have
 * room for BATCH_MAX. False: none are left.
 */
bool head_cache_next(const struct head_cache_packet *packet, struct head_cache_at *at,
		     struct batch *batch, uint32_t *index);

/* Collects heads for the cache while a packet is decoded; belongs to one thread. */
struct head_cache_fill;

struct head_cache_fill *head_cache_fill_new(struct head_cache_set *set); /* the set is borrowed */
void head_cache_fill_free(struct head_cache_fill *head_cache_fill);      /* NULL is fine */
void head_cache_fill_begin(struct head_cache_fill *head_cache_fill, const struct stream *stream,
			   const struct packet_info *info);
/* Adds the packet's next batch; entries[0..n) are those of the set. */
void head_cache_fill_add(struct head_cache_fill *head_cache_fill, const struct batch *batch,
			 const uint16_t *entries, uint32_t n);
/* Instead of a batch: `count` events, none of the set, whose times rise from `first` to `last`. */
void head_cache_fill_pass(struct head_cache_fill *head_cache_fill, nstime first, nstime last,
			  uint32_t count);
/* Puts the collected heads into the cache; to be called when the whole packet was read undamaged.
 */
void head_cache_fill_end(struct head_cache_fill *head_cache_fill);

#endif
