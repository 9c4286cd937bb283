/* packet_heads.h - the heads of a packet whose times fall, in memory, to be put in order */
#ifndef INDEX_PACKETS_PACKET_HEADS_H
#define INDEX_PACKETS_PACKET_HEADS_H

#include "engine/timebase.h"

#include <stddef.h>
#include <stdint.h>

struct packet_head {
	nstime time;
	uint64_t at;
	uint32_t class_index, index;
	uint16_t size, flags;
};

void packet_heads_reverse(struct packet_head *heads, size_t n);
/* By time; stable. Heads that are almost in order cost one look. */
void packet_heads_sort(struct packet_head *heads, size_t n);

#endif
