/*
 * fake_format.h - the file format of fake traces, for their writer and their reader
 *
 * A stream's file NAME.SOURCE:
 *
 *     OFFSET  SIZE  MEANING
 *          0    64  struct file_head
 *         64        packets, one after the other:
 *                       128  struct packet_head; `size` bytes with events, gaps and padding
 *                        24  each event: s64 time, u32 class, u32 flags, u64 v
 *
 * For a stream with `shared`, NAME.0 has the head only, and shared.0 the packets.
 *
 * All is in the byte order of the machine: these files never leave it.
 */
#ifndef TESTS_INDEX_FAKE_FORMAT_H
#define TESTS_INDEX_FAKE_FORMAT_H

#include "tests/index/fake_reader.h"

#define HEAD_MAGIC UINT64_C(0x656b6166656b6166)
#define PACKET_MAGIC UINT64_C(0x74656b6361706b66)

enum { STREAMS_MAX = 256, SOURCES_MAX = 16 };

struct file_head {
	uint64_t magic;
	int32_t cpu;
	uint32_t packet_bytes, lost_kind;
	uint8_t lost_bits, seq_bits, no_time, computed, pieces, open_last, shared, spill;
	uint8_t pad[32];
};

struct packet_head {
	uint64_t magic;
	nstime min, max;
	uint64_t seq, lost;
	uint64_t size; /* with this head */
	uint32_t nevents, flags, extent_events, gap, piece_events, damage_after;
	int32_t cpu;
	uint32_t hide_count;
	uint64_t owner; /* in a shared file; else 0 */
	uint8_t pad[40];
};

struct file_event {
	nstime time;
	uint32_t class, flags;
	uint64_t v;
};

_Static_assert(sizeof(struct file_head) == 64, "layout");
_Static_assert(sizeof(struct packet_head) == 128, "layout");
_Static_assert(sizeof(struct file_event) == 24, "layout");

/* packet_head.owner of packets of the stream with that name. */
uint64_t fake_owner(const char *name);

#endif
