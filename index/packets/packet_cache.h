/*
 * packet_cache.h - a cache of recently read packets, still open, with restart marks and times
 *
 * A cursor takes a packet out of the cache, owns it while it reads and adds marks, and gives it
 * back. A cursor that needs the same packet meanwhile does not find it, and opens it itself. All
 * functions may be called from any thread.
 */
#ifndef INDEX_PACKETS_PACKET_CACHE_H
#define INDEX_PACKETS_PACKET_CACHE_H

#include "engine/reader.h"
#include "index/index.h"

#include <sys/queue.h>

struct packet_cache;

/* The flags that a decoder's output depends on. */
enum {
	PACKET_DECODING = PACKET_UNSORTED | PACKET_DESCENDING | PACKET_SPILL | PACKET_COMPRESSED |
			  PACKET_FOREIGN | PACKET_PIECE | PACKET_BEFORE_ALL
};

struct cached_segment { /* consecutive events of a packet, decoded before, in order of the file */
	struct mark mark;
	nstime first, last;
	uint64_t classes; /* bit i: one of its events has a class whose number is i modulo 64 */
	uint32_t count;
};

struct packet_facts {
	bool any;               /* an event was decoded */
	bool whole;             /* all events were */
	bool fell;              /* an event's time was before that of the event in front of it */
	nstime least, greatest; /* times of the decoded events */
};

struct known_packet {
	const struct stream *stream;
	const struct reader *reader;
	struct packet_info info; /* as it was opened; its extents are those below */
	struct extent *extents;
	size_t extents_capacity;
	struct decoder *decoder;
	bool damaged; /* or contradicts its record: not to be cached */

	struct packet_facts facts;
	nstime last;                     /* time of the last segment's last event */
	struct mark start, end;          /* the packet's start, and the end of the last segment */
	struct cached_segment *segments; /* from the packet's start, without a gap */
	size_t nsegments, segments_capacity;
	size_t stands; /* the decoder is at the start of this segment */

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
/* Is it the packet that *info describes, opened with the same flags? */
bool known_packet_is(const struct known_packet *packet, const struct packet_info *info);
/* Opens another packet; *info is copied. On an error the packet is damaged. */
MUST_CHECK bool known_packet_open(struct known_packet *packet, const struct packet_info *info,
				  struct error *err);

/* Takes the packet that *info describes out of the cache; NULL: it is not there. */
struct known_packet *packet_cache_take(struct packet_cache *cache, const struct stream *stream,
				       const struct packet_info *info);
/*
 * Puts a packet back. `hot`: a question's range began or ended in it; packets that were only read
 * through are evicted first. Returns an evicted packet, which the caller then owns and may reuse;
 * or NULL.
 */
struct known_packet *packet_cache_give(struct packet_cache *cache, struct known_packet *packet,
				       bool hot);

#endif
