/*
 * packet.h - the packet record: where a packet is and which times it holds
 *
 * 64 bytes, stored as they are. Readers make the records, tables sort them. What few packets have
 * is beside the record, in struct packet_info; a table packs that into its side list.
 *
 *     OFF  TYPE    FIELD    MEANING
 *       0  s64     min      least event time, inclusive, ns (or ordinal: stream->has_time false)
 *       8  s64     max      greatest event time, inclusive
 *      16  u64     off      first byte in its source
 *      24  u64     seq      sequence number as written; PACKET_NONE: none
 *      32  u64     lost     raw counter; its meaning is stream->lost_kind; PACKET_NONE: unknown
 *      40  u32     len      bytes of the first extent; all ones: long, see packet_info.long_len
 *      44  u32     events   count when known, else all ones
 *      48  u32     source   which of the stream's sources, modulo their number: see stream_source()
 *      52  s32     cpu      -1 unknown
 *      56  u32     flags    enum packet_flag
 *      60  u32     side     used by the table: 1 + place in its side list, 0 nothing there
 */
#ifndef ENGINE_PACKET_H
#define ENGINE_PACKET_H

#include "engine/timebase.h"

#include <stdbool.h>
#include <stdint.h>

enum packet_flag {
	PACKET_UNSORTED = 1 << 0,   /* its events are not all in order of time */
	PACKET_DESCENDING = 1 << 1, /* newest first: logical order is the reverse of the file's */
	PACKET_SPILL = 1 << 2,      /* extents are in a decompressed copy */
	PACKET_COMPRESSED = 1 << 3, /* each extent is a unit that decompresses alone */
	PACKET_FOREIGN =
		1 << 4, /* extents also hold other streams' records; the decoder skips them */
	PACKET_PIECE = 1 << 5, /* part of a longer packet; `carried` is the decoder's start state */
	PACKET_BEFORE_ALL = 1 << 6, /* its events have no time: they hold from the trace's start */
	PACKET_EXACT_MIN = 1 << 7,  /* min is an event's time, seen by decoding */
	PACKET_EXACT_MAX = 1 << 8,  /* likewise max */
	PACKET_MENDED = 1 << 9,     /* min or max was corrected and differs from the file's */
	PACKET_SUSPECT = 1 << 10,   /* min or max is known to be wrong, and not yet corrected */
	PACKET_LOST_UNKNOWN =
		1 << 11,          /* events were lost before its first one; not known how many */
	PACKET_EMPTY = 1 << 12,   /* has no event, but counters and times; never decoded */
	PACKET_OPEN = 1 << 13,    /* the last of a stream in a file that may grow: may change */
	PACKET_DAMAGED = 1 << 14, /* decoding stopped before its end */
	PACKET_DOUBLED = 1 << 15, /* a copy of another packet; also EMPTY */
	PACKET_OTHER = 1 << 16,   /* belongs to another session; also EMPTY and BEFORE_ALL */
	PACKET_CONTRADICTED = 1 << 17 /* has events outside of its listed times; never stored */
};

#define PACKET_NONE UINT64_MAX
enum { PACKET_CARRIED_MAX = 32, PACKET_EXTENTS_MAX = 4096 };

struct packet {
	nstime min, max;
	uint64_t off, seq, lost;
	uint32_t len, events, source;
	int32_t cpu;
	uint32_t flags, side;
};
_Static_assert(sizeof(struct packet) == 64, "the record is stored as it is");

struct extent {
	uint64_t off, len; /* bytes, in the packet's source */
};

/* A record and what may be beside it; whoever fills it says how long `extents` lives. */
struct packet_info {
	struct packet rec;
	uint64_t long_len;	      /* bytes, when rec.len is all ones */
	uint64_t plain_size;	      /* COMPRESSED: bytes after decompression, 0 unknown */
	const struct extent *extents; /* the second and later extents */
	uint32_t nextents;
	uint8_t ncarried;
	uint8_t carried[PACKET_CARRIED_MAX];
};

/*
 * The difference of two sequence numbers of `bits` bits (0: 64), modulo 2^bits, as a signed number;
 * 0 when it is exactly half of the range, and so has no sign.
 */
static inline int64_t packet_steps(uint64_t from, uint64_t to, unsigned bits)
{
	unsigned unused = bits == 0 || bits > 64 ? 0 : 64 - bits;
	int64_t steps = (int64_t)((to - from) << unused);

	return steps == INT64_MIN ? 0 : steps >> unused;
}

static inline uint64_t packet_bytes(const struct packet_info *info)
{
	return info->rec.len == UINT32_MAX ? info->long_len : info->rec.len;
}

/* Bytes of the packet over all its extents. */
static inline uint64_t packet_all_bytes(const struct packet_info *info)
{
	uint64_t bytes = packet_bytes(info);

	for (uint32_t i = 0; i < info->nextents; i++)
		bytes += info->extents[i].len;
	return bytes;
}

#endif
