/*
 * packet_cache.h - packets that were read lately, still open, with what is known of their events
 *
 * A cursor takes a packet out, has it alone while it reads and learns, and gives it back. A
 * cursor that needs the same packet meanwhile does not find it here and opens it itself. All
 * functions may be called from any thread; a packet that was taken belongs to its taker.
 */
#ifndef INDEX_PACKETS_PACKET_CACHE_H
#define INDEX_PACKETS_PACKET_CACHE_H

#include "engine/reader.h"
#include "index/index.h"

#include <sys/queue.h>

struct packet_cache;

/* The output of a decoder for the same bytes depends on these. */
enum {
	PACKET_DECODING = PACKET_UNSORTED | PACKET_DESCENDING | PACKET_SPILL | PACKET_COMPRESSED |
			  PACKET_FOREIGN | PACKET_PIECE | PACKET_BEFORE_ALL
};

struct cached_segment { /* a run of events that was decoded once; they are met in this order */
	struct mark mark;
	nstime first, last;
	uint64_t classes; /* bit i: one of its events has a class whose number is i modulo 64 */
	uint32_t count;
};

struct packet_facts {
	bool any;               /* an event was seen */
	bool whole;             /* all were */
	bool fell;              /* a time was before that of the event in front of it */
	nstime least, greatest; /* of the events seen */
};

struct known_packet {
	const struct stream *stream;
	const struct reader *reader;
	struct packet_info info; /* as it was opened; its extents are those below */
	struct extent *extents;
	size_t extents_capacity;
	struct decoder *decoder;
	bool damaged; /* or it contradicts its record: not to be kept */

	struct packet_facts facts;
	nstime last;              /* time of the last event of the segments */
	struct mark start, end;   /* of the packet, and of the last segment */
	struct cached_segment *segments; /* from the packet's start, without a gap */
	size_t nsegments, segments_capacity;
	size_t stands; /* the decoder stands before this segment */

	/* the cache's */
	bool hot;
	uint64_t bytes;
	TAILQ_ENTRY(known_packet) by_age;
	struct known_packet *next;
};

struct packet_cache *packet_cache_new(size_t nstreams);
void packet_cache_free(struct packet_cache *cache);
struct packet_cache *index_packets(struct index *index); /* borrowed until index_close() */

/* A packet that is to be opened with known_packet_open(). */
struct known_packet *known_packet_new(const struct stream *stream, const struct reader *reader);
void known_packet_free(struct known_packet *packet);
/* True when it is the packet that *info describes, and opened as that says. */
bool known_packet_is(const struct known_packet *packet, const struct packet_info *info);
/* Opens another packet; *info is copied. On an error the packet is damaged. */
MUST_CHECK bool known_packet_open(struct known_packet *packet, const struct packet_info *info,
				  struct error *err);

/* The packet that *info describes; NULL: it is not here. */
struct known_packet *packet_cache_take(struct packet_cache *cache, const struct stream *stream,
				       const struct packet_info *info);
/*
 * Gives a packet back. A hot one lies where somebody asked; others were only passed and make room
 * first. Returns what had to go and may be opened again by the caller, who owns it; or NULL.
 */
struct known_packet *packet_cache_give(struct packet_cache *cache, struct known_packet *packet,
				       bool hot);

#endif
